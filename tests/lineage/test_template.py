"""Templates: what the variables print, for each kind of window."""

from datetime import datetime

import pytest

from lineage import Window, calendar, render
from lineage.calendar import Grain
from lineage.template import compiled

DAY = Window.of(Grain.DAY, calendar.parse_key(Grain.DAY, "2024-02-29"))
HOUR = Window.of(Grain.HOUR, calendar.parse_key(Grain.HOUR, "2024-02-29T05"))
MONTH = Window.of(Grain.MONTH, calendar.parse_key(Grain.MONTH, "2024-02"))
WEEK = Window.of(Grain.WEEK, calendar.parse_key(Grain.WEEK, "2024-W01"))

CASES = [
    ("{{ partition.key }}", DAY, "2024-02-29"),
    ("{{ partition.key }}", HOUR, "2024-02-29T05"),
    ("{{ partition.key }}", Window("LA"), "LA"),
    ("{{ partition.key }}", Window("all"), "all"),
    ("{{ partition.start }}", DAY, "2024-02-29"),
    ("{{ partition.start }}", HOUR, "2024-02-29 05:00:00"),
    ("{{ partition.end }}", DAY, "2024-03-01"),
    ("{{ partition.end }}", HOUR, "2024-02-29 06:00:00"),
    ("{{ partition.end }}", MONTH, "2024-03-01"),
    ("{{ partition.start }}", WEEK, "2024-01-01"),
    ("{{ partition.grain }}", WEEK, "week"),
    ("{{ partition.start.add(days=-6) }}", DAY, "2024-02-23"),
    ("{{ partition.start.add(months=1) }}", DAY, "2024-03-29"),
    ("{{ partition.start.add(years=1) }}", DAY, "2025-02-28"),
    ("{{ partition.start.add(quarters=-1, weeks=1) }}", DAY, "2023-12-06"),
    ("{{ partition.start.add(hours=-6) }}", HOUR, "2024-02-28 23:00:00"),
    ("{{ partition.start.strftime('%Y/%m') }}", DAY, "2024/02"),
    ("{{ partition.start < partition.end }}", DAY, "True"),
    ("{{ partition.start == partition.end.add(days=-1) }}", DAY, "True"),
    ("{{ ds }} {{ ds_nodash }} {{ ts }}", HOUR, "2024-02-29 20240229 2024-02-29T05:00:00"),
    ("{{ data_interval_start }} {{ data_interval_end }}", DAY, "2024-02-29 2024-03-01"),
    ("{{ macros.ds_add(ds, 1) }}", DAY, "2024-03-01"),
    ("{{ macros.ds_format(ds, '%Y-%m-%d', '%d.%m.%y') }}", DAY, "29.02.24"),
    ("{% if partition.key == 'LA' %}west{% else %}east{% endif %}", Window("NY"), "east"),
    ("{% set n = 2 %}{{ n + 1 }}", DAY, "3"),
    ("SELECT 1\n", DAY, "SELECT 1\n"),
]


@pytest.mark.parametrize(("template", "window", "text"), CASES)
def test_variables(template: str, window: Window, text: str) -> None:
    assert render(template, window) == text


def test_a_window_may_span_partitions() -> None:
    window = Window("2024-01-01..2024-01-07", datetime(2024, 1, 1), datetime(2024, 1, 8), Grain.DAY)
    assert render("{{ partition.start }} {{ partition.end }}", window) == "2024-01-01 2024-01-08"


@pytest.mark.parametrize(
    ("template", "straight"),
    [
        (
            "SELECT '{{ ds }}', '{{ macros.ds_add(ds, -6) }}', '{{ ds[:7] }}', '{{ partition.start.add(days=1) }}'",
            True,
        ),
        ("SELECT '{{ ds if ds > '2024' else '2024' }}'", False),
        ("{% if ds %}SELECT 1{% endif %}", False),
        ("SELECT '{{ ds | upper }}'", False),
        ("{% for n in range(3) %}{{ n }}{% endfor %}", False),
        ("{% set x = ds %}{{ x }}", False),
    ],
)
def test_straight_templates_only_print(template: str, straight: bool) -> None:
    assert compiled(template).is_straight is straight
    assert (compiled(template).logic == "") is straight
