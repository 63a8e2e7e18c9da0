"""One server's state, shared by its sessions, and what a single statement runs with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sr_assets.standin.cancellation import Cancellation
from sr_assets.standin.config import StandInConfig
from sr_assets.standin.datatypes import wire_type
from sr_assets.standin.errors import ServerError, unknown_database
from sr_assets.standin.faults import Faults
from sr_assets.standin.files import FilesFunction
from sr_assets.standin.information_schema import create_views
from sr_assets.standin.jobs import Jobs
from sr_assets.standin.lexer import Cursor
from sr_assets.standin.model import Table
from sr_assets.standin.results import Rows
from sr_assets.standin.storage import Store
from sr_assets.standin.translate import Query, Scope, Translator
from sr_assets.standin.variables import Variables, server_variables
from sr_assets.standin.writing import Writer


class Peer(Protocol):
    """Another session, as SHOW PROCESSLIST and KILL see it."""

    user: str
    database: str | None
    host: str
    running: str
    since: float

    def kill_query(self) -> None: ...
    def kill_connection(self) -> None: ...


class Engine:
    """Everything below the wire."""

    def __init__(self, config: StandInConfig) -> None:
        self.config = config
        self.store = Store(config.data_dir, version=config.version)
        create_views(self.store.cursor(), config)
        self.jobs = Jobs(self.store)
        self.jobs.recover()
        self.faults = Faults()
        self.files = FilesFunction(config.storage_root)
        self.translator = Translator(self.store, self.files)
        self.writer = Writer(self.store, self.jobs, self.faults)
        self.variables = server_variables(config)
        self.peers: dict[int, Peer] = {}
        self._background: set[threading.Thread] = set()

    def background(self, name: str, work: Callable[[], None]) -> None:
        """Run work that outlives its statement: an asynchronous load or a task."""

        def run() -> None:
            try:
                work()
            finally:
                self._background.discard(thread)

        thread = threading.Thread(target=run, name=name, daemon=True)
        self._background.add(thread)
        thread.start()

    def close(self) -> None:
        """Cancel what runs, wait for it, close the files."""
        self.writer.close()
        self.jobs.cancel_all()
        for thread in list(self._background):
            thread.join(timeout=5)
        self.store.close()


@dataclass(slots=True)
class Context:
    """One statement of one session. `hints` are those of `/*+ SET_VAR(name = value) */`."""

    engine: Engine
    cancellation: Cancellation
    user: str
    database: str | None
    connection_id: int
    session_variables: Variables
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.engine.store

    @property
    def variables(self) -> dict[str, object]:
        return self.session_variables.overridden(dict(self.hints))

    @property
    def scope(self) -> Scope:
        return Scope(self.database, self.user, self.connection_id, self.variables)

    def use(self, name: str) -> None:
        if name not in self.store.databases and name.lower() not in ("information_schema", "sys"):
            raise unknown_database(name)
        self.database = name

    def qualify(self, parts: list[str]) -> tuple[str, str]:
        """(database, name) of a possibly dotted name; a leading catalog name is dropped."""
        db = parts[-2] if len(parts) > 1 else self.database
        if db is None:
            raise ServerError("No database selected", 1046)
        return db, parts[-1]

    def table(self, cursor: Cursor) -> Table:
        """The table whose name comes next. Raises ServerError 5501 or 5502."""
        return self.store.table(*self.qualify(cursor.dotted_name()))

    def translate(self, sql: str) -> Query:
        return self.engine.translator.query(sql, self.scope)

    def expression(self, sql: str, *, texts: bool = False) -> str:
        return self.engine.translator.expression(sql, self.scope, texts=texts)

    def fetch(self, query: Query) -> Rows:
        """Run a translated query."""
        if query.sleep:
            self.cancellation.pause(query.sleep)
        self.cancellation.check()
        cursor = self.cancellation.cursor.execute(query.sql)
        names = [column[0] for column in cursor.description]
        types = [
            wire_type(str(column[1]), largeint=query.is_largeint(position, column[0]))
            for position, column in enumerate(cursor.description)
        ]
        return Rows(names, cursor.fetchall(), types)
