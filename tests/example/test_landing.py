"""What the landing helper writes is the package's data, split by day, and corrections are what they say."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from tests.example.conftest import Landing
from tests.example.expected import package_data

YEAR = [date(2013, 1, 1) + timedelta(days=n) for n in range(365)]
STORM = date(2013, 2, 8)


def flights_file(root: Path, day: date) -> Path:
    return root / "nycflights" / "flights" / f"dt={day}" / "part-0.csv"


def read(root: Path, day: date) -> list[dict[str, str]]:
    with flights_file(root, day).open(newline="") as file:
        return list(csv.DictReader(file))


def files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_landed_year_is_the_published_data(landing: Landing, tmp_path: Path) -> None:
    counts = landing.land_flights(tmp_path, YEAR)
    landed = []
    for day in YEAR:
        header, *lines = flights_file(tmp_path, day).read_text().splitlines()
        assert all(line.startswith(f"2013,{day.month},{day.day},") for line in lines)
        assert counts[day] == len(lines)
        landed += lines
    with zipfile.ZipFile(package_data() / "flights.csv.zip") as archive:
        published = archive.read("flights.csv").decode().splitlines()
    assert header == published[0]
    assert sorted(landed) == sorted(published[1:])
    assert sum(counts.values()) == 336_776  # as the data set's documentation says


def test_dimensions_are_the_published_files(landing: Landing, tmp_path: Path) -> None:
    assert landing.land_dimensions(tmp_path) == {"airlines": 16, "airports": 1458, "planes": 3322}
    for name in ("airlines", "airports", "planes"):
        landed = tmp_path / "nycflights" / name / f"{name}.csv"
        assert landed.read_bytes().splitlines() == (package_data() / f"{name}.csv").read_bytes().splitlines()


@pytest.mark.parametrize("corrected", [False, True])
def test_landing_again_changes_nothing(landing: Landing, tmp_path: Path, corrected: bool) -> None:
    landing.land_dimensions(tmp_path)
    landing.land_flights(tmp_path, [STORM], corrected=corrected)
    first = files(tmp_path)
    landing.land_dimensions(tmp_path)
    landing.land_flights(tmp_path, [STORM], corrected=corrected)
    assert files(tmp_path) == first


def test_a_correction_can_be_taken_back(landing: Landing, tmp_path: Path) -> None:
    landing.land_flights(tmp_path, [STORM])
    first = files(tmp_path)
    landing.land_flights(tmp_path, [STORM], corrected=True)
    assert files(tmp_path) != first
    landing.land_flights(tmp_path, [STORM])
    assert files(tmp_path) == first


def test_a_failed_write_leaves_the_landed_file(
    landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.land_flights(tmp_path, [STORM])
    first = files(tmp_path)

    def refuse(self: Path, target: Path) -> Path:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no space"):
        landing.land_flights(tmp_path, [STORM], corrected=True)
    assert files(tmp_path) == first


def test_a_day_outside_of_the_data_is_refused(landing: Landing, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no flights of 2014-01-01"):
        landing.land_flights(tmp_path, [date(2014, 1, 1)])


@pytest.mark.parametrize("day", [date(2013, 1, 1), STORM, date(2013, 11, 3), date(2013, 12, 25)], ids=str)
def test_a_correction_moves_united_and_finds_flights(landing: Landing, tmp_path: Path, day: date) -> None:
    landing.land_flights(tmp_path, [day])
    before = read(tmp_path, day)
    landing.land_flights(tmp_path, [day], corrected=True)
    after = read(tmp_path, day)
    assert len(after) == len(before)
    changes = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    found = [(old, new) for old, new in changes if old["dep_time"] == "NA"]
    moved = [(old, new) for old, new in changes if old["dep_time"] != "NA"]

    lost = sum(row["dep_time"] == "NA" and row["tailnum"] != "NA" for row in before)
    assert len(found) == min(3, lost)
    assert all(new["dep_delay"] == new["arr_delay"] == "120" and int(new["air_time"]) > 0 for _, new in found)
    assert moved
    for old, new in moved:
        assert (old["carrier"], int(old["flight"]) % 3) == ("UA", 0)
        later = [int(new[name]) - int(old[name]) for name in ("dep_delay", "arr_delay", "air_time")]
        assert later == [4, 9, 5]
    identity = ("carrier", "flight", "tailnum", "origin", "dest", "sched_dep_time", "time_hour")
    assert all(old[name] == new[name] for old, new in changes for name in identity)


def test_corrected_clock_times_agree_with_the_delays(landing: Landing, tmp_path: Path) -> None:
    days = YEAR[::5]
    landing.land_flights(tmp_path, days, corrected=True)
    for day in days:
        for row in read(tmp_path, day):
            if row["dep_time"] == "NA":
                continue
            scheduled = int(row["hour"]) * 60 + int(row["minute"])
            departed = int(row["dep_time"]) // 100 * 60 + int(row["dep_time"]) % 100
            assert (scheduled + int(row["dep_delay"]) - departed) % 1440 == 0
            assert 1 <= int(row["dep_time"]) <= 2400
            if row["arr_delay"] != "NA":
                due = int(row["sched_arr_time"]) // 100 * 60 + int(row["sched_arr_time"]) % 100
                arrived = int(row["arr_time"]) // 100 * 60 + int(row["arr_time"]) % 100
                assert (due + int(row["arr_delay"]) - arrived) % 1440 == 0, row


# first hour, hours, observations
WEATHER = [
    ("2013-02-08T00", 24, 72),
    ("2013-01-01T00", 1, 0),  # before the first observation
    ("2013-03-10T02", 1, 0),  # summer time begins: this hour does not exist
    ("2013-11-03T01", 1, 6),  # summer time ends: this hour comes twice
    ("2013-10-25T00", 24, 60),  # four hours were not observed
    ("2013-12-31T00", 24, 0),  # after the last observation
    ("2013-01-01T00", 365 * 24, 26_115),
]


@pytest.mark.parametrize(("first", "hours", "count"), WEATHER, ids=lambda value: str(value))
def test_weather_by_local_hour(landing: Landing, first: str, hours: int, count: int) -> None:
    start = datetime.fromisoformat(first)
    rows = landing.weather(start, start + timedelta(hours=hours))
    assert len(rows) == count
    moments = [datetime(*(int(row[part]) for part in ("year", "month", "day", "hour"))) for row in rows]  # type: ignore[arg-type]
    assert all(start <= moment < start + timedelta(hours=hours) for moment in moments)
    assert moments == sorted(moments)
    assert len({(row["origin"], row["time_hour"]) for row in rows}) == count


def test_weather_is_the_published_data(landing: Landing) -> None:
    text = (package_data() / "weather.csv").read_text()
    published = list(csv.DictReader(io.StringIO(text)))
    read_rows = landing.weather(datetime(2013, 1, 1), datetime(2014, 1, 1))

    def by_station(row: dict[str, str]) -> tuple[str, str]:
        return row["time_hour"], row["origin"]

    assert sorted(read_rows, key=by_station) == sorted(published, key=by_station)
