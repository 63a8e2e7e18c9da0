"""The MySQL protocol: mysql-mimic, with what StarRocks does differently.

StarRocks tells in the OK packet how many rows were written and under which label; refuses bad logins
with 1045 before anything else; and advertises no DEPRECATE_EOF, QUERY_ATTRIBUTES or SSL.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from mysql_mimic.auth import (
    AuthInfo,
    AuthPlugin,
    AuthState,
    Forbidden,
    IdentityProvider,
    NativePasswordAuthPlugin,
    Success,
    User,
)
from mysql_mimic.connection import Connection
from mysql_mimic.control import LocalControl
from mysql_mimic.packets import make_auth_switch_request, parse_com_init_db, parse_com_query
from mysql_mimic.stream import MysqlStream
from mysql_mimic.types import Capabilities, ServerStatus, str_fixed, uint_1, uint_2, uint_len

from sr_assets.standin.config import StandInConfig
from sr_assets.standin.engine import Engine
from sr_assets.standin.errors import ConnectionLost, ServerError
from sr_assets.standin.session import Session

CAPABILITIES = (
    Capabilities.CLIENT_PROTOCOL_41
    | Capabilities.CLIENT_CONNECT_WITH_DB
    | Capabilities.CLIENT_SECURE_CONNECTION
    | Capabilities.CLIENT_PLUGIN_AUTH
    | Capabilities.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
    | Capabilities.CLIENT_LONG_FLAG
    | Capabilities.CLIENT_CONNECT_ATTRS
)
"""The flags of StarRocks' MysqlCapability."""

_MAX_WARNINGS = 65535


class _ExactReader(asyncio.StreamReader):
    """A reader whose `read(n)` gives n bytes: mysql-mimic takes a short read of a header for a whole one."""

    async def read(self, n: int = -1) -> bytes:
        if n <= 0:
            return await super().read(n)
        try:
            return await self.readexactly(n)
        except asyncio.IncompleteReadError as error:
            return b"" if len(error.partial) < n else error.partial
        except ConnectionError:
            return b""


class _Denied(Exception):
    """The login was refused and the client was told so."""


class _Users(IdentityProvider):  # type: ignore[misc]
    """The one user that a server has."""

    def __init__(self, config: StandInConfig) -> None:
        self._config = config

    def get_plugins(self) -> list[AuthPlugin]:
        return [NativePasswordAuthPlugin()]

    async def get_user(self, username: str) -> User | None:
        if username != self._config.user:
            return None
        password = self._config.password
        secret = NativePasswordAuthPlugin.create_auth_string(password) if password else ""
        return User(name=username, auth_string=secret, auth_plugin=NativePasswordAuthPlugin.name)


class _Connection(Connection):  # type: ignore[misc]
    """mysql-mimic's connection with StarRocks' answers."""

    session: Session

    def ok(self, **kwargs: Any) -> bytes:
        done = self.session.last
        if kwargs or not (done.info or done.affected):
            return bytes(super().ok(**kwargs))
        info = done.info.encode()
        return b"".join(
            (
                uint_1(0),
                uint_len(done.affected),
                uint_len(0),
                uint_2(self.status_flags),
                uint_2(min(done.warnings, _MAX_WARNINGS)),
                uint_len(len(info)) + info if info else b"",
            )
        )

    def error(self, **kwargs: Any) -> bytes:
        reason = kwargs.get("msg")
        if not isinstance(reason, ServerError):
            reason = ServerError(str(reason), int(kwargs.get("code", 1105)))
        return b"".join(
            (
                uint_1(0xFF),
                uint_2(reason.code),
                str_fixed(1, b"#"),
                str_fixed(5, reason.sqlstate.encode()),
                reason.message.encode(),
            )
        )

    async def authenticate(
        self,
        username: str,
        auth_response: bytes,
        client_plugin_name: str | None,
        connect_attrs: dict[str, str],
        auth_state: AuthState | None = None,
        server_plugin: AuthPlugin | None = None,  # noqa: ARG002 - there is one plugin
    ) -> None:
        """Check user, password and database. Raises _Denied after telling the client."""
        user = await self.identity_provider.get_user(username)
        decision: object = Forbidden()
        if user is not None:
            decision = await self._decide(user, auth_response, client_plugin_name, connect_attrs, auth_state)
        try:
            if not isinstance(decision, Success):
                used = "YES" if auth_response else "NO"
                raise ServerError(
                    f"Access denied for user '{username}'@'{self.session.host}' (using password: {used})",
                    1045,
                )
            if self.session.database:
                self.session.check_database(self.session.database)
        except ServerError as refusal:
            await self.stream.write(self.error(msg=refusal))
            raise _Denied from refusal
        self.session.username = username
        self.session.last = type(self.session.last)()
        await self.stream.write(self.ok())

    async def _decide(
        self,
        user: User,
        auth_response: bytes,
        client_plugin_name: str | None,
        connect_attrs: dict[str, str],
        state: AuthState | None,
    ) -> object:
        plugin = NativePasswordAuthPlugin()
        info = AuthInfo(
            username=user.name,
            data=auth_response,
            connect_attrs=connect_attrs,
            user=user,
            client_plugin_name=client_plugin_name,
            handshake_auth_data=self.handshake_auth_data,
            handshake_plugin_name=plugin.name,
        )
        if client_plugin_name in (None, plugin.name):
            if state is not None:
                return await state.asend(info)
            decision, _ = await plugin.start(info)
            return decision
        challenge, state = await plugin.start()
        await self.stream.write(
            make_auth_switch_request(
                server_charset=self.server_charset, plugin_name=plugin.name, plugin_provided_data=challenge
            )
        )
        return await state.asend(info.copy(await self.stream.read()))

    async def handle_query(self, data: bytes) -> None:
        query = parse_com_query(capabilities=self.capabilities, client_charset=self.client_charset, data=data)
        try:
            result = await self.session.handle_query(query.sql, query.query_attrs)
        except ConnectionLost:
            self.session.abort()
            return
        except ServerError as error:
            await self.stream.write(self.error(msg=error))
            return
        if result is None:
            await self.stream.write(self.ok())
        else:
            await self.write_text_resultset(result)

    async def handle_stmt_prepare(self, data: bytes) -> None:
        """StarRocks prepares queries only."""
        if self.client_charset.decode(data).lstrip().upper().startswith(("SELECT", "WITH")):
            await super().handle_stmt_prepare(data)
            return
        refusal = ServerError("This command is not supported in the prepared statement protocol yet", 1295)
        await self.stream.write(self.error(msg=refusal))

    async def handle_init_db(self, data: bytes) -> None:
        name = parse_com_init_db(client_charset=self.client_charset, data=data)
        self.session.last = type(self.session.last)()
        try:
            await self.session.use(name)
        except ServerError as error:
            await self.stream.write(self.error(msg=error))
            return
        await self.stream.write(self.ok())


class MysqlPort:
    """Listens, and runs a session for each client."""

    def __init__(self, engine: Engine, session_factory: Callable[[], Session]) -> None:
        self._engine = engine
        self._session_factory = session_factory
        self._users = _Users(engine.config)
        self._control = LocalControl()
        self._ids = iter(range(1, 2**32))
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def listen(self) -> int:
        """Start listening; returns the port."""
        config, loop = self._engine.config, asyncio.get_running_loop()

        def protocol() -> asyncio.StreamReaderProtocol:
            reader = _ExactReader(limit=2**20, loop=loop)
            return asyncio.StreamReaderProtocol(reader, self._accept, loop=loop)

        self._server = await loop.create_server(protocol, config.host, config.port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._engine.faults.hit("refuse_connect"):
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        session = self._session_factory()
        loop = asyncio.get_running_loop()
        session.abort = lambda: loop.call_soon_threadsafe(writer.transport.abort)
        session.host = str(writer.get_extra_info("peername")[0])
        session.connection_id = next(self._ids)
        connection = _Connection(
            stream=MysqlStream(reader, writer),
            session=session,
            control=self._control,
            identity_provider=self._users,
            server_capabilities=CAPABILITIES,
        )
        connection.connection_id = session.connection_id
        connection.status_flags = ServerStatus.SERVER_STATUS_AUTOCOMMIT
        self._engine.peers[session.connection_id] = session
        try:
            await connection.connection_phase()
            await connection.command_phase()
        except (_Denied, ConnectionError, asyncio.IncompleteReadError):
            pass  # the client was told, or is gone
        finally:
            await session.close()
            writer.close()
