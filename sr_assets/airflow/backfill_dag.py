"""`sr_backfill`: a run is one backfill of a selection and a range.

The shape is static, a mapped task an asset in the order of the asset graph; what they map over comes from the
plan that the first task makes and keeps in the ledger. A task begins when those before it have ended, however
they ended: each batch asks the ledger whether what it reads is fit. So a failed partition blocks only its
readers, and clearing the failed tasks goes on with just them.

The tasks have no outlets: a backfill of months would wake every reader once a batch. Readers outside of the
selection are started by `sr_reconcile`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param, TriggerRule, get_current_context, task

from sr_assets.airflow.asset_dags import owner_name, run_name
from sr_assets.airflow.connection import Place
from sr_assets.airflow.work import build_batch, end_backfill, plan_backfill
from sr_assets.graph import AssetGraph
from sr_assets.planner.plan import Mode

DAG_ID = "sr_backfill"

_FORM = {
    "selection": Param(
        "*",
        type="string",
        title="Assets",
        description="Such as nyc.flights+ (with all that reads it) or group:carriers.",
    ),
    "start": Param(
        "", type="string", title="Start", description="First partition, or day, of the range (inclusive)."
    ),
    "end": Param(
        "", type="string", title="End", description="Last partition, or day, of the range (inclusive)."
    ),
    "mode": Param(
        "stale",
        enum=[str(mode) for mode in Mode],
        title="Mode",
        description="all builds fresh partitions again.",
    ),
    "allow_missing": Param(
        False,
        type="boolean",
        title="Allow missing",
        description="Build although upstream partitions are missing.",
    ),
    "dry_run": Param(False, type="boolean", title="Dry run", description="Only make the plan, and keep it."),
    "note": Param("", type="string", title="Note", description="Kept in the ledger."),
}


def backfill_dag(place: Place, graph: AssetGraph) -> DAG:
    """The backfill DAG over all assets that can be built."""
    with DAG(
        dag_id=DAG_ID,
        schedule=None,
        catchup=False,
        max_active_runs=4,
        description="Builds a range of a selection of assets, in topological order.",
        doc_md=__doc__,
        tags=["sr-assets"],
        # A batch that met another run on its partitions is tried again; what failed for good is not.
        default_args={"retries": 5, "retry_delay": timedelta(seconds=20)},
        params=_FORM,
    ) as dag:

        @task(retries=0)
        def plan() -> dict[str, list[dict[str, Any]]]:
            context = get_current_context()
            link = f"/dags/{DAG_ID}/runs/{context['run_id']}"
            return plan_backfill(place, context["params"], _run_id(context), link)

        planned = plan()
        names = [name for name in graph.order if not graph[name].asset.external]
        builds = {name: _asset_task(place, name, planned) for name in names}
        for name in names:
            for upstream in graph.upstream(name):
                if upstream in builds:
                    builds[upstream] >> builds[name]

        @task(trigger_rule=TriggerRule.ALL_DONE, retries=0)
        def end() -> None:
            context = get_current_context()
            failed = _failed_tasks(context, names)
            end_backfill(place, context["params"], _run_id(context), failed)

        list(builds.values()) >> end()
    return dag


def _asset_task(place: Place, name: str, planned: Any) -> Any:
    """The mapped task of one asset, after one that takes its batches from the plan."""

    @task(task_id=f"batches.{name}", retries=0)
    def batches(plan: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        return plan.get(name, [])

    @task(
        task_id=name,
        map_index_template="{{ label }}",
        trigger_rule=TriggerRule.ALL_DONE,
        max_active_tis_per_dagrun=4,
    )
    def build(batch: dict[str, Any]) -> None:
        context = get_current_context()
        context["label"] = batch["label"]  # type: ignore[typeddict-unknown-key]
        build_batch(place, name, batch, _run_id(context), owner_name(context))

    return build.expand(batch=batches(planned))


def _run_id(context: Any) -> str:
    return run_name(DAG_ID, context["run_id"])


def _failed_tasks(context: Any, names: list[str]) -> list[str]:
    """The assets' tasks (and the plan's) that failed in this run."""
    ti = context["ti"]
    states = ti.get_task_states(dag_id=DAG_ID, task_ids=["plan", *names], run_ids=[context["run_id"]])
    tasks = {"plan", *names}
    return sorted(
        {
            task if task in tasks else task.rpartition("_")[0]  # a mapped one is reported as `name_index`
            for task, state in states.get(context["run_id"], {}).items()
            if state in ("failed", "upstream_failed")
        }
    )
