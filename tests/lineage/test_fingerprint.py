"""Cosmetic edits keep the fingerprint; edits that can change a row or a value do not."""

import pytest

from lineage import FINGERPRINT_SCHEME, Query
from lineage.calendar import Grain

from .tables import SCHEMA

BASE = """
WITH daily AS (
  SELECT o.dt, o.k, SUM(o.amount) AS amount
  FROM orders o JOIN customers c ON c.k = o.k
  WHERE o.dt = '{{ ds }}' AND o.status IN ('paid', 'sent') AND (o.amount > 0 OR c.name LIKE 'A%')
  GROUP BY o.dt, o.k
)
SELECT d.dt, d.k, d.amount, last_day(d.dt) AS month_end, LAG(d.amount) OVER (PARTITION BY d.k ORDER BY d.dt) AS before
FROM daily d LEFT JOIN refunds r ON r.k = d.k AND r.dt = d.dt
"""

# Each is (old text, new text): a replacement in BASE.
COSMETIC = {
    "line breaks": ("\n", "\n\n   "),
    "line comment": ("GROUP BY o.dt", "-- by day\nGROUP BY o.dt"),
    "block comment": ("SELECT d.dt", "SELECT /* the day */ d.dt"),
    "comment with a date": ("GROUP BY o.dt", "-- for {{ ds }}\nGROUP BY o.dt"),
    "Jinja comment": ("GROUP BY o.dt", "{# by day #}GROUP BY o.dt"),
    "keyword case": ("SELECT", "select"),
    "function case": ("SUM(", "sum("),
    "column case": ("o.amount", "o.AMOUNT"),
    "output case": ("AS month_end", "AS Month_End"),
    "quoted column": ("o.status", "o.`status`"),
    "double quoted text": ("'paid'", '"paid"'),
    "INNER": ("o JOIN", "o INNER JOIN"),
    "AS": ("orders o JOIN", "orders AS o JOIN"),
    "hint": ("SELECT d.dt", "SELECT /*+ SET_VAR(query_timeout=10) */ d.dt"),
    "join hint": ("o JOIN customers", "o JOIN [broadcast] customers"),
    "parentheses": ("o.dt = '{{ ds }}'", "(o.dt = ('{{ ds }}'))"),
    "full table name": ("FROM orders", "FROM default_catalog.dw.orders"),
    "CTE renamed": ("daily", "per_day"),
    "CTE alias renamed": ("d.", "x."),
    "unused CTE": ("WITH daily", "WITH unused AS (SELECT 1 AS one), daily"),
    "unqualified column": ("o.status", "status"),
    "ordinal in GROUP BY": ("GROUP BY o.dt, o.k", "GROUP BY 1, 2"),
    "other spelling of the day": ("{{ ds }}", "{{ partition.start }}"),
    "spaces in a template": ("{{ ds }}", "{{ds}}"),
    "final semicolon": ("AND r.dt = d.dt\n", "AND r.dt = d.dt;\n"),
}

REAL = {
    "constant": ("> 0", "> 1"),
    "text constant": ("'sent'", "'Sent'"),
    "comparison": ("o.amount > 0", "o.amount >= 0"),
    "OR": ("OR c.name", "AND c.name"),
    "parentheses that matter": ("(o.amount > 0 OR c.name LIKE 'A%')", "o.amount > 0 OR c.name LIKE 'A%'"),
    "list": ("('paid', 'sent')", "('paid')"),
    "order of a list of outputs": ("d.k, d.amount", "d.amount, d.k"),
    "output name": ("AS month_end", "AS end_of_month"),
    "output added": ("d.k, d.amount,", "d.k, d.k AS k2, d.amount,"),
    "aggregate": ("SUM(", "MAX("),
    "DISTINCT aggregate": ("SUM(o", "SUM(DISTINCT o"),
    "DISTINCT": ("SELECT d.dt", "SELECT DISTINCT d.dt"),
    "join side": ("LEFT JOIN", "JOIN"),
    "join key": ("r.dt = d.dt", "r.dt = d.dt AND r.k = 1"),
    "same column of the other side": ("SELECT o.dt, o.k", "SELECT o.dt, c.k"),
    "table": ("orders o", "refunds o"),
    "table case": ("FROM orders", "FROM Orders"),
    "group": ("GROUP BY o.dt, o.k", "GROUP BY o.dt, o.k, c.name"),
    "window order": ("ORDER BY d.dt)", "ORDER BY d.dt DESC)"),
    "window key": ("PARTITION BY d.k ", "PARTITION BY d.dt "),
    "unit of last_day": ("last_day(d.dt)", "last_day(d.dt, 'quarter')"),
    "another unit": ("last_day(d.dt)", "last_day(d.dt, 'year')"),
    "template value": ("{{ ds }}", "{{ macros.ds_add(ds, -1) }}"),
    "template end": ("{{ ds }}", "{{ partition.end }}"),
    "template as constant": ("{{ ds }}", "2024-03-05"),
    "template branch": ("o.amount > 0", "o.amount > {% if ds == '2024-07-04' %}1{% else %}0{% endif %}"),
    "limit": ("AND r.dt = d.dt\n", "AND r.dt = d.dt\nLIMIT 10"),
    "partition clause": ("FROM orders o", "FROM orders PARTITION (p1) o"),
    "sample": ("JOIN customers c", "JOIN customers SAMPLE('percent' = '1') c"),
    "match": ("c.name LIKE 'A%'", "c.name MATCH 'A%'"),
}


def fingerprint(sql: str, grain: Grain = Grain.DAY) -> str:
    schema = {
        **SCHEMA,
        "dw.refunds": {**SCHEMA["dw.refunds"], "status": "VARCHAR"},
        "dw.Orders": SCHEMA["dw.orders"],
    }
    return Query.parse(sql, grain=grain, database="dw", schema=schema).fingerprint


def edited(edit: tuple[str, str]) -> str:
    old, new = edit
    assert old in BASE
    if old == "d.":
        return (
            BASE.replace("daily d", "daily x")
            .replace("d.dt", "x.dt")
            .replace("d.k", "x.k")
            .replace("d.amount", "x.amount")
        )
    return BASE.replace(old, new)


@pytest.mark.parametrize("edit", COSMETIC.values(), ids=COSMETIC.keys())
def test_cosmetic_edits_keep_it(edit: tuple[str, str]) -> None:
    assert edited(edit) != BASE
    assert fingerprint(edited(edit)) == fingerprint(BASE)


@pytest.mark.parametrize("edit", REAL.values(), ids=REAL.keys())
def test_real_edits_change_it(edit: tuple[str, str]) -> None:
    assert fingerprint(edited(edit)) != fingerprint(BASE)


def test_real_edits_differ_from_one_another() -> None:
    found = [fingerprint(edited(edit)) for edit in REAL.values()]
    assert len(set(found)) == len(found)


def test_edits_within_a_branch_that_no_sample_takes_change_it() -> None:
    branch = "SELECT k FROM orders WHERE amount > {{% if ds == '1987-07-04' %}}{}{{% else %}}0{{% endif %}}"
    assert fingerprint(branch.format(1)) != fingerprint(branch.format(2))


def test_swapped_columns_of_a_table_function_change_it() -> None:
    sql = "SELECT t.x FROM customers c, UNNEST(split(c.tags, ','), split(c.name, ',')) AS t({})"
    assert fingerprint(sql.format("x, y")) != fingerprint(sql.format("y, x"))


def test_order_of_ctes_does_not_count() -> None:
    a, b = "a AS (SELECT k FROM orders)", "b AS (SELECT k FROM refunds)"
    select = "SELECT a.k FROM a JOIN b ON a.k = b.k"
    assert fingerprint(f"WITH {a}, {b} {select}") == fingerprint(f"WITH {b}, {a} {select}")


def test_other_list_values_do_not_count() -> None:
    def of(*values: str) -> str:
        sql = "SELECT k FROM by_region WHERE region = '{{ partition.key }}'"
        return Query.parse(sql, grain=None, values=values, database="dw", schema=SCHEMA).fingerprint

    assert of("LA", "NY") == of("LA", "NY", "SF")


def test_it_names_its_scheme() -> None:
    assert fingerprint(BASE).startswith(f"{FINGERPRINT_SCHEME}:")
