"""Random queries that StarRocks' grammar, SQLGlot and DuckDB all take to mean the same."""

import random
from dataclasses import dataclass

SCHEMA = {
    "dw.orders": {"dt": "DATE", "k": "INT", "v": "INT"},
    "dw.refunds": {"dt": "DATE", "k": "INT", "v": "INT"},
    "dw.weather": {"ts": "DATETIME", "k": "INT", "v": "INT"},
    "dw.budget": {"month": "DATE", "k": "INT", "v": "INT"},
    "dw.texts": {"dt": "VARCHAR", "k": "INT", "v": "INT"},
}

MAX_TABLES = 3
"""No more joins from this number of tables on: the results grow with every one."""

_DATES = {"orders": "dt", "refunds": "dt", "weather": "ts", "budget": "month", "texts": "dt"}

_BOUNDS = (
    "'{{ ds }}'",
    "CAST('{{ ds }}' AS DATE)",
    "CAST('{{ ds }}' AS DATE) - INTERVAL {n} DAY",
    "CAST('{{ partition.end }}' AS DATE)",
    "CAST('{{ macros.ds_add(ds, -{n}) }}' AS DATE)",
    "date_trunc('month', CAST('{{ ds }}' AS DATE))",
    "date_trunc('week', CAST('{{ ds }}' AS DATE))",
    "last_day(CAST('{{ ds }}' AS DATE))",
    "CAST('2024-03-0{n}' AS DATE)",
)

_OVER_DATE = (
    *("{c}", "{c}", "{c}", "CAST({c} AS DATE)", "date_trunc('day', {c})", "date_trunc('week', {c})"),
    *("date_trunc('month', {c})", "{c} + INTERVAL {n} DAY", "{c} - INTERVAL {n} HOUR", "last_day({c})"),
    *(
        "CAST(date_trunc('month', {c}) AS DATE) + INTERVAL {n} DAY",
        "greatest({c}, CAST('2024-03-0{n}' AS DATE))",
    ),
)

_JOINS = (
    *("JOIN", "JOIN", "INNER JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"),
    *("LEFT SEMI JOIN", "LEFT ANTI JOIN"),
)


@dataclass(frozen=True)
class Source:
    """Something in FROM: its text, its alias, and its date column as an expression of type DATE or TIMESTAMP."""

    text: str
    alias: str
    column: str
    is_text: bool = False
    is_merged: bool = False  # by USING: the column is that of both sides

    @property
    def date(self) -> str:
        name = self.column if self.is_merged else f"{self.alias}.{self.column}"
        return f"CAST({name} AS DATE)" if self.is_text else name


class Generator:
    """One random query template; every derived relation has the columns d, k and v."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._aliases = 0
        self._ctes: list[tuple[str, str, int]] = []
        self._tables = 0

    def query(self) -> str:
        for _ in range(self._random.choice((0, 0, 1, 2))):
            before = self._tables
            body = self._body(1)
            self._ctes.append((f"c{len(self._ctes)}", body, self._tables - before))
            self._tables = before
        body = self._body(2)
        ctes = ", ".join(f"{name} AS ({text})" for name, text, _ in self._ctes)
        return f"WITH {ctes} {body}" if ctes else body

    def _maybe(self, chance: float) -> bool:
        return self._random.random() < chance

    def _body(self, depth: int) -> str:
        if depth and self._maybe(0.2):
            operation = self._random.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
            return f"{self._select(depth - 1)} {operation} {self._select(depth - 1)}"
        return self._select(depth)

    def _select(self, depth: int) -> str:
        sources = [self._source(depth)]
        visible = list(sources)
        text = sources[0].text
        if self._maybe(0.6) and self._tables < MAX_TABLES:
            joined, is_visible = self._join(sources[0], depth, merge=self._maybe(0.4))
            text += joined.text
            if is_visible:
                visible.append(joined)
        if self._maybe(0.15) and self._tables < MAX_TABLES and not visible[-1].is_merged:
            joined, is_visible = self._join(visible[-1], depth, merge=False)
            text += joined.text
            if is_visible:
                visible.append(joined)
        where = self._condition(visible, depth) if self._maybe(0.75) else ""
        return self._projection(visible, text, where)

    def _projection(self, visible: list[Source], text: str, where: str) -> str:
        one, other = self._random.choice(visible), self._random.choice(visible)
        date = one.date if self._maybe(0.8) else self._over(one)
        tail = f"FROM {text}" + (f" WHERE {where}" if where else "")
        match self._random.randrange(12):
            case 0:
                return f"SELECT DISTINCT {date} AS d, {other.alias}.k AS k, 1 AS v {tail}"
            case 1 | 2:
                having = f" HAVING {self._atom(date)}" if self._maybe(0.3) and date == one.date else ""
                group = f"GROUP BY {date}, {other.alias}.k{having}"
                return f"SELECT {date} AS d, {other.alias}.k AS k, SUM({one.alias}.v) AS v {tail} {group}"
            case 3:
                which = self._random.choice(("MAX", "MIN"))
                group = f"GROUP BY {other.alias}.k"
                return f"SELECT {which}({date}) AS d, {other.alias}.k AS k, COUNT(*) AS v {tail} {group}"
            case 4:
                keys = self._random.choice((f"{date}", f"{other.alias}.k", f"{date}, {other.alias}.k"))
                window = f"SUM({one.alias}.v) OVER (PARTITION BY {keys})"
                return f"SELECT {date} AS d, {other.alias}.k AS k, {window} AS v {tail}"
            case 5:
                order = f"ORDER BY {date}, {other.alias}.k, {one.alias}.v LIMIT 5"
                return f"SELECT * FROM (SELECT {date} AS d, {other.alias}.k AS k, {one.alias}.v AS v {tail} {order}) l"
            case 6:
                rank = f"RANK() OVER (PARTITION BY {other.alias}.k ORDER BY {date} DESC) = 1"
                more = f" AND {self._atom(date)}" if self._maybe(0.5) else ""
                return f"SELECT {date} AS d, {other.alias}.k AS k, {one.alias}.v AS v {tail} QUALIFY {rank}{more}"
            case 7:
                group = f"GROUP BY ROLLUP ({date}, {other.alias}.k)"
                return f"SELECT {date} AS d, {other.alias}.k AS k, COUNT(*) AS v {tail} {group}"
            case _:
                return f"SELECT {date} AS d, {other.alias}.k AS k, {one.alias}.v AS v {tail}"

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _source(self, depth: int) -> Source:
        alias = self._alias()
        if self._ctes and self._maybe(0.4):
            name, _, tables = self._random.choice(self._ctes)
            self._tables += tables
            return Source(f"{name} {alias}", alias, "d")
        if depth and self._maybe(0.35):
            return Source(f"({self._body(depth - 1)}) {alias}", alias, "d")
        self._tables += 1
        table = self._random.choice(("orders", "orders", "refunds", "weather", "budget", "texts"))
        return Source(f"{table} {alias}", alias, _DATES[table], table == "texts")

    def _join(self, left: Source, depth: int, *, merge: bool) -> tuple[Source, bool]:
        """A source whose text is the join with it, and whether its columns are in the result."""
        right = self._source(depth)
        kind = self._random.choice(_JOINS)
        if kind == "CROSS JOIN":
            return Source(f" CROSS JOIN {right.text}", right.alias, right.column, right.is_text), True
        if merge and left.column == right.column and left.is_text == right.is_text:
            keys = self._random.choice((right.column, f"{right.column}, k"))
            text = f" {kind} {right.text} USING ({keys})"
            return Source(text, right.alias, right.column, right.is_text, True), kind not in _JOINS[-2:]
        on = [f"{left.alias}.k = {right.alias}.k"]
        if self._maybe(0.7):
            on.append(self._relation(left, right))
        if self._maybe(0.3):
            on.append(self._simple(self._random.choice((left, right))))
        text = f" {kind} {right.text} ON {' AND '.join(on)}"
        return Source(text, right.alias, right.column, right.is_text), kind not in _JOINS[-2:]

    def _relation(self, left: Source, right: Source) -> str:
        a, b = (left, right) if self._maybe(0.5) else (right, left)
        n = self._random.randint(1, 4)
        return self._random.choice(
            (
                f"{a.date} = {b.date}",
                f"{a.date} = {b.date}",
                f"CAST({a.date} AS DATE) = CAST({b.date} AS DATE)",
                f"CAST({a.date} AS DATE) = CAST({b.date} AS DATE) - INTERVAL {n} DAY",
                f"CAST({a.date} AS DATE) >= CAST({b.date} AS DATE) - INTERVAL {n} DAY",
                f"date_trunc('month', {a.date}) = date_trunc('month', {b.date})",
                f"CAST({a.date} AS DATE) <= {b.date}",
            )
        )

    def _condition(self, visible: list[Source], depth: int) -> str:
        conjuncts = []
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3))):
            source = self._random.choice(visible)
            if self._maybe(0.2) and depth:
                conjuncts.append(self._subquery(source, depth - 1))
            else:
                conjuncts.append(self._simple(source))
        return " AND ".join(conjuncts)

    def _simple(self, source: Source) -> str:
        first = self._atom(source.date)
        match self._random.randrange(8):
            case 0:
                return f"({first} OR {self._atom(source.date)})"
            case 1:
                return f"({first} OR {source.alias}.k = 1)"
            case 2:
                return f"NOT ({first})"
            case 3:
                return f"({first} OR {source.alias}.{source.column} IS NULL)"
            case 4:
                return f"NOT ({first} OR {self._atom(source.date)})"
            case _:
                return first

    def _over(self, source: Source) -> str:
        return self._fill(self._random.choice(_OVER_DATE), source.date)

    def _fill(self, text: str, column: str = "") -> str:
        return text.replace("{c}", column).replace("{n}", str(self._random.randint(1, 9)))

    def _bound(self) -> str:
        return self._fill(self._random.choice(_BOUNDS))

    def _atom(self, date: str) -> str:
        over = self._fill(self._random.choice(_OVER_DATE), date)
        match self._random.randrange(12):
            case 0:
                return f"{over} BETWEEN CAST({self._bound()} AS DATE) - INTERVAL 9 DAY AND {self._bound()}"
            case 1:
                return f"{over} IN ({self._bound()}, {self._bound()})"
            case 2:
                return f"{over} NOT IN ({self._bound()}, {self._bound()})"
            case 3:
                return f"COALESCE({over}, {self._bound()}) = {self._bound()}"
            case 4:
                return f"left(CAST(CAST({date} AS DATE) AS VARCHAR), 7) = '{{{{ ds[:7] }}}}'"
            case 5:
                return f"year({date}) = 2024 AND month({date}) = month(CAST('{{{{ ds }}}}' AS DATE))"
            case 6:
                return f"{self._bound()} {self._random.choice(('=', '>=', '<='))} {over}"
        operator = self._random.choice(("=", "=", "<>", "<", "<=", "<=", ">", ">=", ">="))
        return f"{over} {operator} {self._bound()}"

    def _subquery(self, outer: Source, depth: int) -> str:
        inner = self._source(depth)
        where = [self._simple(inner)] if self._maybe(0.5) else []
        match self._random.randrange(5):
            case 0:
                negation = self._random.choice(("", "NOT "))
                where += [self._relation(outer, inner), f"{outer.alias}.k = {inner.alias}.k"]
                return f"{negation}EXISTS (SELECT 1 FROM {inner.text} WHERE {' AND '.join(where)})"
            case 1:
                tail = f" WHERE {' AND '.join(where)}" if where else ""
                return f"{outer.date} = (SELECT MAX({inner.date}) FROM {inner.text}{tail})"
            case 2:
                where.append(self._relation(outer, inner))
                tail = f"FROM {inner.text} WHERE {' AND '.join(where)}"
                return f"{outer.alias}.v <= (SELECT MAX({inner.alias}.v) {tail})"
        negation = self._random.choice(("", "", "NOT "))
        tail = f" WHERE {' AND '.join(where)}" if where else ""
        return f"CAST({outer.date} AS DATE) {negation}IN (SELECT CAST({inner.date} AS DATE) FROM {inner.text}{tail})"
