"""A small server that speaks StarRocks over the MySQL protocol, on DuckDB.

For demos, tests and a local Airflow: partitions, overwrites, labels, loads and `information_schema`
behave as StarRocks' do, so that what is built on them can be run without a cluster. It is not StarRocks:
`version_comment` says so, and what it does not implement it refuses with error 1235.
"""

from sr_assets.standin.config import StandInConfig
from sr_assets.standin.errors import StorageInUse
from sr_assets.standin.server import StandIn, serve

__all__ = ["StandIn", "StandInConfig", "StorageInUse", "serve"]
