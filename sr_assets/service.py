"""What the command line, Airflow and a program do with a project: read its state, plan, build.

`open_service` puts settings, project and connection together; everything else is done through the values of
the planner and the executor.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sr_assets.errors import SelectionError
from sr_assets.executor import Progress, Run, ensure_asset_table, run_plan
from sr_assets.executor.events import Listener
from sr_assets.graph import AssetGraph
from sr_assets.ledger import Attempt, Backfill, Status
from sr_assets.planner.explain import Explainer, Explanation
from sr_assets.planner.plan import Mode, Plan, Target, make_plan
from sr_assets.planner.ranges import parse_range
from sr_assets.planner.selection import select
from sr_assets.planner.staleness import AssetStaleness, staleness
from sr_assets.state import State, read_state


@dataclass(frozen=True)
class Request:
    """What a person asks to plan or build, as typed; `start` and `end` are keys, both inclusive."""

    selection: str = "*"
    start: str | None = None
    end: str | None = None
    mode: str = Mode.STALE.value
    allow_missing: bool = False

    def target(self, graph: AssetGraph) -> Target:
        """Raises SelectionError where the selection, the range or the mode is wrong."""
        start, end = parse_range(self.start, self.end)
        if self.mode not in list(Mode):
            raise SelectionError(f"mode {self.mode!r} is none of {', '.join(Mode)}")
        names = frozenset(select(graph, self.selection))
        return Target(names, start, end, Mode(self.mode), allow_missing=self.allow_missing)

    @property
    def title(self) -> str:
        """`sales.orders+ 2013-01 … 2013-03, stale`."""
        span = f" {self.start or ''} … {self.end or ''}" if self.start or self.end else ""
        return f"{self.selection}{span}, {self.mode}"

    def to_json(self) -> dict[str, object]:
        return {
            "selection": self.selection,
            "start": self.start,
            "end": self.end,
            "mode": self.mode,
            "allow_missing": self.allow_missing,
        }


@dataclass(frozen=True)
class Service:
    """A project on a server. `run` holds the connection and the names under which things are recorded."""

    run: Run
    graph: AssetGraph

    def read(self, names: Iterable[str] | None = None) -> State:
        """The state of the named assets and of all they read. Changes nothing."""
        wanted = None if names is None else self.graph.reach(names, up=None)
        return read_state(self.run.session, self.run.ledger, self.graph, self.run.now(), wanted)

    def staleness(self, names: Iterable[str] | None = None) -> tuple[State, dict[str, AssetStaleness]]:
        state = self.read(names)
        return state, staleness(state)

    def plan(self, request: Request) -> Plan:
        """Raises SelectionError where the request is wrong."""
        target = request.target(self.graph)
        state, stale = self.staleness(target.names)
        return make_plan(state, target, stale)

    def explain(self, asset: str, key: str) -> Explanation:
        """Raises SelectionError for an asset or partition that does not exist."""
        state, stale = self.staleness([self.graph[asset].name])
        return Explainer(state, stale, self._last_success).explain(asset, key)

    def _last_success(self, asset: str, key: str) -> Attempt | None:
        attempts = self.run.ledger.attempts(asset, [key])
        return next((attempt for attempt in attempts if attempt.status is Status.SUCCESS), None)

    def create_tables(self, names: Iterable[str] | None = None) -> list[str]:
        """Create the tables of the named assets (all by default) that are missing; the names of those made."""
        nodes = [self.graph[name] for name in (self.graph.order if names is None else names)]
        return [
            node.name
            for node in nodes
            if not node.asset.external
            and node.asset.columns
            and ensure_asset_table(self.run.session, node.asset)
        ]

    def backfill(
        self,
        request: Request,
        plan: Plan,
        *,
        workers: int = 2,
        note: str = "",
        listen: Listener = lambda _: None,
    ) -> Progress:
        """Build a plan in this process, with one row in `backfills` at its begin and one at its end."""
        self.run.ledger.ensure()
        self.create_tables(sorted({batch.asset for batch in plan.batches}))
        record = Backfill(
            self.run.id,
            self.run.ledger.now(),
            "running",
            request.title,
            request.to_json(),
            plan.to_json(),
            note=note,
        )
        self.run.ledger.append_backfill(record)
        state = "failed"
        try:
            progress = run_plan(
                self.run,
                plan,
                workers=workers,
                force=request.mode == Mode.ALL,
                allow_missing=request.allow_missing,
                listen=listen,
            )
            state = "success" if progress.ok else "failed"
            return progress
        except KeyboardInterrupt:
            state = "cancelled"
            raise
        finally:
            self._end_backfill(record, state)

    def _end_backfill(self, record: Backfill, state: str) -> None:
        from dataclasses import replace

        self.run.ledger.append_backfill(replace(record, at=self.run.ledger.now(), state=state, plan=None))


def new_run_id(prefix: str, now: datetime) -> str:
    """`cli-20130208T101500-3fa9c1`: sorts by time, and is unique."""
    return f"{prefix}-{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
