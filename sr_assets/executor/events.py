"""What a run tells while it goes on, and at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """How one partition of a batch ended."""

    BUILT = "built"
    SKIPPED = "skipped"  # nothing to do: it is as it should be
    FAILED = "failed"
    BLOCKED = "blocked"  # it reads a partition that failed, is missing, or is being written


@dataclass(frozen=True, slots=True)
class Result:
    """One partition's end; `message` says why where it was not built."""

    asset: str
    key: str
    outcome: Outcome
    rows: int | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The ends of all partitions of a batch, in key order."""

    asset: str
    results: tuple[Result, ...] = field(default=())

    def of(self, *outcomes: Outcome) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.outcome in outcomes)

    @property
    def ok(self) -> bool:
        return not self.of(Outcome.FAILED, Outcome.BLOCKED)


#: Called with every partition's end, from the thread that built it.
Listener = Callable[[Result], None]
