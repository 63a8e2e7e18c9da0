"""Each case of cases.sql: tables, reads of one window, and patterns.

A case is lines `# key: value` and the SQL after them:

    name                what it shows
    grain, window       of the downstream table: 'day' and '2024-03-05' if not given; grain 'none' and list too
    list                values of a list-partitioned downstream table
    tables              all tables that it reads
    reads T             keys of the partitions of T, `a..b` for a span, `a..` for an open one, or all, or none
    reason T            one of the reasons why T is read wider than exactly
    pattern T           spans of bounds such as `start-6..month_end`, `..` for all, or none for no pattern
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from lineage import Bound, PartitionColumn, Query, Reads, Window, calendar
from lineage.calendar import Grain

from .tables import SCHEMA, UPSTREAMS

CASES = Path(__file__).with_name("cases.sql")


@dataclass(frozen=True)
class Case:
    facts: dict[str, str]
    sql: str

    def about(self, fact: str) -> dict[str, str]:
        return {key.split()[1]: value for key, value in self.facts.items() if key.startswith(f"{fact} ")}


def load() -> list[Case]:
    cases = []
    for block in re.split(r"\n\n(?=# name:)", CASES.read_text()):
        if not block.startswith("# name:"):
            continue
        lines = block.strip().split("\n")
        heads = [line for line in lines if line.startswith("# ")]
        facts = {key: value.strip() for key, _, value in (line[2:].partition(":") for line in heads)}
        cases.append(Case(facts, "\n".join(line for line in lines if not line.startswith("# "))))
    return cases


def make(case: Case) -> tuple[Query, Window]:
    values = tuple(case.facts.get("list", "").split())
    grain = None if values or case.facts.get("grain") == "none" else Grain(case.facts.get("grain", "day"))
    query = Query.parse(case.sql, grain=grain, values=values, database="dw", schema=SCHEMA)
    if grain is None:
        return query, Window(case.facts.get("window", "all"))
    return query, Window.of(grain, calendar.parse_key(grain, case.facts.get("window", "2024-03-05")))


def show_reads(reads: Reads, upstream: PartitionColumn | None) -> str:
    def key(number: int | None) -> str:
        if number is None or upstream is None:
            return ""
        return upstream.values[number] if upstream.grain is None else calendar.key(upstream.grain, number)

    if reads.is_all:
        return "all"
    shown = [key(low) if low == high else f"{key(low)}..{key(high)}" for low, high in reads.spans]
    return ", ".join(shown) or "none"


def show_bound(bound: Bound | None) -> str:
    if bound is None:
        return ""
    return bound.anchor + (f"{bound.offset:+d}" if bound.offset else "")


@pytest.mark.parametrize("case", load(), ids=lambda case: case.facts["name"])
def test_case(case: Case) -> None:
    query, window = make(case)
    if "tables" in case.facts:
        assert query.tables == set(case.facts["tables"].split())
    reads = query.reads(window, UPSTREAMS)
    assert reads.keys() == query.tables
    expected = case.about("reads")
    assert {table: show_reads(reads[table], UPSTREAMS.get(table)) for table in expected} == expected
    for table, reason in case.about("reason").items():
        assert reason in reads[table].reasons
    patterns = query.patterns(UPSTREAMS)
    assert patterns.keys() == query.tables
    for table, pattern in case.about("pattern").items():
        found = patterns[table]
        shown = found and ", ".join(f"{show_bound(low)}..{show_bound(high)}" for low, high in found.spans)
        assert (shown or "none") == pattern


def test_the_table_is_large_enough() -> None:
    names = [case.facts["name"] for case in load()]
    assert len(names) == len(set(names)) >= 60


def test_a_table_without_partitions_is_read_as_a_whole() -> None:
    query = Query.parse("SELECT region FROM by_region", grain=Grain.DAY, database="dw", schema=SCHEMA)
    for upstreams in ({}, {"dw.by_region": PartitionColumn("region", kind="string")}):
        assert query.reads(Window.of(Grain.DAY, 0), upstreams) == {"dw.by_region": Reads.ALL}
        pattern = query.patterns(upstreams)["dw.by_region"]
        assert pattern is not None and pattern.spans == ((None, None),)
