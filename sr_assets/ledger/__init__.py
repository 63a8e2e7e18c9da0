"""The ledger: what was built from what, kept in StarRocks beside the data (see `tables`)."""

from sr_assets.ledger.records import (
    Attempt,
    Backfill,
    CheckResult,
    Claim,
    Current,
    Intent,
    KeyIntent,
    Sample,
    Status,
    pack_marks,
    unpack_marks,
)
from sr_assets.ledger.store import Ledger

__all__ = [
    "Attempt",
    "Backfill",
    "CheckResult",
    "Claim",
    "Current",
    "Intent",
    "KeyIntent",
    "Ledger",
    "Sample",
    "Status",
    "pack_marks",
    "unpack_marks",
]
