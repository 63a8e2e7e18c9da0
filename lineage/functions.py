"""StarRocks' scalar functions as terms: one builder a function, found by SQLGlot's node or by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sqlglot import exp

from lineage import scalars
from lineage.axis import Value, big_endian
from lineage.calendar import Grain
from lineage.dialect import IRREGULAR, VARIABLE, function_name, volatile_name
from lineage.scalars import Undecided
from lineage.terms import (
    Direction,
    Environment,
    Kind,
    OtherColumn,
    Target,
    Term,
    as_date,
    as_text,
    combined,
    constant,
    spells_date,
)


def compile_term(node: exp.Expr, target: Target) -> Term:
    """Raises Undecided for an expression whose value is not known here."""
    if isinstance(node, exp.Column):
        return _column(node, target)
    if volatile := volatile_name(node):
        raise Undecided(
            f"wall clock: {volatile}" if volatile in WALL_CLOCK else f"not reproducible: {volatile}"
        )
    if isinstance(node, exp.Anonymous):
        builder = _NAMED.get(node.name.lower())
    else:
        builder = _NODES.get(type(node))
    if builder is None:
        raise Undecided(f"opaque function {function_name(node)}")
    return builder(node, lambda child: compile_term(child, target))


WALL_CLOCK = {
    *("now()", "current_timestamp()", "current_date()", "current_time()", "localtime()", "localtimestamp()"),
    *("sysdate()", "curtime()", "utc_timestamp()", "utc_date()", "utc_time()", "unix_timestamp()"),
}

_Compile = Callable[[exp.Expr], Term]
_Builder = Callable[[exp.Expr, _Compile], Term]


def _column(node: exp.Column, target: Target) -> Term:
    if not target.matches(node):
        raise OtherColumn(node.name)
    axis = target.axis
    kind = {"date": Kind.DATE, "datetime": Kind.DATETIME, "string": Kind.TEXT, "int": Kind.NUMBER}[
        axis.column.kind
    ]
    direction = Direction.RISING if axis.ordered else Direction.OTHER
    return Term(lambda value, _: value, direction, kind, fixed=axis.ordered)


def _literal(node: exp.Expr, _compile: _Compile) -> Term:
    text = node.name
    if text.startswith(VARIABLE):
        kind = Kind.NUMBER if text.startswith(VARIABLE + "n") else Kind.TEXT
        regular = not text.startswith(IRREGULAR, len(VARIABLE) + 1)
        return Term(
            lambda _, environment: environment[text], Direction.CONSTANT, kind, True, regular, fixed=True
        )
    if isinstance(node, exp.Literal) and node.is_string:
        return constant(text, Kind.TEXT)
    return constant(int(text) if text.isdecimal() else float(text), Kind.NUMBER)


def _null(_node: exp.Expr, _compile: _Compile) -> Term:
    return constant(None, Kind.TEXT)


def _paren(node: exp.Expr, compile: _Compile) -> Term:
    return compile(node.this)


def _cast(node: exp.Expr, compile: _Compile) -> Term:
    to = node.args["to"].this
    inner = compile(node.this)
    match to:
        case exp.DType.DATE:
            return as_date(inner)
        case exp.DType.DATETIME | exp.DType.TIMESTAMP | exp.DType.TIMESTAMPTZ:
            return inner.map(scalars.to_datetime, Kind.DATETIME, monotone=spells_date(inner))
        case exp.DType.VARCHAR | exp.DType.TEXT | exp.DType.CHAR:
            return as_text(inner)
        case exp.DType.INT | exp.DType.BIGINT | exp.DType.INT128:
            if inner.kind is Kind.MOMENT:
                raise Undecided("the integer of a date or datetime")
            monotone = inner.kind is not Kind.TEXT or inner.fixed
            fixed = inner.fixed or inner.kind in (Kind.DATE, Kind.DATETIME)
            return inner.map(scalars.to_int, Kind.NUMBER, monotone=monotone, fixed=fixed)
    raise Undecided(f"cast to {to.value.lower()}")


def _date(node: exp.Expr, compile: _Compile) -> Term:
    return as_date(compile(node.this))


def _trunc(node: exp.Expr, compile: _Compile) -> Term:
    return _truncated(compile(node.this), _unit(node))


def _unit(node: exp.Expr) -> str:
    unit = node.args.get("unit")
    if unit is None:
        raise Undecided(f"{function_name(node)} without a unit")
    return str(unit.name).upper()


def _truncated(term: Term, unit: str) -> Term:
    kind = term.kind if term.kind in (Kind.DATE, Kind.DATETIME) else Kind.MOMENT
    return term.map(lambda value: scalars.truncate(value, unit), kind, monotone=spells_date(term))


def _shifted(term: Term, count: Term, unit: str, sign: int) -> Term:
    if count.direction is not Direction.CONSTANT:
        raise Undecided("an interval that depends on a column")
    moment, amount = term.at, count.at

    def at(value: Value, environment: Environment) -> Value:
        base, number = moment(value, environment), amount(value, environment)
        if base is None or number is None:
            return None
        return scalars.shift(base, sign * scalars.to_int(number), unit)

    shifted = term.map(lambda value: value, Kind.MOMENT, monotone=spells_date(term))
    return replace(
        shifted,
        at=at,
        varies=term.varies or count.varies,
        regular=shifted.regular and not count.varies,
    )


def _date_shift(sign: int) -> _Builder:
    def build(node: exp.Expr, compile: _Compile) -> Term:
        amount = node.expression
        if isinstance(amount, exp.Interval):
            return _shifted(compile(node.this), compile(amount.this), _unit(amount), sign)
        return _shifted(compile(node.this), compile(amount), _unit(node), sign)

    return build


def _named_shift(unit: str, sign: int) -> _Builder:
    def build(node: exp.Expr, compile: _Compile) -> Term:
        term, count = _arguments(node, 2)
        return _shifted(compile(term), compile(count), unit, sign)

    return build


def _arguments(node: exp.Expr, *counts: int) -> list[exp.Expr]:
    if len(node.expressions) not in counts:
        raise Undecided(f"{function_name(node)} with {len(node.expressions)} arguments")
    return list(node.expressions)


def _add_months(node: exp.Expr, compile: _Compile) -> Term:
    return _shifted(compile(node.this), compile(node.expression), "MONTH", 1)


def _sum(sign: int) -> _Builder:
    def build(node: exp.Expr, compile: _Compile) -> Term:
        left, right = node.this, node.expression
        if isinstance(left, exp.Interval) and sign == 1:
            left, right = right, left
        if isinstance(right, exp.Interval):
            unit = _unit(right)
            return _shifted(compile(left), compile(right.this), unit, sign)
        return _arithmetic(compile(left), compile(right), sign)

    return build


def _arithmetic(left: Term, right: Term, sign: int) -> Term:
    if not left.kind is right.kind is Kind.NUMBER:
        # StarRocks turns a date into a number such as 20240131 here, which is hardly ever meant.
        raise Undecided("arithmetic on something that is no number")
    return combined(left, right, lambda a, b: a + sign * b, sign, Kind.NUMBER)  # type: ignore[operator]


def _negative(node: exp.Expr, compile: _Compile) -> Term:
    return _arithmetic(constant(0, Kind.NUMBER), compile(node.this), -1)


def _product(node: exp.Expr, compile: _Compile) -> Term:
    left, right = compile(node.this), compile(node.expression)
    if not left.kind is right.kind is Kind.NUMBER:
        raise Undecided("arithmetic on something that is no number")
    product = combined(left, right, lambda a, b: a * b, 1, Kind.NUMBER)  # type: ignore[operator]
    positive = isinstance(node.expression, exp.Literal) and not right.varies
    if positive or product.direction is Direction.CONSTANT:
        return product
    return replace(product, direction=Direction.OTHER, regular=False)


def _datediff(node: exp.Expr, compile: _Compile) -> Term:
    if node.args.get("unit") is not None:
        raise Undecided("date_diff with a unit")
    left, right = as_date(compile(node.this)), as_date(compile(node.expression))
    return combined(left, right, lambda a, b: (a - b).days, -1, Kind.NUMBER)  # type: ignore[operator,union-attr]


def _to_days(node: exp.Expr, compile: _Compile) -> Term:
    # Days since year 0: 365 before Python's first ordinal.
    days = as_date(compile(node.this))
    return days.map(lambda value: scalars.to_date(value).toordinal() + 365, Kind.NUMBER)


def _date_format(node: exp.Expr, compile: _Compile) -> Term:
    format = scalars.python_format(_text(node.args.get("format")))
    argument = node.this.this if isinstance(node.this, exp.TsOrDsToTimestamp) else node.this
    return _formatted(compile(argument), format)


def _formatted(term: Term, format: str) -> Term:
    monotone = big_endian(format) and spells_date(term)
    return term.map(
        lambda value: scalars.format_moment(value, format), Kind.TEXT, monotone=monotone, fixed=True
    )


def _text(node: exp.Expr | None) -> str:
    if isinstance(node, exp.Literal) and node.is_string and not node.name.startswith(VARIABLE):
        return str(node.name)
    raise Undecided("a format that is no plain text")


def _str_to_date(node: exp.Expr, compile: _Compile) -> Term:
    return _parsed(compile(node.this), scalars.python_format(_text(node.args.get("format"))))


def _parsed(term: Term, format: str) -> Term:
    kind = Kind.DATETIME if "%H" in format else Kind.DATE
    monotone = term.fixed and big_endian(format)
    return term.map(lambda value: scalars.parse_moment(value, format), kind, monotone=monotone)


def _to_date(node: exp.Expr, compile: _Compile) -> Term:
    arguments = _arguments(node, 1, 2)
    term = compile(arguments[0])
    if len(arguments) == 1:
        return as_date(term)
    # SQLGlot translates the formats of functions that it knows only.
    format = _text(arguments[1]).replace("%i", "%M").replace("%s", "%S")
    return _parsed(term, scalars.python_format(format))


def _last_day(node: exp.Expr, compile: _Compile) -> Term:
    if node.args.get("unit") is not None:
        raise Undecided("last_day with a unit")
    return as_date(compile(node.this)).map(scalars.last_day, Kind.DATE)


def _part(function: Callable[[datetime], int], grain: Grain, *, monotone: bool = False) -> _Builder:
    """YEAR, MONTH and the like, the same within a step of the grain. Only the year rises with the date."""

    def build(node: exp.Expr, compile: _Compile) -> Term:
        argument = node.this if not isinstance(node, exp.Anonymous) else _arguments(node, 1)[0]
        if isinstance(argument, exp.TsOrDsToDate):
            argument = argument.this
        term = compile(argument)
        ordered = spells_date(term)
        part = term.map(
            lambda value: function(scalars.to_datetime(value)),
            Kind.NUMBER,
            monotone=monotone and ordered,
            fixed=monotone,
        )
        moves_in_order = ordered and term.direction in (Direction.RISING, Direction.FALLING)
        return replace(part, step=(term, grain) if moves_in_order else None)

    return build


def _left(node: exp.Expr, compile: _Compile) -> Term:
    return _substring_of(compile(node.this), 1, _integer(node.expression))


def _substring(node: exp.Expr, compile: _Compile) -> Term:
    length = node.args.get("length")
    count = None if length is None else _integer(length)
    return _substring_of(compile(node.this), _integer(node.args.get("start")), count)


def _integer(node: exp.Expr | None) -> int:
    if isinstance(node, exp.Literal) and node.name.isdecimal():
        return int(node.name)
    raise Undecided("a position that is no plain number")


def _substring_of(term: Term, start: int, length: int | None) -> Term:
    if start < 1:
        raise Undecided("substring from the end")
    end = None if length is None else start - 1 + length
    if term.kind is Kind.MOMENT:
        if end is None or end > len("2024-01-31"):
            raise Undecided("the text of a date or datetime")
        term = term.map(scalars.to_date, Kind.DATE)
    text = as_text(term)
    whole_seconds = term.kind is Kind.DATETIME and end is not None and end <= len("2024-01-31 23:59:59")
    return text.map(
        lambda value: scalars.to_text(value)[start - 1 : end],
        Kind.TEXT,
        monotone=start == 1,  # prefixes of texts are in the order of the texts
        fixed=text.fixed or whole_seconds,
    )


def _concat(node: exp.Expr, compile: _Compile) -> Term:
    terms = [as_text(compile(child)) for child in node.expressions]
    joined = terms[0]
    for term in terms[1:]:
        both = combined(joined, term, lambda a, b: scalars.to_text(a) + scalars.to_text(b), 1, Kind.TEXT)
        one_moves = Direction.CONSTANT in (joined.direction, term.direction)
        varies_in_order = joined.regular and term.regular and not (joined.varies and term.varies)
        joined = replace(
            both,
            direction=both.direction if one_moves else Direction.OTHER,
            regular=varies_in_order,
            fixed=(joined.fixed or joined.direction is Direction.CONSTANT)
            and (term.fixed or term.direction is Direction.CONSTANT),
        )
    return joined


def _replace(node: exp.Expr, compile: _Compile) -> Term:
    old, new = _text(node.expression), _text(node.args.get("replacement"))
    text = as_text(compile(node.this))
    # Separators stand at fixed places of a text of dates; digits do not.
    monotone = text.fixed and not any(c.isdigit() for c in old + new)
    return text.map(
        lambda value: scalars.to_text(value).replace(old, new), Kind.TEXT, monotone=monotone, fixed=monotone
    )


def _extreme(sign: int) -> _Builder:
    """LEAST and GREATEST, of dates only."""

    def choose(a: Value, b: Value) -> Value:
        return a if sign * scalars.compare(scalars.to_datetime(a), scalars.to_datetime(b)) >= 0 else b

    def build(node: exp.Expr, compile: _Compile) -> Term:
        chosen = compile(node.this)
        for child in node.expressions:
            term = compile(child)
            kind = chosen.kind if chosen.kind is term.kind else Kind.MOMENT
            chosen = replace(combined(chosen, term, choose, 1, kind), regular=False)
        return chosen

    return build


def _changed_case(function: Callable[[str], str]) -> _Builder:
    def build(node: exp.Expr, compile: _Compile) -> Term:
        return as_text(compile(node.this)).map(
            lambda value: function(scalars.to_text(value)), Kind.TEXT, monotone=False
        )

    return build


def _time_slice(node: exp.Expr, compile: _Compile) -> Term:
    kind = node.args.get("kind")
    if node.expression.name != "1" or (kind is not None and kind.name.upper() != "START"):
        raise Undecided("time_slice of more than one unit")
    return _truncated(compile(node.this), _unit(node))


def _date_floor(node: exp.Expr, compile: _Compile) -> Term:
    argument, interval = _arguments(node, 2)
    if not isinstance(interval, exp.Interval) or interval.this.name != "1":
        raise Undecided(f"{function_name(node)} of more than one unit")
    return _truncated(compile(argument), _unit(interval))


_NODES: dict[type[exp.Expr], _Builder] = {
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Neg: _negative,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.TsOrDsToDate: _date,
    exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc,
    exp.DateAdd: _date_shift(1),
    exp.DateSub: _date_shift(-1),
    exp.TimestampAdd: _date_shift(1),
    exp.TimestampSub: _date_shift(-1),
    exp.AddMonths: _add_months,
    exp.Add: _sum(1),
    exp.Sub: _sum(-1),
    exp.Mul: _product,
    exp.DateDiff: _datediff,
    exp.ToDays: _to_days,
    exp.TimeToStr: _date_format,
    exp.StrToDate: _str_to_date,
    exp.StrToTime: _str_to_date,
    exp.LastDay: _last_day,
    exp.Year: _part(lambda d: d.year, Grain.YEAR, monotone=True),
    exp.Quarter: _part(lambda d: (d.month + 2) // 3, Grain.QUARTER),
    exp.Month: _part(lambda d: d.month, Grain.MONTH),
    exp.Day: _part(lambda d: d.day, Grain.DAY),
    exp.DayOfMonth: _part(lambda d: d.day, Grain.DAY),
    exp.DayOfYear: _part(lambda d: d.timetuple().tm_yday, Grain.DAY),
    exp.DayOfWeek: _part(lambda d: d.isoweekday() % 7 + 1, Grain.DAY),
    exp.WeekOfYear: _part(lambda d: d.isocalendar().week, Grain.WEEK),
    exp.Hour: _part(lambda d: d.hour, Grain.HOUR),
    exp.Left: _left,
    exp.Substring: _substring,
    exp.Concat: _concat,
    exp.Replace: _replace,
    exp.Least: _extreme(-1),
    exp.Greatest: _extreme(1),
    exp.Lower: _changed_case(str.lower),
    exp.Upper: _changed_case(str.upper),
    exp.TimeSlice: _time_slice,
}

_UNITS = ("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")

_NAMED: dict[str, _Builder] = {
    **{f"{unit.lower()}s_add": _named_shift(unit, 1) for unit in _UNITS},
    **{f"{unit.lower()}s_sub": _named_shift(unit, -1) for unit in _UNITS},
    "to_date": _to_date,
    "str2date": _to_date,
    "weekday": _part(lambda d: d.weekday(), Grain.DAY),
    "date_floor": _date_floor,
}
"""Functions that SQLGlot has no node for, by their lower-case name."""
