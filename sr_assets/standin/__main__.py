"""`python -m sr_assets.standin`: one server in the foreground, until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from sr_assets.standin import StandIn, StandInConfig, StorageInUse, serve


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    config = StandInConfig(
        data_dir=options.data_dir,
        host=options.host,
        port=options.port,
        http_port=options.http_port,
        be_http_port=options.be_http_port,
        storage_root=options.storage_root,
        user=options.user,
        password=os.environ.get("SR_STANDIN_PASSWORD", ""),
        version=options.version,
        load_delay=options.load_delay,
        statement_log=options.statement_log,
    )

    def ready(server: StandIn) -> None:
        if options.ready_file is not None:
            _write_ready_file(options.ready_file, server)
        sys.stdout.write(f"Stand-in for StarRocks {config.version}: {server.url} (HTTP {server.http_port})\n")
        sys.stdout.flush()

    try:
        serve(config, ready)
    except (StorageInUse, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _write_ready_file(path: Path, server: StandIn) -> None:
    """The file appears whole or not at all."""
    facts = {
        "port": server.port,
        "http_port": server.http_port,
        "be_http_port": server.be_http_port,
        "pid": os.getpid(),
    }
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps(facts), encoding="utf-8")
    scratch.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sr_assets.standin", description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="keep tables here between starts (default: in memory)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9030, help="MySQL protocol; 0 takes a free one")
    parser.add_argument("--http-port", type=int, default=8030, help="FE's HTTP; 0 takes a free one")
    parser.add_argument("--be-http-port", type=int, default=0, help="BE's HTTP; 0 takes a free one")
    parser.add_argument(
        "--storage-root", type=Path, help="where s3://bucket/key is read from: ROOT/bucket/key"
    )
    parser.add_argument(
        "--user", default="root", help="the only user; SR_STANDIN_PASSWORD holds its password"
    )
    parser.add_argument("--version", default="3.5.7", help="the StarRocks version to pretend to be")
    parser.add_argument("--load-delay", type=float, default=0.05, help="seconds that a Broker Load takes")
    parser.add_argument(
        "--statement-log", type=Path, help="append each statement to this file, a JSON line each"
    )
    parser.add_argument("--ready-file", type=Path, help="write ports and pid here, as JSON, when ready")
    return parser


if __name__ == "__main__":
    sys.exit(main())
