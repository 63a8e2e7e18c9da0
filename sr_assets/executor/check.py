"""Running an asset's checks on partitions that were just written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sr_assets.checks import Severity
from sr_assets.compile import Node
from sr_assets.executor.run import Run
from sr_assets.ledger import CheckResult
from sr_assets.partitions import KeySpace
from sr_assets.starrocks.quoting import identifier, qualified

#: So many partitions are measured by one statement.
_TOGETHER = 50


@dataclass(frozen=True, slots=True)
class Verdict:
    """Row count of a partition, and what its blocking checks say against it."""

    rows: int
    error: str | None


def check_partitions(
    run: Run, node: Node, seq: int, names: Mapping[int, str], keys: KeySpace
) -> dict[int, Verdict]:
    """Measure partitions (index → physical name), and record what every check says of them."""
    verdicts, results = {}, []
    for index, values in _measure(run, node, names).items():
        found, position = [], 1
        for check in node.asset.checks:
            message = check.verdict(values[position : position + len(check.measures)])
            position += len(check.measures)
            results.append(
                CheckResult(
                    asset=node.name,
                    key=keys.key(index),
                    claim=seq,
                    run=run.id,
                    check=check.name,
                    severity=check.severity.value,
                    message=message,
                    at=run.ledger.now(),
                )
            )
            if message is not None and check.severity is Severity.BLOCK:
                found.append(f"check {check.name}: {message}")
        verdicts[index] = Verdict(int(values[0]), "; ".join(found) or None)
    run.ledger.record_checks(results)
    return verdicts


def _measure(run: Run, node: Node, names: Mapping[int, str]) -> dict[int, Sequence[Any]]:
    """Row count and the checks' measures of every partition, by index."""
    measures = ", ".join(
        ["COUNT(*)", *(measure for check in node.asset.checks for measure in check.measures)]
    )
    indexes: list[int] = list(names)
    found: dict[int, Sequence[Any]] = {}
    for start in range(0, len(indexes), _TOGETHER):
        chunk = indexes[start : start + _TOGETHER]
        selects = [f"SELECT {index}, {measures} FROM {_partition(node, names[index])}" for index in chunk]
        for index, *values in run.session.query(" UNION ALL ".join(selects)):
            found[int(index)] = values
    return found


def _partition(node: Node, name: str) -> str:
    table = qualified(node.name)
    return (
        table if node.asset.partitions.partition_column is None else f"{table} PARTITION ({identifier(name)})"
    )
