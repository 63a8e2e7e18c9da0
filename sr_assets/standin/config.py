"""What a stand-in server is started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StandInConfig:
    """Settings of one server.

    `data_dir`: where tables are kept between starts; None keeps them in memory.
    `port`, `http_port`, `be_http_port`: MySQL protocol, FE's HTTP and BE's HTTP; 0 takes a free one.
    `storage_root`: `s3://bucket/key` (and s3a, oss, hdfs, gs, ...) is read from `storage_root/bucket/key`.
    `version`: what `current_version()` says, and which layout `information_schema` has.
    `load_delay`: seconds that a Broker Load takes besides reading its files.
    `statement_log`: a file that gets one JSON line for each statement received.
    """

    data_dir: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    http_port: int = 0
    be_http_port: int = 0
    storage_root: Path | None = None
    user: str = "root"
    password: str = ""
    version: str = "3.5.7"
    load_delay: float = 0.05
    statement_log: Path | None = None

    def at_least(self, *version: int) -> bool:
        """Whether the pretended StarRocks is this version or newer: `at_least(3, 4, 5)`."""
        parts = tuple(int(part) for part in self.version.split("-")[0].split("."))
        return parts >= version
