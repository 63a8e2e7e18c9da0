"""Files of an object store, read from a local folder: for FILES(), Broker Load and Stream Load.

`s3://bucket/key` is `storage_root/bucket/key`, whatever the scheme. DuckDB does the reading.
"""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sr_assets.standin.errors import ServerError, not_implemented
from sr_assets.standin.storage import literal, quote

_URL = re.compile(r"(?P<scheme>\w+)://(?P<path>.+)", re.S)
_PATH_COMMA = re.compile(r",(?![^{]*\})")  # not inside of `{a,b}`
_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\r": "\r"}


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How a CSV file is written. NULL is `\\N`, as everywhere in StarRocks."""

    separator: str = "\t"
    skip_header: int = 0
    enclose: str = ""
    escape: str = ""

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> CsvOptions:
        """From `skip_header`, `enclose`, `column_separator` ..., with or without the prefix `csv.`."""
        given = {key.lower().removeprefix("csv."): value for key, value in properties.items()}
        return cls(
            separator=unescape_separator(given.get("column_separator", "\t")),
            skip_header=int(given.get("skip_header", "0")),
            enclose=given.get("enclose", ""),
            escape=given.get("escape", ""),
        )


def unescape_separator(text: str) -> str:
    r"""StarRocks takes `\t`, `\x01` and the like for a separator."""
    if text in _ESCAPES:
        return _ESCAPES[text]
    return re.sub(r"\\x([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), text)


def find(storage_root: Path | None, patterns: Sequence[str]) -> list[Path]:
    """The files behind URLs with wildcards (`*`, `?`, `[..]`, `{a,b}`), sorted.

    Raises ServerError when there are none, or no storage root was configured.
    """
    found: set[Path] = set()
    for pattern in patterns:
        match = _URL.fullmatch(pattern)
        if match is None:
            raise ServerError(f"Access storage error. Error message: not a URL: '{pattern}'")
        if storage_root is None:
            raise ServerError(f"The stand-in has no --storage-root, so it cannot read '{pattern}'")
        root = storage_root.resolve()
        for path in _expand_braces(match["path"].lstrip("/")):
            if ".." in Path(path).parts:
                raise ServerError(f"Access storage error. Error message: '..' in '{pattern}'")
            found.update(file for file in root.glob(path) if file.is_file())
    if not found:
        names = ", ".join(patterns)
        raise ServerError(
            "Access storage error. Error message: No files were found matching the pattern(s) or path(s): "
            f"'{names}'"
        )
    return sorted(found)


def _expand_braces(pattern: str) -> list[str]:
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match is None:
        return [pattern]
    head, tail = pattern[: match.start()], pattern[match.end() :]
    return [path for choice in match[1].split(",") for path in _expand_braces(head + choice + tail)]


def guess_format(files: Sequence[Path]) -> str:
    """By the first file's suffix, CSV if it says nothing."""
    suffix = files[0].suffix.lower().lstrip(".")
    return suffix if suffix in ("parquet", "orc", "json") else "csv"


def csv_relation(files: Sequence[Path], options: CsvOptions, columns: Sequence[str]) -> str:
    """DuckDB text that reads all columns as strings, named `columns`, and `filename`.

    Lines with another number of fields are kept in the connection's `reject_errors` table.
    """
    types = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in columns)
    arguments = [
        f"[{', '.join(literal(file) for file in files)}]",
        f"columns = {{{types}}}",
        f"delim = {literal(options.separator)}",
        f"skip = {options.skip_header}",
        f"quote = {literal(options.enclose)}",
        f"escape = {literal(options.escape or options.enclose)}",
        "nullstr = '\\N'",
        "header = false, auto_detect = false, filename = '__file', store_rejects = true",
    ]
    return f"read_csv({', '.join(arguments)})"


def parquet_relation(files: Sequence[Path]) -> str:
    """DuckDB text that reads columns by name, and `__file`."""
    return f"read_parquet([{', '.join(literal(file) for file in files)}], filename = '__file', union_by_name = true)"


def path_column(name: str) -> str:
    """DuckDB text for COLUMNS FROM PATH AS (name): the value of `name=...` in the file's path."""
    return f'regexp_extract("__file", {literal(f"/{re.escape(name)}=([^/]*)/")}, 1)'


class FilesFunction:
    """`FILES("path" = ..., "format" = ...)` as a relation of a query."""

    def __init__(self, storage_root: Path | None) -> None:
        self._root = storage_root

    def relation(self, properties: Mapping[str, str]) -> str:
        """The DuckDB query behind one FILES() call. CSV columns are `$1`, `$2`, ..., parquet's by name."""
        files = find(self._root, [path.strip() for path in _PATH_COMMA.split(properties.get("path", ""))])
        if properties.get("list_files_only", "false").lower() == "true":
            return self._listing(files, properties["path"])
        kind = properties.get("format", "parquet").lower()
        from_path = [
            name.strip() for name in properties.get("columns_from_path", "").split(",") if name.strip()
        ]
        extra = "".join(f", {path_column(name)} AS {quote(name)}" for name in from_path)
        if kind == "parquet":
            return f'SELECT * EXCLUDE ("__file"){extra} FROM {parquet_relation(files)}'
        if kind == "csv":
            options = CsvOptions.parse(properties)
            columns = [f"${number}" for number in range(1, _count_columns(files[0], options) + 1)]
            names = ", ".join(quote(column) for column in columns)
            return f"SELECT {names}{extra} FROM {csv_relation(files, options, columns)}"
        raise not_implemented(f"FILES() of format '{kind}'")

    def _listing(self, files: Sequence[Path], pattern: str) -> str:
        assert self._root is not None
        scheme = pattern.split("://")[0]
        rows = ", ".join(
            "({}, {}, 0, TIMESTAMP {})".format(
                literal(f"{scheme}://{file.relative_to(self._root.resolve())}"),
                file.stat().st_size,
                literal(datetime.fromtimestamp(file.stat().st_mtime).replace(microsecond=0)),
            )
            for file in files
        )
        return f"SELECT * FROM (VALUES {rows}) AS f(PATH, SIZE, IS_DIR, MODIFICATION_TIME)"


def _count_columns(file: Path, options: CsvOptions) -> int:
    """How many fields the first line of data has."""
    with file.open(encoding="utf-8", newline="") as lines:
        for _ in range(options.skip_header):
            next(lines, "")
        line = next(lines, "").rstrip("\r\n")
    if options.enclose:
        quoted = re.escape(options.enclose)
        line = re.sub(f"{quoted}[^{quoted}]*{quoted}", "", line)
    return line.count(options.separator) + 1
