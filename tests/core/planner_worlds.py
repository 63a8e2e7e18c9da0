"""Generated worlds for the planner: small graphs whose edges are arbitrary sets of partitions.

`Edge.reads[i]` lists the upstream indexes that partition i reads; the planner gets the same as spans, and the
oracle works on the lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from lineage.calendar import Grain
from sr_assets.assets import Asset, EdgeOptions, External, Location, Sql
from sr_assets.compile import Node
from sr_assets.graph import AssetGraph
from sr_assets.partitions import Daily, TimeKeys
from sr_assets.spans import Spans, from_rows
from sr_assets.state import AssetState, State


@dataclass
class Edge:
    upstream: str
    invalidates: bool
    bounded: bool
    reads: list[set[int]]


@dataclass
class Table:
    name: str
    size: int
    external: bool
    edges: list[Edge] = field(default_factory=list)
    fingerprint: list[int] = field(default_factory=list)
    built: list[bool] = field(default_factory=list)
    built_fingerprint: list[int] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    digests: dict[str, list[int | None]] = field(default_factory=dict)  # None: not recorded
    failed: list[bool] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    in_progress: list[bool] = field(default_factory=list)


World = dict[str, Table]

#: Large enough to overflow sums, few enough to collide.
_WORDS = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    world: World = {}
    for number in range(draw(st.integers(2, 5))):
        name = f"d.t{number}"
        size = draw(st.integers(1, 5))
        table = Table(name, size, external=number == 0 and draw(st.booleans()))
        if not table.external:
            for upstream in (
                draw(st.lists(st.sampled_from(sorted(world)), unique=True, max_size=3)) if world else []
            ):
                indexes = st.sets(st.integers(0, world[upstream].size - 1))
                table.edges.append(_edge(draw, upstream, [draw(indexes) for _ in range(size)]))
            if draw(st.integers(0, 3)) == 0:
                own = [draw(st.sets(st.integers(0, i - 1))) if i else set() for i in range(size)]
                table.edges.append(_edge(draw, name, own))
        _fill(draw, table, world)
        world[name] = table
    return world


def _edge(draw: st.DrawFn, upstream: str, reads: list[set[int]]) -> Edge:
    return Edge(upstream, draw(st.integers(0, 3)) > 0, draw(st.booleans()), reads)


def _fill(draw: st.DrawFn, table: Table, world: World) -> None:
    def column(strategy: st.SearchStrategy[object]) -> list[object]:
        return [draw(strategy) for _ in range(table.size)]

    mostly = st.sampled_from([True, True, True, False])
    rarely = st.sampled_from([False, False, False, False, True])
    table.fingerprint = column(_WORDS)
    table.built = [False] * table.size if table.external else column(mostly)
    same = column(mostly)
    table.built_fingerprint = [
        fp if ok else other for fp, ok, other in zip(table.fingerprint, same, column(_WORDS), strict=True)
    ]
    table.code = column(st.sampled_from(["now", "now", "now", "old"]))
    table.failed, table.held, table.in_progress = column(rarely), column(rarely), column(rarely)
    if table.external:
        table.failed = table.held = table.in_progress = [False] * table.size
    for edge in table.edges:
        source = table if edge.upstream == table.name else world[edge.upstream]
        true = [sum(source.fingerprint[j] for j in reads) % 2**64 for reads in edge.reads]
        table.digests[edge.upstream] = [
            None if not recorded else digest if ok else other
            for digest, ok, other, recorded in zip(
                true, column(mostly), column(_WORDS), column(mostly), strict=True
            )
        ]


def state_of(world: World) -> State:
    """The same world as the planner sees it."""
    nodes = {name: _node(table) for name, table in world.items()}
    assets = {name: _asset_state(table) for name, table in world.items()}
    spans = {
        (table.name, edge.upstream): _spans(edge, world[edge.upstream].size)
        for table in world.values()
        for edge in table.edges
    }
    return State(AssetGraph(nodes), datetime(2024, 1, 9, tzinfo=UTC), assets, spans)


def _node(table: Table) -> Node:
    asset = Asset(
        name=table.name,
        recipe=External() if table.external else Sql(""),
        partitions=Daily("dt", start="2024-01-01"),
        columns=(),
        location=Location(Path("x.py"), 1),
        edges=tuple(EdgeOptions(edge.upstream, edge.invalidates) for edge in table.edges),
        batch=2,
    )
    return Node(asset, "now", upstreams=tuple(sorted(edge.upstream for edge in table.edges)))


def _spans(edge: Edge, size: int) -> Spans:
    spans = from_rows([[(j, j) for j in sorted(reads)] for reads in edge.reads], size)
    return replace(spans, bounded=np.full(len(edge.reads), edge.bounded))


def _asset_state(table: Table) -> AssetState:
    def bits(values: list[bool]) -> np.ndarray:
        return np.array(values, dtype=bool)

    code = np.full(table.size, None, dtype=object)
    code[:] = table.code
    return AssetState(
        keys=TimeKeys(Grain.DAY, 19723, table.size),
        fingerprint=np.array(table.fingerprint, dtype=np.uint64),
        built=bits(table.built),
        built_fingerprint=np.array(table.built_fingerprint, dtype=np.uint64),
        code=code,
        digests={n: np.array([d or 0 for d in ds], dtype=np.uint64) for n, ds in table.digests.items()},
        recorded={n: bits([d is not None for d in ds]) for n, ds in table.digests.items()},
        failed=bits(table.failed),
        held=bits(table.held),
        in_progress=bits(table.in_progress),
    )
