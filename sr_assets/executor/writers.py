"""Writing partitions: one writer a recipe. Each replaces whole partitions atomically.

Loads append, so they go into temporary partitions that are then swapped in, all of one load at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lineage import calendar, render
from sr_assets.assets import Asset, BrokerLoad, FilesLoad, Sql, StreamLoad
from sr_assets.compile import Node
from sr_assets.errors import DeadlineExceeded, StarRocksError
from sr_assets.partitions import KeySpace, TimeKeys
from sr_assets.starrocks.broker_load import FileGroup, broker_load
from sr_assets.starrocks.catalog import load_endpoint
from sr_assets.starrocks.files import files_table
from sr_assets.starrocks.labels import LabelState, label_state
from sr_assets.starrocks.overwrite import overwrite
from sr_assets.starrocks.partitions import (
    PartitionTarget,
    add_temporary,
    drop_temporary,
    replace_partitions,
)
from sr_assets.starrocks.session import Session
from sr_assets.starrocks.stream_load import stream_load


@dataclass(frozen=True, slots=True)
class Write:
    """One statement's work: partitions of an asset, by index and physical name, under one label.

    `storage` are the properties with which StarRocks reads files.
    """

    node: Node
    keys: KeySpace
    indexes: tuple[int, ...]
    names: tuple[str, ...]
    label: str
    storage: Mapping[str, str]


def write(session: Session, work: Write) -> int:
    """Replace the partitions' rows; gives the number of rows that may still have to become visible.

    Raises StarRocksError; then the label and the fingerprint decide.
    """
    return _WRITERS[type(work.node.asset.recipe)](session, work)


def partition_target(asset: Asset, keys: KeySpace, index: int) -> PartitionTarget | None:
    """The physical partition of a key; None for an unpartitioned asset."""
    if asset.partitions.partition_column is None:
        return None
    key = keys.key(index)
    if not isinstance(keys, TimeKeys):
        return PartitionTarget(f"p{''.join(c if c.isalnum() else '_' for c in key)}", values=(key,))
    lower, upper = (calendar.start(keys.grain, keys.first + index + step) for step in (0, 1))
    has_time = any(
        c.type.upper() == "DATETIME" for c in asset.columns if c.name == asset.partitions.partition_column
    )
    form = "%Y-%m-%d %H:%M:%S" if has_time else "%Y-%m-%d"
    name = "p" + "".join(c for c in key if c.isalnum())
    return PartitionTarget(name, lower.strftime(form), upper.strftime(form))


def _write_sql(session: Session, work: Write) -> int:
    query = work.node.query
    assert query is not None
    return _overwrite(session, work, query.outputs, query.render(work.keys.window(work.indexes[0])))


def _write_files(session: Session, work: Write) -> int:
    recipe = work.node.asset.recipe
    assert isinstance(recipe, FilesLoad)
    columns = tuple(recipe.select) or tuple(column.name for column in work.node.asset.columns)
    expressions = tuple(recipe.select.values()) or columns
    path = render(recipe.path, work.keys.window(work.indexes[0]))
    files = files_table(path, recipe.format, recipe.options, work.storage)
    return _overwrite(session, work, columns, f"SELECT {', '.join(expressions)} FROM {files}")


def _overwrite(session: Session, work: Write, columns: Sequence[str], select: str) -> int:
    asset = work.node.asset
    return overwrite(
        session,
        asset.name,
        partitions=None if asset.partitions.partition_column is None else work.names,
        columns=columns,
        select=select,
        label=work.label,
        timeout=int(asset.deadline),
    )


def _write_broker(session: Session, work: Write) -> int:
    asset, recipe = work.node.asset, work.node.asset.recipe
    assert isinstance(recipe, BrokerLoad)

    def load(temporary: Sequence[str]) -> None:
        options = recipe.options
        files = [
            FileGroup(
                paths=(render(recipe.path, work.keys.window(index)),),
                format=recipe.format,
                temporary_partitions=(name,),
                columns=recipe.columns,
                set=recipe.set,
                column_separator=options.get("column_separator", ""),
                skip_header=int(options.get("skip_header", "0")),
                enclose=options.get("enclose", ""),
                escape=options.get("escape", ""),
            )
            for index, name in zip(work.indexes, temporary, strict=True)
        ]
        broker_load(
            session,
            table=asset.name,
            files=files,
            label=work.label,
            properties={
                "timeout": int(asset.deadline),
                "max_filter_ratio": options.get("max_filter_ratio", "0"),
            },
            broker=work.storage,
            deadline=asset.deadline,
            poll=0.2,
        )

    _swap_in(session, work, load)
    return 0


def _write_stream(session: Session, work: Write) -> int:
    asset, recipe = work.node.asset, work.node.asset.recipe
    assert isinstance(recipe, StreamLoad)

    def load(temporary: Sequence[str]) -> None:
        result = stream_load(
            load_endpoint(session),
            table=asset.name,
            data=recipe.rows(work.keys.window(work.indexes[0], work.indexes[-1])),
            label=work.label,
            format="json" if recipe.format == "json" else "csv",
            columns=recipe.columns,
            temporary_partitions=temporary,
            headers=recipe.options,
            timeout=int(asset.deadline),
        )
        if not result.visible:
            _await_visible(session, asset, work.label)

    _swap_in(session, work, load)
    return 0


def _await_visible(session: Session, asset: Asset, label: str) -> None:
    """Wait until committed rows can be read: a partition that is swapped in before would lack them."""
    ends = time.monotonic() + asset.deadline
    while label_state(session, asset.database, label).state is not LabelState.FINISHED:
        if time.monotonic() > ends:
            raise DeadlineExceeded(f"{asset.name}: the rows of load {label} did not become visible")
        time.sleep(0.5)


def _swap_in(session: Session, work: Write, load: Callable[[Sequence[str]], Any]) -> None:
    """Load into temporary partitions, then put them in place of the live ones in one step."""
    asset = work.node.asset
    temporary = [f"sr_{name}" for name in work.names]
    targets = []
    for index, name in zip(work.indexes, temporary, strict=True):
        target = partition_target(asset, work.keys, index)
        assert target is not None, "a load of an unpartitioned table is refused when it is declared"
        targets.append(PartitionTarget(name, target.lower, target.upper, target.values))
    add_temporary(session, asset.name, targets)
    try:
        with _nothing_is_no_error():
            load(temporary)
        replace_partitions(session, asset.name, dict(zip(work.names, temporary, strict=True)))
    except StarRocksError as error:
        if not error.transient:  # else the connection may be gone; what is left is dropped by the next load
            drop_temporary(session, asset.name, temporary)
        raise


@contextmanager
def _nothing_is_no_error() -> Iterator[None]:
    """A load without a row is refused where `empty_load_as_error` is on, as it is by default.

    Then the empty temporary partition is what belongs there; an asset that must have rows says so by a check.
    Source: FE parameter empty_load_as_error; StarRocks PR #44292.
    """
    try:
        yield
    except StarRocksError as error:
        if _NO_ROWS not in error.message.lower():
            raise


_NO_ROWS = "all partitions have no load data"

_WRITERS: dict[type, Callable[[Session, Write], int]] = {
    Sql: _write_sql,
    FilesLoad: _write_files,
    BrokerLoad: _write_broker,
    StreamLoad: _write_stream,
}
