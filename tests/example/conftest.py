"""The example project and its landing helper, loaded as a user's process loads them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Protocol, cast

import pytest

ASSETS = Path(__file__).parents[2] / "assets"


class Landing(Protocol):
    """The helper module `assets/_landing.py`."""

    land_dimensions: Callable[[Path], dict[str, int]]
    weather: Callable[[datetime, datetime], list[dict[str, str]]]
    correct: Callable[[list[dict[str, str]]], list[dict[str, str]]]

    def land_flights(
        self, root: Path, days: Iterable[date], *, corrected: bool = False
    ) -> dict[date, int]: ...


@pytest.fixture(scope="session")
def landing() -> Landing:
    sys.path.insert(0, str(ASSETS))  # as load_project does, so that modules can import their helpers
    return cast(Landing, importlib.import_module("_landing"))
