"""Carrying out a claimed batch: statement by statement, each tried again where only the connection failed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sr_assets.compile import Node
from sr_assets.errors import ConnectFailed, SrAssetsError, StarRocksError
from sr_assets.executor.choose import self_hold
from sr_assets.executor.events import Outcome, Result
from sr_assets.executor.finish import Written, finish, record_blocked
from sr_assets.executor.run import Run
from sr_assets.executor.samples import Sampler
from sr_assets.executor.settle import TRIES, finished_label, try_label
from sr_assets.executor.writers import Write, write
from sr_assets.ledger import Intent, KeyIntent
from sr_assets.planner.batches import loaded_together
from sr_assets.starrocks.catalog import read_partitions
from sr_assets.state import State


@dataclass(frozen=True, slots=True)
class Work:
    """A claimed batch: the partitions `todo`, by index, in a state that was sampled before the claim.

    `held` are partitions of the batch that are not built because of what they read.
    """

    run: Run
    state: State
    node: Node
    seq: int
    intent: Intent
    todo: tuple[int, ...]
    held: tuple[int, ...]
    allow_missing: bool
    sleep: Callable[[float], None] = time.sleep


def carry_out(work: Work) -> Iterator[Result]:
    """Write every partition of the batch, verified and recorded. A failed one does not stop the others."""
    keys = work.state[work.node.name].keys
    groups = loaded_together(work.todo, work.node.asset, keys)
    if work.node.reads_itself:
        yield from _one_after_another(work)
        return
    writes: list[Written] = []
    for group in groups:
        intents = {index: work.intent.keys[keys.key(index)] for index in group}
        writes.extend(_write(work, intents))
    yield from finish(work.run, work.state, work.node, work.seq, work.run.id, writes)


def _one_after_another(work: Work) -> Iterator[Result]:
    """Partitions that read earlier ones of the same table: each is recorded before the next one reads it."""
    name, asset = work.node.name, work.state[work.node.name]
    unfit = list(work.held)
    for index in work.todo:
        key = asset.keys.key(index)
        verdict = self_hold(work.state, work.node, index, unfit, work.allow_missing)
        if verdict is not None:
            unfit.append(index)
            if verdict.recorded:
                record_blocked(work.run, work.state, work.node, [(index, verdict)])
            yield Result(name, key, verdict.outcome, message=verdict.message)
            continue
        intent = work.intent.keys[key]
        samples = {**intent.samples, name: Sampler(work.state, work.node).at(index)[name]}
        writes = _write(work, {index: replace(intent, samples=samples)})
        [result] = finish(work.run, work.state, work.node, work.seq, work.run.id, writes)
        if result.outcome is Outcome.BUILT:
            _see_written(work, index)
        else:
            unfit.append(index)
        yield result


def _see_written(work: Work, index: int) -> None:
    """Bring the state up to what was just written in a partition."""
    asset = work.state[work.node.name]
    asset.failed[index] = asset.held[index] = False
    name = asset.physical[index].name
    for part in read_partitions(work.run.session, [work.node.name]).get(work.node.name, ()):
        if part.name == name:
            asset.fingerprint[index] = np.uint64(part.fingerprint)


def _write(work: Work, intents: dict[int, KeyIntent]) -> list[Written]:
    """Send one statement for these partitions, again where that is safe; the label and the error tell its end."""
    started = work.run.ledger.now()
    label, rows, error = next(iter(intents.values())).label, 0, None
    try:
        label, rows = _send(work, tuple(intents), label)
    except ConnectFailed:
        raise
    except SrAssetsError as failure:
        error = str(failure)
    finished = work.run.ledger.now()
    code = work.intent.code_version
    return [
        Written(index, label, intent, code, started, finished, error, rows)
        for index, intent in intents.items()
    ]


def _send(work: Work, indexes: tuple[int, ...], label: str) -> tuple[str, int]:
    """The label under which the write took place, and its rows that may not be visible yet.

    Raises what StarRocks said where it did not take place.
    """
    asset = work.state[work.node.name]
    names = tuple(asset.physical[index].name for index in indexes)
    for number in range(TRIES):
        name = try_label(label, number)
        try:
            rows = write(
                work.run.session, Write(work.node, asset.keys, indexes, names, name, work.run.storage)
            )
            return name, rows
        except StarRocksError as error:
            if not error.transient:
                raise
            # Nobody knows what a lost statement did. If its label finished, it may have taken place, and
            # the fingerprint will tell; otherwise it is sent again under the next label.
            finished = finished_label(work.run.session, work.node, label, work.sleep)
            if finished is not None and _changed(work, names):
                return finished, 0
            if number == TRIES - 1:
                raise
            work.sleep(random.uniform(0.5, 1.0) * 2**number)
    raise AssertionError("unreachable: the last try returns or raises")


def _changed(work: Work, names: tuple[str, ...]) -> bool:
    """Whether all these partitions differ from what they were when the intent was written."""
    asset = work.state[work.node.name]
    before = {part.name: part.fingerprint for part in asset.physical.values()}
    now = {p.name: p.fingerprint for p in read_partitions(work.run.session, [work.node.name])[work.node.name]}
    return all(now.get(name, 0) != before[name] for name in names)
