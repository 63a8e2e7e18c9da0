"""Keeping a claim alive while a long statement runs."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from types import TracebackType

from sr_assets.errors import StarRocksError
from sr_assets.ledger import Ledger
from sr_assets.starrocks.session import Session

_log = logging.getLogger(__name__)


class Lease:
    """Renews a claim from a thread of its own, three times a lease, until the block is left.

    A renewal that fails is tried again at the next turn: an expired claim lets another run in, and what the
    two of them did is then told apart by the partition's fingerprint.
    """

    def __init__(self, session: Session, database: str, asset: str, seq: int, length: timedelta) -> None:
        self._session = session.clone()
        self._ledger = Ledger(self._session, database)
        self._asset, self._seq, self._length = asset, seq, length
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease-{asset}-{seq}", daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self._session.close()

    def _renew(self) -> None:
        while not self._done.wait(self._length.total_seconds() / 3):
            try:
                self._ledger.renew_claim(self._asset, self._seq, self._length)
            except StarRocksError as error:
                _log.warning(
                    "the claim %s #%s could not be renewed: %s", self._asset, self._seq, error.message
                )
