"""From the options of the command line to a project, and to a service on a server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from sr_assets.errors import DeclarationError
from sr_assets.executor import Owner, Run
from sr_assets.project import Project, Settings, find_settings, load_project
from sr_assets.service import Service, new_run_id
from sr_assets.starrocks.log import StatementLog
from sr_assets.starrocks.session import connect_url

Options = Mapping[str, str | None]


def settings_from(options: Options) -> Settings:
    return find_settings(Path.cwd(), folder=options["folder"], url=options["url"], http=options["http"])


def project_from(options: Options) -> Project:
    """The project; its declaration problems are printed to standard error."""
    project = load_project(settings_from(options).folder)
    for problem in project.problems:
        click.echo(f"problem: {problem}", err=True)
    return project


def service_from(options: Options, project: Project) -> Service:
    settings = settings_from(options)
    log_file = os.environ.get("SR_ASSETS_STATEMENT_LOG")
    log = StatementLog(Path(log_file)) if log_file else None
    session = connect_url(settings.url, settings.http, log=log)
    run_id = new_run_id("cli", datetime.now(UTC))
    run = Run(session, project.graph, run_id, Owner.here(run_id), settings.ledger, _storage())
    return Service(run, project.graph)


def _storage() -> dict[str, str]:
    """Properties with which StarRocks reads files: SR_ASSETS_STORAGE, a JSON object."""
    text = os.environ.get("SR_ASSETS_STORAGE", "{}")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise DeclarationError(
            f"SR_ASSETS_STORAGE is not JSON: {error.msg} at character {error.pos}"
        ) from None
    if not isinstance(value, dict):
        raise DeclarationError("SR_ASSETS_STORAGE is not a JSON object")
    return {str(key): str(item) for key, item in value.items()}
