from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sr_assets.errors import DeclarationError
from sr_assets.starrocks.labels import insert_rows
from sr_assets.starrocks.quoting import TableName, bind, identifier, literal, literals, properties, text
from sr_assets.starrocks.session import Session

LITERALS: list[tuple[Any, str]] = [
    (None, "NULL"),
    (True, "TRUE"),
    (-5, "-5"),
    (1.5, "1.5"),
    (1e300, "1e+300"),
    (Decimal("1E+3"), "1000"),
    (Decimal("0.10"), "0.10"),
    ("it's", r"'it\'s'"),
    ('say "no"', r"'say \"no\"'"),
    ("a\\b", r"'a\\b'"),
    ("two\nlines\0", r"'two\nlines\0'"),
    ("100%", "'100%'"),
    (date(2024, 1, 2), "'2024-01-02'"),
    (datetime(2024, 1, 2, 3, 4, 5), "'2024-01-02 03:04:05'"),
    (datetime(2024, 1, 2, 3, 4, 5, 600), "'2024-01-02 03:04:05.000600'"),
    (b"\x00\xff", "x'00ff'"),
]


@pytest.mark.parametrize(("value", "sql"), LITERALS, ids=repr)
def test_literal(value: Any, sql: str) -> None:
    assert literal(value) == sql


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        datetime(2024, 1, 1, tzinfo=UTC),
        "\ud800",
        pytest.param(object(), id="an object"),
        [1],
    ],
    ids=repr,
)
def test_what_has_no_literal_is_refused(value: Any) -> None:
    with pytest.raises(DeclarationError):
        literal(value)


@pytest.mark.parametrize("name", ["", "a`b", "a\nb", "a\0"])
def test_identifier_refuses(name: str) -> None:
    with pytest.raises(DeclarationError, match="cannot be a name"):
        identifier(name)


@pytest.mark.parametrize("name", ["orders", "a.b.c", ".orders", "sales.", ""])
def test_table_name_refuses(name: str) -> None:
    with pytest.raises(DeclarationError, match=r"database\.table"):
        TableName.parse(name)


def test_table_name() -> None:
    name = TableName.parse("sales.orders")
    assert (str(name), name.sql) == ("sales.orders", "`sales`.`orders`")
    assert TableName.parse(name) is name


def test_properties() -> None:
    assert properties({"a.b": 'x"y', "timeout": 60, "strict_mode": True}) == (
        r'"a.b"="x\"y", "timeout"="60", "strict_mode"="true"'
    )


def test_bind_fills_placeholders_only() -> None:
    assert bind("a = %s AND b LIKE '5%' AND c = %s", ["%s", 1]) == "a = '%s' AND b LIKE '5%' AND c = 1"
    with pytest.raises(ValueError, match="1 placeholders, 2 values"):
        bind("a = %s", [1, 2])


# StarRocks holds text up to 65,533 bytes in STRING; NUL is kept, lone surrogates do not exist in UTF-8
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
nasty = st.text(st.sampled_from("'\"\\\n\r\t\0\x1a%_;-#/*`ä€😀 snNZ0"), max_size=20)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.one_of(texts, nasty), min_size=1, max_size=20))
def test_text_comes_back_from_the_server(session: Session, values: list[str]) -> None:
    assert session.query(f"SELECT {literals(values)}") == [tuple(values)]
    assert session.query(f"SELECT {', '.join(map(text, values))}") == [tuple(values)]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), texts, nasty),
            st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
            st.one_of(st.none(), st.dates(date(1900, 1, 1), date(9999, 12, 31))),
            st.one_of(
                st.none(),
                st.datetimes(datetime(1900, 1, 1), datetime(9999, 12, 31)).map(
                    lambda t: t.replace(microsecond=0)
                ),
            ),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_rows_come_back_from_a_table(
    session: Session, roundtrip_table: str, rows: list[tuple[object, ...]]
) -> None:
    session.execute(f"TRUNCATE TABLE {roundtrip_table}")
    numbered = [(number, *row) for number, row in enumerate(rows)]
    insert_rows(session, roundtrip_table, ["k", "t", "i", "d", "ts"], numbered)
    assert session.query(f"SELECT k, t, i, d, ts FROM {roundtrip_table} ORDER BY k") == numbered


@pytest.fixture
def roundtrip_table(session: Session, database: str) -> str:
    session.execute(
        f"CREATE TABLE {database}.roundtrip (k INT, t STRING, i BIGINT, d DATE, ts DATETIME) "
        'DUPLICATE KEY (k) DISTRIBUTED BY HASH (k) BUCKETS 1 PROPERTIES ("replication_num"="1")'
    )
    return f"{database}.roundtrip"
