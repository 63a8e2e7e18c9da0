"""Why a partition is not fresh: its causes, and for each the chain down to where it began."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from sr_assets.ledger import Attempt, Sample, unpack_marks
from sr_assets.planner.staleness import AssetStaleness, Cause, Standing, standings
from sr_assets.state import AssetState, State

#: The last successful attempt at a partition, from the ledger; None where there is none.
LastSuccess = Callable[[str, str], Attempt | None]


@dataclass(frozen=True, slots=True)
class Origin:
    """An upstream partition that has other data than what was read: who wrote it, and when, as far as is known."""

    asset: str
    key: str
    at: datetime | None
    run: str | None
    change: str

    def to_json(self) -> dict[str, Any]:
        return {
            "asset": self.asset,
            "key": self.key,
            "change": self.change,
            "at": None if self.at is None else self.at.isoformat(sep=" "),
            "run": self.run,
        }


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause. `origins` name changed upstream partitions, `through` explains a stale upstream partition."""

    cause: Cause
    text: str
    origins: tuple[Origin, ...] = ()
    through: Explanation | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause.text,
            "text": self.text,
            "origins": [origin.to_json() for origin in self.origins],
            "through": None if self.through is None else self.through.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """A partition, its standing, and its causes."""

    asset: str
    key: str
    standing: Standing
    built_at: datetime | None
    run: str | None
    reasons: tuple[Reason, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "asset": self.asset,
            "key": self.key,
            "standing": self.standing.value,
            "built_at": None if self.built_at is None else self.built_at.isoformat(sep=" "),
            "run": self.run,
            "reasons": [reason.to_json() for reason in self.reasons],
        }


@dataclass
class Explainer:
    """Explains partitions of one state. Each stale upstream partition is explained once."""

    state: State
    stale: Mapping[str, AssetStaleness]
    last_success: LastSuccess
    _seen: set[tuple[str, int]] = field(default_factory=set)

    def explain(self, name: str, key: str) -> Explanation:
        """Raises SelectionError for a partition that does not exist."""
        self._seen = set()
        return self._explain(name, self.state[name].keys.index(key))

    def _explain(self, name: str, index: int) -> Explanation:
        self._seen.add((name, index))
        asset = self.state[name]
        current = asset.current.get(index)
        return Explanation(
            asset=name,
            key=asset.keys.key(index),
            standing=standings(self.state, name, self.stale[name])[index],
            built_at=None if current is None else current.built_at,
            run=None if current is None else current.run,
            reasons=tuple(self._reasons(name, index)),
        )

    def _reasons(self, name: str, index: int) -> Iterator[Reason]:
        asset, node = self.state[name], self.state.graph[name]
        causes = Cause(int(self.stale[name].causes[index]))
        current = asset.current.get(index)
        if Cause.FAILED in causes and current is not None:
            yield Reason(Cause.FAILED, f"run {current.attempt_run} failed: {current.error}")
        if Cause.MISSING in causes:
            yield Reason(Cause.MISSING, _missing(asset, index, external=node.asset.external))
        if Cause.DRIFT in causes:
            part = asset.physical[index]
            when = "" if part.changed_at is None else f", last at {part.changed_at}"
            yield Reason(
                Cause.DRIFT, f"written by something else since run {current and current.run} built it{when}"
            )
        if Cause.CODE in causes:
            yield Reason(Cause.CODE, f"built by code {asset.code[index]}, which is {node.code_version} now")
        if Cause.DEPENDENCIES in causes:
            yield Reason(Cause.DEPENDENCIES, self._dependencies(name, index))
        if Cause.DATA in causes:
            yield from self._data(name, index)
        if Cause.UPSTREAM in causes:
            yield from self._upstream(name, index)

    def _dependencies(self, name: str, index: int) -> str:
        recorded = {up for up, mask in self.state[name].recorded.items() if mask[index]}
        now = set(self.state.graph[name].upstreams)
        parts = [(now - recorded, "did not read"), (recorded - now, "read")]
        return "; ".join(f"the last build {verb} {', '.join(sorted(ups))}" for ups, verb in parts if ups)

    def _data(self, name: str, index: int) -> Iterator[Reason]:
        asset, node = self.state[name], self.state.graph[name]
        built = self.last_success(name, asset.keys.key(index))
        for upstream in node.upstreams:
            if not node.invalidated_by(upstream) or not asset.recorded[upstream][index]:
                continue
            if self.state.digest(name, upstream)[index] == asset.digests[upstream][index]:
                continue
            sample = None if built is None else built.samples.get(upstream)
            origins = tuple(self._origins(name, index, upstream, sample))
            keys = (
                _listed([origin.key for origin in origins])
                or "partitions that can not be told apart any more"
            )
            yield Reason(Cause.DATA, f"{upstream} has other data than was read: {keys}", origins)

    def _origins(self, name: str, index: int, upstream: str, sample: Sample | None) -> Iterator[Origin]:
        """The upstream partitions whose fingerprint, or presence, is not as it was sampled."""
        if sample is None or (sample.spans and not sample.marks):
            return
        asset = self.state[upstream]
        position = {asset.keys.key(number): number for number in range(asset.keys.size)}
        then: dict[int, int] = {}
        marks = iter(unpack_marks(sample.marks).tolist())
        for first, last in sample.spans:
            if first not in position or last not in position:
                return  # the upstream's partitions are declared otherwise now
            then.update((number, next(marks)) for number in range(position[first], position[last] + 1))
        now = {number for span in self.state.spans(name, upstream).of(index) for number in span}
        for number in sorted(now | set(then)):
            fingerprint = int(asset.fingerprint[number])
            if number not in then or number not in now or then[number] != fingerprint & 0xFFFF:
                yield self._origin(upstream, number, was_there=then.get(number, 0) != 0)

    def _origin(self, name: str, index: int, *, was_there: bool) -> Origin:
        asset = self.state[name]
        part, current = asset.physical.get(index), asset.current.get(index)
        there = asset.fingerprint[index] != 0
        change = "rewritten" if there and was_there else "new" if there else "gone"
        ours = current is not None and there and current.fingerprint == int(asset.fingerprint[index])
        if ours and current is not None:
            return Origin(name, asset.keys.key(index), current.built_at, current.run, change)
        return Origin(name, asset.keys.key(index), part.changed_at if part else None, None, change)

    def _upstream(self, name: str, index: int) -> Iterator[Reason]:
        node = self.state.graph[name]
        for upstream in node.upstreams:
            if not node.invalidated_by(upstream) or self.state.graph[upstream].asset.external:
                continue
            dirty = self.stale[upstream].dirty
            spans = self.state.spans(name, upstream)
            if not spans.bounded[index]:
                dirty = dirty & ~self.stale[upstream].has(Cause.MISSING)
            found = [
                n
                for span in spans.of(index)
                for n in (np.flatnonzero(dirty[span.start : span.stop]) + span.start)
            ]
            if not found:
                continue
            keys = self.state[upstream].keys
            text = f"reads partitions of {upstream} that are not fresh: {_listed([keys.key(int(n)) for n in found])}"
            fresh_news = next((int(n) for n in found if (upstream, int(n)) not in self._seen), None)
            through = None if fresh_news is None else self._explain(upstream, fresh_news)
            yield Reason(Cause.UPSTREAM, text, through=through)


def _missing(asset: AssetState, index: int, *, external: bool) -> str:
    part = asset.physical.get(index)
    if not external and asset.built[index]:
        return "was built, and its data is gone" if part is None else "was built, and was emptied since"
    if part is None:
        return "the partition does not exist"
    return "never built" if not external else "holds no data"


def _listed(keys: list[str], most: int = 4) -> str:
    shown = ", ".join(keys[:most])
    return shown if len(keys) <= most else f"{shown} and {len(keys) - most} more"
