"""Sampling what a partition is about to read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sr_assets.compile import Node
from sr_assets.ledger import Sample, pack_marks
from sr_assets.spans import Words
from sr_assets.state import State

#: Up to so many read partitions are kept one by one, two bytes each, so that a changed one can be named.
MARKED = 4096


class Sampler:
    """Samples for the partitions of one asset, from one state."""

    def __init__(self, state: State, node: Node) -> None:
        self._state, self._node = state, node
        self._digests: Mapping[str, Words] = {up: state.digest(node.name, up) for up in node.upstreams}

    def at(self, index: int) -> dict[str, Sample]:
        """What partition `index` would read now, by upstream."""
        return {upstream: self._sample(upstream, index) for upstream in self._node.upstreams}

    def _sample(self, upstream: str, index: int) -> Sample:
        keys = self._state[upstream].keys
        spans = self._state.spans(self._node.name, upstream).of(index)
        fingerprint = self._state[upstream].fingerprint
        read = np.concatenate([fingerprint[span.start : span.stop] for span in spans] or [fingerprint[:0]])
        return Sample(
            digest=int(self._digests[upstream][index]),
            spans=tuple((keys.key(span.start), keys.key(span.stop - 1)) for span in spans),
            marks=pack_marks(read) if len(read) <= MARKED else "",
        )
