"""What a statement answers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mysql_mimic import ColumnType


@dataclass(frozen=True, slots=True)
class Rows:
    """A result set. `types` defaults to strings."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    types: Sequence[ColumnType] = ()

    def column_types(self) -> Sequence[ColumnType]:
        return self.types or [ColumnType.VAR_STRING] * len(self.names)


@dataclass(frozen=True, slots=True)
class Done:
    """No rows. `info` is the text that StarRocks puts into the OK packet: label, status, txnId."""

    affected: int = 0
    warnings: int = 0
    info: str = field(default="")


Result = Rows | Done
