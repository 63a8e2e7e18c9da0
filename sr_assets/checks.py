"""Checks on the rows of a partition, run after it was written.

A check is a value; `sql` gives an aggregate query over the partition's rows whose single row is passed to
`verdict`. A failing check with severity `block` makes the materialization failed, so that nothing reads it;
`warn` only records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sr_assets.starrocks.quoting import identifier


class Severity(StrEnum):
    BLOCK = "block"
    WARN = "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(ABC):
    """One condition on every partition of an asset."""

    severity: Severity = Severity.BLOCK

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def measures(self) -> tuple[str, ...]:
        """SQL aggregates over the partition's rows."""

    @abstractmethod
    def verdict(self, values: Sequence[Any]) -> str | None:
        """What is wrong, given the measures' values; None when all is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount(Check):
    min: int = 0
    max: int | None = None

    @property
    def name(self) -> str:
        return "row_count"

    @property
    def measures(self) -> tuple[str, ...]:
        return ("COUNT(*)",)

    def verdict(self, values: Sequence[Any]) -> str | None:
        rows = int(values[0])
        if rows < self.min:
            return f"{rows} rows, at least {self.min} wanted"
        if self.max is not None and rows > self.max:
            return f"{rows} rows, at most {self.max} wanted"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNull(Check):
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"not_null({', '.join(self.columns)})"

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(f"COUNT(*) - COUNT({identifier(column)})" for column in self.columns)

    def verdict(self, values: Sequence[Any]) -> str | None:
        bad = [f"{int(n)} in {column}" for column, n in zip(self.columns, values, strict=True) if int(n)]
        return f"nulls: {', '.join(bad)}" if bad else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique(Check):
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"unique({', '.join(self.columns)})"

    @property
    def measures(self) -> tuple[str, ...]:
        columns = ", ".join(map(identifier, self.columns))
        # COUNT(DISTINCT a, b) leaves out rows with a NULL, so those are counted apart.
        complete = " AND ".join(f"{identifier(column)} IS NOT NULL" for column in self.columns)
        return (f"SUM(CASE WHEN {complete} THEN 1 ELSE 0 END)", f"COUNT(DISTINCT {columns})")

    def verdict(self, values: Sequence[Any]) -> str | None:
        repeated = int(values[0] or 0) - int(values[1])
        return f"{repeated} rows repeat an earlier ({', '.join(self.columns)})" if repeated else None


def row_count(*, min: int = 0, max: int | None = None, severity: Severity = Severity.BLOCK) -> Check:
    """The partition has between `min` and `max` rows."""
    return RowCount(min=min, max=max, severity=severity)


def not_null(*columns: str, severity: Severity = Severity.BLOCK) -> Check:
    """No NULL in these columns."""
    return NotNull(columns=columns, severity=severity)


def unique(*columns: str, severity: Severity = Severity.BLOCK) -> Check:
    """No two rows of the partition agree in all these columns; rows with a NULL among them do not count."""
    return Unique(columns=columns, severity=severity)
