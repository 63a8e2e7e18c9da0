"""Lineage of analytical SQL for partitioned StarRocks tables: SQL text in, facts out.

`Query.parse` takes a Jinja template of a SELECT and gives its tables, columns, fingerprint, and which upstream
partitions each of its own partitions reads. Everything here is pure; every error is a `LineageError` with a
place in the text.
"""

from lineage.dialect import SQLGLOT_VERSION
from lineage.errors import LineageError
from lineage.fingerprint import FINGERPRINT_SCHEME
from lineage.partitions import Bound, PartitionColumn, Pattern, Reads, Window
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
