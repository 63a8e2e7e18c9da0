"""The demo: a quarter of real flights is loaded and built, two days arrive again, and what they touch is rebuilt.

Run by `make demo`. It starts the stand-in server as a child on free ports, keeps everything below `--home`,
and can be interrupted and run again at any point.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import track

from sr_assets.cli.main import INTERRUPTED
from sr_assets.cli.main import main as cli
from sr_assets.errors import SrAssetsError

_FIRST, _LAST = date(2013, 1, 1), date(2013, 3, 31)
_CORRECTED = (date(2013, 2, 8), date(2013, 2, 9))
_START_SECONDS = 60.0

_console = Console()


class DemoFailed(SrAssetsError):
    """A step of the demo did not do what it should."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--assets", type=Path, default=Path("assets"), help="the example project")
    parser.add_argument("--home", type=Path, default=Path(".demo"), help="where tables and files are kept")
    options = parser.parse_args(arguments)
    try:
        with stand_in(options.home):
            play(options.assets, options.home / "storage")
    except KeyboardInterrupt:
        _console.print("\ninterrupted; `make demo` goes on from here")
        return 130
    except SrAssetsError as error:
        _console.print(f"[red]{error}[/]")
        return 1
    return 0


def play(assets: Path, storage: Path) -> None:
    """The steps, each as a person would type it."""
    os.environ["SR_ASSETS_FOLDER"] = str(assets.resolve())
    landing = _landing(assets)
    first, last = _FIRST.isoformat(), _LAST.isoformat()

    _say("The upstream systems put their files into the object store (a folder stands for s3:// here).")
    landing.land_dimensions(storage)
    days = [_FIRST + timedelta(days=n) for n in range((_LAST - _FIRST).days + 1)]
    flights = sum(
        sum(landing.land_flights(storage, [day]).values())
        for day in track(days, "landing flights", console=_console)
    )
    _console.print(f"{flights:,} flights of {len(days)} days landed")

    _say("Which tables are there, and what do they read? All of it is read from their SQL.")
    _run("list")
    _say("Load the quarter and build everything from it, in topological order.")
    _run("backfill", "*", "--start", first, "--end", last, "--workers", "2")
    _run("status")

    _say("Two days of flights arrive again, corrected, and are loaded again.")
    landing.land_flights(storage, _CORRECTED, corrected=True)
    start, end = _CORRECTED[0].isoformat(), _CORRECTED[-1].isoformat()
    _run("backfill", "nyc.flights", "--start", start, "--end", end, "--mode", "all")
    _say("What is stale now, and why?")
    _run("status")
    _run("plan", "*", "--start", first, "--end", last)
    stale = _stale_example(first, last)
    if stale is not None:
        _run("why", *stale)

    _say("Rebuild just that.")
    _run("backfill", "*", "--start", first, "--end", last)
    _say("A second plan finds nothing to do.")
    _run("plan", "*", "--start", first, "--end", last, "--check")


def _landing(assets: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("_landing", assets / "_landing.py")
    if spec is None or spec.loader is None:
        raise DemoFailed(f"{assets} is not the example project: it has no _landing.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["_landing"] = module
    spec.loader.exec_module(module)
    return module


def _say(text: str) -> None:
    _console.print(f"\n[bold cyan]{text}[/]")


def _run(*arguments: str) -> None:
    """Run one `sr-assets` command in this process, after printing it."""
    _console.print(f"[bold]$ sr-assets {shlex.join(arguments)}[/]")
    try:
        cli(list(arguments), standalone_mode=False)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            raise KeyboardInterrupt from None
        if end.code:
            raise DemoFailed(f"sr-assets {shlex.join(arguments)} ended with {end.code}") from None


def _stale_example(start: str, end: str) -> tuple[str, str] | None:
    """The last partition of the plan's deepest asset, for `why`."""
    command = [
        sys.executable,
        "-m",
        "sr_assets.cli.main",
        "plan",
        "*",
        "--start",
        start,
        "--end",
        end,
        "--json",
    ]
    plan = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if not plan["layers"]:
        return None
    batch = plan["layers"][-1][-1]
    return batch["asset"], batch["keys"][-1]


@contextmanager
def stand_in(home: Path) -> Iterator[None]:
    """The stand-in server as a child process; its address in the environment."""
    home.mkdir(parents=True, exist_ok=True)
    ready = home / "standin.json"
    _end_left_over(ready)
    command = [sys.executable, "-m", "sr_assets.standin", "--data-dir", str(home / "data")]
    command += [
        "--storage-root",
        str(home / "storage"),
        "--port",
        "0",
        "--http-port",
        "0",
        "--ready-file",
        str(ready),
    ]
    with (home / "standin.log").open("ab") as log:
        # Its own session: ctrl-C is for this process, which then ends the server itself.
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        address = _wait_ready(server, ready)
        os.environ["SR_ASSETS_URL"] = f"starrocks://root@127.0.0.1:{address['port']}"
        os.environ["SR_ASSETS_HTTP"] = f"http://127.0.0.1:{address['http_port']}"
        yield
    finally:
        server.terminate()
        server.wait(30)
        ready.unlink(missing_ok=True)


def _wait_ready(server: subprocess.Popen[bytes], ready: Path) -> dict[str, int]:
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends:
        if ready.exists():
            address: dict[str, int] = json.loads(ready.read_text())
            return address
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise DemoFailed("the stand-in server did not start", hint=f"see {ready.with_name('standin.log')}")


def _end_left_over(ready: Path) -> None:
    """End the server of a demo that was killed, found by its ready file."""
    if not ready.exists():
        return
    pid = int(json.loads(ready.read_text())["pid"])
    command = Path(f"/proc/{pid}/cmdline")
    if command.exists() and b"sr_assets.standin" in command.read_bytes():
        os.kill(pid, signal.SIGTERM)
        while command.exists():
            time.sleep(0.05)
    ready.unlink()


if __name__ == "__main__":
    sys.exit(main())
