"""Stopping work that runs in another thread: KILL, CANCEL LOAD, timeouts, the server's end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb

from sr_assets.standin.errors import Cancelled

_POLL = 0.01


class Cancellation:
    """One stoppable piece of work on one DuckDB cursor.

    `cancel` may come at any time; it takes effect at the next `check`, `pause` or DuckDB statement, but
    never inside of `shielded()`: a commit is done whole or not started.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        self.reason = "Cancelled by user"
        self._cancelled = threading.Event()
        self._guard = threading.Lock()
        self._shielded = False
        self._handed_over = False
        self._closed = False

    def cancel(self, reason: str = "Cancelled by user") -> None:
        with self._guard:
            self.reason = reason
            self._cancelled.set()
            if not (self._shielded or self._closed):
                self.cursor.interrupt()

    def hand_over(self) -> duckdb.DuckDBPyConnection:
        """Give the cursor, and what is staged on it, to other work that will close it."""
        self._handed_over = True
        return self.cursor

    def close(self) -> None:
        with self._guard:
            self._closed = True
            if not self._handed_over:
                self.cursor.close()

    def check(self) -> None:
        """Raise Cancelled if somebody asked for it."""
        if self._cancelled.is_set():
            raise Cancelled(self.reason)

    def pause(self, seconds: float) -> None:
        """Sleep, but wake up and raise Cancelled when cancelled."""
        if self._cancelled.wait(seconds):
            raise Cancelled(self.reason)

    def wait_while(self, condition: Callable[[], bool], limit: float | None = None) -> None:
        """Wait until `condition` is false, `limit` seconds have passed, or raise Cancelled."""
        end = None if limit is None else time.monotonic() + limit
        while condition() and (end is None or time.monotonic() < end):
            self.pause(_POLL)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """Keep `cancel` from interrupting what runs inside. Raises Cancelled when it came before."""
        with self._guard:
            self.check()
            self._shielded = True
        try:
            yield
        finally:
            with self._guard:
                self._shielded = False
