"""A project: a folder of Python modules that declare assets, and the settings to reach StarRocks.

Loading finds every declaration error and leaves every other asset working. An asset that reads a broken
one is left out as well, since what it reads can not be known.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tomllib
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from sr_assets.assets import Asset
from sr_assets.compile import Node, compile_asset
from sr_assets.errors import DeclarationError, SrAssetsError
from sr_assets.graph import AssetGraph, find_cycles


@dataclass(frozen=True, slots=True)
class Problem:
    """One declaration error. `asset` is None where a whole module could not be loaded."""

    asset: str | None
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.asset or 'module'} ({self.where}): {self.message}"


@dataclass(frozen=True)
class Project:
    """The sound assets, as a graph, and what is wrong with the others."""

    graph: AssetGraph
    problems: tuple[Problem, ...] = ()


def load_project(folder: Path) -> Project:
    """Load every module below `folder` (names beginning with `_` or `.` are left out).

    Raises DeclarationError only where there is no such folder.
    """
    if not folder.is_dir():
        raise DeclarationError(
            f"there is no folder {folder}",
            hint="name the folder of your asset modules with --assets or SR_ASSETS_FOLDER",
        )
    assets: list[Asset] = []
    problems: list[Problem] = []
    for file in _modules(folder):
        try:
            assets.extend(_assets_of(_import(file, folder)))
        except Exception as error:  # noqa: BLE001 - a user's module may raise anything, and is then one problem
            problems.append(Problem(None, _error_place(error, file), f"{type(error).__name__}: {error}"))
    return build_project(assets, problems)


def build_project(assets: Iterable[Asset], problems: Iterable[Problem] = ()) -> Project:
    """A project from assets that are at hand."""
    found = list(problems)
    by_name: dict[str, list[Asset]] = defaultdict(list)
    for asset in assets:
        # One declaration seen twice, through an import between modules, is one asset.
        if all(other.location != asset.location for other in by_name[asset.name]):
            by_name[asset.name].append(asset)
    known = {}
    for name, same in by_name.items():
        if len(same) > 1:
            places = " and ".join(str(asset.location) for asset in same)
            found.extend(_problem(asset, f"{len(same)} assets have this name: {places}") for asset in same)
        else:
            known[name] = same[0]
    declared = {name: same[0] for name, same in by_name.items()}
    nodes: dict[str, Node] = {}
    for name, asset in known.items():
        try:
            nodes[name] = compile_asset(asset, declared)
        except SrAssetsError as error:
            found.append(_problem(asset, str(error)))
    for circle in find_cycles({name: node.upstreams for name, node in nodes.items()}):
        text = " → ".join([*circle, circle[0]])
        found.extend(
            _problem(known[name], f"these assets read each other in a circle: {text}") for name in circle
        )
        for name in circle:
            del nodes[name]
    found.extend(_drop_readers_of_broken(nodes, set(declared)))
    return Project(AssetGraph(nodes), tuple(sorted(found, key=str)))


def _drop_readers_of_broken(nodes: dict[str, Node], declared: set[str]) -> Iterator[Problem]:
    while broken := {name: up for name, node in nodes.items() for up in node.upstreams if up not in nodes}:
        for name, up in broken.items():
            word = "has an error" if up in declared else "is not declared"
            yield _problem(nodes.pop(name).asset, f"reads {up}, which {word}")


def _problem(asset: Asset, message: str) -> Problem:
    return Problem(asset.name, str(asset.location), message)


def _modules(folder: Path) -> list[Path]:
    files = (file.relative_to(folder) for file in folder.rglob("*.py"))
    return sorted(
        folder / file for file in files if not any(part.startswith(("_", ".")) for part in file.parts)
    )


def _import(file: Path, folder: Path) -> ModuleType:
    """Run a module under a name of its own, with the project's folder importable for its helpers."""
    name = "sr_assets_project." + ".".join(file.relative_to(folder).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    sys.modules[name] = module  # inspect.getsource and pickling look a module up by its name
    spec.loader.exec_module(module)
    return module


def _assets_of(module: ModuleType) -> list[Asset]:
    """The assets bound in a module, also inside of lists, tuples and dicts."""
    found: dict[int, Asset] = {}
    stack: list[object] = list(vars(module).values())
    while stack:
        value = stack.pop()
        if isinstance(value, Asset):
            found[id(value)] = value
        elif isinstance(value, list | tuple | set):
            stack.extend(value)
        elif type(value) is dict:
            stack.extend(value.values())
    return list(found.values())


def _error_place(error: Exception, file: Path) -> str:
    if isinstance(error, SyntaxError):
        return f"{file}:{error.lineno}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)
    ]
    return f"{file}:{lines[-1]}" if lines else str(file)


@dataclass(frozen=True)
class Settings:
    """How to reach StarRocks, and where the assets are.

    `url` is `starrocks://user:password@host:9030`, `http` the FE's `http://host:8030`.
    """

    folder: Path
    url: str
    http: str | None
    ledger: str = "_sr_assets"

    def __repr__(self) -> str:
        return f"Settings(folder={self.folder!s}, ledger={self.ledger!r})"


def find_settings(
    directory: Path, *, folder: str | None = None, url: str | None = None, http: str | None = None
) -> Settings:
    """Settings by precedence: arguments, then the environment, then `[tool.sr-assets]` in pyproject.toml.

    The variables are SR_ASSETS_FOLDER, SR_ASSETS_URL, SR_ASSETS_HTTP and SR_ASSETS_LEDGER. Raises
    DeclarationError where pyproject.toml can not be read.
    """
    table = _tool_table(directory / "pyproject.toml")

    def value(argument: str | None, name: str, default: str | None = None) -> str | None:
        return argument or os.environ.get(f"SR_ASSETS_{name.upper()}") or table.get(name) or default

    return Settings(
        folder=directory / str(value(folder, "folder", "assets")),
        url=str(value(url, "url", "starrocks://root@127.0.0.1:9030")),
        http=value(http, "http"),
        ledger=str(value(None, "ledger", "_sr_assets")),
    )


def _tool_table(file: Path) -> dict[str, str]:
    if not file.is_file():
        return {}
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("sr-assets", {})
    except tomllib.TOMLDecodeError as error:
        raise DeclarationError(f"{file}: {error}") from error
    return {str(key): str(value) for key, value in table.items()}
