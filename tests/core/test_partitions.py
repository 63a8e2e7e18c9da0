"""Partition definitions and their keys."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sr_assets import Daily, Hourly, Monthly, Quarterly, Static, Unpartitioned, Weekly, Yearly
from sr_assets.errors import SelectionError
from sr_assets.partitions import TimePartitions

NOON = datetime(2024, 3, 10, 12, 30, tzinfo=UTC)

# definition, first key, last key, how many are due at NOON
DUE = [
    (Hourly("t", start="2024-03-10"), "2024-03-10T00", "2024-03-10T11", 12),
    (Hourly("t", start="2024-03-10T05"), "2024-03-10T05", "2024-03-10T11", 7),
    (Daily("t", start="2024-03-01"), "2024-03-01", "2024-03-09", 9),
    (Daily("t", start="2024-03-01", end="2024-03-05"), "2024-03-01", "2024-03-04", 4),
    (Daily("t", start="2024-03-01", end_offset=1), "2024-03-01", "2024-03-10", 10),
    # it is 2024-03-11 01:30 there
    (Daily("t", start="2024-03-01", timezone="Pacific/Auckland"), "2024-03-01", "2024-03-10", 10),
    (Weekly("t", start="2024-01-01"), "2024-W01", "2024-W09", 9),
    (Weekly("t", start="2024-W05"), "2024-W05", "2024-W09", 5),
    (Monthly("t", start="2023-11"), "2023-11", "2024-02", 4),
    (Quarterly("t", start="2023-Q3"), "2023-Q3", "2023-Q4", 2),
    (Yearly("t", start="2020"), "2020", "2023", 4),
    (Static("t", ["LA", "SF"]), "LA", "SF", 2),
    (Unpartitioned(), "all", "all", 1),
]


@pytest.mark.parametrize(("definition", "first", "last", "count"), DUE, ids=lambda v: str(v)[:30])
def test_due_keys(definition, first: str, last: str, count: int) -> None:
    keys = definition.keys(NOON)
    assert definition.problems() == []
    assert (keys.key(0), keys.key(keys.size - 1), keys.size) == (first, last, count)
    assert [keys.index(keys.key(i)) for i in range(count)] == list(range(count))


def test_nothing_is_due_before_the_start() -> None:
    keys = Daily("t", start="2030-01-01").keys(NOON)
    assert keys.size == 0
    with pytest.raises(SelectionError, match="none is due yet"):
        keys.index("2030-01-01")


# definition, words of its problem
WRONG = [
    (Daily("t", start="2024-13-01"), "start: '2024-13-01' is not a key of day partitions"),
    (Daily("t", start="2024-01-02", end="2024-01-02"), "end 2024-01-02 is not after start"),
    (Weekly("t", start="2024-01-02"), "no week partition begins at '2024-01-02'"),
    (Monthly("t", start="2024-01-15"), "no month partition begins"),
    (Daily("t", start="2024-01-01", timezone="Mars/Olympus"), "timezone: 'Mars/Olympus' is not known"),
    (Static("t", []), "at least one value"),
    (Static("t", ["a", "a"]), "stands twice"),
    (Static("t", ["a "]), "begins or ends with a space"),
]


@pytest.mark.parametrize(("definition", "words"), WRONG)
def test_problems_are_told(definition, words: str) -> None:
    assert any(words in problem for problem in definition.problems())


# key, words of the error
NO_KEYS = [
    ("2024-03-10", "does not exist: the partitions that are due run from 2024-03-01 to 2024-03-09"),
    ("2024-02-29", "does not exist"),
    ("2024-03", "'2024-03' is not a key of day partitions, which look like '2024-01-01'"),
    ("yesterday", "is not a key of day partitions"),
    ("2024-3-1", "is not a key of day partitions"),
]


@pytest.mark.parametrize(("key", "words"), NO_KEYS)
def test_wrong_keys(key: str, words: str) -> None:
    with pytest.raises(SelectionError, match=words):
        Daily("t", start="2024-03-01").keys(NOON).index(key)


moments = st.datetimes(datetime(2023, 6, 1), datetime(2024, 6, 1))


@given(
    st.sampled_from([Hourly, Daily, Weekly, Monthly, Quarterly, Yearly]),
    moments,
    st.one_of(st.none(), moments),
)
def test_overlapping_is_what_the_windows_say(
    kind: type[TimePartitions], start: datetime, end: datetime | None
) -> None:
    keys = kind("t", start="2022-01-01" if kind is not Weekly else "2022-W01").keys(NOON)
    expected = [
        i
        for i in range(keys.size)
        if keys.window(i).end > start and (end is None or keys.window(i).start < max(end, start))
    ]
    if end is None or end > start:
        assert list(keys.overlapping(start, end)) == expected
