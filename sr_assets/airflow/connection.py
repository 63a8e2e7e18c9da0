"""From an Airflow connection to a service on StarRocks.

The connection is of type `mysql`. Its extras: `client` (`mysql-connector-python` unless mysqlclient is
installed), `http_url` (the FE's HTTP address, for Stream Load), `storage` (an object of properties with which
StarRocks reads files) and `ledger` (the ledger's database).
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.providers.mysql.hooks.mysql import MySqlHook

from sr_assets.errors import DeclarationError
from sr_assets.executor import Owner, Run
from sr_assets.graph import AssetGraph
from sr_assets.service import Service
from sr_assets.starrocks.drivers import DBAPIConnection
from sr_assets.starrocks.session import HttpEndpoint, from_dbapi

DEFAULT_CONNECTION = "starrocks_default"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the assets are declared, and the Airflow connection to the server that holds them."""

    folder: Path
    connection: str = DEFAULT_CONNECTION


def open_service(place: Place, graph: AssetGraph, run_id: str, owner: str) -> Service:
    """A service that records as `run_id`, and claims as `owner`, which is the same when a task is tried again."""
    hook = _Hook(mysql_conn_id=place.connection)
    connection = hook.get_connection(place.connection)
    extra: dict[str, Any] = connection.extra_dejson
    http = None
    if extra.get("http_url"):
        http = HttpEndpoint(
            extra["http_url"].rstrip("/"), connection.login or "root", connection.password or ""
        )

    def connect() -> DBAPIConnection:
        opened: DBAPIConnection = hook.get_conn()
        return opened

    run = Run(
        session=from_dbapi(connect, http=http),
        graph=graph,
        id=run_id,
        owner=Owner.here(owner),
        ledger_database=extra.get("ledger", "_sr_assets"),
        storage=_storage(extra, place.connection),
    )
    return Service(run, graph)


class _Hook(MySqlHook):
    """MySqlHook with the driver that has wheels, where the connection names none and mysqlclient is not there."""

    def get_connection(self, conn_id: str) -> Any:
        connection = super().get_connection(conn_id)
        extra = connection.extra_dejson
        if "client" not in extra and importlib.util.find_spec("MySQLdb") is None:
            connection.extra = json.dumps({**extra, "client": "mysql-connector-python"})
        return connection


def _storage(extra: dict[str, Any], name: str) -> dict[str, str]:
    value = extra.get("storage", {})
    if isinstance(value, str):  # connections written as a URI hold text only
        value = json.loads(value)
    if not isinstance(value, dict):
        raise DeclarationError(f"the extra `storage` of connection {name} is not an object")
    return {str(key): str(item) for key, item in value.items()}
