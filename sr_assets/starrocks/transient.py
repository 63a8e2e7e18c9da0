"""Which errors may go away when the same thing is tried again later."""

from __future__ import annotations

import re

# Client errors: cannot connect, gone away, lost during query, lost at a packet (MySQL's CR_* numbers; 2055 is
# mysql-connector's). PyMySQL raises InterfaceError(0, '') on a connection that it has closed.
CONNECTION_CODES = frozenset({0, 2002, 2003, 2006, 2013, 2055})

_LOST = re.compile(
    r"lost connection|gone away|connection reset|broken pipe|not connected|connection.*closed", re.I
)

# 1040 too many connections, 1158–1161 network errors between client and server,
# 1205 lock wait timeout, 5024 insert reached its timeout
_CODES = frozenset({2002, 2003, 2006, 2013, 2055, 1040, 1158, 1159, 1160, 1161, 1205, 5024})

_MESSAGES = re.compile(
    "|".join(
        (
            r"too many (tablet )?versions",  # tablet version limit: compaction lags behind loads
            r"current running txns on db",  # max_running_txn_num_per_db
            r"lock timeout",  # "get database read lock timeout", "Failed to acquire … lock timeout"
            r"reach(ed|es)?\b.{0,40}\btimeout",  # "Insert reached its timeout of N seconds"
            r"\btimed out\b|query timeout|pending timeout|rpc.{0,40}(timeout|failed)",
            r"no leader|not (the )?leader|leader (is )?(change|transfer|switch)|fe abort the task",
            r"backend.{0,60}(not found|not alive|is down|not available)|no alive (backend|compute node)",
            r"alive backends? (is )?not enough|failed to get backend",
        )
    ),
    re.IGNORECASE | re.DOTALL,
)


def connection_lost(code: int, message: str) -> bool:
    """Whether the connection is unusable, so that nothing is known of the statement that was under way.

    An error of the server (1000 and up, but for the client's 2000 to 2999) came over a connection that works,
    even if it tells of a lost connection between servers.
    """
    from_client = code == 0 or 2000 <= code < 3000
    return code in {2006, 2013, 2055} or (from_client and (not message or bool(_LOST.search(message))))


def is_transient(code: int, message: str) -> bool:
    """Whether the same statement may succeed when sent again later.

    It does not say that the statement had no effect: after a lost connection or a timeout the caller has to
    look at the label and at the partition first.
    """
    return (
        code in _CODES
        or connection_lost(code, message)
        or bool(_LOST.search(message) or _MESSAGES.search(message))
    )
