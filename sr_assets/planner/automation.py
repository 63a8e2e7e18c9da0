"""What is built without anybody asking for it.

An automatic run builds what is missing or has newer upstream data. What only a code change, another writer or a
failure made stale is left to a person. It waits for upstream partitions that such a run will itself rebuild
first, so that a diamond is built once; it does not wait for those that only a person rebuilds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sr_assets.compile import Node
from sr_assets.graph import AssetGraph
from sr_assets.planner.staleness import AssetStaleness, Cause, Causes, has_cause, spread
from sr_assets.spans import Mask
from sr_assets.state import State


def starts_by_itself(graph: AssetGraph, name: str) -> bool:
    """Whether anything but a person starts an asset: what it reads, or its schedule."""
    asset = graph[name].asset
    return not asset.external and bool(graph.upstream(name) or asset.schedule)


def self_starting(causes: Causes) -> Mask:
    """Partitions that an automatic run builds: missing, or outdated; not those that failed on the same data."""
    wanted = has_cause(causes, Cause.MISSING | Cause.DATA | Cause.UPSTREAM)
    return wanted & (~has_cause(causes, Cause.FAILED) | has_cause(causes, Cause.DATA))


def rebuilt_by_itself(state: State, stale: Mapping[str, AssetStaleness]) -> dict[str, Mask]:
    """Partitions that have data, and that automatic runs will rebuild: their readers wait for that.

    A partition that itself waits for one that is missing, or reads a failed one, is not among them.
    """
    found: dict[str, Mask] = {}
    for name in state.graph.order:
        if name in state.assets:
            found[name] = _rebuilt(state, stale, state.graph[name], found)
    return found


def _rebuilt(
    state: State, stale: Mapping[str, AssetStaleness], node: Node, found: Mapping[str, Mask]
) -> Mask:
    name, own = node.name, stale[node.name]
    none = np.zeros(state[name].keys.size, dtype=bool)
    if not starts_by_itself(state.graph, name):
        return none
    soon, held = own.has(Cause.DATA), own.has(Cause.MISSING) | own.blocked
    for upstream in node.upstreams:
        if upstream != name and upstream in found:
            spans = state.spans(name, upstream)
            held |= spans.early
            if not state.graph[upstream].asset.external:
                held |= spans.any(stale[upstream].has(Cause.MISSING)) & spans.bounded
            if node.invalidated_by(upstream):
                soon |= spans.any(found[upstream])
    if node.reads_itself and node.invalidated_by(name):
        soon |= spread(state.spans(name, name), soon & ~held)
    return soon & ~held
