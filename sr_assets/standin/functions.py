"""StarRocks' functions as DuckDB macros, where DuckDB has none of that name or another meaning.

Names that start with `sr_` stand for StarRocks functions whose DuckDB namesake differs; `translate.py`
writes them. Overloads on the argument's type keep StarRocks' result types (date_trunc of a DATE is a
DATE). Date arithmetic gives DATETIME, as in StarRocks.
"""

from __future__ import annotations

_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")


def _overloads(name: str, variants: dict[str, str]) -> str:
    """One macro with several signatures: `name (a, b) AS ..., (a DATE, b) AS ...`"""
    return f"{name} " + ", ".join(f"({arguments}) AS {body}" for arguments, body in variants.items())


def _shifts() -> list[str]:
    macros = []
    for unit in _UNITS:
        for verb, sign in (("add", ""), ("sub", "-")):
            body = f"TRY_CAST(d AS TIMESTAMP) + to_{unit}s({sign}CAST(n AS INTEGER))"
            macros.append(f"{unit}s_{verb}(d, n) AS {body}")
    return macros


def _differences() -> list[str]:
    return [
        f"{unit}s_diff(a, b) AS date_sub('{unit}', TRY_CAST(b AS TIMESTAMP), TRY_CAST(a AS TIMESTAMP))"
        for unit in _UNITS
    ]


def _extracts() -> list[str]:
    parts = {"hour": "hour", "minute": "minute", "second": "second", "year": "year", "month": "month"}
    parts |= {"day": "day", "quarter": "quarter", "dayofyear": "dayofyear", "weekofyear": "week"}
    return [
        f"sr_{name}(d) AS CAST({part}(TRY_CAST(d AS TIMESTAMP)) AS INTEGER)" for name, part in parts.items()
    ]


_ARGUMENTS = ("a", "a, b", "a, b, c", "a, b, c, d", "a, b, c, d, e", "a, b, c, d, e, f")


def _hashes() -> list[str]:
    """Stand-ins for StarRocks' hashes: as stable and as well spread, but other values."""

    def spread(cast: str) -> dict[str, str]:
        return {
            names: cast.format(
                "hash({})".format(", ".join(f"CAST({name} AS VARCHAR)" for name in names.split(", ")))
            )
            for names in _ARGUMENTS
        }

    wide = "CAST(CAST({} AS HUGEINT) - 9223372036854775808 AS BIGINT)"
    narrow = "CAST(CAST({} % 4294967296 AS BIGINT) - 2147483648 AS INTEGER)"
    return [
        _overloads("murmur_hash3_32", spread(narrow)),
        _overloads("xx_hash3_64", spread(wide)),
        _overloads("xx_hash64", spread(wide)),
        "crc32(a) AS CAST(hash(CAST(a AS VARCHAR)) % 4294967296 AS BIGINT)",
    ]


MACROS: tuple[str, ...] = (
    _overloads(
        "sr_date_trunc",
        {
            "u, d DATE": "CAST(date_trunc(u, d) AS DATE)",
            "u, d TIMESTAMP": "date_trunc(u, d)",
            "u, d VARCHAR": "date_trunc(u, TRY_CAST(d AS TIMESTAMP))",
        },
    ),
    # A cast of 1.7 to an integer is 1 in StarRocks and 2 in DuckDB.
    "sr_whole(x) AS CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') OR typeof(x) LIKE 'DECIMAL%' "
    "THEN TRY_CAST(trunc(TRY_CAST(x AS DOUBLE)) AS HUGEINT) ELSE TRY_CAST(x AS HUGEINT) END",
    *_shifts(),
    *_differences(),
    *_extracts(),
    "add_months(d, n) AS TRY_CAST(d AS TIMESTAMP) + to_months(CAST(n AS INTEGER))",
    "sr_datediff(a, b) AS CAST(TRY_CAST(a AS DATE) - TRY_CAST(b AS DATE) AS BIGINT)",
    "sr_timestampdiff(u, a, b) AS date_sub(u, TRY_CAST(a AS TIMESTAMP), TRY_CAST(b AS TIMESTAMP))",
    "sr_dayofweek(d) AS CAST(dayofweek(TRY_CAST(d AS TIMESTAMP)) + 1 AS INTEGER)",
    "dayofweek_iso(d) AS CAST(isodow(TRY_CAST(d AS TIMESTAMP)) AS INTEGER)",
    "weekday(d) AS CAST(isodow(TRY_CAST(d AS TIMESTAMP)) - 1 AS INTEGER)",
    "week_iso(d) AS CAST(week(TRY_CAST(d AS TIMESTAMP)) AS INTEGER)",
    "sr_str_to_date(s, f) AS try_strptime(CAST(s AS VARCHAR), f)",
    "sr_str2date(s, f) AS CAST(try_strptime(CAST(s AS VARCHAR), f) AS DATE)",
    "to_date(d) AS TRY_CAST(d AS DATE)",
    "sr_date(d) AS TRY_CAST(d AS DATE)",
    "makedate(y, n) AS CAST(make_date(y, 1, 1) + to_days(CAST(n AS INTEGER) - 1) AS DATE)",
    "time_to_sec(t) AS CAST(epoch(CAST(t AS TIME)) AS BIGINT)",
    _overloads(
        "unix_timestamp",
        {"": "CAST(epoch(now()) AS BIGINT)", "d": "CAST(epoch(TRY_CAST(d AS TIMESTAMP)) AS BIGINT)"},
    ),
    _overloads(
        "sr_from_unixtime",
        {"n": "strftime(make_timestamp(CAST(n AS BIGINT) * 1000000), '%Y-%m-%d %H:%M:%S')"},
    ),
    "percentile_approx(x, q) AS approx_quantile(CAST(x AS DOUBLE), q)",
    "percentile_cont(x, q) AS quantile_cont(x, q)",
    "ndv(x) AS approx_count_distinct(x)",
    "strleft(s, n) AS left(s, n)",
    "strright(s, n) AS right(s, n)",
    "get_json_string(j, p) AS json_extract_string(CAST(j AS VARCHAR), p)",
    "get_json_int(j, p) AS TRY_CAST(json_extract_string(CAST(j AS VARCHAR), p) AS BIGINT)",
    "get_json_double(j, p) AS TRY_CAST(json_extract_string(CAST(j AS VARCHAR), p) AS DOUBLE)",
    "json_query(j, p) AS CAST(json_extract(CAST(j AS VARCHAR), p) AS VARCHAR)",
    "parse_json(j) AS CAST(j AS VARCHAR)",
    "sr_substring_index(s, d, n) AS CASE WHEN n >= 0 "
    "THEN array_to_string(list_slice(string_split(s, d), 1, n), d) "
    "ELSE array_to_string(list_slice(string_split(s, d), n, -1), d) END",
    "null_or_empty(s) AS s IS NULL OR s = ''",
    "append_trailing_char_if_absent(s, c) AS CASE WHEN ends_with(s, c) THEN s ELSE s || c END",
    "bitmap_union_count(x) AS count(DISTINCT x)",
    "to_bitmap(x) AS x",
    "bitmap_hash(x) AS hash(x)",
    "hll_union_agg(x) AS approx_count_distinct(x)",
    "hll_hash(x) AS x",
    *_hashes(),
)
