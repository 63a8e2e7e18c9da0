"""Which partitions may hold a row that satisfies a condition, for one window.

A comparison of a monotone expression with a constant has one span of partitions as its solution; its ends are
found by binary search over the ordinals, evaluating forward. Other expressions are evaluated partition by
partition, where the rest of the condition bounds the search.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from datetime import datetime

from lineage import calendar, spans
from lineage.axis import Axis, Value
from lineage.predicates import Always, Both, Compare, Domain, Either, Predicate, Within
from lineage.scalars import Undecided, compare, to_datetime
from lineage.spans import Spans
from lineage.terms import Direction, Environment, Term

MAX_POINTS = 4096
"""Partitions that are looked at one by one, at most: eleven years of days."""

MAX_RANGES = 32
"""Ranges that a domain is described by, at most; beyond it their hull is used."""

_TESTS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_Range = tuple[Value, Value]
"""Lowest and highest value; None is open, as NULL satisfies no comparison."""

# What evaluating a term raises besides Undecided: StarRocks would give NULL, or fail.
_FAILURES = (Undecided, ValueError, TypeError, ArithmeticError)


class Solver:
    """Solves conditions for one window; keeps what it found of each domain."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._ranges: dict[int, list[_Range]] = {}
        self.reasons: set[str] = set()

    def solve(self, predicate: Predicate, axis: Axis) -> Spans:
        found = self._solve(predicate, axis)
        if not _needs_points(predicate):
            return found
        if axis.is_list:
            found = spans.intersect(found, ((axis.first, axis.last),))
        if spans.size(found) > MAX_POINTS:
            self.reasons.add("a condition that is not monotone")
            return found
        points = (number for low, high in found for number in range(low, high + 1))
        return spans.normal((number, number) for number in points if self._may_hold(predicate, number, axis))

    def _solve(self, predicate: Predicate, axis: Axis) -> Spans:
        match predicate:
            case Always(value):
                return spans.ALL if value else spans.NONE
            case Both(parts):
                found = spans.ALL
                for part in parts:
                    found = spans.intersect(found, self._solve(part, axis))
                return found
            case Either(parts):
                found = spans.NONE
                for part in parts:
                    found = spans.union(found, self._solve(part, axis))
                return found
            case Compare(operator, left, right):
                return self._compared(operator, left, self._constant(right), axis)
            case Within(operator, left, domains):
                ranges = self._domain_ranges(domains)
                if left.direction in (Direction.OTHER, Direction.CONSTANT):
                    return spans.ALL if ranges else spans.NONE
                found = spans.NONE
                for low, high in ranges:
                    found = spans.union(found, self._in_range(operator, left, low, high, axis))
                return found

    def _constant(self, term: Term) -> Value | Undecided:
        try:
            return term.at(None, self._environment)
        except _FAILURES as error:
            return self._undecided(error)

    def _undecided(self, error: Exception) -> Undecided:
        undecided = error if isinstance(error, Undecided) else Undecided(str(error))
        self.reasons.add(str(undecided))
        return undecided

    def _compared(self, operator: str, left: Term, value: Value | Undecided, axis: Axis) -> Spans:
        if isinstance(value, Undecided):
            return spans.ALL
        if value is None:
            return spans.NONE
        try:
            if left.direction is Direction.CONSTANT:
                return (
                    spans.ALL
                    if self._holds(operator, left.at(None, self._environment), value)
                    else spans.NONE
                )
            if left.direction is Direction.OTHER:
                return spans.ALL
            return self._searched(operator, left, value, axis)
        except _FAILURES as error:
            self._undecided(error)
            return spans.ALL

    def _holds(self, operator: str, a: Value, b: Value) -> bool:
        if a is None or b is None:
            return False
        return _TESTS[operator](compare(a, b), 0)

    def _searched(self, operator: str, left: Term, value: Value, axis: Axis) -> Spans:
        rising = left.direction is Direction.RISING
        near = _near(value, axis)
        least, most = (axis.low, axis.high) if rising else (axis.high, axis.low)

        def some(test: str) -> Spans:
            """Partitions with a value that passes: the one nearest to passing decides."""
            nearest = most if test in (">", ">=") else least
            return edge(lambda n: self._holds(test, left.at(nearest(n), self._environment), value), test)

        def every(test: str) -> Spans:
            """Partitions all of whose values pass: the one farthest from passing decides."""
            farthest = least if test in (">", ">=") else most
            return edge(lambda n: self._holds(test, left.at(farthest(n), self._environment), value), test)

        def edge(passes: Callable[[int], bool], test: str) -> Spans:
            upwards = (test in (">", ">=")) is rising
            return _passing(passes, axis, upwards, near)

        if operator == "=":
            return spans.intersect(some(">="), some("<="))
        if operator == "<>":
            constant = spans.intersect(every(">="), every("<="))
            return spans.complement(spans.intersect(constant, ((axis.first, axis.last),)))
        return some(operator)

    def _in_range(self, operator: str, left: Term, low: Value, high: Value, axis: Axis) -> Spans:
        """Where `left operator x` for some x between low and high."""
        found = spans.ALL
        if operator in ("=", ">", ">=") and low is not None:
            found = self._compared(">" if operator == ">" else ">=", left, low, axis)
        if operator in ("=", "<", "<=") and high is not None:
            upper = self._compared("<" if operator == "<" else "<=", left, high, axis)
            found = spans.intersect(found, upper)
        return found

    def _domain_ranges(self, domains: tuple[Domain, ...]) -> list[_Range]:
        return [found for domain in domains for found in self._ranges_of(domain)]

    def _ranges_of(self, domain: Domain) -> list[_Range]:
        if id(domain) not in self._ranges:
            self._ranges[id(domain)] = list(self._find_ranges(domain))
        return self._ranges[id(domain)]

    def _find_ranges(self, domain: Domain) -> Iterator[_Range]:
        axis, term = domain.target.axis, domain.term
        found = self.solve(domain.condition, axis)
        if axis.is_list:
            for number in (number for low, high in found for number in range(low, high + 1)):
                value = self._end(term, axis.low, number, axis)
                yield value, value
            return
        if term.direction in (Direction.OTHER, Direction.CONSTANT):
            if found:
                yield None, None
            return
        if len(found) > MAX_RANGES:
            found = ((found[0][0], found[-1][1]),)
        for low, high in found:
            first = self._end(term, axis.low, low, axis)
            last = self._end(term, axis.high, high, axis)
            yield (first, last) if term.direction is Direction.RISING else (last, first)

    def _end(self, term: Term, value: Callable[[int], Value], number: int, axis: Axis) -> Value:
        """The term at one end of a span; None where that is open or not known."""
        if not axis.first <= number <= axis.last:
            return None
        try:
            return term.at(value(number), self._environment)
        except _FAILURES as error:
            self._undecided(error)
            return None

    def _may_hold(self, predicate: Predicate, number: int, axis: Axis) -> bool:
        """Whether a row of this one partition may satisfy the condition."""
        match predicate:
            case Always(value):
                return value
            case Both(parts):
                return all(self._may_hold(part, number, axis) for part in parts)
            case Either(parts):
                return any(self._may_hold(part, number, axis) for part in parts)
            case Compare(operator, left, right):
                constant = self._constant(right)
                if isinstance(constant, Undecided):
                    return True
                return self._may_compare(operator, left, constant, number, axis)
            case Within(operator, left, domains):
                return any(
                    self._may_lie(operator, left, low, high, number, axis)
                    for low, high in self._domain_ranges(domains)
                )

    def _may_lie(self, operator: str, left: Term, low: Value, high: Value, number: int, axis: Axis) -> bool:
        """Whether `left operator x` may hold in the partition for some x between low and high."""
        bounds = []
        if operator in ("=", ">", ">="):
            bounds.append((">" if operator == ">" else ">=", low))
        if operator in ("=", "<", "<="):
            bounds.append(("<" if operator == "<" else "<=", high))
        return all(
            value is None or self._may_compare(test, left, value, number, axis) for test, value in bounds
        )

    def _is_constant(self, term: Term, low: Value, high: Value) -> bool:
        """Whether a term such as HOUR(x) is the same between two values of the column."""
        if term.step is None:
            return False
        moment, grain = term.step
        ends = (to_datetime(moment.at(value, self._environment)) for value in (low, high))
        return len({calendar.ordinal(grain, end) for end in ends}) == 1

    def _may_compare(self, operator: str, left: Term, value: Value, number: int, axis: Axis) -> bool:
        try:
            low, high = axis.low(number), axis.high(number)
            first = left.at(low, self._environment)
            if low == high or left.direction is Direction.CONSTANT or self._is_constant(left, low, high):
                return self._holds(operator, first, value)
            if left.direction is Direction.OTHER:
                return True
            last = left.at(high, self._environment)
            least, most = (first, last) if left.direction is Direction.RISING else (last, first)
            if operator == "=":
                return self._holds(">=", most, value) and self._holds("<=", least, value)
            if operator == "<>":
                return not (self._holds("=", least, value) and self._holds("=", most, value))
            return self._holds(operator, most if operator in (">", ">=") else least, value)
        except _FAILURES as error:
            self._undecided(error)
            return True


def _needs_points(predicate: Predicate) -> bool:
    """Whether a condition was left out of the search, because it is not monotone."""
    match predicate:
        case Compare(left=left) | Within(left=left):
            return left.direction is Direction.OTHER
        case Both(parts) | Either(parts):
            return any(map(_needs_points, parts))
    return False


def _passing(passes: Callable[[int], bool], axis: Axis, upwards: bool, near: int) -> Spans:
    """The partitions that pass, where all above (below) one that passes do too.

    Beyond the end of the search range nothing is excluded that was not seen to fail on this side of it.
    """
    if upwards:
        edge = _first(passes, axis.first, axis.last, near)
        return spans.ALL if edge == axis.first else ((edge, spans.HIGHEST),)
    edge = -_first(lambda number: passes(-number), -axis.last, -axis.first, -near)
    return spans.ALL if edge == axis.last else ((spans.LOWEST, edge),)


def _first(passes: Callable[[int], bool], low: int, high: int, near: int) -> int:
    """The first number of low..high that passes, or high + 1; all above one that passes do.

    From `near`, strides grow until they have the edge between them; then it is bisected.
    """
    failing, passing = low - 1, high + 1
    probe, stride = min(max(near, low), high), 1
    while passing - failing > 1:
        if passes(probe):
            passing, following = probe, probe - stride
        else:
            failing, following = probe, probe + stride
        stride *= 2
        probe = following if failing < following < passing else (failing + passing) // 2
    return passing


def _near(value: Value, axis: Axis) -> int:
    """The partition of a value that is a date: where a search best begins. Any other number is right too."""
    assert axis.column.grain is not None
    try:
        return calendar.ordinal(axis.column.grain, to_datetime(value))
    except (Undecided, ValueError):
        return calendar.ordinal(axis.column.grain, datetime(2024, 1, 1))
