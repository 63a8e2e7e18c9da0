"""`sr-assets standin`."""

from __future__ import annotations

from pathlib import Path

import click

from sr_assets.errors import DeclarationError


def run_standin(data: Path | None, port: int, http_port: int, storage: Path | None, log: Path | None) -> None:
    """Serve until interrupted. Raises DeclarationError where the packages for it are not installed."""
    try:
        from sr_assets.standin import StandIn, StandInConfig, serve
    except ModuleNotFoundError as error:
        raise DeclarationError(
            f"the stand-in needs the package {error.name}", hint="pip install 'sr-assets[standin]'"
        ) from None

    def ready(server: StandIn) -> None:
        click.echo(
            f"stand-in for StarRocks, not StarRocks itself: {server.url}, http://127.0.0.1:{server.http_port}"
        )
        click.echo(f"export SR_ASSETS_URL={server.url} SR_ASSETS_HTTP=http://127.0.0.1:{server.http_port}")

    serve(
        StandInConfig(data_dir=data, port=port, http_port=http_port, storage_root=storage, statement_log=log),
        ready,
    )
