"""Calendar grains: ordinals, starts and keys agree with one another."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage import calendar
from lineage.calendar import Grain

grains = st.sampled_from(Grain)
moments = st.datetimes(datetime(1, 1, 8), datetime(9998, 12, 31))


@given(grains, moments)
def test_a_moment_is_within_its_step(grain: Grain, moment: datetime) -> None:
    number = calendar.ordinal(grain, moment)
    assert calendar.start(grain, number) <= moment < calendar.start(grain, number + 1)


@given(grains, moments)
def test_keys_go_round(grain: Grain, moment: datetime) -> None:
    number = calendar.ordinal(grain, moment)
    assert calendar.parse_key(grain, calendar.key(grain, number)) == number


@given(grains, moments)
def test_only_the_first_moment_is_a_start(grain: Grain, moment: datetime) -> None:
    first = calendar.start(grain, calendar.ordinal(grain, moment))
    assert calendar.is_start(grain, first)
    assert not calendar.is_start(grain, first + timedelta(microseconds=1))


@given(grains, moments, moments)
def test_ordinals_are_in_the_order_of_time(grain: Grain, a: datetime, b: datetime) -> None:
    if a <= b:
        assert calendar.ordinal(grain, a) <= calendar.ordinal(grain, b)


@given(grains, moments)
def test_keys_are_in_the_order_of_time(grain: Grain, moment: datetime) -> None:
    number = calendar.ordinal(grain, moment)
    assert calendar.key(grain, number) < calendar.key(grain, number + 1)


@pytest.mark.parametrize(
    ("grain", "key", "start"),
    [
        (Grain.HOUR, "2024-02-29T23", datetime(2024, 2, 29, 23)),
        (Grain.DAY, "2024-02-29", datetime(2024, 2, 29)),
        (Grain.WEEK, "2024-W01", datetime(2024, 1, 1)),
        (Grain.WEEK, "2020-W53", datetime(2020, 12, 28)),
        (Grain.WEEK, "2025-W01", datetime(2024, 12, 30)),
        (Grain.MONTH, "2024-12", datetime(2024, 12, 1)),
        (Grain.QUARTER, "2024-Q4", datetime(2024, 10, 1)),
        (Grain.YEAR, "2024", datetime(2024, 1, 1)),
    ],
)
def test_keys(grain: Grain, key: str, start: datetime) -> None:
    assert calendar.start(grain, calendar.parse_key(grain, key)) == start
    assert calendar.key(grain, calendar.ordinal(grain, start)) == key


@pytest.mark.parametrize("grain", Grain)
def test_step_0_holds_the_epoch(grain: Grain) -> None:
    assert calendar.ordinal(grain, datetime(1970, 1, 1)) == 0


@pytest.mark.parametrize(
    ("grain", "text"),
    [
        (Grain.DAY, "2024-02-30"),
        (Grain.DAY, "2024-2-3"),
        (Grain.DAY, "2024-02"),
        (Grain.DAY, "20240203"),
        (Grain.HOUR, "2024-02-03"),
        (Grain.HOUR, "2024-02-03T24"),
        (Grain.WEEK, "2024-W53"),
        (Grain.WEEK, "2024-01-01"),
        (Grain.MONTH, "2024-13"),
        (Grain.QUARTER, "2024-Q5"),
        (Grain.QUARTER, "2024-Q0"),
        (Grain.YEAR, "24"),
        (Grain.YEAR, ""),
    ],
)
def test_other_texts_are_no_keys(grain: Grain, text: str) -> None:
    with pytest.raises(ValueError, match="is not a key of"):
        calendar.parse_key(grain, text)


def test_there_is_nothing_after_the_last_year() -> None:
    last = calendar.parse_key(Grain.MONTH, "9999-12")
    with pytest.raises(OverflowError):
        calendar.start(Grain.MONTH, last + 1)
