"""What the tasks do, apart from their DAGs: plan an asset, carry out a batch, plan a backfill, reconcile."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from sr_assets.airflow.connection import Place, open_service
from sr_assets.errors import SelectionError
from sr_assets.executor import BatchResult, Outcome, materialize
from sr_assets.graph import AssetGraph
from sr_assets.ledger import Backfill
from sr_assets.planner.automation import starts_by_itself
from sr_assets.planner.plan import Batch, Mode, Plan, Target, make_plan
from sr_assets.planner.ranges import parse_range
from sr_assets.project import load_project
from sr_assets.service import Request, Service

_log = logging.getLogger(__name__)

#: Airflow's default for the number of map indexes of one task (core.max_map_length).
MAX_BATCHES = 1024

#: A batch as it goes through XCom: keys, label, and whether fresh partitions are built too.
BatchArgument = dict[str, Any]


def load_graph(place: Place) -> AssetGraph:
    """The sound assets; the others are reported by the DAG file."""
    return load_project(place.folder).graph


def plan_asset(
    place: Place, name: str, form: Mapping[str, Any], run_id: str, max_automatic: int
) -> list[BatchArgument]:
    """Batches of one asset: those that the form asks for, or else all that is stale and ready now.

    Fails, without retries, for a wrong form, and where an automatic run would build more than
    `max_automatic` partitions.
    """
    graph = load_graph(place)
    service = open_service(place, graph, run_id, f"{run_id}/plan")
    force = bool(form.get("force"))
    try:
        target = _asset_target(name, form, force=force)
        state, stale = service.staleness([name])
        plan = make_plan(state, target, stale)
    except SelectionError as error:
        raise AirflowFailException(str(error)) from error
    _log_plan(plan)
    if target.automatic and plan.size > max_automatic:
        raise AirflowFailException(
            f"{name}: {plan.size} partitions are stale and ready, more than an automatic run may build "
            f"({max_automatic}). Start sr_backfill for them."
        )
    return _arguments(plan.batches, force=force)


def _asset_target(name: str, form: Mapping[str, Any], *, force: bool) -> Target:
    keys = tuple(key.strip() for key in str(form.get("keys") or "").split(",") if key.strip())
    start, end = parse_range(form.get("start") or None, form.get("end") or None)
    if not (keys or start or end or force):
        return Target(frozenset({name}), automatic=True)
    chosen = {name: keys} if keys else {}
    return Target(frozenset({name}), start, end, Mode.ALL if force else Mode.STALE, chosen)


def _arguments(
    batches: tuple[Batch, ...], *, force: bool, allow_missing: bool = False
) -> list[BatchArgument]:
    if len(batches) > MAX_BATCHES:
        raise AirflowFailException(
            f"{batches[0].asset}: {len(batches)} batches are more than {MAX_BATCHES}: raise the asset's batch size, "
            "or take a smaller range"
        )
    return [
        {"keys": list(batch.keys), "label": batch.label, "force": force, "allow_missing": allow_missing}
        for batch in batches
    ]


def build_batch(place: Place, name: str, batch: BatchArgument, run_id: str, owner: str) -> BatchResult:
    """Carry a batch out. Raises, after all that could be built was recorded, where a partition was not built.

    A failed partition is not tried again by itself; one that only waits for another run is.
    """
    service = open_service(place, load_graph(place), run_id, owner)
    result = materialize(
        service.run, name, batch["keys"], force=batch["force"], allow_missing=batch["allow_missing"]
    )
    for one in result.results:
        _log.info(
            "%s %s: %s%s", one.asset, one.key, one.outcome.value, f", {one.message}" if one.message else ""
        )
    bad = result.of(Outcome.FAILED, Outcome.BLOCKED)
    if bad:
        text = "\n".join(f"{one.key} {one.outcome.value}: {one.message}" for one in bad)
        waits_only = all(one.message and "another run" in one.message for one in bad)
        raise (AirflowException if waits_only else AirflowFailException)(
            f"{name}: {len(bad)} not built\n{text}"
        )
    return result


def plan_backfill(
    place: Place, form: Mapping[str, Any], run_id: str, link: str
) -> dict[str, list[BatchArgument]]:
    """Batches by asset for a backfill; the plan is kept in the ledger. A dry run gives none."""
    graph = load_graph(place)
    service = open_service(place, graph, run_id, f"{run_id}/plan")
    request = backfill_request(form)
    try:
        plan = service.plan(request)
    except SelectionError as error:
        raise AirflowFailException(str(error)) from error
    _log_plan(plan)
    dry = bool(form.get("dry_run"))
    ledger = service.run.ledger
    ledger.ensure()
    state = "planned" if dry else "running"
    note = str(form.get("note") or "")
    ledger.append_backfill(
        Backfill(run_id, ledger.now(), state, request.title, request.to_json(), plan.to_json(), link, note)
    )
    if dry:
        return {}
    service.create_tables(sorted({batch.asset for batch in plan.batches}))
    force = request.mode == Mode.ALL
    return {
        name: _arguments(_in_order(graph, plan, name), force=force, allow_missing=request.allow_missing)
        for name in {batch.asset for batch in plan.batches}
    }


def _in_order(graph: AssetGraph, plan: Plan, name: str) -> tuple[Batch, ...]:
    """The asset's batches. Airflow runs mapped tasks in any order, so an own reader's partitions are one batch."""
    batches = tuple(batch for batch in plan.batches if batch.asset == name)
    if not graph[name].reads_itself:
        return batches
    return (Batch(name, tuple(key for batch in batches for key in batch.keys), {}),)


def backfill_request(form: Mapping[str, Any]) -> Request:
    return Request(
        selection=str(form.get("selection") or "*"),
        start=form.get("start") or None,
        end=form.get("end") or None,
        mode=str(form.get("mode") or Mode.STALE.value),
        allow_missing=bool(form.get("allow_missing")),
    )


def end_backfill(place: Place, form: Mapping[str, Any], run_id: str, failed: list[str]) -> None:
    """Record a backfill's end. Raises where tasks failed, so that the run shows it."""
    service = open_service(place, load_graph(place), run_id, f"{run_id}/end")
    ledger = service.run.ledger
    if ledger.exists() and not form.get("dry_run"):
        request = backfill_request(form)
        state = "failed" if failed else "success"
        ledger.append_backfill(Backfill(run_id, ledger.now(), state, request.title, request.to_json()))
    if failed:
        raise AirflowFailException(
            f"not everything was built: {', '.join(failed)}. Clear the failed tasks of this run to go on."
        )


def to_start(service: Service) -> dict[str, int]:
    """Assets that have stale partitions ready for an automatic run, with their number."""
    state, stale = service.staleness()
    found = {}
    for name in service.graph.order:
        if starts_by_itself(service.graph, name):
            plan = make_plan(state, Target(frozenset({name}), automatic=True), stale)
            if plan.size:
                found[name] = plan.size
    return found


def _log_plan(plan: Plan) -> None:
    if not plan.size:
        _log.info("nothing to build")
    for batch in plan.batches:
        causes = ", ".join(f"{text} ({count})" for text, count in batch.causes.items())
        _log.info("to build: %s %s because of %s", batch.asset, batch.label, causes)
    for exclusion in plan.excluded:
        _log.info("left out: %s %s: %s", exclusion.asset, ", ".join(exclusion.keys[:5]), exclusion.reason)
