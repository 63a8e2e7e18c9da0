"""The oracle of the end-to-end tests itself: it knows every table, sees differences, and follows corrections."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

from tests.example.conftest import Landing
from tests.example.expected import DAY, EXPECTATIONS, HOUR, MONTH, WEEK, WHOLE, Expected, Row

KEYS = {
    HOUR: ["2013-11-03T01", "2013-02-08T12"],
    DAY: ["2013-02-08", "2013-11-03"],
    WEEK: ["2013-W01", "2013-W06"],
    MONTH: ["2013-02", "2013-12"],
    WHOLE: ["all"],
}


@pytest.fixture(scope="module")
def published() -> Expected:
    return Expected()


@pytest.mark.parametrize("asset", EXPECTATIONS)
def test_rows_are_told_apart_by_their_identity(published: Expected, asset: str) -> None:
    keys = KEYS[EXPECTATIONS[asset].key]
    rows = published.rows(asset, keys)
    assert rows
    assert len({row[: EXPECTATIONS[asset].identity] for row in rows}) == len(rows)
    assert published.differences(asset, keys, rows) == []


@pytest.mark.parametrize("asset", [name for name, e in EXPECTATIONS.items() if e.key is not None])
def test_keys_choose_partitions(published: Expected, asset: str) -> None:
    first, second = KEYS[EXPECTATIONS[asset].key]
    both = published.rows(asset, [first, second])
    apart = published.rows(asset, [first]) + published.rows(asset, [second])
    assert sorted(map(repr, both)) == sorted(map(repr, apart))
    assert published.rows(asset, [first]) and published.rows(asset, [second])


# Counted from the CSV files by other means. asset, partition, the first columns of one of its rows
FACTS: list[tuple[str, str, Row]] = [
    # The first line of the file: UA 1545 to Houston, due out at 5:15, left at 5:17
    (
        "mart.flight_weather",
        "2013-01-01",
        (date(2013, 1, 1), "UA", 1545, "EWR", datetime(2013, 1, 1, 5, 15), 2, False),
    ),
    # The blizzard of 8 February: half of the flights did not leave
    ("mart.airport_day", "2013-02-08", (date(2013, 2, 8), "EWR", 341, 177)),
    ("mart.airport_day", "2013-02-08", (date(2013, 2, 8), "JFK", 304, 159)),
    ("mart.airport_day", "2013-02-08", (date(2013, 2, 8), "LGA", 285, 136)),
    ("mart.carrier_month", "2013-02", (date(2013, 2, 1), "UA", 4346, 180, 3366, 4157, 809)),
    ("mart.route_7d", "2013-03-04", (date(2013, 3, 4), "LGA", "ATL", 204, 1, -272 / 203, 131)),
    # San Juan is not in the list of airports
    ("mart.route_summary", "all", ("JFK", "SJU", None, 1598, 3, 4752, 25)),
    ("mart.aircraft_hours", "2013-01-31", (date(2013, 1, 31), "N14228", 15, 2437, date(2013, 1, 31))),
]


@pytest.mark.parametrize(("asset", "key", "start"), FACTS, ids=lambda value: str(value)[:30])
def test_known_facts(published: Expected, asset: str, key: str, start: Row) -> None:
    assert start in {row[: len(start)] for row in published.rows(asset, [key])}


def test_differences_are_seen() -> None:
    expected = Expected()
    asset, keys = "mart.carrier_month", ["2013-02"]
    rows = expected.rows(asset, keys)
    first, *others = rows
    flights, share = first[2], first[7]

    def changed(row: Row, index: int, value: object) -> Row:
        return (*row[:index], value, *row[index + 1 :])

    assert expected.differences(asset, keys, [changed(first, 7, share * (1 + 1e-12)), *others]) == []
    for actual, message in [
        (others, "missing"),
        ([*rows, changed(first, 1, "ZZ")], "unexpected"),
        ([*rows, first], "1 rows repeat"),
        ([changed(first, 2, flights + 1), *others], "expected"),
        ([changed(first, 7, share * (1 + 1e-6)), *others], "expected"),
        ([changed(first, 2, None), *others], "expected"),
        ([first[:-1], *others], "expected"),
    ]:
        (difference,) = expected.differences(asset, keys, actual)
        assert difference.startswith(message)


#: For each table that depends on flights, partitions whose rows a correction of 9 February must change.
CHANGED = {
    "nyc.flights": "2013-02-09",
    "mart.carrier_day": "2013-02-09",
    "mart.carrier_week": "2013-W06",
    "mart.carrier_month": "2013-02",
    "mart.carrier_share": "2013-02-20",  # through the month
    "mart.airport_day": "2013-02-09",
    "mart.flight_weather": "2013-02-09",
    "mart.weather_impact": "2013-02-09",
    "mart.route_7d": "2013-02-15",  # the last of the seven days that hold the 9th
    "mart.route_summary": "all",
    "mart.aircraft_day": "2013-02-09",
    "mart.aircraft_hours": "2013-03-31",  # and every day until then
}
UNCHANGED = {
    "mart.carrier_day": "2013-02-10",
    "mart.carrier_week": "2013-W07",
    "mart.carrier_month": "2013-03",
    "mart.carrier_share": "2013-03-01",
    "mart.route_7d": "2013-02-16",
    "mart.aircraft_hours": "2013-02-08",
    "mart.weather_day": "2013-02-09",
}


@pytest.fixture(scope="module")
def landed(landing: Landing, tmp_path_factory: pytest.TempPathFactory) -> tuple[Expected, Expected]:
    """Before and after a correction of 9 February, with the first quarter landed."""
    root = tmp_path_factory.mktemp("storage")
    quarter = [
        date.fromordinal(day) for day in range(date(2013, 1, 1).toordinal(), date(2013, 4, 1).toordinal())
    ]
    landing.land_flights(root, quarter)
    before = Expected(root)
    landing.land_flights(root, [date(2013, 2, 9)], corrected=True)
    return before, Expected(root)


@pytest.mark.parametrize(("asset", "key"), CHANGED.items())
def test_a_correction_changes_what_reads_it(landed: tuple[Expected, Expected], asset: str, key: str) -> None:
    before, after = landed
    assert after.differences(asset, [key], before.rows(asset, [key]))


@pytest.mark.parametrize(("asset", "key"), UNCHANGED.items())
def test_a_correction_changes_nothing_else(landed: tuple[Expected, Expected], asset: str, key: str) -> None:
    before, after = landed
    assert before.rows(asset, [key])
    assert after.differences(asset, [key], before.rows(asset, [key])) == []


def test_every_table_that_depends_on_flights_is_covered() -> None:
    independent = {"nyc.weather", "nyc.airlines", "nyc.airports", "nyc.planes", "mart.weather_day"}
    assert set(CHANGED) | independent == set(EXPECTATIONS)


def test_every_day_has_something_to_correct(landing: Landing, tmp_path: Path) -> None:
    """Whichever day is corrected, its summaries change."""
    days = [date.fromordinal(date(2013, 1, 1).toordinal() + n) for n in range(365)]
    landing.land_flights(tmp_path, days)
    before = Expected(tmp_path)
    landing.land_flights(tmp_path, days, corrected=True)
    after = Expected(tmp_path)
    keys = [str(day) for day in days]
    for asset in ("mart.carrier_day", "mart.airport_day", "mart.weather_impact"):
        changed = set(after.rows(asset, keys)) - set(before.rows(asset, keys))
        assert {row[0] for row in changed} == set(days), asset
