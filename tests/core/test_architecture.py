"""The rooms import each other one way only, as docs/architecture.md says, and importing the product is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# A room may import itself and the rooms before it; the second word is where `starrocks` stands aside.
ORDER = [
    "lineage",
    "sr_assets.errors",
    "sr_assets.starrocks",
    "sr_assets.partitions",
    "sr_assets.checks",
    "sr_assets.assets",
    "sr_assets.spans",
    "sr_assets.mappings",
    "sr_assets.compile",
    "sr_assets.graph",
    "sr_assets.project",
    "sr_assets.ledger",
    "sr_assets.state",
    "sr_assets.planner",
    "sr_assets.executor",
    "sr_assets.service",
    "sr_assets.cli",
    "sr_assets.airflow",
    "sr_assets.demo",
]
MODULES = sorted(path for top in ("lineage", "sr_assets") for path in (ROOT / top).rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    found = [
        room for room in [*ORDER, "sr_assets.standin"] if module == room or module.startswith(room + ".")
    ]
    return found[0] if found else None


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(name_of(path))
    for imported in imports(path):
        other = room_of(imported)
        if other is None or other == room or room is None:
            continue
        if other == "sr_assets.standin":
            assert name_of(path) == "sr_assets.cli.standin", (
                f"{imported}: only the command starts the stand-in"
            )
        elif room == "sr_assets.standin":
            assert other == "lineage", f"the stand-in imports {imported}"
        else:
            assert ORDER.index(other) < ORDER.index(room), f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_airflow_is_imported_in_its_room_only(path: Path) -> None:
    if room_of(name_of(path)) != "sr_assets.airflow":
        assert not [name for name in imports(path) if name.split(".")[0] == "airflow"]


# module, what importing it must not load
CHEAP = [
    ("sr_assets", ["airflow", "duckdb", "pymysql", "sqlglot", "numpy", "networkx"]),
    ("sr_assets.cli.main", ["airflow", "duckdb", "pymysql", "sqlglot", "numpy", "networkx", "rich.table"]),
    ("sr_assets.service", ["airflow", "duckdb", "pymysql", "mysql_mimic"]),
    ("lineage", ["sr_assets", "airflow", "duckdb", "numpy"]),
]


@pytest.mark.parametrize(("module", "heavy"), CHEAP)
def test_importing_does_not_load(module: str, heavy: list[str]) -> None:
    code = f"import {module}, sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
