"""All DAGs of a project, for a file in Airflow's DAG folder."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG, get_parsing_context

from sr_assets.airflow.asset_dags import asset_dag
from sr_assets.airflow.backfill_dag import DAG_ID as BACKFILL
from sr_assets.airflow.backfill_dag import backfill_dag
from sr_assets.airflow.connection import DEFAULT_CONNECTION, Place
from sr_assets.airflow.reconcile_dag import DAG_ID as RECONCILE
from sr_assets.airflow.reconcile_dag import reconcile_dag
from sr_assets.errors import DeclarationError
from sr_assets.project import load_project


def build_dags(
    folder: Path, *, connection: str = DEFAULT_CONNECTION, reconcile: str = "*/5 * * * *"
) -> dict[str, DAG]:
    """The DAGs of the sound assets below `folder`, by id. A task's process builds only the DAG that it runs."""
    place = Place(folder, connection)
    graph = load_project(folder).graph
    only = get_parsing_context().dag_id

    def wanted(dag_id: str) -> bool:
        return only is None or only == dag_id

    dags = {
        name: asset_dag(place, graph, name)
        for name in graph.order
        if wanted(name) and not graph[name].asset.external
    }
    if wanted(BACKFILL):
        dags[BACKFILL] = backfill_dag(place, graph)
    if wanted(RECONCILE):
        dags[RECONCILE] = reconcile_dag(place, reconcile)
    return dags


def raise_problems(folder: Path) -> None:
    """Raise one DeclarationError with everything that is wrong below `folder`.

    In a DAG file of its own, it makes Airflow show the problems as an import error while the sound assets'
    DAGs, in another file, go on.
    """
    problems = load_project(folder).problems
    if problems:
        raise DeclarationError("\n".join(map(str, problems)))
