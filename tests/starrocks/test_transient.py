from __future__ import annotations

import pytest

from sr_assets.starrocks.transient import connection_lost, is_transient

TRANSIENT = [
    (2013, "Lost connection to MySQL server during query"),
    (2006, "MySQL server has gone away"),
    (2003, "Can't connect to MySQL server on 'fe' ([Errno 111] Connection refused)"),
    (1040, "Reach limit of connections"),
    (
        5024,
        "Insert reached its timeout of 300 seconds, please increase the 'insert_timeout' session variable",
    ),
    (1064, "Too many versions. tablet_id: 10203, version_count: 1001, limit: 1000"),
    (
        1064,
        "Getting analyzing error. Detail message: current running txns on db 10003 is 1000, larger than limit 1000",
    ),
    (1064, "get database read lock timeout, database=sales"),
    (1064, "Failed to acquire lock: lock timeout"),
    (1064, "query timeout. backend id: 10001"),
    (1064, "Fe abort the task"),
    (1064, "leader transfer, please retry"),
    (1064, "rpc failed, host: be-1: Connection reset by peer"),
    (1064, "Backend node not found. Check if any backend node is down. backend: [10.0.0.1 alive: false]"),
    (1064, "Failed to allocate resource to query: pending timeout [300]"),
]
PERMANENT = [
    (1064, "Getting analyzing error. Detail message: Unknown partition 'p' in table 't'."),
    (1064, "Getting syntax error at line 1, column 7."),
    (1517, "Duplicate partition name p20240101"),
    (5502, "Unknown table 'sales.orders'"),
    (5610, "Insert has filtered data in strict mode, txn_id = 7 tracking sql = select 1"),
    (1064, "Label [x] has already been used."),
    (1045, "Access denied for user 'root' (using password: YES)"),
    (1064, "Getting analyzing error. Detail message: Column 'timeout' cannot be resolved."),
]


@pytest.mark.parametrize(("code", "message"), TRANSIENT)
def test_transient(code: int, message: str) -> None:
    assert is_transient(code, message)


@pytest.mark.parametrize(("code", "message"), PERMANENT)
def test_permanent(code: int, message: str) -> None:
    assert not is_transient(code, message)


def test_only_a_lost_connection_closes_the_session() -> None:
    assert connection_lost(2013, "") and connection_lost(0, "")
    assert not connection_lost(5024, "Insert reached its timeout of 300 seconds")
    assert not connection_lost(1064, "rpc failed, host: be-1: Connection reset by peer")
