"""Airflow's tests use the example project and its landing helper."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def landing() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "assets"))
    return importlib.import_module("_landing")
