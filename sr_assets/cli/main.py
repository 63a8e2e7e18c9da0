"""The command line's commands and options.

Exit codes: 0 done; 1 a partition failed, or an asset's declaration is wrong; 2 what was typed is wrong;
3 StarRocks can not be reached or refused; 4 `plan --check` found something to do; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sr_assets.errors import ConnectFailed, DeclarationError, SelectionError, SrAssetsError, StarRocksError

# Only what every command needs is imported here: `--help` must not wait for numpy or SQLGlot.

_F = TypeVar("_F", bound=Callable[..., Any])


#: The exit code of an interrupted command, as shells have it: 128 + SIGINT.
INTERRUPTED = 130


class _Group(click.Group):
    """Turns our errors into a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SrAssetsError as error:
            click.echo(f"error: {error}", err=True)
            raise SystemExit(exit_code(error)) from None
        except KeyboardInterrupt:
            click.echo("interrupted; the same command goes on with what is left", err=True)
            raise SystemExit(INTERRUPTED) from None


def exit_code(error: SrAssetsError) -> int:
    if isinstance(error, SelectionError):
        return 2
    if isinstance(error, StarRocksError | ConnectFailed):
        return 3
    return 2 if isinstance(error, DeclarationError) else 1


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--assets", "folder", metavar="FOLDER", help="Folder of the asset modules. [SR_ASSETS_FOLDER; assets]"
)
@click.option("--url", help="starrocks://user:password@host:9030 [SR_ASSETS_URL]")
@click.option("--http", help="The FE's http://host:8030, for Stream Load. [SR_ASSETS_HTTP]")
@click.pass_context
def main(ctx: click.Context, folder: str | None, url: str | None, http: str | None) -> None:
    """Table assets for StarRocks: declare them in Python, see what is stale, rebuild it in order.

    Settings come from these options, the environment, or [tool.sr-assets] in pyproject.toml.
    """
    ctx.obj = {"folder": folder, "url": url, "http": http}


def _json_option(command: _F) -> _F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def _range_options(command: _F) -> _F:
    for option in (
        click.option("--end", metavar="KEY", help="Last partition, or day, of the range (inclusive)."),
        click.option("--start", metavar="KEY", help="First partition, or day, of the range (inclusive)."),
    ):
        command = option(command)
    return command


def _plan_options(command: _F) -> _F:
    for option in (
        click.option("--allow-missing", is_flag=True, help="Build although upstream partitions are missing."),
        click.option(
            "--mode",
            type=click.Choice(["stale", "missing", "failed", "all"]),
            default="stale",
            show_default=True,
            help="Which partitions to build; all builds fresh ones again.",
        ),
    ):
        command = option(command)
    return _range_options(command)


@main.command("list")
@click.argument("selection", default="*")
@_json_option
@click.pass_obj
def list_(settings: dict[str, str | None], selection: str, as_json: bool) -> None:
    """The assets, what they read, and how they are cut. Needs no server."""
    from sr_assets.cli import commands

    sys.exit(commands.list_assets(settings, selection, as_json))


@main.command()
@click.argument("selection", default="*")
@_json_option
@click.pass_obj
def status(settings: dict[str, str | None], selection: str, as_json: bool) -> None:
    """One line an asset: how many partitions are fresh, stale, missing, failed."""
    from sr_assets.cli import commands

    sys.exit(commands.show_status(settings, selection, as_json))


@main.command()
@click.argument("selection", default="*")
@_plan_options
@click.option("--check", is_flag=True, help="Exit with 4 where there is something to build.")
@_json_option
@click.pass_obj
def plan(
    settings: dict[str, str | None], /, selection: str, check: bool, as_json: bool, **choice: Any
) -> None:
    """What would be built, in which order, and why. Changes nothing."""
    from sr_assets.cli import commands

    sys.exit(commands.show_plan(settings, selection, choice, check, as_json))


@main.command()
@click.argument("asset")
@click.argument("key", default="all")
@_json_option
@click.pass_obj
def why(settings: dict[str, str | None], asset: str, key: str, as_json: bool) -> None:
    """Why a partition is not fresh: the chain down to where it began."""
    from sr_assets.cli import commands

    sys.exit(commands.show_why(settings, asset, key, as_json))


@main.command()
@click.argument("selection")
@_plan_options
@click.option("--dry-run", is_flag=True, help="Print the plan and build nothing.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Batches at once.")
@click.option("--note", default="", help="Kept in the ledger.")
@_json_option
@click.pass_obj
def backfill(
    settings: dict[str, str | None],
    /,
    selection: str,
    dry_run: bool,
    workers: int,
    note: str,
    as_json: bool,
    **choice: Any,
) -> None:
    """Build what is not fresh of the selection, in topological order.

    `sales.orders+` takes the orders of the range and all that reads them. A failed partition blocks only what
    reads it; the same command again goes on with what is left.
    """
    from sr_assets.cli import commands

    sys.exit(commands.run_backfill(settings, selection, choice, dry_run, workers, note, as_json))


@main.command()
@click.argument("selection", default="*")
@_json_option
@click.pass_obj
def lineage(settings: dict[str, str | None], selection: str, as_json: bool) -> None:
    """Columns, and partitions read, as they stand in the SQL. Needs no server."""
    from sr_assets.cli import commands

    sys.exit(commands.show_lineage(settings, selection, as_json))


@main.command()
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder to keep tables in; in memory when left out."
)
@click.option("--port", type=int, default=9030, show_default=True, help="MySQL port; 0 takes a free one.")
@click.option("--http-port", type=int, default=8030, show_default=True, help="HTTP port; 0 takes a free one.")
@click.option("--storage", type=click.Path(path_type=Path), help="Folder that stands for s3://.")
@click.option("--log", type=click.Path(path_type=Path), help="File to write every received statement to.")
def standin(data: Path | None, port: int, http_port: int, storage: Path | None, log: Path | None) -> None:
    """Run a small server that stands in for StarRocks, for trying things out. Not StarRocks."""
    from sr_assets.cli.standin import run_standin

    run_standin(data, port, http_port, storage, log)


if __name__ == "__main__":
    main()
