"""Sets of integers as ascending, disjoint, inclusive spans.

LOWEST and HIGHEST stand for an open end: far outside of every calendar ordinal.
"""

from __future__ import annotations

from collections.abc import Iterable

Spans = tuple[tuple[int, int], ...]

LOWEST = -(2**62)
HIGHEST = 2**62
ALL: Spans = ((LOWEST, HIGHEST),)
NONE: Spans = ()


def normal(spans: Iterable[tuple[int, int]]) -> Spans:
    """Sorted and merged: touching spans become one, empty ones go."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(span for span in spans if span[0] <= span[1]):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def union(a: Spans, b: Spans) -> Spans:
    return normal(a + b)


def intersect(a: Spans, b: Spans) -> Spans:
    return normal((max(low, low2), min(high, high2)) for low, high in a for low2, high2 in b)


def complement(a: Spans) -> Spans:
    """What is not in `a`, which must be normal."""
    rest: list[tuple[int, int]] = []
    following = LOWEST
    for low, high in a:
        rest.append((following, low - 1))
        following = high + 1
    rest.append((following, HIGHEST))
    return normal(rest)


def size(a: Spans) -> int:
    return sum(high - low + 1 for low, high in a)
