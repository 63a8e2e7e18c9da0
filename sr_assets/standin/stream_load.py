"""Stream Load over HTTP: an FE that checks and redirects, and a BE that takes the rows.

Documented in StarRocks' STREAM_LOAD page. Both ports answer `GET /api/health`; the FE also answers
`GET /api/{db}/get_load_state?label=...`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb

from sr_assets.standin import files
from sr_assets.standin.cancellation import Cancellation
from sr_assets.standin.engine import Engine
from sr_assets.standin.errors import ConnectionLost, ServerError, analyzing, not_implemented
from sr_assets.standin.files import CsvOptions
from sr_assets.standin.jobs import Job, LabelUsed
from sr_assets.standin.lexer import Cursor, commas, text_of
from sr_assets.standin.loads import source_query
from sr_assets.standin.model import Table
from sr_assets.standin.staging import Target
from sr_assets.standin.storage import literal
from sr_assets.standin.translate import Scope
from sr_assets.standin.writing import Tolerance

_PATH = re.compile(r"/api/([^/]+)/([^/]+)/_stream_load")
_LOAD_STATE = re.compile(r"/api/([^/]+)/get_load_state")


@dataclass(frozen=True, slots=True)
class Request:
    """One Stream Load: where to, with which headers (lower-case names), and the rows."""

    db: str
    table: str
    headers: Mapping[str, str]
    body: bytes

    def flag(self, name: str) -> bool:
        return self.headers.get(name, "false").lower() == "true"

    def names(self, header: str) -> tuple[str, ...] | None:
        text = self.headers.get(header)
        return None if text is None else tuple(name.strip().strip("`") for name in text.split(","))


class StreamLoader:
    """Runs Stream Loads and says how they went, as a dict that is sent as JSON."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def load(self, request: Request, user: str) -> dict[str, Any]:
        """Raises ConnectionLost when a fail point cuts the connection; all else is in the answer."""
        cancellation = Cancellation(self._engine.store.cursor())
        label = request.headers.get("label")
        started = time.monotonic()
        job: Job | None = None
        try:
            table = self._engine.store.table(request.db, request.table)
            job = self._engine.jobs.begin(
                cancellation.cursor,
                db=request.db,
                table=request.table,
                label=label,
                type="STREAM_LOAD",
                user=user,
                properties={"timeout": request.headers.get("timeout", "600")},
            )
            job.bytes = len(request.body)
            with self._engine.writer.job(cancellation, job):
                self._run(cancellation, request, table, job)
            status = "Publish Timeout" if job.state == "COMMITTED" else "Success"
            return _answer(request, job, started, Status=status, Message="OK")
        except LabelUsed as error:
            return _answer(
                request,
                None,
                started,
                Status="Label Already Exists",
                ExistingJobStatus=error.existing_status,
                Message=error.message,
            )
        except ConnectionLost:
            raise
        except ServerError as error:
            message = error.message.removeprefix("type:ETL_QUALITY_UNSATISFIED; msg:")
            if message != error.message:
                message = "too many filtered rows"
            return _answer(request, job, started, Status="Fail", Message=message)
        except duckdb.Error as error:
            return _answer(request, job, started, Status="Fail", Message=str(error).splitlines()[0])
        finally:
            cancellation.close()

    def _run(self, cancellation: Cancellation, request: Request, table: Table, job: Job) -> None:
        timeout = threading.Timer(
            float(request.headers.get("timeout", "600")), cancellation.cancel, ["timeout by txn manager"]
        )
        timeout.daemon = True
        timeout.start()
        try:
            with tempfile.TemporaryDirectory() as folder:
                part = self._part(cancellation, request, table, job, Path(folder) / "rows")
            ratio = float(request.headers.get("max_filter_ratio", "0"))
            self._engine.writer.load(cancellation, job, [part], Tolerance(request.flag("strict_mode"), ratio))
        finally:
            timeout.cancel()

    def _part(
        self, cancellation: Cancellation, request: Request, table: Table, job: Job, file: Path
    ) -> tuple[Target, str]:
        kind = request.headers.get("format", "csv").lower()
        temporary = request.names("temporary_partitions")
        names = temporary if temporary is not None else request.names("partitions")
        target = Target(table, names=names, temporary=temporary is not None)
        scope = Scope(table.db, "", 0)
        given, computed = self._columns(request, table, scope)
        file.write_bytes(request.body)
        if kind == "csv":
            relation = files.csv_relation([file], CsvOptions.parse(request.headers), given)
        elif kind == "json":
            rows = _json_rows(request)
            fields = sorted({name for row in rows for name in row}) or given
            given = (
                given if request.headers.get("columns") else [name for name in fields if _has(table, name)]
            )
            file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
            types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in given)
            relation = f"read_json({literal(file)}, format = 'newline_delimited', columns = {{{types}}})"
        else:
            raise not_implemented(f"Stream Load of format '{kind}'")
        where = request.headers.get("where", "")
        return source_query(
            cancellation.cursor,
            job,
            target,
            relation=relation,
            given=given,
            set_clauses=computed,
            where=self._engine.translator.expression(where, scope, texts=True) if where else "",
            csv=kind == "csv",
        )

    def _columns(self, request: Request, table: Table, scope: Scope) -> tuple[list[str], dict[str, str]]:
        """The `columns` header: names of the file's fields, and `name = expression` for what is computed."""
        text = request.headers.get("columns")
        if text is None:
            return [column.name for column in table.definition.columns], {}
        given: list[str] = []
        computed: dict[str, str] = {}
        for tokens in commas(Cursor(text).tokens):
            item = Cursor(text, tokens)
            name = item.name()
            if item.accept("="):
                expression = text_of(text, item.tokens[item.position :])
                computed[table.definition.column(name).name] = self._engine.translator.expression(
                    expression, scope, texts=True
                )
            else:
                given.append(name)
        return given, computed


def _has(table: Table, name: str) -> bool:
    return any(column.name.lower() == name.lower() for column in table.definition.columns)


def _json_rows(request: Request) -> list[dict[str, Any]]:
    try:
        text = request.body.decode("utf-8")
        if request.flag("strip_outer_array"):
            rows = json.loads(text)
        else:
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise analyzing(f"Failed to parse json: {error}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise analyzing("The value is array type in json document stream, you can set strip_outer_array=true")
    return rows


def _answer(request: Request, job: Job | None, started: float, **status: str) -> dict[str, Any]:
    elapsed = int(1000 * (time.monotonic() - started))
    done = job is not None and job.state in ("FINISHED", "COMMITTED")
    return {
        "TxnId": job.txn if job else -1,
        "Label": job.label if job else request.headers.get("label", ""),
        "Db": request.db,
        "Table": request.table,
        **status,
        "NumberTotalRows": job.scanned if job else 0,
        "NumberLoadedRows": job.loaded if job and done else 0,
        "NumberFilteredRows": job.filtered if job else 0,
        "NumberUnselectedRows": job.unselected if job else 0,
        "LoadBytes": len(request.body),
        "LoadTimeMs": elapsed,
        "BeginTxnTimeMs": 0,
        "StreamLoadPlanTimeMs": 0,
        "ReadDataTimeMs": 0,
        "WriteDataTimeMs": elapsed,
        "CommitAndPublishTimeMs": 0,
    }


class _Handler(BaseHTTPRequestHandler):
    """What FE and BE have in common. `server` is a _Server."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        state = _LOAD_STATE.fullmatch(address.path)
        if address.path == "/api/health":
            backends = {"online_backend_num": 1, "total_backend_num": 1}
            self._reply({"msg": "success", "code": 0, "status": "OK", "data": backends, "count": 0})
        elif state is not None and self._user() is not None:
            self._reply(self._load_state(unquote(state[1]), parse_qs(address.query).get("label", [""])[0]))
        else:
            self._reply({"status": "FAILED", "msg": "not found"}, 404)

    def _load_state(self, db: str, label: str) -> dict[str, str]:
        row = (
            self.server.engine.store.cursor()
            .execute("SELECT state FROM meta.jobs WHERE db = ? AND label = ? ORDER BY id DESC", [db, label])
            .fetchone()
        )
        states = {"FINISHED": "VISIBLE", "COMMITTED": "COMMITTED", "CANCELLED": "ABORTED"}
        return {
            "state": "UNKNOWN" if row is None else states.get(row[0], "PREPARE"),
            "status": "OK",
            "msg": "OK",
        }

    def _reply(self, body: Mapping[str, Any], code: int = 200) -> None:
        data = json.dumps(body, indent=4).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _user(self) -> str | None:
        """The user of a valid Basic authorization; None after answering 401."""
        kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
        try:
            user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            user = password = ""
        config = self.server.engine.config
        if kind.lower() == "basic" and (user, password) == (config.user, config.password):
            return user
        self.close_connection = True
        self._reply(
            {"Status": "FAILED", "Message": f"Access denied for {user or 'default_cluster'}@127.0.0.1"}, 401
        )
        return None

    def _stream_load_path(self) -> tuple[str, str] | None:
        match = _PATH.fullmatch(urlsplit(self.path).path)
        if match is None:
            self.close_connection = True
            self._reply({"Status": "FAILED", "Message": "not found"}, 404)
            return None
        return unquote(match[1]), unquote(match[2])

    def _expects_continue(self) -> bool:
        if self.headers.get("Expect", "").lower() == "100-continue":
            return True
        self.close_connection = True
        self._reply({"Status": "FAILED", "Message": "There is no 100-continue header"})
        return False


class _FrontEnd(_Handler):
    """Checks who asks, and sends the client to the BE: its body is never read here."""

    def handle_expect_100(self) -> bool:
        return True

    def do_PUT(self) -> None:
        if self._stream_load_path() is None or self._user() is None or not self._expects_continue():
            return
        config = self.server.engine.config
        self.send_response(307)
        self.send_header("Location", f"http://{config.host}:{config.be_http_port}{self.path}")
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True


class _BackEnd(_Handler):
    """Takes the rows."""

    def do_PUT(self) -> None:
        names = self._stream_load_path()
        user = self._user() if names else None
        if names is None or user is None or not self._expects_continue():
            return
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = Request(*names, headers, self._body())
        try:
            self._reply(StreamLoader(self.server.engine).load(request, user))
        except ConnectionLost:
            self.close_connection = True

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, engine: Engine, port: int, handler: type[_Handler]) -> None:
        self.engine = engine
        super().__init__((engine.config.host, port), handler)


class HttpServers:
    """The two HTTP ports of one server."""

    def __init__(self, engine: Engine) -> None:
        self._servers = [
            _Server(engine, engine.config.http_port, _FrontEnd),
            _Server(engine, engine.config.be_http_port, _BackEnd),
        ]
        self._threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            for server in self._servers
        ]

    @property
    def ports(self) -> tuple[int, int]:
        """(FE, BE)"""
        return self._servers[0].server_port, self._servers[1].server_port

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
