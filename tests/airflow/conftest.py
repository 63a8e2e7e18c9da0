"""Airflow reads its settings when it is imported first, so they are made here."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

_FOLDER = tempfile.TemporaryDirectory(prefix="airflow-tests-")  # goes with the process
_HOME = Path(_FOLDER.name)
(_HOME / "dags").mkdir()
os.environ.update(
    AIRFLOW_HOME=str(_HOME),
    AIRFLOW__CORE__DAGS_FOLDER=str(_HOME / "dags"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{_HOME}/airflow.db",
)


@pytest.fixture(scope="session")
def landing() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "assets"))
    return importlib.import_module("_landing")
