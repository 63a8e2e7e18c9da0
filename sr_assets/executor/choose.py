"""What of a batch is left to do, and what may be done now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sr_assets.compile import Node
from sr_assets.executor.events import Outcome
from sr_assets.planner.staleness import Cause, own_causes, spread, staleness
from sr_assets.spans import Mask
from sr_assets.state import State


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why one partition is not to be built now. `recorded` verdicts hold up its readers, too."""

    outcome: Outcome
    message: str
    recorded: bool = False


class Chooser:
    """Verdicts on partitions of one asset, from a state that holds it and what it reads."""

    def __init__(
        self,
        state: State,
        node: Node,
        run_id: str,
        batch: Sequence[int],
        *,
        force: bool,
        allow_missing: bool,
    ) -> None:
        self._asset = state[node.name]
        self._run_id, self._force = run_id, force
        self._needed = own_causes(state, node) != 0
        if node.reads_itself and node.invalidated_by(node.name):
            # What the batch builds changes what later partitions of the batch read.
            built = np.zeros(self._asset.keys.size, dtype=bool)
            built[list(batch)] = self._needed[list(batch)] | force
            self._needed |= spread(state.spans(node.name, node.name), built)
        self._holds = list(_holds(state, node, allow_missing))

    def verdict(self, index: int) -> Verdict | None:
        """None where the partition is to be built."""
        if self._asset.in_progress[index]:
            return Verdict(Outcome.BLOCKED, "another run is writing it")
        current = self._asset.current.get(index)
        done_by_us = current is not None and current.run == self._run_id
        if not self._needed[index] and (done_by_us or not self._force):
            return Verdict(Outcome.SKIPPED, "it is fresh")
        for mask, message, recorded in self._holds:
            if mask[index]:
                return Verdict(Outcome.BLOCKED, message, recorded)
        return None


def _holds(state: State, node: Node, allow_missing: bool) -> Iterator[tuple[Mask, str, bool]]:
    """For each upstream, where something in what is read forbids to read it now."""
    stale = staleness(state)
    for upstream in node.upstreams:
        if upstream == node.name:
            continue  # earlier partitions of its own are looked at one by one, as they are built
        spans = state.spans(node.name, upstream)
        yield spans.any(stale[upstream].unfit), f"reads failed partitions of {upstream}", True
        yield (
            spans.any(state[upstream].in_progress),
            f"another run is writing what it reads of {upstream}",
            False,
        )
        if not allow_missing:
            yield spans.early, f"waits for partitions of {upstream} that are not due yet", False
        if not allow_missing and not state.graph[upstream].asset.external:
            missing = spans.any(stale[upstream].has(Cause.MISSING)) & spans.bounded
            yield missing, f"waits for missing partitions of {upstream}", False


def self_hold(
    state: State, node: Node, index: int, unfit: Sequence[int], allow_missing: bool
) -> Verdict | None:
    """Why partition `index` may not read its own table's earlier partitions; `unfit` failed in this batch."""
    spans = state.spans(node.name, node.name)
    asset = state[node.name]
    failed = np.array(asset.failed | asset.held)
    failed[list(unfit)] = True
    for span in spans.of(index):
        if failed[span.start : span.stop].any():
            return Verdict(Outcome.BLOCKED, f"reads failed partitions of {node.name}", True)
        if (
            not allow_missing
            and spans.bounded[index]
            and (asset.fingerprint[span.start : span.stop] == 0).any()
        ):
            return Verdict(Outcome.BLOCKED, f"waits for earlier partitions of {node.name}", False)
    return None
