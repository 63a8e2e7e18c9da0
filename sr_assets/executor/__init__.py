"""The executor: carries out batches and plans, and records what was built from what."""

from sr_assets.executor.backfill import Progress, run_plan
from sr_assets.executor.events import BatchResult, Outcome, Result
from sr_assets.executor.materialize import materialize
from sr_assets.executor.owner import Owner
from sr_assets.executor.run import Run
from sr_assets.executor.tables import ensure_asset_table

__all__ = [
    "BatchResult",
    "Outcome",
    "Owner",
    "Progress",
    "Result",
    "Run",
    "ensure_asset_table",
    "materialize",
    "run_plan",
]
