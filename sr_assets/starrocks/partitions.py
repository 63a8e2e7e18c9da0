"""Creating partitions and swapping temporary ones in. Partitions are found by value, never by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TypeAlias

from lineage.calendar import Grain, is_start, ordinal, start
from sr_assets.errors import DeclarationError, StarRocksError
from sr_assets.starrocks.catalog import PhysicalPartition, read_partitions
from sr_assets.starrocks.drivers import as_text
from sr_assets.starrocks.quoting import TableName, identifier, identifiers, text
from sr_assets.starrocks.session import Session

# max_partitions_in_one_batch
BATCH = 4096
# Another writer may create the same partitions between our look and our statement; looking again settles it.
_ATTEMPTS = 4
# START … END … EVERY takes these units; a quarter has to be added by its bounds
_UNITS = (Grain.HOUR, Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.YEAR)


@dataclass(frozen=True, slots=True)
class PartitionTarget:
    """A partition that should exist.

    A range partition has bounds (`YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`, `upper` exclusive, None = open), a
    list partition `values` of its one partition column; the one partition of an unpartitioned table has
    neither. `name` is used if the partition has to be created and the name is free.
    """

    name: str
    lower: str | None = None
    upper: str | None = None
    values: tuple[str, ...] = ()


_Partition: TypeAlias = PartitionTarget | PhysicalPartition
# What identifies a partition: its bounds without needless midnights, or the set of its values
_Value: TypeAlias = tuple[str | None, str | None, frozenset[tuple[str | None, ...]]]


def ensure_partitions(
    session: Session,
    table: str,
    targets: Sequence[PartitionTarget],
    existing: Sequence[PhysicalPartition],
) -> dict[PartitionTarget, str]:
    """Creates the partitions that are missing, and gives the physical name of each target.

    `existing` is what the caller read; a lost race is settled by reading again. Raises StarRocksError if
    a target overlaps another partition without being equal to it; nothing is created then.
    """
    refused: StarRocksError | None = None
    for _ in range(_ATTEMPTS):
        found, missing = match(table, targets, existing)
        if not missing:
            return found
        names = {part.name.lower() for part in existing}
        try:
            for statement in add_statements(table, missing, names):
                session.execute(statement)
        except StarRocksError as error:
            if error.transient or not _lost_race(error):
                raise
            refused = error
        existing = read_partitions(session, [table]).get(str(TableName.parse(table)), ())
    found, missing = match(table, targets, existing)
    if missing:
        raise StarRocksError(
            f"{table}: partition {missing[0].name} ({_shown(missing[0])}) was created but is not there"
            + (f"; the last answer was: {refused.message}" if refused else ""),
            transient=True,
            hint="Another writer may be dropping partitions; dynamic_partition.start drops old ones.",
        )
    return found


def match(
    table: str, targets: Iterable[PartitionTarget], existing: Sequence[PhysicalPartition]
) -> tuple[dict[PartitionTarget, str], list[PartitionTarget]]:
    """Targets by the name of the partition with the same value, and those that have none.

    Raises StarRocksError naming both if a target overlaps a different partition.
    """
    by_value = {_value(part): part.name for part in existing}
    found: dict[PartitionTarget, str] = {}
    missing: list[PartitionTarget] = []
    for target in dict.fromkeys(targets):
        name = by_value.get(_value(target))
        if name is None:
            missing.append(target)
        else:
            found[target] = name
    _refuse_overlaps(table, missing, existing)
    return found, missing


def add_statements(
    table: str, missing: Sequence[PartitionTarget], names: set[str], *, temporary: bool = False
) -> Iterator[str]:
    """Statements that create `missing`; `names` (lower case) are taken.

    Contiguous partitions of one grain go into one START/END/EVERY, the only form that date_trunc tables
    accept too. StarRocks then makes the names (`p20240101`); where one of them is taken, partitions are added
    singly.
    """
    kind = "TEMPORARY PARTITION" if temporary else "PARTITION"
    head = f"ALTER TABLE {TableName.parse(table).sql} ADD"
    ranges = sorted((t for t in missing if not t.values), key=lambda target: _key(target.lower))
    for run in _runs(ranges):
        grain = _grain(run[0])
        if temporary or grain is None or any(_bulk_name(grain, target) in names for target in run):
            yield from (_single(head, kind, target, names) for target in run)
        else:
            yield (
                f"{head} PARTITIONS START ({text(run[0].lower or '')}) END ({text(run[-1].upper or '')}) "
                f"EVERY (INTERVAL 1 {grain.upper()})"
            )
    for target in missing:
        if target.values:
            yield _single(head, kind, target, names)


def add_temporary(session: Session, table: str, targets: Sequence[PartitionTarget]) -> None:
    """Creates temporary partitions under `target.name`. Leftovers of these names are dropped first."""
    name = TableName.parse(table)
    rows = session.query(
        "SELECT DISTINCT PARTITION_NAME FROM information_schema.partitions_meta "
        "WHERE IS_TEMP = 1 AND DB_NAME = %s AND TABLE_NAME = %s",
        [name.database, name.table],
    )
    leftovers = {as_text(leftover).lower() for (leftover,) in rows}
    drop_temporary(session, table, [target.name for target in targets if target.name.lower() in leftovers])
    for statement in add_statements(table, targets, set(), temporary=True):
        session.execute(statement)


def drop_temporary(session: Session, table: str, names: Iterable[str]) -> None:
    """Drops temporary partitions; those that do not exist are ignored."""
    for name in names:
        session.execute(
            f"ALTER TABLE {TableName.parse(table).sql} DROP TEMPORARY PARTITION IF EXISTS {identifier(name)}"
        )


def replace_partitions(session: Session, table: str, swaps: Mapping[str, str]) -> None:
    """Puts temporary partitions (`swaps`: live name → temporary name) in place of live ones, all at once.

    The ranges or values of both sides have to be equal; the live names stay, the partition ids become new.
    """
    if not swaps:
        raise DeclarationError(f"No partition of {table} was named to be replaced")
    session.execute(
        f"ALTER TABLE {TableName.parse(table).sql} REPLACE PARTITION ({identifiers(swaps)}) "
        f"WITH TEMPORARY PARTITION ({identifiers(swaps.values())}) "
        'PROPERTIES ("strict_range"="true", "use_temp_partition_name"="false")'
    )


def _single(head: str, kind: str, target: PartitionTarget, names: set[str]) -> str:
    # IF NOT EXISTS compares names only, so that a taken name would silently create nothing
    name, number = target.name, 2
    while name.lower() in names:
        name, number = f"{target.name}_{number}", number + 1
    names.add(name.lower())
    if target.values:
        bounds = f"IN ({', '.join(map(text, target.values))})"
    elif target.upper is None:
        raise DeclarationError(
            f"Partition {target.name} has no upper bound and no values: it cannot be created"
        )
    elif target.lower is None:
        bounds = f"LESS THAN ({text(target.upper)})"
    else:
        bounds = f"[({text(target.lower)}), ({text(target.upper)}))"
    return f"{head} {kind} IF NOT EXISTS {identifier(name)} VALUES {bounds}"


def _runs(ranges: Sequence[PartitionTarget]) -> Iterator[list[PartitionTarget]]:
    """Cuts sorted ranges where they are not contiguous, where the grain changes, and at the batch limit."""
    run: list[PartitionTarget] = []
    for target in ranges:
        if run and (
            len(run) == BATCH
            or _key(run[-1].upper) != _key(target.lower)
            or _grain(run[-1]) is not _grain(target)
        ):
            yield run
            run = []
        run.append(target)
    if run:
        yield run


def _grain(target: PartitionTarget) -> Grain | None:
    """The grain whose one step the range is; None if there is none that a bulk statement knows."""
    if target.lower is None or target.upper is None:
        return None
    try:
        lower, upper = datetime.fromisoformat(target.lower), datetime.fromisoformat(target.upper)
    except ValueError:
        return None  # a range over integers
    for grain in _UNITS:
        if is_start(grain, lower) and upper == start(grain, ordinal(grain, lower) + 1):
            return grain
    return None


def _bulk_name(grain: Grain, target: PartitionTarget) -> str | None:
    """The name that StarRocks gives in bulk (MultiRangePartitionDesc).

    None for a week, whose number it computes by the server's locale: a refusal tells.
    """
    lower = datetime.fromisoformat(target.lower or "")
    forms = {Grain.HOUR: "p%Y%m%d%H", Grain.DAY: "p%Y%m%d", Grain.MONTH: "p%Y%m", Grain.YEAR: "p%Y"}
    return lower.strftime(forms[grain]) if grain in forms else None


def _refuse_overlaps(
    table: str, missing: Sequence[PartitionTarget], existing: Sequence[PhysicalPartition]
) -> None:
    """Existing partitions never overlap each other, so that any overlap found is one with a target."""
    parts: list[_Partition] = [*existing, *missing]
    ranges = [part for part in parts if not part.values and (part.lower or part.upper)]
    ranges.sort(key=lambda part: (_key(part.lower), _upper_key(part.upper)))
    for one, other in pairwise(ranges):
        if _key(other.lower) < _upper_key(one.upper):
            raise _overlap(table, one, other)
    owners: dict[tuple[str | None, ...], _Partition] = {}
    for part in parts:
        for value in _value(part)[2]:
            if value in owners:
                raise _overlap(table, owners[value], part)
            owners[value] = part


def _overlap(table: str, one: _Partition, other: _Partition) -> StarRocksError:
    return StarRocksError(
        f"{table}: partitions {one.name} ({_shown(one)}) and {other.name} ({_shown(other)}) overlap",
        hint="The table's partitions and the declared ones must have the same bounds or values: "
        "change the declaration, or rebuild the table.",
    )


def _lost_race(error: StarRocksError) -> bool:
    """Whether ADD was refused because a partition of that name or value is there now."""
    words = ("duplicate partition", "is intersected with range", "already exist")
    return error.code == 1517 or any(word in error.message.lower() for word in words)


def _value(part: _Partition) -> _Value:
    values = frozenset(value if isinstance(value, tuple) else (value,) for value in part.values)
    return _plain(part.lower), _plain(part.upper), values


def _plain(bound: str | None) -> str | None:
    return None if bound is None else bound.removesuffix(" 00:00:00")


def _key(lower: str | None) -> str:
    """Bounds in this form sort as text: a day before its hours."""
    return _plain(lower) or ""


def _upper_key(upper: str | None) -> str:
    return _plain(upper) or "\U0010ffff"


def _shown(part: _Partition) -> str:
    if part.values:
        return ", ".join(
            str(value[0] if isinstance(value, tuple) and len(value) == 1 else value) for value in part.values
        )
    return f"[{part.lower or '…'}, {part.upper or '…'})"
