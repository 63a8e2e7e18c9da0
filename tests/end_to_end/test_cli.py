"""The main job from the command line, over the wire: declare, backfill, correct two days, rebuild just that.

Runs the example project as a user does. The rows are compared with a computation over the original files.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from expected import EXPECTATIONS, Expected

from sr_assets.standin import StandIn, StandInConfig
from sr_assets.starrocks.quoting import literals
from sr_assets.starrocks.session import connect_url

ROOT = Path(__file__).parents[2]
FEBRUARY = [date(2013, 2, 1) + timedelta(days=n) for n in range(28)]
RANGE = ("--start", "2013-02-01", "--end", "2013-02-28")
STORM = [date(2013, 2, 8), date(2013, 2, 9)]


@dataclass
class Shell:
    """Runs `sr-assets` with the example project against one server."""

    url: str
    http: str
    folder: Path = ROOT / "assets"

    def run(self, *arguments: str, ok: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "SR_ASSETS_URL": self.url,
            "SR_ASSETS_HTTP": self.http,
            "SR_ASSETS_FOLDER": str(self.folder),
        }
        command = [sys.executable, "-m", "sr_assets.cli.main", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
        assert done.returncode == ok, (
            f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        )
        return done

    def json(self, *arguments: str, ok: int = 0) -> Any:
        return json.loads(self.run(*arguments, "--json", ok=ok).stdout)

    def planned(self, *arguments: str) -> dict[str, list[str]]:
        """The keys that `plan` would build, by asset."""
        found: dict[str, list[str]] = {}
        for layer in self.json("plan", *arguments)["layers"]:
            for batch in layer:
                found.setdefault(batch["asset"], []).extend(batch["keys"])
        return found


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("storage")


@pytest.fixture(scope="module")
def server(storage: Path) -> Iterator[StandIn]:
    with StandIn(StandInConfig(storage_root=storage)) as standin:
        yield standin


@pytest.fixture(scope="module")
def landing() -> Any:
    sys.path.insert(0, str(ROOT / "assets"))
    return importlib.import_module("_landing")


@pytest.fixture(scope="module")
def shell(server: StandIn, storage: Path, landing: Any) -> Shell:
    landing.land_dimensions(storage)
    landing.land_flights(storage, FEBRUARY)
    return Shell(f"starrocks://root@127.0.0.1:{server.port}", f"http://127.0.0.1:{server.http_port}")


def days(first: str, count: int) -> list[str]:
    return [(date.fromisoformat(first) + timedelta(days=n)).isoformat() for n in range(count)]


def differences(shell: Shell, storage: Path) -> list[str]:
    """How the tables in the server differ from the expected rows of what was landed."""
    expected, found = Expected(storage), []
    with connect_url(shell.url) as session:
        for asset, expectation in EXPECTATIONS.items():
            keys = [r["key"] for r in built(session, asset)]
            columns = session.query(
                "SELECT COLUMN_NAME FROM information_schema.columns WHERE CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) = %s"
                " ORDER BY ORDINAL_POSITION",
                [asset],
            )
            names = ", ".join(f"`{name}`" for (name,) in columns)
            rows = session.query(f"SELECT {names} FROM {asset}")
            found += [f"{asset}: {line}" for line in expected.differences(asset, keys, rows)]
            assert rows, asset
            assert expectation is not None
    return found


def built(session: Any, asset: str) -> list[dict[str, Any]]:
    rows = session.query(
        f"SELECT partition_key FROM _sr_assets.current WHERE asset IN ({literals([asset])}) AND status = 'success'"
    )
    return [{"key": key} for (key,) in rows]


#: What two corrected days of flights make stale, spelled out.
STALE = {
    "mart.aircraft_day": ["2013-02-08", "2013-02-09"],
    "mart.airport_day": ["2013-02-08", "2013-02-09"],
    "mart.carrier_day": ["2013-02-08", "2013-02-09"],
    "mart.flight_weather": ["2013-02-08", "2013-02-09"],
    "mart.route_7d": days("2013-02-08", 8),
    "mart.route_summary": ["all"],
    "mart.aircraft_hours": days("2013-02-08", 21),
    "mart.carrier_month": ["2013-02"],
    "mart.carrier_week": ["2013-W06"],
    "mart.weather_impact": ["2013-02-08", "2013-02-09"],
    "mart.carrier_share": days("2013-02-01", 28),
}

#: How many more are stale because they were built although January or March is missing.
BUILT_ON_MISSING = {"mart.route_7d": 6, "mart.aircraft_hours": 7, "mart.carrier_week": 2}


def test_the_main_job(shell: Shell, storage: Path, landing: Any) -> None:
    # the first days have no week before them: they are built from what there is
    first = shell.json("backfill", "*", *RANGE, "--allow-missing", "--workers", "3")
    assert {result["outcome"] for result in first["results"]} == {"built"}
    assert differences(shell, storage) == []
    assert shell.planned("*", *RANGE) == {}

    landing.land_flights(storage, STORM, corrected=True)
    shell.run("backfill", "nyc.flights", "--start", "2013-02-08", "--end", "2013-02-09", "--mode", "all")
    assert shell.planned("*", *RANGE) == STALE

    status = {row["asset"]: row for row in shell.json("status")}
    for asset, keys in STALE.items():
        assert status[asset]["stale"] == len(keys) + BUILT_ON_MISSING.get(asset, 0), asset
    assert status["nyc.weather"]["stale"] == status["mart.weather_day"]["stale"] == 0

    why = shell.json("why", "mart.carrier_share", "2013-02-28")
    chain = []
    while why is not None:
        chain.append((why["asset"], why["key"]))
        reason = why["reasons"][0]
        origins, why = reason["origins"], reason["through"]
    assert chain == [
        ("mart.carrier_share", "2013-02-28"),
        ("mart.carrier_month", "2013-02"),
        ("mart.carrier_day", "2013-02-08"),
    ]
    assert [(o["asset"], o["key"], o["change"]) for o in origins] == [
        ("nyc.flights", "2013-02-08", "rewritten")
    ]

    rebuilt = shell.json("backfill", "*", *RANGE)
    assert {result["outcome"] for result in rebuilt["results"]} == {"built"}
    assert len(rebuilt["results"]) == sum(map(len, STALE.values()))
    assert shell.planned("*", *RANGE) == {}
    assert differences(shell, storage) == []


def test_exit_codes_tell_what_happened(shell: Shell, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = probe.getsockname()[1]
    nobody = Shell(f"starrocks://root@127.0.0.1:{closed}", shell.http)
    done = nobody.run("status", ok=3)
    assert f"127.0.0.1:{closed}" in done.stderr
    assert "query port" in done.stderr
    assert "Traceback" not in done.stderr

    denied = Shell(shell.url.replace("root@", "root:swordfish@"), shell.http).run("status", ok=3)
    assert "Access denied" in denied.stderr
    assert "swordfish" not in denied.stderr + denied.stdout

    assert "did you mean nyc.flights?" in shell.run("why", "nyc.flight", "2013-02-08", ok=2).stderr
    assert "does not exist" in shell.run("why", "nyc.flights", "2014-02-08", ok=2).stderr
    assert "reversed" in shell.run("plan", "*", "--start", "2013-02-02", "--end", "2013-02-01", ok=2).stderr
    assert "^" in shell.run("plan", "nyc.flights and", ok=2).stderr
    assert "no folder" in Shell(shell.url, shell.http, tmp_path / "nowhere").run("list", ok=2).stderr

    (tmp_path / "broken.py").write_text(
        "from sr_assets import table\nt = table('a.b', sql='SELECT 1 AS x FROM a.c')\n"
    )
    done = Shell(shell.url, shell.http, tmp_path).run("list", ok=1)
    assert "broken.py:2" in done.stderr
    assert "a.c, which is not declared" in done.stderr
