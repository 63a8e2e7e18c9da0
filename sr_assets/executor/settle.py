"""Deciding what a dead run did: by its intent, the state of its labels, and the partitions' fingerprints.

A label that FINISHED does not prove that an overwrite was swapped in, and a new fingerprint does not prove
that it was this run's; the two together do. Anything less is left as it is: the planner then sees a partition
that is missing or was written by somebody else, and builds it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from sr_assets.compile import Node
from sr_assets.errors import ClaimRefused
from sr_assets.executor.finish import Written
from sr_assets.executor.owner import Owner
from sr_assets.executor.run import Run
from sr_assets.ledger import Claim
from sr_assets.starrocks.labels import LabelState, label_state
from sr_assets.starrocks.session import Session
from sr_assets.state import State

#: A write is sent at most so often; each try has a label of its own.
TRIES = 3


def try_label(label: str, number: int) -> str:
    """The label of try `number` (from 0) of a write."""
    return label if number == 0 else f"{label}_{number + 1}"


def dead_claims(run: Run, claims: Iterable[Claim]) -> list[Claim]:
    """Claims whose owner is known to be gone: they expired, are this owner's own, or their process is dead."""
    found = []
    for claim in claims:
        owner = Owner.parse(claim.owner)
        if not claim.live or owner.is_dead() or (owner.name == run.owner.name and owner != run.owner):
            found.append(claim)
    return found


def landed_writes(
    run: Run, state: State, node: Node, claim: Claim, sleep: Callable[[float], None] = time.sleep
) -> list[Written]:
    """The writes of a dead claim that took place and are not recorded.

    A statement that still runs is waited for; ClaimRefused where it does not end within the asset's deadline.
    """
    asset = state[node.name]
    physical = {asset.keys.key(index): (index, part) for index, part in asset.physical.items()}
    recorded = {row.key: row.claim or 0 for row in asset.current.values()}
    found = []
    for key, intent in claim.intent.keys.items():
        if (
            key not in physical
            or recorded.get(key, 0) >= claim.seq
            or set(intent.samples) != set(node.upstreams)
        ):
            continue  # without a full sample nobody could tell later what it was built from
        label = finished_label(run.session, node, intent.label, sleep)
        index, part = physical[key]
        if label is not None and part.fingerprint != intent.before:
            now = run.ledger.now()
            found.append(Written(index, label, intent, claim.intent.code_version, now, now))
    return found


def finished_label(
    session: Session, node: Node, label: str, sleep: Callable[[float], None] = time.sleep
) -> str | None:
    """The try of `label` that StarRocks says is FINISHED, once none is running; None where none is."""
    ends = time.monotonic() + node.asset.deadline
    for number in range(TRIES):
        name = try_label(label, number)
        state = label_state(session, node.asset.database, name).state
        while state is LabelState.RUNNING:
            if time.monotonic() > ends:
                raise ClaimRefused(f"{node.name}: the load {name} of a run that died is still running")
            sleep(0.5)
            state = label_state(session, node.asset.database, name).state
        if state is LabelState.FINISHED:
            return name
        if state is LabelState.UNKNOWN:
            return None
    return None
