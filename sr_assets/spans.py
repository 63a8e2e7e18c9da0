"""Sets of upstream partitions, one set a downstream partition, as arrays.

This is the planner's kernel. A mapping between two assets is a list of half-open index spans for every
downstream partition, in compressed rows. Sums over spans are differences of prefix sums, so a digest, a
count or an "is any of them stale" over every window of an asset costs a few array operations, however
wide the windows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Spans:
    """For downstream index i, the upstream spans [lo[j], hi[j]) for j in offsets[i] … offsets[i+1].

    `bounded[i]` is False where a span is open, as in "all days up to this one"; `early[i]` is True where a bounded
    span holds an upstream partition that is defined and not due yet. What lies before an upstream's first
    partition, or after its last one, does not exist and is left out.
    """

    offsets: Ints
    lo: Ints
    hi: Ints
    bounded: Mask
    early: Mask

    @property
    def size(self) -> int:
        return len(self.offsets) - 1

    def sums(self, values: Words) -> Words:
        """Sum of `values` over each downstream partition's spans, modulo 2^64."""
        prefix = _prefix(values)
        per_span = _prefix(prefix[self.hi] - prefix[self.lo])
        return per_span[self.offsets[1:]] - per_span[self.offsets[:-1]]

    def any(self, mask: Mask) -> Mask:
        """Whether any upstream partition in the spans is set in `mask`."""
        return np.not_equal(self.sums(mask.astype(np.uint64)), 0)

    def readers(self, downstream: Mask, size: int) -> Mask:
        """The upstream partitions (of `size`) that the downstream partitions in the mask read."""
        chosen = np.repeat(downstream, np.diff(self.offsets))
        edges = np.zeros(size + 1, dtype=np.int64)
        np.add.at(edges, self.lo[chosen], 1)
        np.add.at(edges, self.hi[chosen], -1)
        return np.cumsum(edges[:-1]) > 0

    def of(self, index: int) -> list[range]:
        """The spans of one downstream partition."""
        row = slice(int(self.offsets[index]), int(self.offsets[index + 1]))
        return [range(int(lo), int(hi)) for lo, hi in zip(self.lo[row], self.hi[row], strict=True) if hi > lo]


def _prefix(values: Words) -> Words:
    prefix = np.zeros(len(values) + 1, dtype=np.uint64)
    np.cumsum(values, out=prefix[1:])
    return prefix


#: A wanted span of upstream indexes, inclusive; None is open. It may reach outside of what exists.
Wanted = tuple[int | None, int | None]


def from_rows(rows: Iterable[Sequence[Wanted]], size: int, to_come: int | None = 0) -> Spans:
    """Spans from one list of wanted spans a downstream partition, clipped to 0 … size-1.

    `to_come` is how many more upstream partitions are defined and not due, None for no end of them.
    """
    offsets, lo, hi, bounded, early = [0], [], [], [], []
    for row in rows:
        closed, waits = True, False
        for first, last in row:
            closed &= first is not None and last is not None
            begin = 0 if first is None else min(max(first, 0), size)
            end = size if last is None else min(max(last + 1, 0), size)
            waits |= (
                last is not None
                and last >= size
                and (to_come is None or max(first or 0, size) < size + to_come)
            )
            lo.append(begin)
            hi.append(max(begin, end))
        offsets.append(len(lo))
        bounded.append(closed)
        early.append(closed and waits)
    return Spans(
        np.array(offsets, dtype=np.int64),
        np.array(lo, dtype=np.int64),
        np.array(hi, dtype=np.int64),
        np.array(bounded, dtype=bool),
        np.array(early, dtype=bool),
    )


def from_bounds(
    bounds: Sequence[tuple[Ints | None, Ints | None]], count: int, size: int, to_come: int | None = 0
) -> Spans:
    """Spans from columns: the same number of spans a downstream partition (`count` of them), vectorised.

    Each pair holds the inclusive first and last upstream index of one span for every downstream partition.
    """
    columns = []
    bounded = all(end is not None for pair in bounds for end in pair)
    early = np.zeros(count, dtype=bool)
    for first, last in bounds:
        begin = np.zeros(count, dtype=np.int64) if first is None else first
        end = np.full(count, size, dtype=np.int64) if last is None else last + 1
        lo = np.clip(begin, 0, size)
        columns.append((lo, np.maximum(lo, np.clip(end, 0, size))))
        if bounded:
            exists = True if to_come is None else np.maximum(begin, size) < size + to_come
            early |= (end > size) & exists
    width = len(columns)
    none = np.zeros(0, dtype=np.int64)
    return Spans(
        np.arange(count + 1, dtype=np.int64) * width,
        np.stack([lo for lo, _ in columns], axis=1).ravel() if width else none,
        np.stack([hi for _, hi in columns], axis=1).ravel() if width else none,
        np.full(count, bounded, dtype=bool),
        early,
    )


def everything(count: int, size: int) -> Spans:
    """Every downstream partition reads every upstream partition."""
    return from_bounds([(None, None)], count, size)
