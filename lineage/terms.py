"""Scalar expressions over one column, compiled to forward evaluators that know their direction.

To solve `f(column) <= constant` no inverse of `f` is needed: where `f` rises with the column, the
solution is found by a binary search that evaluates `f` (solve.py). So each expression becomes a `Term`: how
to evaluate it, and how it moves as the column rises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum

from sqlglot import exp

from lineage import scalars
from lineage.axis import Axis, Value
from lineage.calendar import Grain
from lineage.scalars import Undecided


class OtherColumn(Undecided):
    """The expression depends on a column that is not the target. The text is its name."""


Environment = Mapping[str, Value]
"""Values of the template's variables for one window, by their name in the tree."""


class Direction(IntEnum):
    FALLING = -1
    CONSTANT = 0
    RISING = 1  # or flat in places: a month does not rise with every day
    OTHER = 2  # depends on the column in another way: evaluated value by value, if at all


class Kind(Enum):
    DATE = "date"
    DATETIME = "datetime"
    MOMENT = "date or datetime"  # StarRocks' type is not certain; only its text would show it
    TEXT = "text"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Term:
    """A compiled expression.

    `varies`: depends on a template variable. `regular`: the variable went only through functions that
    move with the calendar (a shift, a truncation), as an offset pattern needs; `MONTH(x)` is not one.
    `fixed`: texts, or integers, of one width, so that their order as text is that of the dates in them.
    `step`: depends on a monotone term only through the step of the grain that it is in, as HOUR(x) on x.
    """

    at: Callable[[Value, Environment], Value]
    direction: Direction
    kind: Kind
    varies: bool = False
    regular: bool = True
    fixed: bool = False
    step: tuple[Term, Grain] | None = None

    def map(
        self, function: Callable[[Value], Value], kind: Kind, *, monotone: bool = True, fixed: bool = False
    ) -> Term:
        """The function applied to this term. NULL stays NULL."""
        inner = self.at

        def at(value: Value, environment: Environment) -> Value:
            argument = inner(value, environment)
            return None if argument is None else function(argument)

        constant = self.direction is Direction.CONSTANT
        return Term(
            at,
            self.direction if monotone or constant else Direction.OTHER,
            kind,
            self.varies,
            self.regular and (monotone or not self.varies),
            fixed,
            self.step,
        )


@dataclass(frozen=True, slots=True)
class Target:
    """The column that a term is over: a source's alias, the column's name, and its axis."""

    alias: str
    column: str
    axis: Axis

    def matches(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Column) and (node.table, node.name) == (self.alias, self.column)


def spells_date(term: Term) -> bool:
    return term.kind in (Kind.DATE, Kind.DATETIME, Kind.MOMENT) or term.fixed


def as_date(term: Term) -> Term:
    return term.map(scalars.to_date, Kind.DATE, monotone=spells_date(term))


def as_text(term: Term) -> Term:
    if term.kind is Kind.MOMENT:
        raise Undecided("the text of a date or datetime")
    if term.kind is Kind.TEXT:
        return term
    # Of a DATETIME, only fractions of a second make the width differ, and keep the order.
    monotone = term.kind is not Kind.NUMBER or term.fixed
    fixed = term.kind is Kind.DATE or term.fixed
    return term.map(scalars.to_text, Kind.TEXT, monotone=monotone, fixed=fixed)


def combined(
    left: Term, right: Term, function: Callable[[Value, Value], Value], sign: int, kind: Kind
) -> Term:
    """A function of two terms that rises with the first, and with the second times `sign`."""
    one, other = left.at, right.at

    def at(value: Value, environment: Environment) -> Value:
        a, b = one(value, environment), other(value, environment)
        return None if a is None or b is None else function(a, b)

    directions = {left.direction, _times(right.direction, sign)} - {Direction.CONSTANT}
    direction = (
        directions.pop() if len(directions) == 1 else Direction.OTHER if directions else Direction.CONSTANT
    )
    varies = left.varies or right.varies
    return Term(
        at, direction, kind, varies, left.regular and right.regular and not (left.varies and right.varies)
    )


def _times(direction: Direction, sign: int) -> Direction:
    return direction if direction is Direction.OTHER else Direction(direction * sign)


def constant(value: Value, kind: Kind) -> Term:
    return Term(lambda _value, _environment: value, Direction.CONSTANT, kind, fixed=True)
