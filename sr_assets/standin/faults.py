"""Fail points, set by StarRocks' own statement: ADMIN ENABLE FAILPOINT 'point' [WITH n TIMES].

A point is `name[:argument][@[db.]table]`. The target keeps a fault away from other statements, such as a
ledger's inserts. ADMIN DISABLE FAILPOINT 'point' removes it and opens its gate; SHOW FAILPOINTS lists
the points with how often they will still fire and how many statements wait at them.

Statements that write (INSERT, DELETE, UPDATE, loads):
    drop_before_commit          cut the connection; the load is cancelled, the data unchanged
    error_before_commit[:text]  fail with `text`
    delay_before_commit:seconds wait, cancellable
    hold_before_commit          a gate: wait until disabled
    crash_between_commit_and_swap  an overwrite's label is used and FINISHED, the old data stays, the
                                connection is cut: what a leader crash at that moment leaves
    stay_committed[:seconds]    answer COMMITTED; the data becomes visible when disabled, or after seconds
    drop_after_commit           the data changed; cut the connection before the answer
Asynchronous loads:
    slow_load:seconds           take that long
    hold_load                   a gate: stay in LOADING until disabled
    load_cancel[:text]          end in CANCELLED with `text`
Connections:
    refuse_connect              close new connections at once
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sr_assets.standin.errors import analyzing

NAMES = frozenset(
    {
        "drop_before_commit",
        "error_before_commit",
        "delay_before_commit",
        "hold_before_commit",
        "crash_between_commit_and_swap",
        "stay_committed",
        "drop_after_commit",
        "slow_load",
        "hold_load",
        "load_cancel",
        "refuse_connect",
    }
)


@dataclass(slots=True)
class Fault:
    """One enabled point. `left` is how often it will still fire, None for always."""

    point: str
    name: str
    argument: str
    target: str
    left: int | None
    waiting: int = 0

    @property
    def seconds(self) -> float:
        return float(self.argument) if self.argument else 0.0

    def applies(self, name: str, db: str, table: str) -> bool:
        return self.name == name and self.left != 0 and self.target in ("", table, f"{db}.{table}")


class Faults:
    """The enabled fail points of one server."""

    def __init__(self) -> None:
        self._enabled: dict[str, Fault] = {}
        self._lock = threading.Lock()

    def enable(self, point: str, times: int | None) -> None:
        """Raises ServerError for a name that is no fail point."""
        rest, _, target = point.partition("@")
        name, _, argument = rest.partition(":")
        if name not in NAMES:
            raise analyzing(f"Failpoint '{name}' does not exist, known are: {', '.join(sorted(NAMES))}")
        with self._lock:
            self._enabled[point] = Fault(point, name, argument, target, times)

    def disable(self, point: str) -> None:
        with self._lock:
            self._enabled.pop(point, None)

    def hit(self, name: str, db: str = "", table: str = "") -> Fault | None:
        """The enabled fault of this name for this table, counted down."""
        with self._lock:
            for fault in self._enabled.values():
                if fault.applies(name, db, table):
                    if fault.left is not None:
                        fault.left -= 1
                    return fault
        return None

    def enabled(self, fault: Fault) -> bool:
        """Whether a gate is still closed."""
        return self._enabled.get(fault.point) is fault

    @contextmanager
    def waiting(self, fault: Fault) -> Iterator[None]:
        """Count one statement as waiting at a gate."""
        with self._lock:
            fault.waiting += 1
        try:
            yield
        finally:
            with self._lock:
                fault.waiting -= 1

    def list(self) -> list[tuple[str, str, int]]:
        """(point, times left or `always`, statements waiting)"""
        with self._lock:
            return [
                (fault.point, "always" if fault.left is None else str(fault.left), fault.waiting)
                for fault in self._enabled.values()
            ]
