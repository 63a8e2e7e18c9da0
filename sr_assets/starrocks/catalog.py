"""What StarRocks says of its tables and partitions, and the fingerprint of a partition's state.

Fingerprint: information_schema.partitions_meta has one row a physical partition. A load moves DATA_VERSION;
an INSERT OVERWRITE, a REPLACE or a TRUNCATE makes a new PARTITION_ID with a new VERSION_EPOCH whose versions
begin again. So the *set* of (PARTITION_ID, VERSION_EPOCH, DATA_VERSION) is compared, and only by inequality.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sr_assets.errors import DeclarationError
from sr_assets.starrocks.drivers import as_text
from sr_assets.starrocks.quoting import TableName, literals
from sr_assets.starrocks.session import HttpEndpoint, Session

_MASK = (1 << 64) - 1

# IN lists longer than this are left out and the rows filtered here: the analyzer limits an expression's
# children.
_MAX_NAMED_TABLES = 1_000

_OPEN_BOUNDS = frozenset({"MINVALUE", "MAXVALUE", "0000-01-01", "0000-01-01 00:00:00", ""})
_KEYS = re.compile(r"keys:\s*\[([^\]]*)\]")
_RANGE_GAP = re.compile(r"\.\.|‥")
# A quoted value ends at a quote that a comma or a parenthesis follows: StarRocks does not escape what is
# inside.
_LIST_TOKEN = re.compile(r"\(|\)|'(.*?)'(?=\s*[,)])|\b(NULL)\b", re.DOTALL)
_SIZE = re.compile(r"([\d.]+)\s*([KMGTP]?)i?B?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PhysicalPartition:
    """A partition as it is in StarRocks now.

    `fingerprint` is unsigned, 64 bits. `written` is False while nothing was loaded since the partition was
    made or truncated. `lower` and `upper` (exclusive) are a range partition's bounds as StarRocks writes
    them, `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`, None where open; `values` a list partition's values, one
    tuple of columns each. `rows` and `bytes` are reported by backends and lag behind.
    """

    name: str
    fingerprint: int
    written: bool
    lower: str | None
    upper: str | None
    values: tuple[tuple[str | None, ...], ...]
    rows: int
    bytes: int
    changed_at: datetime | None


def read_partitions(session: Session, tables: Iterable[str]) -> dict[str, tuple[PhysicalPartition, ...]]:
    """The partitions of all `tables` (`db.table`), in one query, without temporary partitions.

    Tables that do not exist and tables that have no partition yet are not in the answer.
    """
    wanted = {TableName.parse(table) for table in tables}
    if not wanted:
        return {}
    where = f"IS_TEMP = 0 AND DB_NAME IN ({literals(sorted({table.database for table in wanted}))})"
    names = sorted({table.table for table in wanted})
    if len(names) <= _MAX_NAMED_TABLES:
        where += f" AND TABLE_NAME IN ({literals(names)})"
    # DATA_VERSION and VERSION_EPOCH came with 3.3; before, a compaction in shared-data mode looks like a
    # write
    version = "DATA_VERSION, VERSION_EPOCH" if session.version() >= (3, 3, 0) else "VISIBLE_VERSION, 0"
    # S608: names are quoted by literals()
    rows = session.query(
        "SELECT DB_NAME, TABLE_NAME, PARTITION_NAME, PARTITION_ID, "  # noqa: S608
        f"{version}, PARTITION_VALUE, ROW_COUNT, DATA_SIZE, VISIBLE_VERSION_TIME "
        f"FROM information_schema.partitions_meta WHERE {where}"
    )
    return {
        table: partitions
        for table, partitions in partitions_from_rows(rows).items()
        if TableName.parse(table) in wanted
    }


def partitions_from_rows(rows: Iterable[tuple[Any, ...]]) -> dict[str, tuple[PhysicalPartition, ...]]:
    """Rows of (database, table, partition, id, data version, epoch, value, rows, size, time) by table."""
    physical: dict[tuple[str, str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for database, table, name, *rest in rows:
        physical[database, table, name].append(tuple(rest))
    tables: dict[str, list[PhysicalPartition]] = defaultdict(list)
    for (database, table, name), parts in physical.items():
        tables[f"{database}.{table}"].append(_partition(name, parts))
    return {table: tuple(partitions) for table, partitions in tables.items()}


def _partition(name: str, parts: list[tuple[Any, ...]]) -> PhysicalPartition:
    lower, upper, values = parse_partition_value(as_text(parts[0][3] or ""))
    fingerprint, written, rows, size = 0, False, 0, 0
    changed_at: datetime | None = None
    for number, version, epoch, _, row_count, data_size, time in parts:
        fingerprint += _mix(int(number), int(epoch or 0), int(version))
        written = written or int(version) > 1
        rows += int(row_count or 0)
        size += parse_size(data_size)
        moment = _moment(time)
        if moment is not None and (changed_at is None or moment > changed_at):
            changed_at = moment
    return PhysicalPartition(name, fingerprint & _MASK, written, lower, upper, values, rows, size, changed_at)


def _mix(*numbers: int) -> int:
    """64 well-mixed bits of a tuple of integers: the finalizer of splitmix64 after each."""
    state = 0x9E3779B97F4A7C15
    for number in numbers:
        state = (state + number * 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


@lru_cache(maxsize=1 << 16)  # many tables share the same days
def parse_partition_value(
    text: str,
) -> tuple[str | None, str | None, tuple[tuple[str | None, ...], ...]]:
    """Lower bound, upper bound and list values of a PARTITION_VALUE (or of SHOW PARTITIONS' Range or List).

    Ranges look like `[types: [DATE]; keys: [2013-01-01]; ..types: [DATE]; keys: [2013-01-02]; )`, lists like
    `('LA', 'SF')` or, with several columns, `(('2024-01-01', 'LA'))`. Unpartitioned tables have no value.
    """
    if text.startswith("("):
        if "keys:" not in text and "∞" not in text:
            return None, None, _list_values(text)
    elif not text.startswith("["):
        return None, None, ()
    lower, *rest = _RANGE_GAP.split(text, maxsplit=1)
    return _bound(lower), _bound(rest[0]) if rest else None, ()


def _bound(text: str) -> str | None:
    keys = _KEYS.search(text)
    bound = keys[1].strip() if keys else ""
    return None if bound in _OPEN_BOUNDS else bound


def _list_values(text: str) -> tuple[tuple[str | None, ...], ...]:
    values: list[tuple[str | None, ...]] = []
    open_tuple: list[str | None] | None = None
    for token in _LIST_TOKEN.finditer(text, 1):
        if token[0] == "(":
            open_tuple = []
        elif token[0] == ")":
            if open_tuple is not None:
                values.append(tuple(open_tuple))
            open_tuple = None
        elif open_tuple is not None:
            open_tuple.append(token[1])
        else:
            values.append((token[1],))
    return tuple(values)


def parse_size(value: object) -> int:
    """Bytes from DATA_SIZE, which is a text such as `0B` or `1.2KB`, or a number."""
    if value is None or isinstance(value, int):
        return value or 0
    found = _SIZE.match(as_text(value))
    return int(float(found[1]) * 1024 ** " KMGTP".index(found[2].upper() or " ")) if found else 0


def _moment(value: object) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    text = as_text(value)
    return datetime.fromisoformat(text) if text[:1].isdigit() and not text.startswith("0000") else None


def read_columns(session: Session, table: str) -> dict[str, str] | None:
    """Columns of a table in their order: name → type, both in lower case. None if there is no such table."""
    name = TableName.parse(table)
    rows = session.query(
        "SELECT COLUMN_NAME, COLUMN_TYPE FROM information_schema.columns "
        "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
        [name.database, name.table],
    )
    return {as_text(column).lower(): as_text(kind).lower() for column, kind in rows} or None


def alive_backends(session: Session) -> int:
    """How many backends and compute nodes can work now. Needs the privilege for SHOW BACKENDS."""
    return sum(as_text(node.get("ALIVE", "")).lower() in {"true", "1"} for node in _nodes(session))


def load_endpoint(session: Session) -> HttpEndpoint:
    """The session's HTTP endpoint, which may redirect to every backend and compute node of the cluster.

    Raises DeclarationError if the session has no HTTP address.
    """
    if session.http is None:
        raise DeclarationError(
            "Stream Load needs the FE's HTTP address",
            hint="Give the connection one, such as http://host:8030.",
        )
    hosts = {as_text(node["IP"]) for node in _nodes(session) if node.get("IP")}
    return replace(session.http, known_hosts=session.http.known_hosts | hosts)


def _nodes(session: Session) -> list[dict[str, Any]]:
    return session.records("SHOW BACKENDS") + session.records("SHOW COMPUTE NODES")
