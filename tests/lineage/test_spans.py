"""Span sets against Python sets."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from lineage import spans

LOW, HIGH = 0, 24
pairs = st.lists(st.tuples(st.integers(LOW, HIGH), st.integers(LOW, HIGH)), max_size=5)
sets = pairs.map(spans.normal)


def members(a: spans.Spans) -> set[int]:
    return {n for n in range(LOW, HIGH + 1) if any(low <= n <= high for low, high in a)}


@given(pairs)
def test_normal_is_ascending_and_apart(found: list[tuple[int, int]]) -> None:
    a = spans.normal(found)
    assert members(a) == {n for low, high in found for n in range(low, high + 1)}
    assert all(low <= high for low, high in a)
    assert all(before[1] + 1 < after[0] for before, after in itertools.pairwise(a))
    assert spans.size(a) == len(members(a))


@given(sets, sets)
def test_operations_are_those_of_sets(a: spans.Spans, b: spans.Spans) -> None:
    assert members(spans.union(a, b)) == members(a) | members(b)
    assert members(spans.intersect(a, b)) == members(a) & members(b)
    assert members(spans.complement(a)) == set(range(LOW, HIGH + 1)) - members(a)
    assert spans.complement(spans.complement(a)) == a


def test_open_ends() -> None:
    assert spans.complement(spans.NONE) == spans.ALL
    assert spans.complement(spans.ALL) == spans.NONE
    assert spans.complement(((3, spans.HIGHEST),)) == ((spans.LOWEST, 2),)
