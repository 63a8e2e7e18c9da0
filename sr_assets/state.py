"""What is in StarRocks now, and what the ledger says of it, as arrays over each asset's partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from lineage import calendar
from sr_assets.compile import Node
from sr_assets.graph import AssetGraph
from sr_assets.ledger import Claim, Current, Ledger, Status
from sr_assets.mappings import spans_read
from sr_assets.partitions import KeySpace, TimeKeys
from sr_assets.spans import Mask, Spans, Words
from sr_assets.starrocks.catalog import PhysicalPartition, read_partitions
from sr_assets.starrocks.session import Session


@dataclass(frozen=True)
class AssetState:
    """The partitions of one asset; every array has one element a partition of `keys`.

    `fingerprint` is the version of the data that is there now, 0 where there is none: readers see this.
    A partition that was created and never written counts as not there. `built` says whether the ledger
    knows a success, and `built_fingerprint`, `code` and `digests` what that success recorded; `recorded`
    tells for each upstream where a digest was recorded at all. `failed` and `held` say that the last attempt
    failed, or was not made because of a failed upstream.
    """

    keys: KeySpace
    fingerprint: Words
    built: Mask
    built_fingerprint: Words
    code: np.ndarray[tuple[int], np.dtype[np.object_]]
    digests: Mapping[str, Words]
    recorded: Mapping[str, Mask]
    failed: Mask
    held: Mask
    in_progress: Mask
    physical: Mapping[int, PhysicalPartition] = field(default_factory=dict)
    current: Mapping[int, Current] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class State:
    """The assets that were read, at one moment, and the spans of the edges between them."""

    graph: AssetGraph
    at: datetime
    assets: Mapping[str, AssetState]
    _spans: dict[tuple[str, str], Spans] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> AssetState:
        return self.assets[name]

    def spans(self, name: str, upstream: str) -> Spans:
        """The partitions of `upstream` that each partition of `name` reads."""
        edge = name, upstream
        if edge not in self._spans:
            node = self.graph[name]
            assert node.query is not None
            self._spans[edge] = spans_read(
                node.query, upstream, node.upstream_columns, node.patterns[upstream],
                self.assets[name].keys, self.assets[upstream].keys,
            )  # fmt: skip
        return self._spans[edge]

    def digest(self, name: str, upstream: str) -> Words:
        """For each partition of `name`, the digest of what it would read of `upstream` now."""
        return self.spans(name, upstream).sums(self.assets[upstream].fingerprint)


def read_state(
    session: Session, ledger: Ledger, graph: AssetGraph, now: datetime, names: Iterable[str] | None = None
) -> State:
    """Read the state of the named assets, or of all: one query on the catalog, two on the ledger.

    `now` (aware) decides which partitions are due.
    """
    wanted = sorted(graph.nodes if names is None else names)
    known = ledger.exists()
    current = ledger.current(wanted) if known else {}
    claims = ledger.claims(wanted) if known else {}
    # The catalog is read last: a write that the ledger does not know of yet then looks newer, never older.
    physical = read_partitions(session, wanted)
    assets = {
        name: asset_state(
            graph[name], now, physical.get(name, ()), current.get(name, ()), claims.get(name, ())
        )
        for name in wanted
    }
    return State(graph, now, assets)


def asset_state(
    node: Node,
    now: datetime,
    physical: Iterable[PhysicalPartition] = (),
    current: Iterable[Current] = (),
    claims: Iterable[Claim] = (),
) -> AssetState:
    """Arrays from what was read of one asset. Keys and partitions outside of the key space are left out."""
    keys = node.asset.partitions.keys(now)
    size = keys.size
    index = {key: number for number, key in enumerate(keys.keys())}
    rows = {index[row.key]: row for row in current if row.key in index}
    parts = {number: part for part in physical if (number := _locate(keys, index, part)) is not None}
    claims = tuple(claims)
    state = AssetState(
        keys=keys,
        fingerprint=np.zeros(size, dtype=np.uint64),
        built=np.zeros(size, dtype=bool),
        built_fingerprint=np.zeros(size, dtype=np.uint64),
        code=np.full(size, None, dtype=object),
        digests={name: np.zeros(size, dtype=np.uint64) for name in node.upstreams},
        recorded={name: np.zeros(size, dtype=bool) for name in {*node.upstreams, *_recorded(rows.values())}},
        failed=np.zeros(size, dtype=bool),
        held=np.zeros(size, dtype=bool),
        in_progress=np.zeros(size, dtype=bool),
        physical=parts,
        current=rows,
        claims=claims,
    )
    for number, row in rows.items():
        state.failed[number] = row.status is Status.FAILED
        state.held[number] = row.status is Status.BLOCKED
        if row.built:
            state.built[number] = True
            state.built_fingerprint[number] = row.fingerprint
            state.code[number] = row.code_version
            for name, digest in row.digests.items():
                state.recorded[name][number] = True
                if name in state.digests:
                    state.digests[name][number] = digest
    for number, part in parts.items():
        # A build may rightly leave no rows, and so a partition that looks never written.
        if part.written or (state.built[number] and int(state.built_fingerprint[number]) == part.fingerprint):
            state.fingerprint[number] = part.fingerprint
    for claim in claims:
        if claim.live:
            for key in claim.keys & index.keys():
                state.in_progress[index[key]] = True
    return state


def _recorded(rows: Iterable[Current]) -> set[str]:
    return {name for row in rows for name in row.digests}


def _locate(keys: KeySpace, index: Mapping[str, int], part: PhysicalPartition) -> int | None:
    """Index of the partition key that a physical partition holds, found by its bounds or value."""
    if isinstance(keys, TimeKeys):
        if part.lower is None or part.upper is None:
            return None
        lower, upper = datetime.fromisoformat(part.lower), datetime.fromisoformat(part.upper)
        ordinal = calendar.ordinal(keys.grain, lower)
        if calendar.start(keys.grain, ordinal) != lower or calendar.start(keys.grain, ordinal + 1) != upper:
            return None
        number = ordinal - keys.first
        return number if 0 <= number < keys.size else None
    if part.values:
        only = part.values[0][0] if len(part.values) == 1 and len(part.values[0]) == 1 else None
        return None if only is None else index.get(only)
    return 0 if keys.size == 1 and part.lower is None and part.upper is None else None
