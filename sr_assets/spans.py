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

    `absent[i]` counts the wanted upstream partitions that do not exist (before the first or after the last
    one that is due); `bounded[i]` is False where a span is open, as in "all days up to this one".
    """

    offsets: Ints
    lo: Ints
    hi: Ints
    absent: Ints
    bounded: Mask

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


def from_rows(rows: Iterable[Sequence[Wanted]], size: int) -> Spans:
    """Spans from one list of wanted spans a downstream partition, clipped to 0 … size-1."""
    offsets, lo, hi, absent, bounded = [0], [], [], [], []
    for row in rows:
        missing, closed = 0, True
        for first, last in row:
            closed &= first is not None and last is not None
            begin = 0 if first is None else first
            end = size if last is None else last + 1
            inside = (min(max(begin, 0), size), min(max(end, 0), size))
            missing += max(0, end - begin) - max(0, inside[1] - inside[0])
            lo.append(inside[0])
            hi.append(max(inside))
        offsets.append(len(lo))
        absent.append(missing)
        bounded.append(closed)
    return Spans(
        np.array(offsets, dtype=np.int64),
        np.array(lo, dtype=np.int64),
        np.array(hi, dtype=np.int64),
        np.array(absent, dtype=np.int64),
        np.array(bounded, dtype=bool),
    )


def from_bounds(bounds: Sequence[tuple[Ints | None, Ints | None]], count: int, size: int) -> Spans:
    """Spans from columns: the same number of spans a downstream partition (`count` of them), vectorised.

    Each pair holds the inclusive first and last upstream index of one span for every downstream partition.
    """
    columns = []
    absent = np.zeros(count, dtype=np.int64)
    for first, last in bounds:
        begin = np.zeros(count, dtype=np.int64) if first is None else first
        end = np.full(count, size, dtype=np.int64) if last is None else last + 1
        lo, hi = np.clip(begin, 0, size), np.clip(end, 0, size)
        hi = np.maximum(lo, hi)
        absent += np.maximum(0, end - begin) - (hi - lo)
        columns.append((lo, hi))
    width = len(columns)
    return Spans(
        np.arange(count + 1, dtype=np.int64) * width,
        np.stack([lo for lo, _ in columns], axis=1).ravel() if width else np.zeros(0, dtype=np.int64),
        np.stack([hi for _, hi in columns], axis=1).ravel() if width else np.zeros(0, dtype=np.int64),
        absent,
        np.full(count, all(end is not None for pair in bounds for end in pair), dtype=bool),
    )


def everything(count: int, size: int) -> Spans:
    """Every downstream partition reads every upstream partition."""
    return from_bounds([(None, None)], count, size)
