"""Airflow's entry point: a DAG for every asset, sr_backfill and sr_reconcile."""

import os
from pathlib import Path

from sr_assets.airflow.factory import build_dags

# When what an event lost is looked for.
RECONCILE = os.environ.get("SR_ASSETS_RECONCILE", "*/5 * * * *")
FOLDER = Path(os.environ.get("SR_ASSETS_FOLDER", Path(__file__).parent.parent / "assets"))

globals().update(build_dags(FOLDER, reconcile=RECONCILE))
