"""The example under a real scheduler: events build a day once, a backfill with a failing day, clearing goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from expected import EXPECTATIONS, Expected

from sr_assets.airflow.local import LocalAirflow
from sr_assets.starrocks.session import Session, connect_url

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
DAY = "2013-02-08"
WEEK = [date(2013, 2, 4) + timedelta(days=n) for n in range(7)]
DIAMOND = ["mart.airport_day", "mart.flight_weather", "mart.weather_day", "mart.weather_impact"]


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, landing: Any) -> Iterator[LocalAirflow]:
    home = tmp_path_factory.mktemp("airflow")
    local = LocalAirflow(
        home,
        ROOT / "dags",
        ROOT / "assets",
        settings={"AIRFLOW__CORE__PARALLELISM": "3", "SR_ASSETS_RECONCILE": "0 0 1 1 *"},
    )
    assert local.storage is not None
    landing.land_dimensions(local.storage)
    landing.land_flights(local.storage, [date.fromisoformat(DAY)])
    with local:
        wait_for(lambda: client_get(local, "/dags")["total_entries"] >= 19, 120)
        assert client_get(local, "/importErrors")["total_entries"] == 0
        yield local


@pytest.fixture
def api(airflow: LocalAirflow) -> Iterator[httpx.Client]:
    with airflow.client() as client:
        yield client


@pytest.fixture
def starrocks(airflow: LocalAirflow) -> Iterator[Session]:
    with connect_url(f"starrocks://root@127.0.0.1:{airflow.starrocks['port']}") as session:
        yield session


def client_get(airflow: LocalAirflow, path: str) -> Any:
    with airflow.client() as client:
        return client.get(path).raise_for_status().json()


def wait_for(condition: Callable[[], Any], seconds: float) -> Any:
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(1)
    return found


def trigger(api: httpx.Client, dag: str, **form: Any) -> str:
    answer = api.post(f"/dags/{dag}/dagRuns", json={"logical_date": None, "conf": form})
    return str(answer.raise_for_status().json()["dag_run_id"])


def end_of(api: httpx.Client, dag: str, run: str, seconds: float = 300) -> str:
    """The run's state once it has ended."""

    def state() -> str | None:
        found = api.get(f"/dags/{dag}/dagRuns/{run}").raise_for_status().json()["state"]
        return found if found in ("success", "failed") else None

    return str(wait_for(state, seconds))


def quiet(api: httpx.Client) -> bool:
    """Whether no run is under way, and none is about to be started by an event."""
    running = api.get("/dags/~/dagRuns", params={"state": ["queued", "running"]}).raise_for_status().json()
    return running["total_entries"] == 0


def built(starrocks: Session, *, since: int = 0) -> Counter[tuple[str, str]]:
    rows = starrocks.query(
        "SELECT asset, partition_key FROM _sr_assets.materializations WHERE status = 'success'"
    )
    return Counter((asset, key) for asset, key in rows[since:])


def standing(starrocks: Session, status: str) -> dict[str, list[str]]:
    rows = starrocks.query(
        "SELECT asset, partition_key FROM _sr_assets.current WHERE status = %s ORDER BY 1, 2", [status]
    )
    found: dict[str, list[str]] = {}
    for asset, key in rows:
        found.setdefault(asset, []).append(key)
    return found


def differences(starrocks: Session, storage: Path | None) -> list[str]:
    """How tables differ from a computation over the original files."""
    expected, found = Expected(storage), []
    done = standing(starrocks, "success")
    for asset in EXPECTATIONS:
        columns = starrocks.query(
            "SELECT COLUMN_NAME FROM information_schema.columns WHERE CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) = %s "
            "ORDER BY ORDINAL_POSITION",
            [asset],
        )
        rows = starrocks.query(f"SELECT {', '.join(f'`{name}`' for (name,) in columns)} FROM {asset}")
        found += [f"{asset}: {line}" for line in expected.differences(asset, done.get(asset, []), rows)]
    return found


def test_events_alone_build_a_day_through_the_diamond_once(api: httpx.Client, starrocks: Session) -> None:
    hours = ",".join(f"{DAY}T{hour:02d}" for hour in range(24))
    for dag in ("nyc.airlines", "nyc.airports", "nyc.planes"):
        assert end_of(api, dag, trigger(api, dag)) == "success"
    runs = [
        ("nyc.flights", trigger(api, "nyc.flights", keys=DAY)),
        ("nyc.weather", trigger(api, "nyc.weather", keys=hours)),
    ]
    for dag, run in runs:
        assert end_of(api, dag, run) == "success"
    wait_for(lambda: ("mart.weather_impact", DAY) in built(starrocks), 240)
    wait_for(lambda: quiet(api), 120)
    counts = built(starrocks)
    for asset in [*DIAMOND, "mart.carrier_day", "mart.aircraft_day"]:
        assert counts[asset, DAY] == 1, asset
    assert set(counts.values()) == {1}
    impact = api.get("/dags/mart.weather_impact/dagRuns").json()["dag_runs"]
    assert {run["run_type"] for run in impact} == {"asset_triggered"}


def test_a_backfill_with_a_failing_day_goes_on_when_cleared(
    api: httpx.Client, starrocks: Session, airflow: LocalAirflow, landing: Any
) -> None:
    storage = airflow.storage
    assert storage is not None
    landing.land_flights(storage, WEEK)
    wednesday = storage / "nycflights" / "flights" / "dt=2013-02-06" / "part-0.csv"
    whole = wednesday.read_text()
    wednesday.write_text("\n".join(whole.splitlines()[:11]) + "\n")  # the feed broke off after ten flights
    form = {"selection": "*", "start": str(WEEK[0]), "end": str(WEEK[-1]), "allow_missing": True}

    run = trigger(api, "sr_backfill", **form)
    assert end_of(api, "sr_backfill", run, 400) == "failed"
    assert standing(starrocks, "failed") == {"nyc.flights": ["2013-02-06"]}
    blocked = standing(starrocks, "blocked")
    assert blocked["mart.airport_day"] == blocked["mart.carrier_day"] == ["2013-02-06"]
    assert blocked["mart.route_7d"] == [str(day) for day in WEEK[2:]]
    assert "mart.weather_day" not in blocked
    done = standing(starrocks, "success")
    assert [key for key in done["mart.airport_day"] if key != "2013-02-06"] == done["mart.airport_day"]
    assert len(done["mart.airport_day"]) == 6

    before = built(starrocks)
    wednesday.write_text(whole)
    cleared = api.post(
        "/dags/sr_backfill/clearTaskInstances",
        json={"dry_run": False, "dag_run_id": run, "only_failed": True, "reset_dag_runs": True},
    )
    assert cleared.raise_for_status().json()["total_entries"] > 0
    assert end_of(api, "sr_backfill", run, 400) == "success"
    assert standing(starrocks, "failed") == standing(starrocks, "blocked") == {}
    assert all(count == before[key] for key, count in built(starrocks).items() if key in before)
    assert differences(starrocks, storage) == []
    states = [
        state for (state,) in starrocks.query("SELECT state FROM _sr_assets.backfills ORDER BY at, state")
    ]
    assert states == ["running", "failed", "success"]


def test_reconcile_starts_what_no_event_told_of(api: httpx.Client, starrocks: Session) -> None:
    starrocks.execute(
        "INSERT INTO nyc.flights SELECT flight_date, 'UA', 9999, origin, destination, tail_number, "
        "scheduled_departure, departed_at, departure_delay, arrival_delay, air_minutes, distance_miles, cancelled "
        "FROM nyc.flights WHERE flight_date = '2013-02-05' LIMIT 1"
    )
    before = built(starrocks)
    assert end_of(api, "sr_reconcile", trigger(api, "sr_reconcile")) == "success"
    stale = {
        ("mart.carrier_day", "2013-02-05"),
        ("mart.weather_impact", "2013-02-05"),
        ("mart.carrier_week", "2013-W06"),
    }
    wait_for(lambda: stale <= {key for key, count in built(starrocks).items() if count > before[key]}, 240)
    wait_for(lambda: quiet(api), 120)
    again = {key for key, count in built(starrocks).items() if count > before[key]}
    assert all(built(starrocks)[key] == before[key] + 1 for key in again)
    assert ("mart.weather_day", "2013-02-05") not in again
    assert not [
        asset for asset, _ in again if asset.startswith("nyc.")
    ]  # who wrote there is for a person to say


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"selection": "nyc.flight"}, "no asset is named 'nyc.flight'; did you mean nyc.flights?"),
        ({"start": "2013-02-10", "end": "2013-02-09"}, "the range is reversed"),
        ({"start": "yesterday"}, "'yesterday' is no partition key"),
    ],
)
def test_a_wrong_form_fails_before_anything_runs(api: httpx.Client, form: dict[str, str], words: str) -> None:
    run = trigger(api, "sr_backfill", **form)
    assert end_of(api, "sr_backfill", run) == "failed"
    log = api.get(
        f"/dags/sr_backfill/dagRuns/{run}/taskInstances/plan/logs/1", headers={"Accept": "application/json"}
    )
    assert words in log.text.replace('\\\\"', '"')
    tasks = api.get(f"/dags/sr_backfill/dagRuns/{run}/taskInstances", params={"limit": 100}).json()[
        "task_instances"
    ]
    assert [t["task_id"] for t in tasks if t["state"] == "success"] == []
