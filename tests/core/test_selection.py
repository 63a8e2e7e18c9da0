"""The selection language."""

from __future__ import annotations

from pathlib import Path

import pytest

from sr_assets.assets import Asset, Location, Sql
from sr_assets.compile import Node
from sr_assets.errors import SelectionError
from sr_assets.graph import AssetGraph
from sr_assets.partitions import Unpartitioned
from sr_assets.planner.ranges import parse_range
from sr_assets.planner.selection import select

# a → b → d → e, a → c → d
EDGES = {"s.a": [], "s.b": ["s.a"], "s.c": ["s.a"], "s.d": ["s.b", "s.c"], "s.e": ["s.d"]}
GROUPS = {"s.a": "raw", "s.b": "mart", "s.c": "mart", "s.d": "mart", "s.e": "report"}
TAGS = {"s.c": ("slow",), "s.e": ("slow", "daily")}


@pytest.fixture(scope="module")
def graph() -> AssetGraph:
    def node(name: str) -> Node:
        asset = Asset(
            name,
            Sql(""),
            Unpartitioned(),
            (),
            Location(Path("x.py"), 1),
            group=GROUPS[name],
            tags=TAGS.get(name, ()),
        )
        return Node(asset, "v", upstreams=tuple(EDGES[name]))

    return AssetGraph({name: node(name) for name in EDGES})


SELECTED = [
    ("*", "abcde"),
    ("s.b", "b"),
    ('"s.b"', "b"),
    ("key:s.b", "b"),
    ("s.*", "abcde"),
    ("s.b+", "bde"),
    ("+s.d", "abcd"),
    ("1+s.d", "bcd"),
    ("2+s.e", "bcde"),
    ("s.a+1", "abc"),
    ("+s.b+", "abde"),
    ("s.b or s.c", "bc"),
    ("s.a+ and +s.d", "abcd"),
    ("not s.a", "bcde"),
    ("group:mart", "bcd"),
    ("group:mart and not tag:slow", "bd"),
    ("s.a or s.b and s.c", "a"),
    ("(s.a or s.b) and s.b", "b"),
    ("tag:slow", "ce"),
    ("sinks(group:mart)", "d"),
    ("roots(group:mart)", "bc"),
    ("kind:sql", "abcde"),
    ("S.A OR s.b", None),
]


@pytest.mark.parametrize(("text", "expected"), SELECTED)
def test_selected(graph: AssetGraph, text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(SelectionError):
            select(graph, text)
    else:
        assert select(graph, text) == {f"s.{letter}" for letter in expected}


# selection, words, column of the caret
WRONG = [
    ("s.x", "no asset is named 's.x'", 0),
    ("s.a or", "the name of an asset is missing", 6),
    ("(s.a", "a closing parenthesis is missing", 4),
    ("s.a s.b", "'s.b' does not belong here", 4),
    ("colour:red", "'colour' is none of key, group", 0),
    ('s.a or "s.b', "a quote is not closed", 7),
    ("", "the name of an asset is missing", 0),
]


@pytest.mark.parametrize(("text", "words", "caret"), WRONG)
def test_wrong_selections(graph: AssetGraph, text: str, words: str, caret: int) -> None:
    with pytest.raises(SelectionError) as caught:
        select(graph, text)
    assert words in caught.value.message
    assert caught.value.message.splitlines()[-1].index("^") - 2 == caret


def test_nothing_matches(graph: AssetGraph) -> None:
    with pytest.raises(SelectionError, match="matches no asset"):
        select(graph, "group:nothing")


# start, end, the range
RANGES = [
    ("2013-02-08", "2013-02-09", "2013-02-08 00:00:00", "2013-02-10 00:00:00"),
    ("2013-02", "2013-02", "2013-02-01 00:00:00", "2013-03-01 00:00:00"),
    ("2013-01-01T05", "2013-01-01T05", "2013-01-01 05:00:00", "2013-01-01 06:00:00"),
    ("2013-W01", "2013", "2012-12-31 00:00:00", "2014-01-01 00:00:00"),
    (None, "2013-Q1", "None", "2013-04-01 00:00:00"),
    ("2013", None, "2013-01-01 00:00:00", "None"),
]


@pytest.mark.parametrize(("start", "end", "first", "last"), RANGES)
def test_ranges(start: str | None, end: str | None, first: str, last: str) -> None:
    assert tuple(map(str, parse_range(start, end))) == (first, last)


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [("2013-02-09", "2013-02-08", "reversed"), ("yesterday", None, "start: 'yesterday' is no partition key")],
)
def test_wrong_ranges(start: str | None, end: str | None, words: str) -> None:
    with pytest.raises(SelectionError, match=words):
        parse_range(start, end)
