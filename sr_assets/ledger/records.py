"""The ledger's values."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

from sr_assets.spans import Words


class Status(StrEnum):
    """How an attempt at a partition ended."""

    SUCCESS = "success"
    FAILED = "failed"
    BLOCKED = "blocked"  # not tried: it reads a partition that failed or was blocked itself


def to_hex(word: int) -> str:
    """A 64-bit word as 16 hexadecimal digits, the form in which the ledger keeps it."""
    return f"{word:016x}"


@dataclass(frozen=True, slots=True)
class Sample:
    """What a partition was about to read of one upstream, sampled before it read.

    `digest` is the sum of the read partitions' fingerprints modulo 2^64, absent ones counting 0. `spans` are
    the read partitions as runs of keys, and `marks` 16 bits of each one's fingerprint in that order, so that
    a changed partition can be named later; empty where too many partitions are read.
    """

    digest: int
    spans: tuple[tuple[str, str], ...] = ()
    marks: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": to_hex(self.digest),
            "spans": [list(span) for span in self.spans],
            "marks": self.marks,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sample:
        spans = tuple((first, last) for first, last in value["spans"])
        return cls(int(value["digest"], 16), spans, value["marks"])


def pack_marks(fingerprints: Words) -> str:
    """The low 16 bits of every fingerprint, as base64."""
    return base64.b64encode(fingerprints.astype("<u2").tobytes()).decode()


def unpack_marks(marks: str) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """The inverse of `pack_marks`."""
    return np.frombuffer(base64.b64decode(marks), dtype="<u2")


@dataclass(frozen=True, slots=True)
class KeyIntent:
    """What is about to be done to one partition."""

    label: str
    before: int
    samples: Mapping[str, Sample]

    def to_json(self) -> dict[str, Any]:
        samples = {name: sample.to_json() for name, sample in self.samples.items()}
        return {"label": self.label, "before": to_hex(self.before), "samples": samples}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> KeyIntent:
        samples = {name: Sample.from_json(sample) for name, sample in value["samples"].items()}
        return cls(value["label"], int(value["before"], 16), samples)


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to be done to the partitions of one claim, and by which version of the code."""

    code_version: str
    keys: Mapping[str, KeyIntent]

    def to_json(self) -> dict[str, Any]:
        return {
            "code_version": self.code_version,
            "keys": {key: intent.to_json() for key, intent in self.keys.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Intent:
        return cls(
            value["code_version"], {key: KeyIntent.from_json(intent) for key, intent in value["keys"].items()}
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that is not released. `live` is False once it has expired by the server's clock."""

    asset: str
    seq: int
    owner: str
    run: str
    intent: Intent
    expires: datetime
    live: bool

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(self.intent.keys)


@dataclass(frozen=True, slots=True)
class Current:
    """Where one partition stands. The fields of the last success are empty where there was none."""

    asset: str
    key: str
    status: Status
    attempt_run: str
    attempted_at: datetime
    error: str | None = None
    claim: int | None = None
    run: str | None = None
    code_version: str | None = None
    digests: Mapping[str, int] = field(default_factory=dict)
    fingerprint: int = 0
    rows: int | None = None
    built_at: datetime | None = None
    seconds: float | None = None

    @property
    def built(self) -> bool:
        return self.built_at is not None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One finished attempt at one partition."""

    asset: str
    key: str
    claim: int
    run: str
    label: str
    status: Status
    code_version: str
    samples: Mapping[str, Sample]
    before: int
    after: int
    rows: int | None
    started_at: datetime
    finished_at: datetime
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check said of one partition; `message` is None where it passed."""

    asset: str
    key: str
    claim: int
    run: str
    check: str
    severity: str
    message: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Backfill:
    """One state of one backfill."""

    id: str
    at: datetime
    state: str
    title: str
    request: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] | None = None
    link: str = ""
    note: str = ""
