"""Jinja templates of SQL and the variables that they may use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import jinja2
import jinja2.utils
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lineage import scalars
from lineage.calendar import Grain
from lineage.errors import LineageError, near
from lineage.partitions import Window


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Moment:
    """A wall-clock moment in a template: prints as `2024-01-01`, in hourly assets as `2024-01-01 05:00:00`."""

    moment: datetime
    hourly: bool = False

    def __str__(self) -> str:
        return self.moment.strftime("%Y-%m-%d %H:%M:%S" if self.hourly else "%Y-%m-%d")

    def __lt__(self, other: Moment) -> bool:
        return self.moment < other.moment

    def strftime(self, format: str) -> str:
        return self.moment.strftime(format)

    def add(
        self,
        *,
        years: int = 0,
        quarters: int = 0,
        months: int = 0,
        weeks: int = 0,
        days: int = 0,
        hours: int = 0,
    ) -> Moment:
        """The moment so much later (earlier if negative). Months first; a month's end stays in its month."""
        moved = scalars.shift(self.moment, years * 12 + quarters * 3 + months, "MONTH")
        assert isinstance(moved, datetime)
        return Moment(moved + timedelta(weeks=weeks, days=days, hours=hours), self.hourly)


@dataclass(frozen=True, slots=True)
class TimePartition:
    """`partition` in a template of a time-partitioned asset. `end` is exclusive."""

    key: str
    start: Moment
    end: Moment
    grain: str


@dataclass(frozen=True, slots=True)
class KeyPartition:
    """`partition` in a template of a list-partitioned or unpartitioned asset."""

    key: str


class Macros:
    """`macros` in a template: Airflow's two date helpers."""

    @staticmethod
    def ds_add(ds: str, days: int) -> str:
        return (datetime.strptime(ds, "%Y-%m-%d") + timedelta(days=days)).strftime("%Y-%m-%d")

    @staticmethod
    def ds_format(ds: str, input_format: str, output_format: str) -> str:
        return datetime.strptime(ds, input_format).strftime(output_format)


_TIME_NAMES = frozenset(("ds", "ds_nodash", "ts", "data_interval_start", "data_interval_end"))
_TIME_FIELDS = frozenset(("start", "end", "grain"))
_NAMES = _TIME_NAMES | {"partition", "macros"}


class UndefinedName(jinja2.UndefinedError):
    """Use of an undefined name in a template, with a hint at what is defined."""

    def __init__(self, owner: object, name: str, message: str) -> None:
        partition = isinstance(owner, TimePartition | KeyPartition)
        super().__init__(f"partition.{name} is not defined" if partition else message)
        known = {"key", *_TIME_FIELDS} if partition else _NAMES
        if name in (_TIME_FIELDS if partition else _TIME_NAMES):
            self.hint = "the asset has no time partitions: of these variables it has only partition.key"
        else:
            self.hint = near(name, known) or f"defined are {', '.join(sorted(known))}"


class Undefined(jinja2.StrictUndefined):
    """An undefined name; every use of it raises UndefinedName."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = jinja2.utils.missing,
        name: str | None = None,
        exc: type[jinja2.TemplateRuntimeError] = jinja2.UndefinedError,
    ) -> None:
        super().__init__(hint, obj, name, exc)
        if exc is jinja2.UndefinedError and name is not None:
            self._undefined_exception = functools.partial(UndefinedName, obj, str(name))  # type: ignore[assignment]


def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(undefined=Undefined, keep_trailing_newline=True)


def _context(window: Window) -> Mapping[str, object]:
    if window.start is None or window.end is None or window.grain is None:
        return {"partition": KeyPartition(window.key), "macros": Macros}
    hourly = window.grain is Grain.HOUR
    start, end = Moment(window.start, hourly), Moment(window.end, hourly)
    return {
        "partition": TimePartition(window.key, start, end, str(window.grain)),
        "macros": Macros,
        "ds": start.strftime("%Y-%m-%d"),
        "ds_nodash": start.strftime("%Y%m%d"),
        "ts": window.start.isoformat(),
        "data_interval_start": start,
        "data_interval_end": end,
    }


# What a template's own expressions raise when they go wrong.
_FAILURES = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    scalars.Undecided,
)


class Template:
    """A compiled template. Raises LineageError for bad Jinja."""

    def __init__(self, text: str) -> None:
        self.text = text
        environment = _environment()
        try:
            self._tree = environment.parse(text)
            self._template = environment.from_string(self._tree)
        except jinja2.TemplateSyntaxError as error:
            raise LineageError(
                f"template: {error.message}",
                text=text,
                line=error.lineno,
                column=_tag_column(text, error.lineno),
            ) from None
        except RecursionError:
            raise LineageError("template: nested too deeply") from None

    def render(self, window: Window) -> str:
        try:
            return self._template.render(_context(window))
        except _FAILURES as error:
            line = _template_line(error)
            hint = error.hint if isinstance(error, UndefinedName) else None
            raise LineageError(
                f"template: {error}",
                text=self.text,
                line=line,
                column=_tag_column(self.text, line),
                hint=hint,
            ) from None

    @property
    def is_straight(self) -> bool:
        """Whether it only prints expressions made of variables, attributes, calls and constants.

        Then its text has one shape for every partition, and its values move with the calendar.
        """
        return all(isinstance(node, _STRAIGHT) for node in self._tree.find_all(nodes.Node))

    @property
    def logic(self) -> str:
        """The parts that are not straight, in a form in which spacing and comments do not count."""
        return "" if self.is_straight else repr(self._tree.body)


_STRAIGHT = (
    *(nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Call, nodes.Keyword),
    *(nodes.Const, nodes.Neg, nodes.Getitem, nodes.Slice),
)


def _template_line(error: BaseException) -> int | None:
    """Line of the template in which the error was raised: Jinja rewrites tracebacks to template lines."""
    line = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _tag_column(text: str, line: int | None) -> int | None:
    """Column of the first template tag of the line."""
    if line is None:
        return None
    lines = text.split("\n")
    source = lines[line - 1] if line <= len(lines) else ""
    found = [at for tag in ("{{", "{%") if (at := source.find(tag)) >= 0]
    return min(found, default=0) + 1


@functools.lru_cache(maxsize=512)
def compiled(text: str) -> Template:
    return Template(text)


def render(template: str, window: Window) -> str:
    """The template's text for one window: the user's own SQL, path or label. Raises LineageError."""
    return compiled(template).render(window)
