"""A local Airflow on a project, with the stand-in server beside it: `make airflow`, and the end-to-end tests.

SQLite and LocalExecutor; loopback only. Everything is below one folder, and every process is a child that is
ended with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from sr_assets.errors import SrAssetsError

_SERVICES = ("api-server", "scheduler", "dag-processor", "triggerer")
_START_SECONDS = 240.0


class LocalAirflowFailed(SrAssetsError):
    """A process did not start, or ended."""


@dataclass
class LocalAirflow:
    """Airflow's four services and a stand-in server, as child processes below `home`."""

    home: Path
    dags: Path
    assets: Path
    port: int = 0
    storage: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.home.resolve()
        self.storage = (self.storage or self.home / "storage").resolve()
        self.port = self.port or _free_port()
        self.password = ""
        self.starrocks: dict[str, int] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> LocalAirflow:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        ready = self.home / "standin.json"
        ready.unlink(missing_ok=True)
        command = ["-m", "sr_assets.standin", "--data-dir", str(self.home / "data")]
        command += [
            "--storage-root",
            str(self.storage),
            "--port",
            "0",
            "--http-port",
            "0",
            "--ready-file",
            str(ready),
        ]
        self._spawn("standin", [sys.executable, *command], dict(os.environ))
        self._wait(ready.exists, "the stand-in server")
        self.starrocks = json.loads(ready.read_text())
        environment = self._environment()
        airflow = [sys.executable, "-m", "airflow"]
        with (self.home / "migrate.log").open("wb") as log:
            subprocess.run([*airflow, "db", "migrate"], check=True, env=environment, stdout=log, stderr=log)
        for service in _SERVICES:
            extra = ["--port", str(self.port), "--host", "127.0.0.1"] if service == "api-server" else []
            self._spawn(service, [*airflow, service, *extra], environment)
        self._wait(self._healthy, "Airflow")

    def _environment(self) -> dict[str, str]:
        """What Airflow's processes see. A fixed admin password is kept in a file that only the user can read."""
        passwords = self.home / "passwords.json"
        if not passwords.exists():
            passwords.touch(mode=0o600)
            passwords.write_text(json.dumps({"admin": secrets.token_urlsafe(12)}))
        self.password = json.loads(passwords.read_text())["admin"]
        secret = self.home / "secret"
        if not secret.exists():
            secret.touch(mode=0o600)
            secret.write_text(secrets.token_urlsafe(32))
        connection = {
            "conn_type": "mysql",
            "host": "127.0.0.1",
            "port": self.starrocks["port"],
            "login": "root",
            "password": "",
            "extra": {"http_url": f"http://127.0.0.1:{self.starrocks['http_port']}"},
        }
        # Without byte code every task would compile Airflow again: 2.6 instead of 0.8 CPU seconds.
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {
            **inherited,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "AIRFLOW_HOME": str(self.home),
            "SR_ASSETS_FOLDER": str(self.assets.resolve()),
            "AIRFLOW_CONN_STARROCKS_DEFAULT": json.dumps(connection),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags.resolve()),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": secret.read_text(),
            "AIRFLOW__API_AUTH__JWT_SECRET": secret.read_text(),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(self.home / "logs"),
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
            **self.settings,
        }

    def _spawn(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        with (self.home / f"{name}.log").open("ab") as log:
            # A session of its own: ctrl-C is for this process, which then ends the others in order.
            self._children.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
            )

    def _wait(self, condition: Any, what: str) -> None:
        ends = time.monotonic() + _START_SECONDS
        while not condition():
            dead = [child for child in self._children if child.poll() is not None]
            if dead or time.monotonic() > ends:
                raise LocalAirflowFailed(f"{what} did not start", hint=f"see the .log files in {self.home}")
            time.sleep(0.2)

    def _healthy(self) -> bool:
        try:
            health = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=10).json()
        except (httpx.HTTPError, ValueError):
            return False
        return all(health.get(part, {}).get("status") == "healthy" for part in ("scheduler", "dag_processor"))

    def stop(self) -> None:
        """End all children, each with the processes it started."""
        for sign, seconds in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0)):
            for child in reversed(self._children):
                _signal_group(child, sign)
            ends = time.monotonic() + seconds
            while any(child.poll() is None for child in self._children) and time.monotonic() < ends:
                time.sleep(0.1)
        self._children.clear()

    def client(self) -> httpx.Client:
        """An authenticated client of Airflow's REST API."""
        login = {"username": "admin", "password": self.password}
        token = (
            httpx.post(f"{self.url}/auth/token", json=login, timeout=30)
            .raise_for_status()
            .json()["access_token"]
        )
        return httpx.Client(
            base_url=f"{self.url}/api/v2", headers={"Authorization": f"Bearer {token}"}, timeout=60
        )


def _signal_group(child: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    try:
        os.killpg(child.pid, sign)
    except ProcessLookupError:
        return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--home", type=Path, default=Path(".airflow"), help="where everything is kept")
    parser.add_argument("--dags", type=Path, default=Path("dags"))
    parser.add_argument("--assets", type=Path, default=Path("assets"))
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    local = LocalAirflow(options.home, options.dags, options.assets, options.port)
    print("starting Airflow, which takes about a minute", flush=True)  # noqa: T201
    try:
        with local:
            print(_welcome(local), flush=True)  # noqa: T201
            while True:
                signal.pause()
    except KeyboardInterrupt:
        return 0
    except SrAssetsError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1


def _welcome(local: LocalAirflow) -> str:
    url = f"starrocks://root@127.0.0.1:{local.starrocks['port']}"
    return "\n".join(
        [
            f"Airflow:   {local.url}   login admin, password {local.password}",
            f"StarRocks: the stand-in, {url}",
            f"           export SR_ASSETS_URL={url} SR_ASSETS_HTTP=http://127.0.0.1:{local.starrocks['http_port']}",
            f"Files for s3:// are below {local.storage}",
            "ctrl-C ends all of it",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
