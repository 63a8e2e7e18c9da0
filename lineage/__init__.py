"""Lineage of analytical SQL for partitioned StarRocks tables: SQL text in, facts out.

`Query.parse` takes a Jinja template of a SELECT and gives its tables, columns, fingerprint, and which upstream
partitions each of its own partitions reads. Everything here is pure; every error is a `LineageError` with a
place in the text.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lineage.errors import LineageError
from lineage.partitions import Bound, PartitionColumn, Pattern, Reads, Window

if TYPE_CHECKING:
    from lineage.dialect import SQLGLOT_VERSION
    from lineage.fingerprint import FINGERPRINT_SCHEME
    from lineage.query import Query
    from lineage.template import render

__all__ = [
    "FINGERPRINT_SCHEME",
    "SQLGLOT_VERSION",
    "Bound",
    "LineageError",
    "PartitionColumn",
    "Pattern",
    "Query",
    "Reads",
    "Window",
    "render",
]

#: Loaded when first asked for: SQLGlot and Jinja take 0.2 seconds that a command's --help need not wait for.
_LATER = {
    "FINGERPRINT_SCHEME": "lineage.fingerprint",
    "Query": "lineage.query",
    "SQLGLOT_VERSION": "lineage.dialect",
    "render": "lineage.template",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
