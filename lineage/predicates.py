"""Conditions on one column, compiled to a tree without negation.

Every node means "may be true": what is not understood is true. So the partitions that satisfy the tree are
never fewer than those with a row that satisfies the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from lineage.axis import Value
from lineage.dialect import function_name
from lineage.functions import compile_term
from lineage.scalars import Undecided
from lineage.terms import Direction, Kind, OtherColumn, Target, Term, as_text


@dataclass(frozen=True, slots=True)
class Always:
    """A constant truth; true for what is not understood, and then `reason` says why.

    `local`: because of what is done to the column itself, and not because it is compared with other columns or
    subqueries, which may well be understood on their side.
    """

    value: bool
    reason: str | None = None
    local: bool = True


@dataclass(frozen=True, slots=True)
class Compare:
    """`left operator right` with a constant right side; the left side is over the column, or constant too."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The values that an expression over another column can have on the rows that matter.

    This is how a bound travels through a join: in `a.dt = b.dt`, a row of `a` matters only if its value is one of
    those of `b`.
    """

    term: Term
    target: Target
    condition: Predicate


@dataclass(frozen=True, slots=True)
class Within:
    """`left operator x` for some x of one of the domains."""

    operator: str
    left: Term
    domains: tuple[Domain, ...]


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Predicate, ...]


Predicate = Always | Compare | Within | Both | Either

TRUE = Always(True)
FALSE = Always(False)

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
COMPARISONS = tuple(_OPERATORS)
_NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

Domains = Mapping[str, tuple[Domain, ...]]
"""Domains by the name of the placeholder that stands for them in a tree."""


def conjunction(nodes: Iterable[exp.Expr], target: Target, domains: Domains) -> Predicate:
    """All of these conditions, as far as they concern the target."""
    compiler = _Compiler(target, domains)
    return _all([compiler.compile(node, False) for node in nodes])


def flipped(operator: type[exp.Expr]) -> type[exp.Expr]:
    """The comparison that says the same with its sides exchanged."""
    mirrored: dict[type[exp.Expr], type[exp.Expr]] = {
        exp.LT: exp.GT,
        exp.GT: exp.LT,
        exp.LTE: exp.GTE,
        exp.GTE: exp.LTE,
    }
    return mirrored.get(operator, operator)


class _Compiler:
    def __init__(self, target: Target, domains: Domains) -> None:
        self._target = target
        self._domains = domains

    def compile(self, node: exp.Expr, negated: bool) -> Predicate:
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node, negated)
        if type(node) in _OPERATORS:
            operator = _OPERATORS[type(node)]
            return self.compare(
                _NEGATED[operator] if negated else operator, node.this, node.expression, negated
            )
        return self._unknown(f"opaque condition {function_name(node)}", node)

    def compare(self, operator: str, left: exp.Expr, right: exp.Expr, negated: bool = False) -> Predicate:
        if isinstance(right, exp.Placeholder) and right.name in self._domains and not negated:
            return self._within(operator, left, self._domains[right.name])
        try:
            a, b = compile_term(left, self._target), compile_term(right, self._target)
        except OtherColumn as error:
            other = "another column" if str(error) == "?" else str(error)
            reason = f"{self._target.column} is compared with {other}, which nothing bounds"
            return self._unknown(reason, left, right, local=False)
        except Undecided as error:
            return self._unknown(str(error), left, right)
        if a.direction is Direction.CONSTANT:
            a, b, operator = b, a, _FLIPPED.get(operator, operator)
        if b.direction is not Direction.CONSTANT:
            return Always(True, f"{self._target.column} compared with itself")
        return Compare(operator, a, b)

    def _within(self, operator: str, left: exp.Expr, domains: tuple[Domain, ...]) -> Predicate:
        try:
            return Within(operator, compile_term(left, self._target), domains)
        except Undecided as error:
            return self._unknown(str(error), left)

    def _unknown(self, reason: str, *nodes: exp.Expr, local: bool = True) -> Predicate:
        if any(node.find(exp.Query) is not None for node in nodes):
            reason, local = "a subquery", False
        concerned = any(
            self._target.matches(column) for node in nodes for column in node.find_all(exp.Column)
        )
        return Always(True, reason, local) if concerned else TRUE

    def connected(self, node: exp.Expr, negated: bool) -> Predicate:
        parts = [self.compile(child, negated) for child in node.flatten()]
        return _all(parts) if isinstance(node, exp.And) is not negated else _any(parts)

    def grouped(self, node: exp.Expr, negated: bool) -> Predicate:
        return self.compile(node.this, negated)

    def inverted(self, node: exp.Expr, negated: bool) -> Predicate:
        return self.compile(node.this, not negated)

    def boolean(self, node: exp.Expr, negated: bool) -> Predicate:
        return Always(bool(node.this) is not negated)

    def null(self, _node: exp.Expr, _negated: bool) -> Predicate:
        return FALSE

    def between(self, node: exp.Expr, negated: bool) -> Predicate:
        low, high = ("<", ">") if negated else (">=", "<=")
        parts = [
            self.compare(low, node.this, node.args["low"]),
            self.compare(high, node.this, node.args["high"]),
        ]
        return _any(parts) if negated else _all(parts)

    def listed(self, node: exp.Expr, negated: bool) -> Predicate:
        if not node.expressions or node.args.get("query") is not None:
            return self._unknown("a subquery", node)
        operator = "<>" if negated else "="
        parts = [self.compare(operator, node.this, value) for value in node.expressions]
        return _all(parts) if negated else _any(parts)

    def null_safe(self, node: exp.Expr, negated: bool) -> Predicate:
        if negated or node.find(exp.Null) is not None:
            # NOT (column <=> x) is true for NULL, which no comparison here is.
            return self._unknown("a NULL-safe comparison", node)
        return self.compare("=", node.this, node.expression)

    def like(self, node: exp.Expr, negated: bool) -> Predicate:
        """LIKE 'prefix%' is a range of texts."""
        try:
            text = as_text(compile_term(node.this, self._target))
            pattern = compile_term(node.expression, self._target)
        except Undecided as error:
            return self._unknown(str(error), node)
        if negated or pattern.direction is not Direction.CONSTANT:
            return self._unknown("a LIKE pattern", node)
        low = pattern.map(_prefix, Kind.TEXT)
        high = pattern.map(lambda value: _prefix(value) + "\U0010ffff", Kind.TEXT)
        return Both((Compare(">=", text, low), Compare("<=", text, high)))

    def is_null(self, node: exp.Expr, negated: bool) -> Predicate:
        if negated and isinstance(node.expression, exp.Null):
            return TRUE  # IS NOT NULL excludes no partition, and is no gap in what is understood
        return self._unknown("a test for NULL", node)


def _prefix(pattern: Value) -> str:
    prefix = str(pattern)[:-1]
    if not prefix or not str(pattern).endswith("%") or any(c in prefix for c in "%_\\"):
        raise Undecided("a LIKE pattern that is no prefix")
    return prefix


_RULES: dict[type[exp.Expr], Callable[[_Compiler, exp.Expr, bool], Predicate]] = {
    exp.Paren: _Compiler.grouped,
    exp.Not: _Compiler.inverted,
    exp.And: _Compiler.connected,
    exp.Or: _Compiler.connected,
    exp.Boolean: _Compiler.boolean,
    exp.Null: _Compiler.null,
    exp.Between: _Compiler.between,
    exp.In: _Compiler.listed,
    exp.NullSafeEQ: _Compiler.null_safe,
    exp.Like: _Compiler.like,
    exp.Is: _Compiler.is_null,
}


def _all(parts: list[Predicate]) -> Predicate:
    if FALSE in parts:
        return FALSE
    kept = [part for part in parts if part != TRUE]
    return kept[0] if len(kept) == 1 else Both(tuple(kept)) if kept else TRUE


def _any(parts: list[Predicate]) -> Predicate:
    unknown = next((part for part in parts if isinstance(part, Always) and part.value), None)
    if unknown is not None:
        return unknown
    kept = [part for part in parts if part != FALSE]
    return kept[0] if len(kept) == 1 else Either(tuple(kept)) if kept else FALSE


def bounds(predicate: Predicate) -> bool:
    """Whether the condition can exclude anything at all."""
    match predicate:
        case Always(value):
            return not value
        case Both(parts):
            return any(map(bounds, parts))
    return True


def reasons(predicate: Predicate, *, local: bool = False) -> set[str]:
    """Why parts of the condition were taken as true; with `local`, only what is done to the column itself."""
    match predicate:
        case Always(_, str(reason), is_local):
            return {reason} if is_local or not local else set()
        case Both(parts) | Either(parts):
            return set().union(*(reasons(part, local=local) for part in parts))
        case Within(domains=domains):
            return set().union(*(reasons(domain.condition, local=True) for domain in domains))
    return set()


def is_affine(predicate: Predicate) -> bool:
    """Whether what satisfies the condition moves with the window as a whole, as an offset pattern says.

    So each comparison must be of the window, through functions that move with the calendar, and the column,
    through a monotone function. A date written in the query does not move.
    """
    match predicate:
        case Compare(_, left, right):
            if left.direction is Direction.CONSTANT:
                return not (left.varies or right.varies)
            moves = left.varies is not right.varies and left.regular and right.regular
            return moves and left.direction is not Direction.OTHER
        case Both(parts) | Either(parts):
            return all(map(is_affine, parts))
        case Within(_, left, domains):
            moving = left.direction is not Direction.OTHER and not left.varies
            return moving and all(_domain_is_affine(domain) for domain in domains)
    return True


def _domain_is_affine(domain: Domain) -> bool:
    term = domain.term
    return term.direction is not Direction.OTHER and not term.varies and is_affine(domain.condition)
