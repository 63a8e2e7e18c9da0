"""A pattern covers what is read, for windows that it was not found from."""

import random

import pytest

from lineage import Bound, PartitionColumn, Pattern, Query, Reads, Window, calendar, spans
from lineage.calendar import Grain

from .generate import SCHEMA as GENERATED_SCHEMA
from .generate import Generator
from .tables import SCHEMA, UPSTREAMS
from .test_cases import Case, load
from .test_soundness import UPSTREAMS as GENERATED_UPSTREAMS

WINDOWS = 25


def as_spans(reads: Reads) -> spans.Spans:
    return tuple(
        (spans.LOWEST if low is None else low, spans.HIGHEST if high is None else high)
        for low, high in reads.spans
    )


def uncovered(
    query: Query, grain: Grain, upstreams: dict[str, PartitionColumn], source: random.Random
) -> list[str]:
    """Windows and tables whose reads are not within the pattern, or not equal to it."""
    found = []
    patterns = query.patterns(upstreams)
    first, last = (
        calendar.parse_key(grain, calendar.key(grain, calendar.ordinal(grain, moment))) for moment in SPAN
    )
    for number in (source.randint(first, last) for _ in range(WINDOWS)):
        window = Window.of(grain, number)
        reads = query.reads(window, upstreams)
        for table, pattern in patterns.items():
            if pattern is not None and table in upstreams:
                claimed = as_spans(pattern.at(window, upstreams[table]))
                if spans.intersect(claimed, as_spans(reads[table])) != as_spans(reads[table]):
                    found.append(f"{window.key} {table}: {reads[table]} is not within {pattern}")
    return found


SPAN = (calendar.start(Grain.YEAR, 20), calendar.start(Grain.YEAR, 90))
TIME_CASES = [case for case in load() if "list" not in case.facts and case.facts.get("grain") != "none"]


@pytest.mark.parametrize("case", TIME_CASES, ids=lambda case: case.facts["name"])
def test_patterns_of_the_cases_hold_for_any_window(case: Case) -> None:
    grain = Grain(case.facts.get("grain", "day"))
    query = Query.parse(case.sql, grain=grain, database="dw", schema=SCHEMA)
    assert uncovered(query, grain, UPSTREAMS, random.Random(case.facts["name"])) == []


@pytest.mark.parametrize("seed", range(40))
def test_patterns_of_generated_queries_hold_for_any_window(seed: int) -> None:
    query = Query.parse(Generator(seed).query(), grain=Grain.DAY, database="dw", schema=GENERATED_SCHEMA)
    assert uncovered(query, Grain.DAY, GENERATED_UPSTREAMS, random.Random(seed)) == []


@pytest.mark.parametrize(
    ("grain", "bound", "upstream", "key"),
    [
        (Grain.DAY, Bound("start", -6), Grain.DAY, "2024-02-28"),
        (Grain.DAY, Bound("end", 0), Grain.HOUR, "2024-03-05T23"),
        (Grain.DAY, Bound("week", 0), Grain.DAY, "2024-03-04"),
        (Grain.DAY, Bound("week_end", 0), Grain.DAY, "2024-03-10"),
        (Grain.DAY, Bound("month", -1), Grain.DAY, "2024-02-29"),
        (Grain.DAY, Bound("month_end", 0), Grain.DAY, "2024-03-31"),
        (Grain.DAY, Bound("quarter", 0), Grain.MONTH, "2024-01"),
        (Grain.DAY, Bound("year_end", 0), Grain.WEEK, "2025-W01"),
        (Grain.MONTH, Bound("end", 0), Grain.DAY, "2024-03-31"),
    ],
)
def test_bounds_are_relative_to_their_anchor(grain: Grain, bound: Bound, upstream: Grain, key: str) -> None:
    window = Window.of(grain, calendar.parse_key(grain, "2024-03" if grain is Grain.MONTH else "2024-03-05"))
    reads = Pattern(((bound, None),)).at(window, PartitionColumn("dt", upstream))
    (low, high), *rest = reads.spans
    assert low is not None and calendar.key(upstream, low) == key
    assert high is None and not rest


def test_bounds_that_meet_are_one_span() -> None:
    pattern = Pattern(((Bound("month", 0), Bound("month", 0)), (Bound("start", 0), Bound("start", 0))))
    first = calendar.parse_key(Grain.DAY, "2024-03-01")
    assert pattern.at(Window.of(Grain.DAY, first), PartitionColumn("dt", Grain.DAY)).spans == (
        (first, first),
    )


def test_offsets_need_time_on_both_sides() -> None:
    pattern = Pattern(((Bound("start", 0), None),))
    with pytest.raises(ValueError, match="no start"):
        pattern.at(Window("LA"), PartitionColumn("dt", Grain.DAY))
    with pytest.raises(ValueError, match="list partitions"):
        pattern.at(Window.of(Grain.DAY, 0), PartitionColumn("region", kind="string", values=("LA",)))
