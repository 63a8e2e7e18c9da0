"""Partitions, mappings and explanations as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from lineage import Bound, PartitionColumn, Pattern, calendar
from lineage.calendar import Grain
from sr_assets.assets import Asset
from sr_assets.compile import Node, probe_windows
from sr_assets.partitions import TimePartitions
from sr_assets.planner.explain import Explanation, Reason


def partitions_text(asset: Asset) -> str:
    """`daily by dt from 2013-01-01`, or `whole`."""
    partitions = asset.partitions
    if isinstance(partitions, TimePartitions):
        end = f" until {partitions.end}" if partitions.end else ""
        return f"{type(partitions).__name__.lower()} by {partitions.column} from {partitions.start}{end}"
    if partitions.values:
        return f"{partitions.partition_column}: {', '.join(partitions.values)}"
    return "whole"


def mapping_text(node: Node, upstream: str) -> str:
    """Which partitions of an upstream are read, in words."""
    text = _mapping(node, upstream)
    return text if node.invalidated_by(upstream) else f"{text}; does not invalidate"


def _mapping(node: Node, upstream: str) -> str:
    if upstream not in node.upstream_columns:
        return "the whole table"
    pattern = node.patterns.get(upstream)
    if pattern is None:
        return "computed for every partition"
    reasons = f" ({'; '.join(pattern.reasons)})" if pattern.reasons else ""
    if all(bound is None for span in pattern.spans for bound in span):
        return f"all partitions{reasons}"
    grain = node.upstream_columns[upstream].grain
    if grain is not None and _is_whole_window(node, pattern, node.upstream_columns[upstream], grain):
        own = node.asset.partitions.grain
        finer = own is not None and list(Grain).index(grain) < list(Grain).index(own)
        return (f"each {grain} of the {own}" if finer else f"the same {grain}") + reasons
    return ", ".join(_span(lo, hi, str(grain)) for lo, hi in pattern.spans) + reasons


def _is_whole_window(node: Node, pattern: Pattern, column: PartitionColumn, grain: Grain) -> bool:
    """Whether the read partitions are exactly those in the partition's own window."""
    return all(
        window.start is not None
        and window.end is not None
        and pattern.at(window, column).spans
        == ((calendar.ordinal(grain, window.start), calendar.ordinal(grain, window.end - _TICK)),)
        for window in probe_windows(node.asset)
    )


_TICK = timedelta(microseconds=1)


def _span(lo: Bound | None, hi: Bound | None, grain: str) -> str:
    if lo is not None and hi is not None:
        return _bound(lo, grain) if lo == hi else f"from {_bound(lo, grain)} to {_bound(hi, grain)}"
    if hi is not None:
        return f"all up to {_bound(hi, grain)}"
    return f"all from {_bound(lo, grain)}" if lo is not None else "all partitions"


def _bound(bound: Bound, grain: str) -> str:
    words = {"start": f"the same {grain}", "end": f"the last {grain}"}
    anchor = words.get(bound.anchor) or f"the {bound.anchor.replace('_', ' ')}'s {grain}"
    if not bound.offset:
        return anchor
    count = abs(bound.offset)
    return f"{count} {grain}{'s' * (count > 1)} {'before' if bound.offset < 0 else 'after'} {anchor}"


def keys_text(keys: Sequence[str]) -> str:
    """`2013-01-01`, `2013-01-01 … 2013-03-31`, or a few and a count."""
    if len(keys) <= 3:
        return ", ".join(keys)
    return f"{keys[0]} … {keys[-1]}"


def explanation_lines(explanation: Explanation, depth: int = 0) -> Iterator[str]:
    """The chain of causes, one indented line each."""
    indent = "  " * depth
    built = f", built {explanation.built_at} by run {explanation.run}" if explanation.built_at else ""
    yield f"{indent}{explanation.asset} {explanation.key} is {explanation.standing.value}{built}"
    for reason in explanation.reasons:
        yield from _reason_lines(reason, depth + 1)


def _reason_lines(reason: Reason, depth: int) -> Iterator[str]:
    indent = "  " * depth
    yield f"{indent}- {reason.cause.text}: {reason.text}"
    for origin in reason.origins[:4]:
        who = f"by run {origin.run}" if origin.run else "by something outside of sr-assets"
        when = f" at {origin.at}" if origin.at else ""
        yield f"{indent}    {origin.asset} {origin.key} was {_changed(origin.change)}{when} {who}"
    if reason.through is not None:
        yield from explanation_lines(reason.through, depth + 1)


def _changed(change: str) -> str:
    return {"new": "written for the first time", "gone": "emptied or dropped"}.get(change, change)
