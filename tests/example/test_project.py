"""The example loads without a problem, and every asset reads the partitions that a person would name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sr_assets.assets import Asset, BrokerLoad, External, FilesLoad, Sql, StreamLoad
from sr_assets.executor.tables import table_spec
from sr_assets.mappings import spans_read
from sr_assets.partitions import Daily, Hourly, Monthly, Unpartitioned, Weekly
from sr_assets.project import Project, load_project
from sr_assets.starrocks.tables import create_table
from tests.example.conftest import ASSETS
from tests.example.expected import EXPECTATIONS

#: All of 2013 is due.
NOW = datetime(2014, 2, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def project() -> Project:
    return load_project(ASSETS)


def test_the_project_loads_without_a_problem(project: Project) -> None:
    assert project.problems == ()
    assert set(project.graph.nodes) == set(EXPECTATIONS)


def test_every_kind_of_recipe_and_partitions_is_shown(project: Project) -> None:
    assets = [node.asset for node in project.graph.nodes.values()]
    assert {type(asset.recipe) for asset in assets} == {Sql, BrokerLoad, FilesLoad, StreamLoad}
    assert {type(asset.partitions) for asset in assets} >= {Hourly, Daily, Weekly, Monthly, Unpartitioned}
    in_files = [asset for asset in assets if isinstance(asset.recipe, Sql) and asset.recipe.file]
    inline = [asset for asset in assets if isinstance(asset.recipe, Sql) and not asset.recipe.file]
    assert in_files and inline


def test_every_sql_file_is_used(project: Project) -> None:
    recipes = [node.asset.recipe for node in project.graph.nodes.values()]
    assert {r.file for r in recipes if isinstance(r, Sql) and r.file} == set((ASSETS / "sql").glob("*.sql"))


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_an_asset_is_described(project: Project, name: str) -> None:
    asset = project.graph[name].asset
    assert not isinstance(asset.recipe, External)
    assert asset.description and asset.owner and asset.group and asset.tags and asset.checks
    assert all(column.comment for column in asset.columns)
    create_table(table_spec(asset))  # raises for what StarRocks would refuse, such as a key that is not first


# asset, its partition, upstream, the partitions read of it: first and last
READS = [
    # same day, and a dimension as a whole
    ("mart.carrier_day", "2013-02-08", "nyc.flights", "2013-02-08", "2013-02-08"),
    ("mart.carrier_day", "2013-02-08", "nyc.airlines", "all", "all"),
    ("mart.airport_day", "2013-12-31", "nyc.flights", "2013-12-31", "2013-12-31"),
    ("mart.aircraft_day", "2013-02-28", "nyc.flights", "2013-02-28", "2013-02-28"),
    ("mart.aircraft_day", "2013-02-28", "nyc.planes", "all", "all"),
    # trailing window; its first week is cut off where the data begins
    ("mart.route_7d", "2013-03-04", "nyc.flights", "2013-02-26", "2013-03-04"),
    ("mart.route_7d", "2013-01-01", "nyc.flights", "2013-01-01", "2013-01-01"),
    ("mart.route_7d", "2013-01-05", "nyc.flights", "2013-01-01", "2013-01-05"),
    # hourly → daily, also on the days on which clocks change
    ("mart.weather_day", "2013-02-08", "nyc.weather", "2013-02-08T00", "2013-02-08T23"),
    ("mart.weather_day", "2013-03-10", "nyc.weather", "2013-03-10T00", "2013-03-10T23"),
    ("mart.weather_day", "2013-12-31", "nyc.weather", "2013-12-31T00", "2013-12-31T23"),
    # daily → weekly, by ISO weeks
    ("mart.carrier_week", "2013-W01", "mart.carrier_day", "2013-01-01", "2013-01-06"),
    ("mart.carrier_week", "2013-W10", "mart.carrier_day", "2013-03-04", "2013-03-10"),
    ("mart.carrier_week", "2013-W52", "mart.carrier_day", "2013-12-23", "2013-12-29"),
    # daily → monthly
    ("mart.carrier_month", "2013-02", "mart.carrier_day", "2013-02-01", "2013-02-28"),
    ("mart.carrier_month", "2013-12", "mart.carrier_day", "2013-12-01", "2013-12-31"),
    # month → day, through the join's DATE_TRUNC
    ("mart.carrier_share", "2013-02-08", "mart.carrier_day", "2013-02-08", "2013-02-08"),
    ("mart.carrier_share", "2013-02-08", "mart.carrier_month", "2013-02", "2013-02"),
    ("mart.carrier_share", "2013-03-31", "mart.carrier_month", "2013-03", "2013-03"),
    # two grains
    ("mart.flight_weather", "2013-02-08", "nyc.flights", "2013-02-08", "2013-02-08"),
    ("mart.flight_weather", "2013-02-08", "nyc.weather", "2013-02-08T00", "2013-02-08T23"),
    # the end of the diamond; the outer join's condition bounds weather_day
    ("mart.weather_impact", "2013-02-08", "mart.airport_day", "2013-02-08", "2013-02-08"),
    ("mart.weather_impact", "2013-02-08", "mart.flight_weather", "2013-02-08", "2013-02-08"),
    ("mart.weather_impact", "2013-02-08", "mart.weather_day", "2013-02-08", "2013-02-08"),
    # all days
    ("mart.route_summary", "all", "nyc.flights", "2013-01-01", "2013-12-31"),
    ("mart.route_summary", "all", "nyc.airports", "all", "all"),
    # its own previous day
    ("mart.aircraft_hours", "2013-03-01", "mart.aircraft_hours", "2013-02-28", "2013-02-28"),
    ("mart.aircraft_hours", "2013-03-01", "mart.aircraft_day", "2013-03-01", "2013-03-01"),
    ("mart.aircraft_hours", "2013-01-01", "mart.aircraft_hours", None, None),
]


@pytest.mark.parametrize(("name", "key", "upstream", "first", "last"), READS)
def test_partitions_read(
    project: Project, name: str, key: str, upstream: str, first: str | None, last: str | None
) -> None:
    node, other = project.graph[name], project.graph[upstream]
    down, up = node.asset.partitions.keys(NOW), other.asset.partitions.keys(NOW)
    assert node.query is not None
    spans = spans_read(node.query, upstream, node.upstream_columns, node.patterns[upstream], down, up)
    read = [(up.key(span.start), up.key(span.stop - 1)) for span in spans.of(down.index(key))]
    assert read == ([(first, last)] if first else [])


def test_every_edge_has_a_case(project: Project) -> None:
    edges = {(node.name, up) for node in project.graph.nodes.values() for up in node.upstreams}
    assert {(name, upstream) for name, _, upstream, _, _ in READS} == edges


@pytest.mark.parametrize(
    ("name", "upstream"),
    sorted({(n, u) for n, _, u, _, _ in READS} - {("mart.route_summary", "nyc.flights")}),
)
def test_reads_are_exact_and_of_one_form(project: Project, name: str, upstream: str) -> None:
    """No read is widened for want of a decision, and none has to be evaluated partition by partition."""
    pattern = project.graph[name].patterns[upstream]
    assert pattern is not None
    assert pattern.reasons == ()


def test_a_new_registry_rebuilds_nothing(project: Project) -> None:
    node = project.graph["mart.aircraft_day"]
    assert not node.invalidated_by("nyc.planes")
    assert node.invalidated_by("nyc.flights")


def test_the_diamond(project: Project) -> None:
    upstream = project.graph.upstream("mart.weather_impact")
    branches = [name for name in upstream if "nyc.flights" in project.graph.upstream(name)]
    assert branches == ["mart.airport_day", "mart.flight_weather"]


def test_a_day_of_weather_is_one_request(project: Project) -> None:
    """The rows of a whole window come from one call, in the order of the declared columns."""
    asset: Asset = project.graph["nyc.weather"].asset
    assert isinstance(asset.recipe, StreamLoad)
    keys = asset.partitions.keys(NOW)
    first = keys.index("2013-11-03T00")
    body = asset.recipe.rows(keys.window(first, first + 23))
    assert isinstance(body, bytes)
    lines = body.decode().splitlines()
    assert len(lines) == 24 * 3 - 3 + 3  # summer time ends: 23 hours were observed, one of them twice
    assert all(len(line.split(",")) == len(asset.columns) for line in lines)
    assert asset.recipe.columns == tuple(column.name for column in asset.columns)
    assert lines[0] == (
        "2013-11-03 01:00:00,EWR,2013-11-03 05:00:00,51.98,39.02,61.15,310,6.904679999999999,\\N,0,1009.8,10"
    )
