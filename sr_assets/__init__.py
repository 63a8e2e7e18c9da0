"""Dagster-style table assets for StarRocks.

Declare tables in Python, ask the planner what is stale, and rebuild it in order:

    from sr_assets import Column, Daily, table

    revenue = table(
        "sales.revenue",
        partitions=Daily("dt", start="2024-01-01"),
        columns=[Column("dt", "DATE"), Column("amount", "DOUBLE")],
        sql="SELECT dt, SUM(amount) AS amount FROM sales.orders WHERE dt = '{{ partition.start }}' GROUP BY dt",
    )

Importing this loads neither Airflow nor a database driver.
"""

from lineage import Window
from lineage.calendar import Grain
from sr_assets.assets import Asset, broker_load, files_load, reads, source, stream_load, table
from sr_assets.checks import Severity, not_null, row_count, unique
from sr_assets.errors import SrAssetsError
from sr_assets.partitions import Daily, Hourly, Monthly, Quarterly, Static, Unpartitioned, Weekly, Yearly
from sr_assets.starrocks.tables import Column

__all__ = [
    "Asset",
    "Column",
    "Daily",
    "Grain",
    "Hourly",
    "Monthly",
    "Quarterly",
    "Severity",
    "SrAssetsError",
    "Static",
    "Unpartitioned",
    "Weekly",
    "Window",
    "Yearly",
    "broker_load",
    "files_load",
    "not_null",
    "reads",
    "row_count",
    "source",
    "stream_load",
    "table",
    "unique",
]
