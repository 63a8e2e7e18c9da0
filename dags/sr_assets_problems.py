"""Shows what is wrong with the declarations as an import error; makes no DAG."""

import os
from pathlib import Path

from airflow.sdk import get_parsing_context

from sr_assets.airflow.factory import raise_problems

FOLDER = Path(os.environ.get("SR_ASSETS_FOLDER", Path(__file__).parent.parent / "assets"))

if get_parsing_context().dag_id is None:  # a task has no use for it
    raise_problems(FOLDER)
