"""Which partitions are not as their upstream, their code and StarRocks say they should be, and why.

One pass over the assets in topological order. Causes are bits in one array an asset, so that a million
partitions cost a few array operations an edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag, StrEnum

import numpy as np
import numpy.typing as npt

from sr_assets.compile import Node
from sr_assets.spans import Mask, Spans
from sr_assets.state import AssetState, State

Causes = npt.NDArray[np.uint16]


class Cause(IntFlag):
    """Why a partition should be built."""

    MISSING = 1
    DATA = 2
    CODE = 4
    DEPENDENCIES = 8
    DRIFT = 16
    UPSTREAM = 32
    FAILED = 64
    REQUESTED = 128

    @property
    def text(self) -> str:
        return _TEXTS[self]


_TEXTS = {
    Cause.MISSING: "missing",
    Cause.DATA: "newer upstream data",
    Cause.CODE: "changed code",
    Cause.DEPENDENCIES: "changed dependencies",
    Cause.DRIFT: "written by somebody else",
    Cause.UPSTREAM: "stale upstream",
    Cause.FAILED: "last attempt failed",
    Cause.REQUESTED: "requested",
}


class Standing(StrEnum):
    """The one word for a partition, the first that applies in this order."""

    IN_PROGRESS = "in progress"
    FAILED = "failed"
    MISSING = "missing"
    BLOCKED = "blocked"
    STALE = "stale"
    FRESH = "fresh"


def has_cause(causes: Causes, cause: Cause) -> Mask:
    """Where a cause is among the bits."""
    mask: Mask = np.not_equal(causes & np.uint16(cause), 0)
    return mask


@dataclass(frozen=True, slots=True)
class AssetStaleness:
    """Bits of `Cause` for each partition; `blocked` where it reads a failed one, or was held for that."""

    causes: Causes
    blocked: Mask

    def has(self, cause: Cause) -> Mask:
        return has_cause(self.causes, cause)

    @property
    def unfit(self) -> Mask:
        """Partitions that nothing should read."""
        return self.has(Cause.FAILED) | self.blocked

    @property
    def dirty(self) -> Mask:
        """Partitions that are anything but fresh."""
        return np.not_equal(self.causes, 0)


def staleness(state: State) -> dict[str, AssetStaleness]:
    """The causes of every asset in the state, through all edges, by name."""
    found: dict[str, AssetStaleness] = {}
    for name in state.graph.order:
        if name in state.assets:
            found[name] = _asset_staleness(state, name, found)
    return found


def _asset_staleness(state: State, name: str, found: Mapping[str, AssetStaleness]) -> AssetStaleness:
    node = state.graph[name]
    causes = own_causes(state, node)
    upstreams = [up for up in node.upstreams if up != name and up in found]
    for upstream in upstreams:
        if node.invalidated_by(upstream) and not state.graph[upstream].asset.external:
            causes[dirty_upstream(state.spans(name, upstream), found[upstream])] |= np.uint16(Cause.UPSTREAM)
    if node.reads_itself and node.invalidated_by(name):
        causes[spread(state.spans(name, name), causes != 0)] |= np.uint16(Cause.UPSTREAM)
    blocked = state[name].held & (causes != 0)
    for upstream in upstreams:
        blocked |= state.spans(name, upstream).any(found[upstream].unfit)
    if node.reads_itself:
        blocked |= spread(state.spans(name, name), blocked | has_cause(causes, Cause.FAILED))
    return AssetStaleness(causes, blocked)


def dirty_upstream(spans: Spans, upstream: AssetStaleness) -> Mask:
    """Where a partition reads an upstream partition that is not fresh.

    A reader of an open span ("all days") is built from what is there, so a partition that is missing only
    counts for readers that name it.
    """
    known = spans.any(upstream.dirty & ~upstream.has(Cause.MISSING))
    return known | (spans.bounded & spans.any(upstream.dirty))


def own_causes(state: State, node: Node) -> Causes:
    """The causes that lie in the partition itself: all but UPSTREAM and REQUESTED."""
    asset = state[node.name]
    causes = np.zeros(asset.keys.size, dtype=np.uint16)

    def mark(where: Mask, cause: Cause) -> None:
        causes[where] |= np.uint16(cause)

    there = asset.fingerprint != 0
    if node.asset.external:
        mark(~there, Cause.MISSING)
        return causes
    standing = asset.built & there
    mark(~standing, Cause.MISSING)
    mark(asset.failed, Cause.FAILED)
    mark(standing & (asset.fingerprint != asset.built_fingerprint), Cause.DRIFT)
    mark(standing & (asset.code != node.code_version), Cause.CODE)
    mark(standing & _dependencies_changed(asset, node), Cause.DEPENDENCIES)
    for upstream in node.upstreams:
        if upstream in state.assets and node.invalidated_by(upstream):
            differs = state.digest(node.name, upstream) != asset.digests[upstream]
            mark(standing & asset.recorded[upstream] & differs, Cause.DATA)
    return causes


def _dependencies_changed(asset: AssetState, node: Node) -> Mask:
    """Where the recorded upstream tables are not those that the code reads now."""
    changed = np.zeros(asset.keys.size, dtype=bool)
    for name, recorded in asset.recorded.items():
        changed |= ~recorded if name in node.upstreams else recorded
    return changed


def spread(spans: Spans, mask: Mask) -> Mask:
    """The partitions of a table that read, over any number of steps, a partition of it set in `mask`.

    For spans of a table over itself, which lead to earlier partitions only.
    """
    reached = np.zeros(len(mask), dtype=bool)
    dirty = mask.copy()
    for index in range(len(mask)):
        for span in spans.of(index):
            if dirty[span.start : span.stop].any():
                reached[index] = dirty[index] = True
                break
    return reached


def standings(state: State, name: str, stale: AssetStaleness) -> list[Standing]:
    """One word for every partition of an asset."""
    chosen = np.select(
        [
            state[name].in_progress,
            stale.has(Cause.FAILED),
            stale.has(Cause.MISSING),
            stale.blocked & stale.dirty,
            stale.dirty,
        ],
        np.arange(5),
        default=5,
    )
    words = list(Standing)
    return [words[number] for number in chosen]
