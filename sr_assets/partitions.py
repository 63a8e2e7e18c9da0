"""Partition definitions, and the keys that exist at one moment.

A definition says how an asset is cut (`Daily("dt", start="2024-01-01")`); `definition.keys(now)` gives
its key space: the partitions that are due at `now`, numbered from 0. All planning is on those numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lineage import Window, calendar
from lineage.calendar import Grain
from sr_assets.errors import DeclarationError, SelectionError

#: The key of the one partition of an unpartitioned asset.
WHOLE = "all"


class KeySpace(ABC):
    """The partitions of one asset that are due, as indexes 0 … size-1 in key order."""

    @property
    @abstractmethod
    def size(self) -> int: ...

    @property
    def size_to_come(self) -> int | None:
        """How many further partitions are defined that are not due yet; None where there is no last one."""
        return 0

    @abstractmethod
    def key(self, index: int) -> str: ...

    @abstractmethod
    def index(self, key: str) -> int:
        """Index of a key. Raises SelectionError for a key that is malformed or does not exist."""

    @abstractmethod
    def window(self, first: int, last: int | None = None) -> Window:
        """The window of partition `first`, or of the run `first` … `last` (inclusive)."""

    @abstractmethod
    def overlapping(self, start: datetime | None, end: datetime | None) -> range:
        """Indexes of the partitions that overlap [start, end); partitions without a time always do."""

    def keys(self) -> list[str]:
        return [self.key(index) for index in range(self.size)]


@dataclass(frozen=True, slots=True)
class TimeKeys(KeySpace):
    """Consecutive steps of a grain; index 0 is the step with calendar ordinal `first`."""

    grain: Grain
    first: int
    count: int
    to_come: int | None = 0

    @property
    def size(self) -> int:
        return self.count

    @property
    def size_to_come(self) -> int | None:
        return self.to_come

    def key(self, index: int) -> str:
        return calendar.key(self.grain, self.first + index)

    def index(self, key: str) -> int:
        try:
            index = calendar.parse_key(self.grain, key) - self.first
        except ValueError as error:
            raise SelectionError(str(error)) from None
        if not 0 <= index < self.count:
            raise SelectionError(f"partition {key} does not exist{self._extent()}")
        return index

    def _extent(self) -> str:
        if not self.count:
            return ": none is due yet"
        return f": the partitions that are due run from {self.key(0)} to {self.key(self.count - 1)}"

    def window(self, first: int, last: int | None = None) -> Window:
        last = first if last is None else last
        key = self.key(first) if first == last else f"{self.key(first)}..{self.key(last)}"
        begin = calendar.start(self.grain, self.first + first)
        return Window(key, begin, calendar.start(self.grain, self.first + last + 1), self.grain)

    def overlapping(self, start: datetime | None, end: datetime | None) -> range:
        lo = 0 if start is None else calendar.ordinal(self.grain, start) - self.first
        hi = self.count if end is None else calendar.ordinal(self.grain, end - _TICK) - self.first + 1
        return range(min(max(lo, 0), self.count), max(min(hi, self.count), 0))


_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ListKeys(KeySpace):
    """A fixed list of keys."""

    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.values)

    def key(self, index: int) -> str:
        return self.values[index]

    def index(self, key: str) -> int:
        if key not in self.values:
            raise SelectionError(f"partition {key!r} does not exist: the keys are {', '.join(self.values)}")
        return self.values.index(key)

    def window(self, first: int, last: int | None = None) -> Window:
        if last not in (None, first):
            raise ValueError("list partitions are rendered one at a time")
        return Window(self.values[first])

    def overlapping(self, start: datetime | None, end: datetime | None) -> range:
        return range(len(self.values))


class PartitionsDefinition(ABC):
    """How an asset is cut into partitions."""

    @abstractmethod
    def keys(self, now: datetime) -> KeySpace:
        """The partitions that are due at `now` (an aware datetime)."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What is wrong with this definition, in words; empty when it is sound."""

    @property
    @abstractmethod
    def partition_column(self) -> str | None: ...

    @property
    def grain(self) -> Grain | None:
        """Grain of time partitions; None for lists and unpartitioned assets."""
        return None

    @property
    def values(self) -> tuple[str, ...]:
        """The keys of a static definition; empty for others."""
        return ()


@dataclass(frozen=True, slots=True)
class TimePartitions(PartitionsDefinition):
    """Partitions by time: one a step of the grain.

    `column` is the table's partition column. `start` is the first partition, `end` the first one that
    does not exist any more (both a key of this grain, or a date at which one begins). A partition is due
    when its window has ended in `timezone`; `end_offset=1` makes the running one due as well.
    """

    column: str
    start: str
    end: str | None = None
    timezone: str = "UTC"
    end_offset: int = 0
    step: ClassVar[Grain]

    @property
    def grain(self) -> Grain:
        return self.step

    @property
    def partition_column(self) -> str:
        return self.column

    def keys(self, now: datetime) -> TimeKeys:
        local = now.astimezone(ZoneInfo(self.timezone)).replace(tzinfo=None)
        first = _ordinal(self.step, self.start)
        stop = calendar.ordinal(self.step, local) + self.end_offset
        if self.end is None:
            return TimeKeys(self.step, first, max(0, stop - first), None)
        last = _ordinal(self.step, self.end)
        count = max(0, min(stop, last) - first)
        return TimeKeys(self.step, first, count, last - first - count)

    def problems(self) -> list[str]:
        found = []
        ordinals = {}
        for name, text in (("start", self.start), ("end", self.end)):
            if text is not None:
                try:
                    ordinals[name] = _ordinal(self.step, text)
                except DeclarationError as error:
                    found.append(f"{name}: {error.message}")
        if len(ordinals) == 2 and ordinals["end"] <= ordinals["start"]:
            found.append(f"end {self.end} is not after start {self.start}")
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            found.append(f"timezone: {self.timezone!r} is not known")
        return found


def _ordinal(grain: Grain, text: str) -> int:
    """Ordinal of a partition named by its key, or by the date or time at which it begins."""
    try:
        return calendar.parse_key(grain, text)
    except ValueError as error:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise DeclarationError(str(error)) from None
        if moment.tzinfo is None and calendar.is_start(grain, moment):
            return calendar.ordinal(grain, moment)
        raise DeclarationError(f"no {grain} partition begins at {text!r}") from None


class Hourly(TimePartitions):
    """One partition an hour; keys like `2024-01-01T05`. The column is a DATETIME."""

    __slots__ = ()
    step = Grain.HOUR


class Daily(TimePartitions):
    """One partition a day; keys like `2024-01-01`."""

    __slots__ = ()
    step = Grain.DAY


class Weekly(TimePartitions):
    """One partition an ISO week, Monday to Sunday; keys like `2024-W01`."""

    __slots__ = ()
    step = Grain.WEEK


class Monthly(TimePartitions):
    """One partition a month; keys like `2024-01`."""

    __slots__ = ()
    step = Grain.MONTH


class Quarterly(TimePartitions):
    """One partition a calendar quarter; keys like `2024-Q1`."""

    __slots__ = ()
    step = Grain.QUARTER


class Yearly(TimePartitions):
    """One partition a year; keys like `2024`."""

    __slots__ = ()
    step = Grain.YEAR


@dataclass(frozen=True, slots=True)
class Static(PartitionsDefinition):
    """Partitions by a fixed list of values of `column`."""

    column: str
    members: tuple[str, ...]

    def __init__(self, column: str, values: tuple[str, ...] | list[str]) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "members", tuple(values))

    @property
    def partition_column(self) -> str:
        return self.column

    @property
    def values(self) -> tuple[str, ...]:
        return self.members

    def keys(self, now: datetime) -> ListKeys:
        return ListKeys(self.members)

    def problems(self) -> list[str]:
        found = [] if self.members else ["a static definition needs at least one value"]
        if len(set(self.members)) != len(self.members):
            found.append("a value stands twice")
        if any(not value or value != value.strip() for value in self.members):
            found.append("a value is empty, or begins or ends with a space")
        return found


@dataclass(frozen=True, slots=True)
class Unpartitioned(PartitionsDefinition):
    """One partition, the whole table, with the key `all`."""

    @property
    def partition_column(self) -> None:
        return None

    def keys(self, now: datetime) -> ListKeys:
        return ListKeys((WHOLE,))

    def problems(self) -> list[str]:
        return []
