"""The surroundings of one worker: where it writes, as whom, and by which clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from sr_assets.executor.owner import Owner
from sr_assets.graph import AssetGraph
from sr_assets.ledger import Ledger
from sr_assets.starrocks.session import Session


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Run:
    """One worker of one run.

    `id` names the run in the ledger, `owner` the worker in its claims. `storage` are the properties with
    which StarRocks reads files (`aws.s3.region`, keys, …). `now` gives the aware time by which partitions are
    due. A claim lives `lease` beyond its last renewal.
    """

    session: Session
    graph: AssetGraph
    id: str
    owner: Owner
    ledger_database: str = "_sr_assets"
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    lease: timedelta = timedelta(minutes=2)
    now: Callable[[], datetime] = _utc_now
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ledger", Ledger(self.session, self.ledger_database))

    def worker(self, name: str) -> Run:
        """The same run for another thread, with a session and an owner's name of its own."""
        return replace(self, session=self.session.clone(), owner=Owner.here(f"{self.owner.name}/{name}"))
