"""A running stand-in server: its ports, its threads, its start and its end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from sr_assets.standin.config import StandInConfig
from sr_assets.standin.engine import Engine
from sr_assets.standin.session import Session, log_line
from sr_assets.standin.stream_load import HttpServers
from sr_assets.standin.wire import MysqlPort

_WORKERS = 64
_REMEMBERED = 10_000


class StandIn:
    """A small server that speaks StarRocks.

        with StandIn(StandInConfig()) as server:
            pymysql.connect(host="127.0.0.1", port=server.port, user="root")

    `start` raises StorageInUse when another process has the data directory, OSError when a port is taken.
    """

    def __init__(self, config: StandInConfig) -> None:
        self.config = config
        self._statements: deque[str] = deque(maxlen=_REMEMBERED)
        self._engine: Engine | None = None
        self._http: HttpServers | None = None
        self._thread: threading.Thread | None = None
        self._stopping: Callable[[], object] = lambda: None
        self._log_lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port of the MySQL protocol."""
        return self.config.port

    @property
    def http_port(self) -> int:
        return self.config.http_port

    @property
    def be_http_port(self) -> int:
        return self.config.be_http_port

    @property
    def url(self) -> str:
        """`starrocks://root@127.0.0.1:9030`; without the password."""
        return f"starrocks://{self.config.user}@{self.config.host}:{self.config.port}"

    @property
    def statements(self) -> list[str]:
        """The last 10,000 messages received, oldest first."""
        return list(self._statements)

    def start(self) -> None:
        """Serve in a background thread; clients can connect when this returns."""
        engine = Engine(self.config)
        ready = threading.Event()
        failure: list[BaseException] = []

        def serve_forever() -> None:
            try:
                asyncio.run(self._serve(engine, ready))
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                failure.append(error)
            finally:
                ready.set()

        self._engine = engine
        self._thread = threading.Thread(target=serve_forever, name="stand-in", daemon=True)
        self._thread.start()
        ready.wait()
        if failure:
            engine.close()
            raise failure[0]

    def stop(self) -> None:
        """Cancel what runs, close all connections and files. Does nothing when it is not running."""
        if self._thread is None:
            return
        self._stopping()
        self._thread.join()
        self._thread = None
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> StandIn:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _serve(self, engine: Engine, ready: threading.Event) -> None:
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()
        self._stopping = lambda: loop.call_soon_threadsafe(stopping.set)
        executor = ThreadPoolExecutor(_WORKERS, thread_name_prefix="statement")
        port = MysqlPort(engine, lambda: Session(engine, executor, self._record))
        http = HttpServers(engine)
        try:
            http_port, be_http_port = http.ports
            self.config = replace(
                self.config, port=await port.listen(), http_port=http_port, be_http_port=be_http_port
            )
            engine.config = self.config
            http.start()
            ready.set()
            await stopping.wait()
        finally:
            http.close()
            await port.close()
            executor.shutdown(wait=True, cancel_futures=True)

    def _record(self, session: Session, sql: str) -> None:
        self._statements.append(sql)
        if self.config.statement_log is not None:
            with self._log_lock, self.config.statement_log.open("a", encoding="utf-8") as log:
                log.write(log_line(session, sql) + "\n")


def serve(config: StandInConfig, ready: Callable[[StandIn], None]) -> None:
    """Run a server until SIGTERM or SIGINT; call `ready` when it accepts clients. For the main thread."""
    stop = threading.Event()
    previous = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        with StandIn(config) as server:
            ready(server)
            stop.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
