"""The table function FILES(), which reads files of an object store inside a SELECT."""

from __future__ import annotations

from collections.abc import Mapping

from sr_assets.starrocks.quoting import properties


def files_table(
    path: str,
    format: str,
    options: Mapping[str, object] | None = None,
    credentials: Mapping[str, str] | None = None,
) -> str:
    """`FILES("path"=…, "format"=…, …)`. `options` are such as `csv.column_separator`, `credentials` such as
    `aws.s3.secret_key`; the statement log and errors show masked text only."""
    return f"FILES({properties({'path': path, 'format': format, **(options or {}), **(credentials or {})})})"
