"""Plans: which partitions to build, in which order and batches, and what is left out and why.

The target is assets × partitions; the mode says which of those are wanted; readiness takes away what can
not be built now. Everything is a value that goes to JSON and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

from sr_assets.compile import Node
from sr_assets.planner.automation import rebuilt_by_itself, self_starting
from sr_assets.planner.batches import cut
from sr_assets.planner.staleness import AssetStaleness, Cause, has_cause, own_causes, spread
from sr_assets.spans import Mask
from sr_assets.state import State


class Mode(StrEnum):
    """Which partitions of the target a plan builds."""

    STALE = "stale"  # everything that is not fresh
    MISSING = "missing"
    FAILED = "failed"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Target:
    """What to plan: assets, and the range of time that their partitions must overlap.

    An asset in `names` takes its partitions in the range, and of those outside of it every one that was
    built and reads a partition in the target: late data reaches windows past the range. `keys` picks single
    partitions instead of a range, for the assets named there.

    `automatic` is for runs that nobody asked for: they take only what is missing or has newer upstream data,
    leave what failed and what only a code change made stale to a person, and do not read what such a run
    will itself rebuild first.
    """

    names: frozenset[str]
    start: datetime | None = None
    end: datetime | None = None
    mode: Mode = Mode.STALE
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allow_missing: bool = False
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Partitions of one asset that one claim writes, in key order, with the number of them a cause has."""

    asset: str
    keys: tuple[str, ...]
    causes: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        return {"asset": self.asset, "keys": list(self.keys), "causes": dict(self.causes)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Batch:
        return cls(value["asset"], tuple(value["keys"]), value["causes"])

    @property
    def label(self) -> str:
        """`2024-01-01` or `2024-01-01..2024-01-30 (30)`."""
        return self.keys[0] if len(self.keys) == 1 else f"{self.keys[0]}..{self.keys[-1]} ({len(self.keys)})"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Partitions that were wanted and are not in the plan, with the reason that they share."""

    asset: str
    keys: tuple[str, ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"asset": self.asset, "keys": list(self.keys), "reason": self.reason}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Exclusion:
        return cls(value["asset"], tuple(value["keys"]), value["reason"])


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches in an order in which each stands after all that it reads, in layers that may run side by side."""

    layers: tuple[tuple[Batch, ...], ...] = ()
    excluded: tuple[Exclusion, ...] = ()

    @property
    def batches(self) -> tuple[Batch, ...]:
        return tuple(batch for layer in self.layers for batch in layer)

    @property
    def size(self) -> int:
        """Number of partitions to build."""
        return sum(len(batch.keys) for batch in self.batches)

    def of(self, asset: str) -> tuple[str, ...]:
        """The keys of one asset that the plan builds."""
        return tuple(key for batch in self.batches if batch.asset == asset for key in batch.keys)

    def to_json(self) -> dict[str, Any]:
        return {
            "layers": [[batch.to_json() for batch in layer] for layer in self.layers],
            "excluded": [exclusion.to_json() for exclusion in self.excluded],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Plan:
        layers = tuple(tuple(Batch.from_json(batch) for batch in layer) for layer in value["layers"])
        return cls(layers, tuple(Exclusion.from_json(exclusion) for exclusion in value["excluded"]))


def make_plan(state: State, target: Target, stale: Mapping[str, AssetStaleness]) -> Plan:
    """Plan a target. The same state and target give the same plan.

    Raises SelectionError for a key that does not exist.
    """
    chosen: dict[str, Mask] = {}
    layers: list[tuple[Batch, ...]] = []
    excluded: list[Exclusion] = []
    masks = target_masks(state, target)
    soon = rebuilt_by_itself(state, stale) if target.automatic else {}
    for layer in state.graph.generations:
        batches: list[Batch] = []
        for name in layer:
            if name in masks:
                choice = _Choice(state, target, stale, soon, chosen, state.graph[name], masks[name])
                chosen[name] = choice.chosen
                batches.extend(choice.batches())
                excluded.extend(choice.excluded())
        if batches:
            layers.append(tuple(batches))
    return Plan(tuple(layers), tuple(excluded))


def target_masks(state: State, target: Target) -> dict[str, Mask]:
    """The partitions of each asset that belong to the target, in topological order of the assets."""
    masks: dict[str, Mask] = {}
    for name in state.graph.order:
        node = state.graph[name]
        if name not in target.names or node.asset.external:
            continue
        keys = state[name].keys
        mask = np.zeros(keys.size, dtype=bool)
        if name in target.keys:
            mask[[keys.index(key) for key in target.keys[name]]] = True
        else:
            indexes = keys.overlapping(target.start, target.end)
            mask[indexes.start : indexes.stop] = True
        masks[name] = mask
        mask |= _readers(state, node, masks) & state[name].built
    return masks


def _readers(state: State, node: Node, masks: Mapping[str, Mask]) -> Mask:
    """The partitions of a node that read, over any number of steps, time partitions in the masks.

    Assets without time partitions belong to every range, so what reads them is not drawn in.
    """
    found = np.zeros(state[node.name].keys.size, dtype=bool)
    for upstream in node.upstreams:
        timed = state.graph[upstream].asset.partitions.grain is not None
        if upstream in masks and upstream != node.name and timed and node.invalidated_by(upstream):
            found |= state.spans(node.name, upstream).any(masks[upstream])
    if node.reads_itself and node.invalidated_by(node.name):
        found |= spread(state.spans(node.name, node.name), masks[node.name] | found)
    return found


class _Choice:
    """What of one asset is built, given what was chosen of the assets before it."""

    def __init__(
        self,
        state: State,
        target: Target,
        stale: Mapping[str, AssetStaleness],
        soon: Mapping[str, Mask],
        chosen: Mapping[str, Mask],
        node: Node,
        mask: Mask,
    ) -> None:
        self._state, self._target, self._stale, self._soon = state, target, stale, soon
        self._earlier = chosen
        self._node = node
        self._keys = state[node.name].keys
        self._causes = own_causes(state, node)
        self._wanted = mask & self._want(mask)
        self._refused: list[tuple[Mask, str]] = []
        self.chosen = self._wanted & ~self._find_refused()

    def _want(self, mask: Mask) -> Mask:
        """Adds UPSTREAM and REQUESTED to the causes, and says which partitions the mode wants."""
        node, mode = self._node, self._target.mode
        for upstream in node.upstreams:
            if upstream in self._earlier and node.invalidated_by(upstream):
                read = self._state.spans(node.name, upstream).any(self._earlier[upstream])
                self._causes[read] |= np.uint16(Cause.UPSTREAM)
        if mode is Mode.MISSING:
            wanted = self._has(Cause.MISSING)
        elif mode is Mode.FAILED:
            wanted = self._has(Cause.FAILED)
        elif mode is Mode.ALL:
            self._causes[mask & (self._causes == 0)] |= np.uint16(Cause.REQUESTED)
            wanted = self._causes != 0
        else:
            wanted = self_starting(self._causes) if self._target.automatic else self._causes != 0
            if node.reads_itself and node.invalidated_by(node.name):
                reached = spread(self._state.spans(node.name, node.name), mask & wanted)
                self._causes[reached & mask] |= np.uint16(Cause.UPSTREAM)
                wanted = wanted | reached
        return wanted

    def _has(self, cause: Cause) -> Mask:
        return has_cause(self._causes, cause)

    def _find_refused(self) -> Mask:
        """Wanted partitions that can not be built now; remembers the reason for each."""
        name = self._node.name
        refused = self._refuse(self._state[name].in_progress, "another run is writing it")
        for upstream in self._node.upstreams:
            if upstream == name:
                continue
            spans = self._state.spans(name, upstream)
            planned = self._earlier.get(upstream, np.zeros(self._state[upstream].keys.size, dtype=bool))
            unfit = self._stale[upstream].unfit & ~planned
            refused |= self._refuse(spans.any(unfit) & ~refused, f"reads failed partitions of {upstream}")
            busy = self._state[upstream].in_progress & ~planned
            refused |= self._refuse(
                spans.any(busy) & ~refused, f"another run is writing what it reads of {upstream}"
            )
            if self._target.automatic and self._node.invalidated_by(upstream):
                soon = spans.any(self._soon[upstream] & ~planned) & ~refused
                refused |= self._refuse(soon, f"{upstream} is to be rebuilt first")
            if not self._target.allow_missing:
                waits = spans.early & ~refused
                refused |= self._refuse(waits, f"waits for partitions of {upstream} that are not due yet")
            lacking = self._lacking(upstream) & ~planned
            waits = spans.any(lacking) & spans.bounded & ~refused
            refused |= self._refuse(waits, f"waits for missing partitions of {upstream}")
        if self._node.reads_itself:
            refused |= self._refuse(self._held_by_itself(refused), f"waits for earlier partitions of {name}")
        return refused

    def _held_by_itself(self, refused: Mask) -> Mask:
        """Wanted partitions that read an earlier one of the same table which is not fit and not built before them."""
        name = self._node.name
        spans = self._state.spans(name, name)
        built = self._wanted & ~refused
        unfit = refused | self._state[name].in_progress | (self._stale[name].unfit & ~built)
        lacking = self._lacking(name) & ~built
        held = np.zeros(len(unfit), dtype=bool)
        for index in np.flatnonzero(built):
            for span in spans.of(int(index)):
                between = slice(span.start, span.stop)
                if unfit[between].any() or (spans.bounded[index] and lacking[between].any()):
                    held[index] = unfit[index] = True
        return held

    def _lacking(self, name: str) -> Mask:
        """Partitions without data, where lacking ones hold up their readers."""
        size = self._state[name].keys.size
        if self._target.allow_missing or self._state.graph[name].asset.external:
            return np.zeros(size, dtype=bool)
        return self._stale[name].has(Cause.MISSING)

    def _refuse(self, where: Mask, reason: str) -> Mask:
        where = where & self._wanted
        if where.any():
            self._refused.append((where, reason))
        return where

    def excluded(self) -> Iterator[Exclusion]:
        for where, reason in self._refused:
            keys = tuple(self._keys.key(int(index)) for index in np.flatnonzero(where))
            yield Exclusion(self._node.name, keys, reason)

    def batches(self) -> Iterator[Batch]:
        indexes = [int(index) for index in np.flatnonzero(self.chosen)]
        for group in cut(indexes, self._node.asset, self._keys):
            yield Batch(self._node.name, tuple(map(self._keys.key, group)), self._count_causes(group))

    def _count_causes(self, indexes: Sequence[int]) -> dict[str, int]:
        causes = self._causes[list(indexes)]
        counts = {cause.text: int(np.count_nonzero(causes & np.uint16(cause))) for cause in Cause}
        return {text: count for text, count in counts.items() if count}
