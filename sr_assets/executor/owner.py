"""Who writes: the owner of a claim."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """One task or process that writes. `name` is the same when it is tried again.

    Host and process let others on the same host see that the owner died, before its claim expires.
    """

    name: str
    host: str
    pid: int

    @classmethod
    def here(cls, name: str) -> Owner:
        return cls(name, socket.gethostname(), os.getpid())

    @classmethod
    def parse(cls, text: str) -> Owner:
        """The inverse of `str()`."""
        name, host, pid = text.rsplit("@", 2)
        return cls(name, host, int(pid))

    def __str__(self) -> str:
        return f"{self.name}@{self.host}@{self.pid}"

    def is_dead(self) -> bool:
        """True where this host knows that the process is gone; False where it lives or nobody here can tell."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False
