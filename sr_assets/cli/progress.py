"""The progress bar of a backfill."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sr_assets.executor.events import Outcome, Result
from sr_assets.planner.plan import Plan


class BackfillBar:
    """One bar over all partitions of a plan, on standard error; counts failures beside it."""

    def __init__(self, plan: Plan, *, hidden: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=hidden,
        )
        self._task = self._progress.add_task("building", total=plan.size)
        self._bad = 0

    def __enter__(self) -> BackfillBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def advance(self, result: Result) -> None:
        """Called with every partition's end."""
        self._bad += result.outcome in (Outcome.FAILED, Outcome.BLOCKED)
        bad = f", {self._bad} failed or blocked" if self._bad else ""
        self._progress.update(self._task, advance=1, description=f"{result.asset}{bad}")
