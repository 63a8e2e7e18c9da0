"""The array kernel against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sr_assets.spans import Spans, everything, from_bounds, from_rows

SIZE = 12
bound = st.one_of(st.none(), st.integers(-4, SIZE + 4))
rows = st.lists(st.lists(st.tuples(bound, bound), max_size=1), max_size=6)


def wanted(row: list[tuple[int | None, int | None]]) -> set[int]:
    return {
        j for lo, hi in row for j in range(-10 if lo is None else lo, (SIZE + 10 if hi is None else hi) + 1)
    }


def read(spans: Spans, i: int) -> list[int]:
    return [j for span in spans.of(i) for j in span]


@given(rows, st.lists(st.integers(0, 2**64 - 1), min_size=SIZE, max_size=SIZE))
def test_rows_are_clipped_summed_and_inverted(wanted_rows, words) -> None:
    spans = from_rows(wanted_rows, SIZE)
    values = np.array(words, dtype=np.uint64)
    mask = values % np.uint64(3) == 0
    sums, hits = spans.sums(values), spans.any(mask)
    for i, row in enumerate(wanted_rows):
        inside = sorted(wanted(row) & set(range(SIZE)))
        assert read(spans, i) == inside
        assert int(sums[i]) == sum(words[j] for j in inside) % 2**64
        assert bool(hits[i]) == any(mask[j] for j in inside)
        assert bool(spans.bounded[i]) == all(None not in span for span in row)


@given(rows, st.data())
def test_readers_is_the_inverse(wanted_rows, data) -> None:
    spans = from_rows(wanted_rows, SIZE)
    chosen = np.array([data.draw(st.booleans()) for _ in wanted_rows], dtype=bool)
    expected = {j for i in np.flatnonzero(chosen) for j in read(spans, int(i))}
    assert set(np.flatnonzero(spans.readers(chosen, SIZE)).tolist()) == expected


@given(st.lists(st.tuples(st.integers(-4, 15), st.integers(0, 5)), min_size=1, max_size=5))
def test_columns_give_the_same_as_rows(windows) -> None:
    first = np.array([lo for lo, _ in windows], dtype=np.int64)
    last = np.array([lo + width for lo, width in windows], dtype=np.int64)
    for pair, row in [
        ((first, last), [[(lo, lo + width)] for lo, width in windows]),
        ((None, last), [[(None, lo + width)] for lo, width in windows]),
        ((first, None), [[(lo, None)] for lo, _ in windows]),
    ]:
        columns, plain = from_bounds([pair], len(windows), SIZE), from_rows(row, SIZE)
        assert [read(columns, i) for i in range(len(windows))] == [
            read(plain, i) for i in range(len(windows))
        ]
        assert columns.bounded.tolist() == plain.bounded.tolist()


def test_everything_reads_everything() -> None:
    spans = everything(2, 3)
    assert [read(spans, i) for i in range(2)] == [[0, 1, 2], [0, 1, 2]]
    assert not spans.bounded.any()


@given(
    st.lists(st.tuples(st.integers(-4, 20), st.integers(0, 5)), min_size=1, max_size=5),
    st.one_of(st.none(), st.integers(0, 4)),
)
def test_early_is_what_is_defined_and_not_due(windows, to_come) -> None:
    pending = range(SIZE, SIZE + (1000 if to_come is None else to_come))
    expected = [any(j in pending for j in range(lo, lo + width + 1)) for lo, width in windows]
    first = np.array([lo for lo, _ in windows], dtype=np.int64)
    last = np.array([lo + width for lo, width in windows], dtype=np.int64)
    rows = [[(lo, lo + width)] for lo, width in windows]
    assert from_rows(rows, SIZE, to_come).early.tolist() == expected
    assert from_bounds([(first, last)], len(windows), SIZE, to_come).early.tolist() == expected
    assert not from_bounds([(None, last)], len(windows), SIZE, to_come).early.any()
    assert not from_rows([[(lo, None)] for lo, _ in windows], SIZE, to_come).early.any()
