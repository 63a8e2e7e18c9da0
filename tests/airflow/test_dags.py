"""The DAGs themselves: their shape, that nothing in them changes, and single runs without a scheduler."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).parents[2]

PROJECT = """
from sr_assets import Column, Daily, not_null, source, table

DAYS = Daily("dt", start="2024-01-01", end="2024-01-06")
COLUMNS = [Column("dt", "DATE", nullable=False), Column("v", "BIGINT")]
src = source("{db}.src", partitions=DAYS, columns=COLUMNS)
day = table("{db}.day", partitions=DAYS, columns=COLUMNS, batch=2, checks=[not_null("v")], schedule="0 3 * * *",
    sql="SELECT dt, SUM(v) AS v FROM {db}.src WHERE dt = '{{{{ partition.start }}}}' GROUP BY dt")
both = table("{db}.both", partitions=DAYS, columns=COLUMNS,
    sql="SELECT dt, v FROM {db}.day WHERE dt = '{{{{ partition.start }}}}'")
"""

DAG_FILE = """
from pathlib import Path
from sr_assets.airflow.factory import build_dags
globals().update(build_dags(Path({folder!r})))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(os.environ["AIRFLOW_HOME"])


@pytest.fixture(scope="module")
def example(home: Path) -> dict[str, Any]:
    from sr_assets.airflow.factory import build_dags

    return build_dags(ROOT / "assets")


def test_every_asset_has_a_dag_that_its_upstreams_start(example: dict[str, Any]) -> None:
    assert len(example) == 19
    impact = example["mart.weather_impact"]
    assert {a.name for a in impact.schedule.objects} == {
        "mart.airport_day",
        "mart.flight_weather",
        "mart.weather_day",
    }
    assert type(impact.schedule).__name__ == "AssetAny"
    assert example["nyc.flights"].schedule is None
    [outlet] = impact.get_task("materialize").partial_kwargs["outlets"]
    assert (outlet.name, outlet.uri) == (
        "mart.weather_impact",
        "starrocks://starrocks_default/mart/weather_impact",
    )
    assert impact.max_active_runs == 1
    assert "FROM" in impact.doc_md


def test_the_backfill_follows_the_asset_graph(example: dict[str, Any]) -> None:
    backfill = example["sr_backfill"]
    assert backfill.get_task("mart.weather_impact").upstream_task_ids == {
        "batches.mart.weather_impact",
        "mart.airport_day",
        "mart.flight_weather",
        "mart.weather_day",
    }
    assert len(backfill.task_ids) == 2 + 2 * 17


def test_dags_serialise_the_same_twice(example: dict[str, Any]) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    from sr_assets.airflow.factory import build_dags

    again = build_dags(ROOT / "assets")
    for dag_id, dag in example.items():
        one, other = (
            json.dumps(DagSerialization.to_dict(d), sort_keys=True, default=str) for d in (dag, again[dag_id])
        )
        assert one == other, dag_id


def test_a_task_process_builds_only_its_own_dag(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sr_assets.airflow import factory

    monkeypatch.setattr(factory, "get_parsing_context", lambda: SimpleNamespace(dag_id="mart.route_7d"))
    assert list(factory.build_dags(ROOT / "assets")) == ["mart.route_7d"]


def test_a_broken_asset_leaves_the_other_dags_and_is_shown(home: Path, tmp_path: Path) -> None:
    from sr_assets.airflow.factory import build_dags, raise_problems
    from sr_assets.errors import DeclarationError

    (tmp_path / "good.py").write_text(PROJECT.format(db="x"))
    (tmp_path / "bad.py").write_text(
        "from sr_assets import table\nt = table('x.bad', sql='SELECT nope FROM x.day')\n"
    )
    assert set(build_dags(tmp_path)) == {"x.day", "x.both", "sr_backfill", "sr_reconcile"}
    with pytest.raises(DeclarationError, match=r"x.bad .*bad.py:2.*unknown column nope"):
        raise_problems(tmp_path)


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A small project on a stand-in, its DAG file in Airflow's folder, and Airflow's database."""
    from airflow.utils.db import initdb

    from sr_assets.standin import StandIn, StandInConfig
    from sr_assets.starrocks.session import connect_url

    folder = tmp_path_factory.mktemp("project")
    (folder / "assets.py").write_text(PROJECT.format(db="small"))
    dag_file = home / "dags" / "project.py"
    dag_file.write_text(DAG_FILE.format(folder=str(folder)))
    with StandIn(StandInConfig()) as standin, pytest.MonkeyPatch.context() as patch:
        connection = {"conn_type": "mysql", "host": "127.0.0.1", "port": standin.port, "login": "root"}
        patch.setenv("AIRFLOW_CONN_STARROCKS_DEFAULT", json.dumps(connection))
        initdb()
        with connect_url(f"starrocks://root@127.0.0.1:{standin.port}") as session:
            session.execute("CREATE DATABASE small")
            session.execute(
                "CREATE TABLE small.src (dt DATE NOT NULL, v BIGINT) DUPLICATE KEY (dt) PARTITION BY RANGE(dt) () "
                "DISTRIBUTED BY RANDOM"
            )
            session.execute(
                "ALTER TABLE small.src ADD PARTITIONS START ('2024-01-01') END ('2024-01-06') EVERY (INTERVAL 1 DAY)"
            )
            session.execute(
                "INSERT INTO small.src VALUES " + ", ".join(f"('2024-01-0{n}', {n})" for n in range(1, 6))
            )
            yield SimpleNamespace(session=session, file=dag_file)


def run(project: Any, dag_id: str, conf: dict[str, Any] | None = None) -> Any:
    from airflow.dag_processing.dagbag import DagBag

    dag = DagBag(dag_folder=str(project.file)).dags[dag_id]
    return dag.test(run_conf=conf or {})


def values(project: Any, table: str) -> list[int]:
    return [v for (v,) in project.session.query(f"SELECT v FROM small.{table} ORDER BY dt")]


def states(dag_run: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for ti in dag_run.get_task_instances():
        found.setdefault(ti.task_id, []).append(str(ti.state))
    return found


def test_runs_of_an_asset_and_of_a_backfill(project: Any) -> None:
    assert run(project, "sr_backfill", {"dry_run": True}).state == "success"
    assert project.session.query("SELECT state FROM _sr_assets.backfills") == [("planned",)]
    assert project.session.query("SELECT COUNT(*) FROM _sr_assets.materializations") == [(0,)]

    first = run(project, "small.day", {"start": "2024-01-01", "end": "2024-01-03"})
    assert states(first)["materialize"] == ["success", "success"]
    assert values(project, "day") == [1, 2, 3]
    assert states(run(project, "small.day"))["materialize"] == ["success"]  # what is missing, by itself
    assert values(project, "day") == [1, 2, 3, 4, 5]
    assert states(run(project, "small.day"))["materialize"] == ["skipped"]

    assert run(project, "sr_backfill", {"selection": "small.both", "mode": "all"}).state == "success"
    assert values(project, "both") == [1, 2, 3, 4, 5]
    assert run(project, "small.day", {"keys": "2024-02-30"}).state == "failed"
