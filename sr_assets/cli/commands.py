"""What the commands do: read, and show as text or as JSON. Each gives the exit code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from sr_assets.cli.context import Options, project_from, service_from
from sr_assets.cli.progress import BackfillBar
from sr_assets.cli.text import explanation_lines, keys_text, mapping_text, partitions_text
from sr_assets.executor import Outcome
from sr_assets.executor.events import Result
from sr_assets.planner.plan import Plan
from sr_assets.planner.selection import select
from sr_assets.planner.staleness import Standing, standings
from sr_assets.project import Project
from sr_assets.service import Request

_DONE, _FAILED, _SOMETHING_TO_DO = 0, 1, 4


def list_assets(options: Options, selection: str, as_json: bool) -> int:
    project = project_from(options)
    names = _in_order(project, select(project.graph, selection))
    if as_json:
        _print_json([_asset_json(project, name) for name in names])
        return _declared(project)
    table = _table("asset", "made by", "partitions", "reads", "group")
    for name in names:
        asset = project.graph[name].asset
        kind = type(asset.recipe).__name__
        table.add_row(
            name, kind, partitions_text(asset), ", ".join(project.graph[name].upstreams), asset.group
        )
    _show(table)
    return _declared(project)


def show_status(options: Options, selection: str, as_json: bool) -> int:
    project = project_from(options)
    names = _in_order(project, select(project.graph, selection))
    state, stale = service_from(options, project).staleness(names)
    counts = {name: Counter(standings(state, name, stale[name])) for name in names}
    if as_json:
        _print_json([{"asset": name, **{s.value: counts[name][s] for s in Standing}} for name in names])
        return _declared(project)
    shown = [s for s in reversed(Standing) if s is Standing.FRESH or any(counts[name][s] for name in names)]
    table = _table("asset", *(s.value for s in shown), right=range(1, len(shown) + 1))
    for name in names:
        table.add_row(name, *(_count(counts[name][s], s) for s in shown))
    _show(table)
    return _declared(project)


def show_plan(options: Options, selection: str, choice: dict[str, Any], check: bool, as_json: bool) -> int:
    project = project_from(options)
    request = Request(selection, **choice)
    plan = service_from(options, project).plan(request)
    if as_json:
        _print_json(plan.to_json())
    else:
        _print_plan(plan, request)
    return _SOMETHING_TO_DO if check and plan.size else _declared(project)


def show_why(options: Options, asset: str, key: str, as_json: bool) -> int:
    project = project_from(options)
    explanation = service_from(options, project).explain(asset, key)
    if as_json:
        _print_json(explanation.to_json())
    else:
        for line in explanation_lines(explanation):
            click.echo(line)
    return _DONE


def run_backfill(
    options: Options,
    selection: str,
    choice: dict[str, Any],
    dry_run: bool,
    workers: int,
    note: str,
    as_json: bool,
) -> int:
    project = project_from(options)
    service = service_from(options, project)
    request = Request(selection, **choice)
    plan = service.plan(request)
    if not as_json:
        _print_plan(plan, request)
    if dry_run or not plan.size:
        if as_json:
            _print_json({"run": None, "plan": plan.to_json(), "results": []})
        return _DONE
    with BackfillBar(plan, hidden=as_json) as bar:
        progress = service.backfill(request, plan, workers=workers, note=note, listen=bar.advance)
    if as_json:
        _print_json(
            {
                "run": service.run.id,
                "plan": plan.to_json(),
                "results": [_result_json(r) for r in progress.results],
            }
        )
    else:
        _print_results(service.run.id, progress.results)
    return _DONE if progress.ok else _FAILED


def show_lineage(options: Options, selection: str, as_json: bool) -> int:
    project = project_from(options)
    names = _in_order(project, select(project.graph, selection))
    if as_json:
        _print_json([_asset_json(project, name) for name in names])
        return _declared(project)
    for name in names:
        node = project.graph[name]
        click.echo(click.style(name, bold=True))
        for upstream in node.upstreams:
            click.echo(f"  reads {upstream}: {mapping_text(node, upstream)}")
        if node.query is not None:
            for column, origins in node.query.columns.items():
                made_of = ", ".join(f"{table}.{origin}" for table, origin in sorted(origins)) or "no column"
                click.echo(f"  {column} ← {made_of}")
            for function in node.query.volatile:
                click.echo(f"  not reproducible: {function}")
    return _declared(project)


def _declared(project: Project) -> int:
    """A project with declaration problems is reported by the exit code as well."""
    return _FAILED if project.problems else _DONE


def _in_order(project: Project, names: Iterable[str]) -> list[str]:
    chosen = set(names)
    return [name for name in project.graph.order if name in chosen]


def _show(table: Table) -> None:
    """Print a table as wide as the screen, or wide enough for a log where there is none."""
    screen = Console()
    (screen if screen.is_terminal else Console(width=_LOG_WIDTH)).print(table)


_LOG_WIDTH = 160


def _table(first: str, *others: str, right: Iterable[int] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for position, title in enumerate(others, 1):
        table.add_column(title, justify="right" if position in right else "left")
    return table


_STYLES = {
    Standing.FRESH: "green",
    Standing.STALE: "yellow",
    Standing.FAILED: "red",
    Standing.BLOCKED: "magenta",
}


def _count(count: int, standing: Standing) -> str:
    style = _STYLES.get(standing, "default")
    return f"[{style}]{count}[/]" if count else "[dim]·[/]"


def _print_plan(plan: Plan, request: Request) -> None:
    if not plan.size:
        click.echo(f"Nothing to build ({request.title}).")
    else:
        table = _table("asset", "partitions", "keys", "because", right=[1])
        for name in dict.fromkeys(batch.asset for batch in plan.batches):
            batches = [batch for batch in plan.batches if batch.asset == name]
            causes: Counter[str] = Counter()
            for batch in batches:
                causes.update(batch.causes)
            why = ", ".join(f"{text} ({count})" for text, count in causes.items())
            table.add_row(name, str(sum(len(b.keys) for b in batches)), keys_text(plan.of(name)), why)
        _show(table)
        click.echo(
            f"{plan.size} partitions of {len({b.asset for b in plan.batches})} assets, {len(plan.batches)} batches"
        )
    for exclusion in plan.excluded:
        click.echo(f"left out: {exclusion.asset} {keys_text(exclusion.keys)}: {exclusion.reason}")


def _print_results(run_id: str, results: list[Result]) -> None:
    for result in results:
        if result.outcome in (Outcome.FAILED, Outcome.BLOCKED):
            click.echo(f"{result.outcome.value}: {result.asset} {result.key}: {result.message}")
    counts = Counter(result.outcome for result in results)
    rows = sum(result.rows or 0 for result in results)
    parts = [f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome]]
    click.echo(f"{', '.join(parts)}; {rows:,} rows; run {run_id}")


def _result_json(result: Result) -> dict[str, Any]:
    return {
        "asset": result.asset,
        "key": result.key,
        "outcome": result.outcome.value,
        "rows": result.rows,
        "message": result.message,
    }


def _asset_json(project: Project, name: str) -> dict[str, Any]:
    node = project.graph[name]
    query = node.query
    return {
        "asset": name,
        "recipe": type(node.asset.recipe).__name__,
        "partitions": partitions_text(node.asset),
        "location": str(node.asset.location),
        "description": node.asset.description,
        "owner": node.asset.owner,
        "group": node.asset.group,
        "tags": list(node.asset.tags),
        "code_version": node.code_version,
        "reads": {up: mapping_text(node, up) for up in node.upstreams},
        "columns": {}
        if query is None
        else {column: sorted(f"{t}.{c}" for t, c in origins) for column, origins in query.columns.items()},
        "volatile": [] if query is None else list(query.volatile),
    }


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
