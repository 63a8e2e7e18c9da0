"""The statement log: everything that was sent, when, for whom, and how it ended; secrets masked."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

_SECRET_WORD = r"(?:secret|password|passwd|token|credential|(?:access|account|shared|private)[._]?key)"
_QUOTED = r"""(?:"(?:[^"\\]|\\.|"")*"|'(?:[^'\\]|\\.|'')*'|["'][^"']*\Z)"""  # the last: cut off in an error
_SECRETS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # "aws.s3.secret_key" = "…" in FILES(), WITH BROKER and PROPERTIES
        rf"""({_SECRET_WORD}[\w.-]{{0,40}}["']?\s*=\s*){_QUOTED}""",
        rf"(\bIDENTIFIED\s+(?:WITH\s+\w+\s+)?(?:BY|AS)\s+(?:PASSWORD\s+)?){_QUOTED}",
        rf"(\bPASSWORD\s*\(\s*){_QUOTED}",
    )
)
_URL_PASSWORD = re.compile(r"(://[^\s:/@]+:)[^\s/]+(@)")

LOGGED_CHARACTERS = 20_000


def mask(sql: str) -> str:
    """`sql` with keys, passwords and tokens replaced by `***`."""
    for pattern in _SECRETS:
        sql = pattern.sub(r"\1'***'", sql)
    return _URL_PASSWORD.sub(r"\1***\2", sql)


def shorten(sql: str, limit: int) -> str:
    """`sql` cut in its middle to about `limit` characters: both ends tell what a statement was."""
    if len(sql) <= limit:
        return sql
    half = limit // 2
    return f"{sql[:half]} … {len(sql) - 2 * half} characters … {sql[-half:]}"


@dataclass(frozen=True)
class StatementLog:
    """Writes every statement to the logger `sr_assets.statements` and, if `path` is given, to that file.

    The file gets one JSON object a line: time (UTC), seconds, outcome (`ok` or the error), rows, statement,
    and the caller's context. Each line is one append, so several processes may share a file.
    """

    path: Path | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    logger: logging.Logger = field(default=logging.getLogger("sr_assets.statements"), repr=False)

    def bind(self, **context: str) -> StatementLog:
        """The same log, with `context` added to every line."""
        return replace(self, context={**self.context, **context})

    def write(self, statement: str, *, seconds: float, outcome: str, rows: int | None = None) -> None:
        if self.path is None and not self.logger.isEnabledFor(logging.DEBUG):
            return
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "seconds": round(seconds, 4),
            "outcome": mask(outcome),
            "rows": rows,
            **self.context,
            "statement": shorten(mask(statement), LOGGED_CHARACTERS),
        }
        line = json.dumps(entry, ensure_ascii=False)
        self.logger.debug("%s", line)
        if self.path is not None:
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
            except (
                OSError
            ) as error:  # the statement was carried out: a full disk here must not undo its record
                self.logger.warning("The statement log %s cannot be written: %s", self.path, error)
