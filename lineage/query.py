"""A query template: everything that its SQL says about tables, columns and partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from lineage import dialect, spans
from lineage.axis import Value
from lineage.calendar import Grain
from lineage.columns import ColumnFlow, StoredColumn, column_flow
from lineage.errors import LineageError
from lineage.fingerprint import fingerprint
from lineage.normalize import Schema, known_tables, normalize, query_of
from lineage.partitions import PartitionColumn, Pattern, Reads, Window
from lineage.patterns import find_pattern, sample_windows, written_windows
from lineage.predicates import bounds, is_affine, reasons
from lineage.skeleton import Skeleton, skeletons
from lineage.solve import Solver
from lineage.spans import Spans
from lineage.template import compiled
from lineage.trace import Reference, references, stored_tables

Upstreams = Mapping[str, PartitionColumn]
_Read = tuple[Spans, tuple[str, ...]]
_MAX_VARIANTS = 64


class Query:
    """One SELECT as a template, analysed. Make it with `Query.parse`.

    tables: `db.table` (`catalog.db.table` outside of default_catalog) of every stored table it reads.
    outputs: names of its columns in order, in lower case.
    columns: for each output, the (table, column) pairs that it is made from; column '*' where a table's columns
        are not known.
    filters: the pairs that only filter, join, group or order.
    fingerprint: changes when the meaning of the query may have (fingerprint.py says what does not count).
    volatile: functions in it whose results no rerun reproduces, such as `now()`.
    """

    template: str
    tables: frozenset[str]
    outputs: tuple[str, ...]
    columns: Mapping[str, frozenset[StoredColumn]]
    filters: frozenset[StoredColumn]
    fingerprint: str
    volatile: tuple[str, ...]

    def __init__(
        self, template: str, grain: Grain | None, values: tuple[str, ...], database: str, schema: Schema
    ) -> None:
        self.template = template
        self._template = compiled(template)
        self._grain = grain
        self._database = database
        self._schema = schema
        windows = _samples(grain, values)
        texts = [self._template.render(window) for window in windows]
        shapes = skeletons(texts, [window.key for window in windows])
        self._variants = [self._variant(skeleton) for skeleton in shapes]
        self._rare: dict[str, _Variant] = {}
        self._describe(self._variants)

    @classmethod
    def parse(
        cls,
        template: str,
        *,
        grain: Grain | None,
        values: tuple[str, ...] = (),
        database: str,
        schema: Schema,
    ) -> Query:
        """Analyse a template.

        grain, values: how the table that it makes is partitioned; neither for an unpartitioned one.
        database: of tables that are named without one. schema: 'db.table' -> {column: type}; the columns of a
        table that is not in it are unknown, which makes reads wider than need be.

        Raises LineageError: syntax, undefined template variables, unknown columns, not one query.
        """
        try:
            return cls(template, grain, values, database, schema)
        except RecursionError:
            raise LineageError("the SQL is nested too deeply") from None

    def render(self, window: Window) -> str:
        """The user's own text for one window: what is to be executed. Raises LineageError."""
        return self._template.render(window)

    def reads(self, window: Window, upstreams: Upstreams) -> dict[str, Reads]:
        """The upstream partitions that this window reads, for every table in `tables`.

        A table that is not in `upstreams` is unpartitioned and read as a whole.
        """
        upstreams = self._partitioned(upstreams)
        found = self._reads(window, upstreams)
        return {
            table: Reads.of(*found.get(table, (spans.NONE, ()))) if table in upstreams else Reads.ALL
            for table in self.tables
        }

    def patterns(self, upstreams: Upstreams) -> dict[str, Pattern | None]:
        """What is read in the form that is the same for every window; None where there is none.

        Per table in `tables`. A pattern is never narrower than `reads`.
        """
        upstreams = self._partitioned(upstreams)
        whole = Pattern(((None, None),))
        found: dict[str, Pattern | None] = dict.fromkeys(self.tables - upstreams.keys(), whole)
        partitioned = sorted(upstreams)
        affine = {table for table in partitioned if self._is_affine(table, upstreams)}
        for table in partitioned:
            found[table] = self._whole(table, upstreams)
        open_ = [table for table in partitioned if table in affine and found[table] is None]
        if open_ and self._grain is not None:
            windows = [*sample_windows(self._grain), *written_windows(self.template, self._grain)]
            samples = [(window, self._reads(window, upstreams)) for window in windows]
            for table in open_:
                found[table] = _fit(samples, table, upstreams[table])
        return found

    def _partitioned(self, upstreams: Upstreams) -> Upstreams:
        """Those that the query reads and that have partitions."""
        return {
            table: upstreams[table]
            for table in self.tables & upstreams.keys()
            if upstreams[table].grain is not None or upstreams[table].values
        }

    def _variant(self, skeleton: Skeleton) -> _Variant:
        return _Variant.of(skeleton, self._database, self._schema)

    def _describe(self, variants: list[_Variant]) -> None:
        """The facts of all texts that the template makes, together."""
        first = variants[0].flow
        names = [name for name, _ in first.outputs]
        columns: dict[str, frozenset[StoredColumn]] = {}
        for variant in variants:
            if [name for name, _ in variant.flow.outputs] != names:
                raise LineageError(
                    "the output columns must be the same for every partition", text=self.template
                )
            for name, origins in variant.flow.outputs:
                columns[name] = columns.get(name, frozenset()) | origins
        direct = frozenset[StoredColumn]().union(*columns.values())
        self.outputs = tuple(names)
        self.columns = columns
        self.filters = frozenset[StoredColumn]().union(*(v.flow.filters for v in variants)) - direct
        self.tables = frozenset[str]().union(*(variant.tables for variant in variants))
        self.volatile = tuple(sorted({name for variant in variants for name in variant.volatile}))
        clauses = [clause for variant in variants for clause in variant.partial]
        logic = " ".join((*clauses, *self._template.logic.split()))
        self.fingerprint = fingerprint([variant.scopes for variant in variants], logic)

    def _bound(self, window: Window) -> tuple[_Variant, Mapping[str, Value]]:
        """The variant that the window's text is, and the values of its variables."""
        text = self.render(window)
        for variant in self._variants:
            values = variant.skeleton.bind(text)
            if values is not None:
                return variant, values
        if text not in self._rare:
            if len(self._rare) >= _MAX_VARIANTS:
                self._rare.pop(next(iter(self._rare)))
            self._rare[text] = self._unseen(text, window)
        return self._rare[text], {}

    def _unseen(self, text: str, window: Window) -> _Variant:
        variant = self._variant(Skeleton(text, dialect.tokenize(text), window.key))
        unknown = variant.tables - self.tables
        if unknown:
            raise LineageError(
                f"for partition {window.key} the query reads {', '.join(sorted(unknown))}, for others it does not",
                text=self.template,
                hint="write every table into the text of every partition",
            )
        return variant

    def _reads(self, window: Window, upstreams: Upstreams) -> dict[str, _Read]:
        variant, values = self._bound(window)
        solver = Solver(values)
        found: dict[str, tuple[Spans, set[str]]] = {}
        for reference in variant.references(upstreams):
            before, why = found.get(reference.table, (spans.NONE, set()))
            solver.reasons.clear()
            read = solver.solve(reference.condition, reference.target.axis)
            why = why | solver.reasons | _why_wide(reference, read)
            found[reference.table] = (spans.union(before, read), why)
        return {table: (read, tuple(sorted(why))) for table, (read, why) in found.items()}

    def _conditions(self, table: str, upstreams: Upstreams) -> list[Reference]:
        return [
            reference
            for variant in self._variants
            for reference in variant.references(upstreams)
            if reference.table == table
        ]

    def _whole(self, table: str, upstreams: Upstreams) -> Pattern | None:
        """The pattern of a table with a reference that nothing bounds, in any window; else None."""
        if not self._is_stable:
            return None
        why: set[str] = set()
        for reference in self._conditions(table, upstreams):
            if not bounds(reference.condition):
                why |= _why_wide(reference, spans.ALL)
        return Pattern(((None, None),), tuple(sorted(why))) if why else None

    @property
    def _is_stable(self) -> bool:
        return len(self._variants) == 1 and self._template.is_straight

    def _is_affine(self, table: str, upstreams: Upstreams) -> bool:
        if not self._is_stable or upstreams[table].grain is None:
            return False
        return all(is_affine(reference.condition) for reference in self._conditions(table, upstreams))


@dataclass(frozen=True, slots=True, eq=False)
class _Variant:
    """One shape of the template's text, parsed."""

    skeleton: Skeleton
    query: exp.Query
    scopes: Sequence[Scope]
    known: Schema
    flow: ColumnFlow
    tables: frozenset[str]
    volatile: tuple[str, ...]
    partial: tuple[str, ...]
    _references: dict[tuple[tuple[str, PartitionColumn], ...], list[Reference]]

    @classmethod
    def of(cls, skeleton: Skeleton, database: str, schema: Schema) -> _Variant:
        text, tokens = skeleton.text, skeleton.variable_tokens()
        parsed = query_of(dialect.parse(tokens, text), text)
        known = known_tables(parsed, database, schema)
        query = normalize(parsed, text, database=database, known=known)
        scopes = traverse_scope(query)
        volatile = {name for node in query.walk() if (name := dialect.volatile_name(node))}
        return cls(
            skeleton,
            query,
            scopes,
            known,
            column_flow(scopes),
            frozenset(_table_keys(query, scopes, database, known)),
            tuple(sorted(volatile)),
            tuple(dialect.partial_clauses(tokens)),
            {},
        )

    def references(self, upstreams: Upstreams) -> list[Reference]:
        key = tuple(sorted(upstreams.items(), key=lambda item: item[0]))
        if key not in self._references:
            self._references[key] = references(self.query, self.scopes, upstreams, self.known)
        return self._references[key]


def _table_keys(query: exp.Query, scopes: Sequence[Scope], database: str, known: Schema) -> Iterator[str]:
    for table in stored_tables(query, scopes):
        key = dialect.table_key(table)
        dual = key == f"{database}.{table.name}" and table.name.lower() == "dual" and key not in known
        if key is not None and not dual:
            yield key


def _samples(grain: Grain | None, values: tuple[str, ...]) -> list[Window]:
    if grain is not None:
        return sample_windows(grain)
    return [Window(value) for value in values] or [Window("all")]


def _why_wide(reference: Reference, read: Spans) -> set[str]:
    opened = bool(read) and (read[0][0] == spans.LOWEST or read[-1][1] == spans.HIGHEST)
    why = reasons(reference.condition, local=not opened)
    if not why and not bounds(reference.condition):
        return {f"no predicate on {reference.target.column}"}
    return why


def _fit(
    samples: list[tuple[Window, dict[str, _Read]]], table: str, upstream: PartitionColumn
) -> Pattern | None:
    if upstream.grain is None:
        return None
    why = sorted({reason for _, found in samples for reason in found[table][1]})
    return find_pattern([(window, found[table][0]) for window, found in samples], upstream.grain, tuple(why))
