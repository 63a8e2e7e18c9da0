"""The catalog's values: tables, their columns, how they are partitioned, and partitions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

from sr_assets.standin.datatypes import DataType
from sr_assets.standin.errors import analyzing, unknown_partition

Bound = date | datetime | int | str
"""A limit of a range partition: DATE, DATETIME, a number, or (rarely) a string."""

ListValue = tuple[str | None, ...]
"""One value of a list partition: a text for each partition column, None for NULL."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `default` is a literal's text or `CURRENT_TIMESTAMP`; None means no default."""

    name: str
    type: DataType
    nullable: bool = True
    default: str | None = None
    comment: str = ""
    auto_increment: bool = False


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How rows find their partition.

    `automatic`: loads create missing partitions. `grain` and `step` are those of `date_trunc(grain, c)`
    or `time_slice(c, INTERVAL step grain)`; such tables are range-partitioned inside.
    """

    kind: Literal["none", "range", "list"] = "none"
    columns: tuple[str, ...] = ()
    automatic: bool = False
    grain: str = ""
    step: int = 1


@dataclass(frozen=True, slots=True)
class Partition:
    """One physical partition at one moment.

    `lower` inclusive, `upper` exclusive, None for open; `values` those of a list partition.
    `version` is 1 at birth and one more after every load; `epoch` is stamped at birth and never again.
    """

    id: int
    name: str
    version: int
    version_time: datetime
    epoch: int
    temporary: bool = False
    lower: Bound | None = None
    upper: Bound | None = None
    values: tuple[ListValue, ...] = ()
    rows: int = 0

    @property
    def key(self) -> str:
        """Partition names are case-insensitive."""
        return self.name.lower()

    def written(self, rows: int, moment: datetime) -> Partition:
        """This partition after one load or delete that leaves `rows` rows."""
        return replace(self, version=self.version + 1, version_time=moment, rows=rows)


@dataclass(frozen=True, slots=True)
class Definition:
    """What CREATE TABLE and ALTER TABLE say about a table."""

    columns: tuple[Column, ...]
    key_model: str
    keys: tuple[str, ...]
    partitioning: Partitioning = Partitioning()
    distribution: tuple[str, ...] = ()
    buckets: int = 0
    order_by: tuple[str, ...] = ()
    comment: str = ""
    properties: tuple[tuple[str, str], ...] = ()

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name.lower() == name.lower():
                return column
        raise analyzing(f"Column '{name}' cannot be resolved")

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Definition:
        data: dict[str, Any] = json.loads(text)
        columns = tuple(
            Column(**{**column, "type": _type_from_json(column["type"])}) for column in data.pop("columns")
        )
        partitioning = data.pop("partitioning")
        partitioning["columns"] = tuple(partitioning["columns"])
        return cls(
            columns=columns,
            partitioning=Partitioning(**partitioning),
            keys=tuple(data.pop("keys")),
            distribution=tuple(data.pop("distribution")),
            order_by=tuple(data.pop("order_by")),
            properties=tuple((key, value) for key, value in data.pop("properties")),
            **data,
        )


def _type_from_json(data: dict[str, Any]) -> DataType:
    return DataType(data["base"], tuple(data["arguments"]), data["element"])


@dataclass(slots=True, eq=False)
class Table:
    """A table as it stands now. Changed only by the store, after the change is on disk."""

    id: int
    db: str
    name: str
    definition: Definition
    partitions: dict[str, Partition] = field(default_factory=dict)
    temporary: dict[str, Partition] = field(default_factory=dict)

    @property
    def data(self) -> str:
        """The DuckDB table with the rows of all partitions; `__pid` is a row's partition id."""
        return f"data.t{self.id}"

    @property
    def partitioning(self) -> Partitioning:
        return self.definition.partitioning

    @property
    def bound_type(self) -> DataType:
        """The type of a range-partitioned table's partition column."""
        return self.definition.column(self.partitioning.columns[0]).type

    @property
    def has_primary_key(self) -> bool:
        """Whether a load replaces the rows with the same key."""
        return self.definition.key_model in ("PRIMARY", "UNIQUE")

    def pool(self, temporary: bool) -> dict[str, Partition]:
        return self.temporary if temporary else self.partitions

    def named(self, names: Sequence[str], *, temporary: bool = False) -> list[Partition]:
        """The partitions of these names, each once; raises ServerError for an unknown one."""
        found: dict[str, Partition] = {}
        for name in names:
            partition = self.pool(temporary).get(name.lower())
            if partition is None:
                raise unknown_partition(name, self.name)
            found[partition.key] = partition
        return list(found.values())


@dataclass(frozen=True, slots=True)
class View:
    """A view: its text is parsed again wherever it is read."""

    id: int
    db: str
    name: str
    query: str
    columns: tuple[str, ...] = ()
