"""Building partitions of one asset: intent → write → verify → record.

1. Read claims, settle those of dead runs, read the state of the asset and of what it reads.
2. Choose what is left to do and may be done; create missing partitions.
3. Append a claim that holds the intent: for each partition the label, its fingerprint now, and the digests of
   what it will read.
4. Write, and read the fingerprints again: a write that did not change its partition did not happen.
5. Run the checks, record the attempts, release the claim, start ANALYZE.

A death between any two of these is decided by the next run from the claim (see `settle`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence

from sr_assets.compile import Node
from sr_assets.errors import ClaimRefused, SelectionError
from sr_assets.executor.choose import Chooser
from sr_assets.executor.events import BatchResult, Listener, Outcome, Result
from sr_assets.executor.finish import finish, record_blocked
from sr_assets.executor.lease import Lease
from sr_assets.executor.run import Run
from sr_assets.executor.samples import Sampler
from sr_assets.executor.settle import dead_claims, landed_writes
from sr_assets.executor.tables import ensure_asset_table
from sr_assets.executor.work import Work, carry_out
from sr_assets.executor.writers import partition_target
from sr_assets.ledger import Intent, KeyIntent
from sr_assets.starrocks.analyze import analyze
from sr_assets.starrocks.catalog import read_partitions
from sr_assets.starrocks.labels import make_label
from sr_assets.starrocks.partitions import ensure_partitions
from sr_assets.state import State, read_state

#: How often the number of a claim may be lost to others before this gives up.
_CLAIM_ATTEMPTS = 10


def materialize(
    run: Run,
    name: str,
    keys: Iterable[str],
    *,
    force: bool = False,
    allow_missing: bool = False,
    listen: Listener = lambda _: None,
) -> BatchResult:
    """Build partitions of one asset, as far as they need it and what they read is fit to be read.

    `force` builds fresh ones too, unless this run (by its id) has built them: a batch that is tried again
    goes on where it was. `allow_missing` builds although upstream partitions are missing. Every partition's
    end is in the result; raises SelectionError for a key that does not exist, StarRocksError where the server
    can not be reached, and ClaimRefused where the asset is too busy to be claimed.
    """
    node = run.graph[name]
    if node.asset.external:
        raise SelectionError(f"{name} is a source: somebody else writes it")
    run.ledger.ensure()
    with run.session.context(asset=name, run=run.id):
        return _Materialization(run, node, tuple(keys), force, allow_missing, listen).carry_out()


class _Materialization:
    """One batch on its way."""

    def __init__(
        self, run: Run, node: Node, keys: tuple[str, ...], force: bool, allow_missing: bool, listen: Listener
    ) -> None:
        self._run, self._node, self._keys = run, node, keys
        self._force, self._allow_missing, self._listen = force, allow_missing, listen
        self._results: dict[str, Result] = {}
        self._held: tuple[int, ...] = ()

    def carry_out(self) -> BatchResult:
        for _ in range(_CLAIM_ATTEMPTS):
            seq = self._run.ledger.next_claim(self._node.name)
            self._settle_dead()
            state = self._read()
            todo = self._choose(state)
            if not todo:
                return self._result()
            state = self._create_partitions(state, todo)
            intent = self._intent(state, todo, seq)
            if self._run.ledger.append_claim(
                self._node.name, seq, str(self._run.owner), self._run.id, intent, self._run.lease
            ):
                self._write(state, todo, seq, intent)
                return self._result()
            time.sleep(random.uniform(0, 0.2))  # somebody else took the number: look again
        raise ClaimRefused(
            f"{self._node.name}: too many runs want to write at once",
            hint="run fewer batches of one asset side by side",
        )

    def _result(self) -> BatchResult:
        return BatchResult(self._node.name, tuple(self._results[key] for key in self._keys))

    def _end(self, result: Result) -> None:
        if result.key not in self._results:
            self._results[result.key] = result
            self._listen(result)

    def _read(self) -> State:
        """The state of the asset and of what it reads; creates the table where it is missing."""
        names = {self._node.name, *self._node.upstreams}
        state = read_state(self._run.session, self._run.ledger, self._run.graph, self._run.now(), names)
        if not state[self._node.name].physical and self._node.asset.columns:
            ensure_asset_table(self._run.session, self._node.asset)
            state = read_state(self._run.session, self._run.ledger, self._run.graph, self._run.now(), names)
        return state

    def _settle_dead(self) -> None:
        """Record what dead runs did, and release their claims."""
        run, node = self._run, self._node
        dead = dead_claims(run, run.ledger.claims([node.name]).get(node.name, []))
        if not dead:
            return
        state = self._read()
        for claim in dead:
            finish(run, state, node, claim.seq, claim.run, landed_writes(run, state, node, claim))
            run.ledger.release_claim(node.name, claim.seq)

    def _choose(self, state: State) -> list[int]:
        """Indexes to build; the other keys get their results."""
        keys = state[self._node.name].keys
        indexes = [keys.index(key) for key in self._keys]
        chooser = Chooser(
            state, self._node, self._run.id, indexes, force=self._force, allow_missing=self._allow_missing
        )
        todo, held = [], []
        for index, key in zip(indexes, self._keys, strict=True):
            verdict = chooser.verdict(index)
            if verdict is None:
                todo.append(index)
                continue
            self._end(Result(self._node.name, key, verdict.outcome, message=verdict.message))
            if verdict.recorded:
                held.append((index, verdict))
        record_blocked(self._run, state, self._node, held)
        self._held = tuple(index for index, _ in held)
        return sorted(todo)

    def _create_partitions(self, state: State, todo: Sequence[int]) -> State:
        asset, keys = self._node.asset, state[self._node.name].keys
        targets = [target for index in todo if (target := partition_target(asset, keys, index)) is not None]
        physical = read_partitions(self._run.session, [asset.name]).get(asset.name, ())
        if len(physical) and all(index in state[asset.name].physical for index in todo):
            return state
        ensure_partitions(self._run.session, asset.name, targets, physical)
        return self._read()

    def _intent(self, state: State, todo: Sequence[int], seq: int) -> Intent:
        node, asset = self._node, state[self._node.name]
        sampler = Sampler(state, node)
        intents = {}
        for index in todo:
            key = asset.keys.key(index)
            samples = sampler.at(index)
            samples.pop(node.name, None)  # what it reads of itself is known only when that is written
            label = make_label(node.name, key, seq)
            intents[key] = KeyIntent(label, asset.physical[index].fingerprint, samples)
        return Intent(node.code_version, intents)

    def _write(self, state: State, todo: Sequence[int], seq: int, intent: Intent) -> None:
        run, node = self._run, self._node
        # On any exception the claim stays: what the server did meanwhile is for the next run to settle.
        with Lease(run.session, run.ledger_database, node.name, seq, run.lease):
            for result in carry_out(
                Work(run, state, node, seq, intent, tuple(todo), self._held, self._allow_missing)
            ):
                self._end(result)
        run.ledger.release_claim(node.name, seq)
        built = [
            state[node.name].keys.index(r.key) for r in self._results.values() if r.outcome is Outcome.BUILT
        ]
        if built:
            names = [state[node.name].physical[index].name for index in built]
            analyze(run.session, node.name, None if node.asset.partitions.partition_column is None else names)
