"""The planner's definitions written out partition by partition: slow and obvious."""

from __future__ import annotations

from functools import cache

from planner_worlds import Edge, Table, World

from sr_assets.planner.staleness import Cause


class Oracle:
    def __init__(self, world: World) -> None:
        self.world = world
        self.causes = cache(self._causes)
        self.blocked = cache(self._blocked)

    def own_causes(self, name: str, i: int) -> Cause:
        t = self.world[name]
        there = t.fingerprint[i] != 0
        if t.external:
            return Cause(0) if there else Cause.MISSING
        found = Cause(0)
        if t.failed[i]:
            found |= Cause.FAILED
        if not (t.built[i] and there):
            return found | Cause.MISSING
        if t.fingerprint[i] != t.built_fingerprint[i]:
            found |= Cause.DRIFT
        if t.code[i] != "now":
            found |= Cause.CODE
        for edge in t.edges:
            recorded = t.digests[edge.upstream][i]
            if recorded is None:
                found |= Cause.DEPENDENCIES
            elif edge.invalidates and recorded != self.digest(edge, i):
                found |= Cause.DATA
        return found

    def digest(self, edge: Edge, i: int) -> int:
        source = self.world[edge.upstream]
        return sum(source.fingerprint[j] for j in edge.reads[i]) % 2**64

    def _causes(self, name: str, i: int) -> Cause:
        found = self.own_causes(name, i)
        for edge in self.world[name].edges:
            if edge.invalidates and any(self._counts(edge, name, j) for j in edge.reads[i]):
                found |= Cause.UPSTREAM
        return found

    def _counts(self, edge: Edge, name: str, j: int) -> bool:
        """Whether a dirty upstream partition makes its reader stale."""
        if self.world[edge.upstream].external:
            return False
        causes = self.causes(edge.upstream, j)
        if edge.upstream != name and not edge.bounded and Cause.MISSING in causes:
            return False
        return causes != Cause(0)

    def _blocked(self, name: str, i: int) -> bool:
        t = self.world[name]
        if t.held[i] and self.causes(name, i):
            return True
        return any(self.unfit(edge.upstream, j) for edge in t.edges for j in edge.reads[i])

    def unfit(self, name: str, i: int) -> bool:
        return Cause.FAILED in self.causes(name, i) or self.blocked(name, i)


class PlanOracle:
    """Which partitions of the whole world a `stale` plan builds."""

    def __init__(self, world: World, *, allow_missing: bool) -> None:
        self.world, self.oracle, self.allow_missing = world, Oracle(world), allow_missing
        self.chosen = cache(self._chosen)
        self.wanted = cache(self._wanted)

    def _wanted(self, name: str, i: int) -> bool:
        t = self.world[name]
        if t.external:
            return False
        if self.oracle.own_causes(name, i):
            return True
        for edge in t.edges:
            pick = self.wanted if edge.upstream == name else self.chosen
            if edge.invalidates and any(pick(edge.upstream, j) for j in edge.reads[i]):
                return True
        return False

    def _chosen(self, name: str, i: int) -> bool:
        t = self.world[name]
        if not self.wanted(name, i) or t.in_progress[i]:
            return False
        return not any(self._holds(t, edge, i, j) for edge in t.edges for j in edge.reads[i])

    def _holds(self, t: Table, edge: Edge, i: int, j: int) -> bool:
        source = self.world[edge.upstream]
        planned = self.chosen(edge.upstream, j)
        missing = Cause.MISSING in self.oracle.causes(edge.upstream, j)
        waits = missing and not planned and not self.allow_missing
        if edge.upstream == t.name and ((self.wanted(t.name, j) and not planned) or source.in_progress[j]):
            return True
        if not planned and (self.oracle.unfit(edge.upstream, j) or source.in_progress[j]):
            return True
        return waits and edge.bounded and not source.external


class AutomaticOracle:
    """What an automatic run of one asset builds, and what its readers wait for."""

    def __init__(self, world: World) -> None:
        self.world, self.oracle = world, Oracle(world)
        self.soon = cache(self._soon)

    def _missing(self, name: str, i: int) -> bool:
        return Cause.MISSING in self.oracle.causes(name, i)

    def _waits(self, name: str, i: int) -> bool:
        """Whether a partition reads, by name, an upstream partition of another table that is missing."""
        return any(
            self._missing(edge.upstream, j)
            for edge in self.world[name].edges
            if edge.upstream != name and edge.bounded and not self.world[edge.upstream].external
            for j in edge.reads[i]
        )

    def _soon(self, name: str, i: int) -> bool:
        """Whether an automatic run will rebuild a partition that has data."""
        t = self.world[name]
        if not any(edge.upstream != name for edge in t.edges):
            return False
        if self._missing(name, i) or self.oracle.blocked(name, i) or self._waits(name, i):
            return False
        if Cause.DATA in self.oracle.own_causes(name, i):
            return True
        return any(self.soon(edge.upstream, j) for edge in t.edges if edge.invalidates for j in edge.reads[i])
