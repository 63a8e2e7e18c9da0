"""One DAG an asset: `plan` says which partitions are stale and ready, `materialize` builds them, batch by batch.

It is started by its upstream assets' events, by a cron, by `sr_reconcile`, or by hand with a form.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import (
    DAG,
    Asset,
    AssetAny,
    AssetOrTimeSchedule,
    CronTriggerTimetable,
    Param,
    get_current_context,
    task,
)

from sr_assets.airflow.connection import Place
from sr_assets.airflow.work import build_batch, plan_asset
from sr_assets.assets import Sql
from sr_assets.compile import Node
from sr_assets.executor import Outcome
from sr_assets.graph import AssetGraph

#: An automatic run that would build more partitions than this fails and leaves it to a person.
MAX_AUTOMATIC = 1000

_FORM = {
    "keys": Param(
        "", type="string", title="Partitions", description="Keys with commas between them; empty: by range."
    ),
    "start": Param(
        "", type="string", title="Start", description="First partition, or day, of a range (inclusive)."
    ),
    "end": Param(
        "", type="string", title="End", description="Last partition, or day, of a range (inclusive)."
    ),
    "force": Param(False, type="boolean", title="Force", description="Build fresh partitions again."),
}


def airflow_asset(name: str, place: Place) -> Asset:
    """The Airflow asset of a table: named as the table, with a URI that holds the connection's name and no host."""
    database, _, table = name.partition(".")
    return Asset(name=name, uri=f"starrocks://{place.connection}/{database}/{table}")


def asset_dag(place: Place, graph: AssetGraph, name: str) -> DAG:
    """The DAG of one asset; its id is the table's name."""
    node = graph[name]
    with DAG(
        dag_id=name,
        schedule=_schedule(place, graph, node),
        catchup=False,
        max_active_runs=1,
        description=node.asset.description or None,
        doc_md=_documentation(node),
        tags=["sr-assets", *node.asset.tags, *filter(None, [node.asset.group])],
        default_args={
            "owner": node.asset.owner or "airflow",
            "retries": 5,
            "retry_delay": timedelta(seconds=20),
        },
        params=_FORM,
    ) as dag:

        @task
        def plan() -> list[dict[str, Any]]:
            context = get_current_context()
            run_id = _run_id(context)
            return plan_asset(place, name, context["params"], run_id, MAX_AUTOMATIC)

        @task(
            outlets=[airflow_asset(name, place)],
            map_index_template="{{ label }}",
            max_active_tis_per_dagrun=4,
        )
        def materialize(batch: dict[str, Any]) -> None:
            context = get_current_context()
            context["label"] = batch["label"]  # type: ignore[typeddict-unknown-key]
            result = build_batch(place, name, batch, _run_id(context), owner_name(context))
            built = result.of(Outcome.BUILT)
            context["outlet_events"][airflow_asset(name, place)].extra = {
                "partitions": [one.key for one in built],
                "rows": sum(one.rows or 0 for one in built),
                "run": _run_id(context),
            }

        materialize.expand(batch=plan())
    return dag


def _run_id(context: Any) -> str:
    return run_name(context["dag"].dag_id, context["run_id"])


def run_name(dag_id: str, run_id: str) -> str:
    """The name of an Airflow run in the ledger."""
    return f"airflow:{dag_id}:{run_id}"


def owner_name(context: Any) -> str:
    """Who claims: the same for every try of a task instance."""
    ti = context["ti"]
    return f"{run_name(ti.dag_id, ti.run_id)}/{ti.task_id}/{ti.map_index}"


def _schedule(place: Place, graph: AssetGraph, node: Node) -> Any:
    upstream = [airflow_asset(name, place) for name in graph.upstream(node.name)]
    cron = node.asset.schedule and CronTriggerTimetable(node.asset.schedule, timezone=_timezone(node))
    if upstream and cron:
        return AssetOrTimeSchedule(timetable=cron, assets=AssetAny(*upstream))
    if upstream:
        return AssetAny(*upstream)
    return cron or None


def _timezone(node: Node) -> str:
    return getattr(node.asset.partitions, "timezone", "UTC")


def _documentation(node: Node) -> str:
    asset = node.asset
    lines = [
        f"# {asset.name}",
        asset.description,
        f"Declared at line {asset.location.line} of {asset.location.file.name}.",
    ]
    if node.upstreams:
        lines.append("Reads " + ", ".join(f"`{name}`" for name in node.upstreams) + ".")
    if isinstance(asset.recipe, Sql) and node.query is not None:
        lines += ["```sql", node.query.template.strip(), "```"]
    return "\n\n".join(line for line in lines if line)
