"""Running a plan in this process: assets in topological order, batches of different assets side by side."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from sr_assets.errors import ClaimRefused
from sr_assets.executor.events import BatchResult, Listener, Outcome, Result
from sr_assets.executor.materialize import materialize
from sr_assets.executor.run import Run
from sr_assets.planner.plan import Batch, Plan


@dataclass
class Progress:
    """How a running plan stands; counts by outcome."""

    results: list[Result] = field(default_factory=list)

    def count(self, outcome: Outcome) -> int:
        return sum(result.outcome is outcome for result in self.results)

    @property
    def ok(self) -> bool:
        return not any(result.outcome in (Outcome.FAILED, Outcome.BLOCKED) for result in self.results)


def run_plan(
    run: Run,
    plan: Plan,
    *,
    workers: int = 2,
    force: bool = False,
    allow_missing: bool = False,
    listen: Listener = lambda _: None,
) -> Progress:
    """Build everything in the plan. A failed partition blocks only what reads it.

    An asset begins when all that it reads has ended; `workers` batches run at once, those of an asset that
    reads itself one after another. On an interrupt no new batch begins, and those under way end first.
    """
    progress, lock = Progress(), threading.Lock()

    def tell(result: Result) -> None:
        with lock:
            progress.results.append(result)
            listen(result)

    local = threading.local()

    def build(batch: Batch) -> BatchResult:
        if not hasattr(local, "run"):
            local.run = run.worker(threading.current_thread().name)
        try:
            return materialize(
                local.run, batch.asset, batch.keys, force=force, allow_missing=allow_missing, listen=tell
            )
        except ClaimRefused as error:
            for key in batch.keys:
                tell(Result(batch.asset, key, Outcome.BLOCKED, message=error.message))
            return BatchResult(batch.asset)

    queue = _Queue(run, plan)
    with ThreadPoolExecutor(workers, thread_name_prefix="worker") as pool:
        pending: dict[Future[BatchResult], Batch] = {}
        try:
            while True:
                for batch in queue.ready():
                    pending[pool.submit(build, batch)] = batch
                if not pending:
                    return progress
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    queue.finished(pending.pop(future))
                    future.result()
        except BaseException:
            for future in pending:
                future.cancel()
            raise


class _Queue:
    """Batches that may begin: those whose asset's upstream assets have no batch left."""

    def __init__(self, run: Run, plan: Plan) -> None:
        self._graph = run.graph
        self._waiting: dict[str, list[Batch]] = defaultdict(list)
        for batch in plan.batches:
            self._waiting[batch.asset].append(batch)
        self._left = Counter({asset: len(batches) for asset, batches in self._waiting.items()})

    def ready(self) -> Iterable[Batch]:
        for asset, batches in self._waiting.items():
            if batches and not any(self._left[up] for up in self._ancestors(asset)):
                one_by_one = self._graph[asset].reads_itself
                if one_by_one and self._left[asset] != len(batches):
                    continue  # its batch before this one is still under way
                taken = batches[:1] if one_by_one else list(batches)
                del batches[: len(taken)]
                yield from taken

    def finished(self, batch: Batch) -> None:
        self._left[batch.asset] -= 1

    def _ancestors(self, asset: str) -> set[str]:
        return self._graph.reach([asset], up=None) - {asset}
