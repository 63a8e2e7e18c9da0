"""The package as a whole: its face, and what it does not import."""

import subprocess
import sys

import lineage

FORBIDDEN = ("sr_assets", "numpy", "networkx", "airflow", "pymysql", "duckdb", "httpx")


def test_every_exported_name_exists() -> None:
    assert all(hasattr(lineage, name) for name in lineage.__all__)


def test_it_is_pure() -> None:
    code = f"import lineage, sys; print([m for m in {FORBIDDEN} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
