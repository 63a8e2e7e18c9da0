"""A server for the tests over the wire: the one at SR_TEST_URL (and SR_TEST_HTTP), else a stand-in."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from sr_assets.starrocks.session import Session, connect_url


@dataclass(frozen=True)
class Server:
    url: str
    http: str | None
    storage: Path | None  # where s3://bucket/key is read from, if these tests can write there
    standin: bool

    def session(self) -> Session:
        return connect_url(self.url, self.http)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if url := os.environ.get("SR_TEST_URL"):
        storage = os.environ.get("SR_TEST_STORAGE")
        yield Server(url, os.environ.get("SR_TEST_HTTP"), Path(storage) if storage else None, standin=False)
        return
    from sr_assets.standin import StandIn, StandInConfig

    storage_root = tmp_path_factory.mktemp("storage")
    config = StandInConfig(storage_root=storage_root, password="open sesame")
    with StandIn(config) as standin:
        yield Server(
            f"starrocks://root:open%20sesame@127.0.0.1:{standin.port}",
            f"http://127.0.0.1:{standin.http_port}",
            storage_root,
            standin=True,
        )


@pytest.fixture(scope="session")
def connected(server: Server) -> Iterator[Session]:
    with server.session() as session:
        yield session


@pytest.fixture
def session(connected: Session) -> Session:
    return connected


@pytest.fixture
def database(session: Session) -> Iterator[str]:
    name = f"sr_test_{uuid4().hex[:12]}"
    session.execute(f"CREATE DATABASE {name}")
    yield name
    session.execute(f"DROP DATABASE IF EXISTS {name} FORCE")


Faults = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def faults(server: Server) -> Faults:
    """`with faults("drop_after_commit@table"):` makes the stand-in fail once at that point.

    Real clusters have other fail points, so that these tests are the stand-in's alone.
    """
    if not server.standin:
        pytest.skip("fail points of the stand-in")

    @contextmanager
    def enabled(point: str) -> Iterator[None]:
        with server.session() as admin:
            admin.execute(f"ADMIN ENABLE FAILPOINT '{point}' WITH 1 TIMES")
            try:
                yield
            finally:
                admin.execute(f"ADMIN DISABLE FAILPOINT '{point}'")

    return enabled


@pytest.fixture
def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
