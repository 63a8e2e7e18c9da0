"""`sr_reconcile`: starts the asset DAGs that have stale and ready partitions and no run.

Airflow's asset events can be lost (issues #56050 and #70972); what one lost is found here.
"""

from __future__ import annotations

from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, get_current_context, task

from sr_assets.airflow.asset_dags import run_name
from sr_assets.airflow.connection import Place, open_service
from sr_assets.airflow.work import load_graph, to_start

DAG_ID = "sr_reconcile"


def reconcile_dag(place: Place, schedule: str) -> DAG:
    """The DAG; `schedule` is a cron expression."""
    with DAG(
        dag_id=DAG_ID,
        schedule=schedule,
        catchup=False,
        max_active_runs=1,
        description="Starts assets that are stale and ready, and that no event has started.",
        doc_md=__doc__,
        tags=["sr-assets"],
    ) as dag:

        @task
        def find() -> list[dict[str, Any]]:
            context = get_current_context()
            run_id = run_name(DAG_ID, context["run_id"])
            service = open_service(place, load_graph(place), run_id, f"{run_id}/find")
            ti: Any = context["ti"]
            return [
                {"trigger_dag_id": name, "trigger_run_id": f"{context['run_id']}:{name}"}
                for name in to_start(service)
                if not ti.get_dr_count(dag_id=name, states=["queued", "running"])
            ]

        TriggerDagRunOperator.partial(
            task_id="start", skip_when_already_exists=True, map_index_template="{{ task.trigger_dag_id }}"
        ).expand_kwargs(find())
    return dag
