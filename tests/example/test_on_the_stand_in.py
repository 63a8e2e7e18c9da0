"""Every asset of the example, built on the stand-in, holds what DuckDB computes from the CSV files.

A week of the year is landed. The end-to-end tests go on from here: plans, corrections, Airflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from sr_assets.executor import Outcome, Owner, Run, materialize
from sr_assets.project import load_project
from sr_assets.standin import StandIn, StandInConfig
from sr_assets.starrocks.session import connect_url
from tests.example.conftest import ASSETS, Landing
from tests.example.expected import DAY, EXPECTATIONS, HOUR, MONTH, WEEK, WHOLE, Expected

#: The week of the blizzard.
DAYS = [date(2013, 2, 4) + timedelta(days=n) for n in range(7)]
KEYS = {
    HOUR: [f"{day}T{hour:02}" for day in DAYS for hour in range(24)],
    DAY: [str(day) for day in DAYS],
    WEEK: ["2013-W06"],
    MONTH: ["2013-02"],
    WHOLE: ["all"],
}


@pytest.fixture(scope="module")
def storage(landing: Landing, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("storage")
    landing.land_dimensions(root)
    landing.land_flights(root, DAYS)
    return root


@pytest.fixture(scope="module")
def run(storage: Path) -> Iterator[Run]:
    project = load_project(ASSETS)
    with (
        StandIn(StandInConfig(storage_root=storage)) as server,
        connect_url(server.url, f"http://127.0.0.1:{server.http_port}") as session,
    ):
        yield Run(
            session,
            project.graph,
            "example",
            Owner.here("example"),
            now=lambda: datetime(2014, 2, 1, tzinfo=UTC),
        )


@pytest.fixture(scope="module")
def built(run: Run) -> Run:
    """Every asset built, in topological order; the rest of the month and of the year stays missing."""
    for name in run.graph.order:
        result = materialize(run, name, KEYS[EXPECTATIONS[name].key], allow_missing=True)
        ends = {(end.key, end.message) for end in result.results if end.outcome is not Outcome.BUILT}
        assert not ends, name
    return run


@pytest.fixture(scope="module")
def expected(storage: Path) -> Expected:
    return Expected(storage)


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_rows(built: Run, expected: Expected, name: str) -> None:
    columns = ", ".join(column.name for column in built.graph[name].asset.columns)
    rows = built.session.query(f"SELECT {columns} FROM {name}")
    assert rows
    assert expected.differences(name, KEYS[EXPECTATIONS[name].key], rows) == []


def test_a_day_without_observations_is_built_empty(built: Run) -> None:
    """The source ends on 30 December: the hours of the last day are built, not missing for ever."""
    hours = [f"2013-12-31T{hour:02}" for hour in range(24)]
    result = materialize(built, "nyc.weather", hours)
    assert [(end.outcome, end.rows) for end in result.results] == [(Outcome.BUILT, 0)] * 24
    again = materialize(built, "nyc.weather", hours)
    assert {end.outcome for end in again.results} == {Outcome.SKIPPED}
