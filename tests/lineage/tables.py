"""The tables that the lineage tests query."""

from lineage import PartitionColumn
from lineage.calendar import Grain

SCHEMA = {
    "dw.orders": {"dt": "DATE", "k": "INT", "amount": "INT", "status": "VARCHAR"},
    "dw.refunds": {"dt": "DATE", "k": "INT", "amount": "INT", "reason": "VARCHAR"},
    "dw.snapshots": {"dt": "DATE", "k": "INT", "valid_to": "DATE"},
    "dw.weather": {"ts": "DATETIME", "k": "INT", "temp": "INT"},
    "dw.events": {"ts": "DATETIME", "k": "INT", "name": "VARCHAR"},
    "dw.weekly": {"week": "DATE", "k": "INT", "amount": "INT"},
    "dw.budget": {"month": "DATE", "k": "INT", "amount": "INT"},
    "dw.quarterly": {"quarter": "DATE", "amount": "INT"},
    "dw.plans": {"year": "INT", "amount": "INT"},
    "dw.iso_text": {"dt": "VARCHAR", "k": "INT"},
    "dw.compact_text": {"dt": "VARCHAR", "k": "INT"},
    "dw.month_text": {"ym": "VARCHAR", "k": "INT"},
    "dw.compact_int": {"dt": "INT", "k": "INT"},
    "dw.by_region": {"region": "VARCHAR", "dt": "DATE", "k": "INT"},
    "dw.customers": {"k": "INT", "name": "VARCHAR", "tags": "VARCHAR"},
    "dw.days": {"day": "DATE", "week_start": "DATE", "holiday": "BOOLEAN"},
    "lake.raw.clicks": {"dt": "DATE", "k": "INT"},
}

REGIONS = ("LA", "NY", "SF", "la")

UPSTREAMS = {
    "dw.orders": PartitionColumn("dt", Grain.DAY),
    "dw.refunds": PartitionColumn("dt", Grain.DAY),
    "dw.snapshots": PartitionColumn("dt", Grain.DAY),
    "dw.weather": PartitionColumn("ts", Grain.HOUR, "datetime"),
    "dw.events": PartitionColumn("ts", Grain.DAY, "datetime"),
    "dw.weekly": PartitionColumn("week", Grain.WEEK),
    "dw.budget": PartitionColumn("month", Grain.MONTH),
    "dw.quarterly": PartitionColumn("quarter", Grain.QUARTER),
    "dw.plans": PartitionColumn("year", Grain.YEAR, "int", "%Y"),
    "dw.iso_text": PartitionColumn("dt", Grain.DAY, "string", "%Y-%m-%d"),
    "dw.compact_text": PartitionColumn("dt", Grain.DAY, "string", "%Y%m%d"),
    "dw.month_text": PartitionColumn("ym", Grain.MONTH, "string", "%Y-%m"),
    "dw.compact_int": PartitionColumn("dt", Grain.DAY, "int", "%Y%m%d"),
    "dw.by_region": PartitionColumn("region", kind="string", values=REGIONS),
    "lake.raw.clicks": PartitionColumn("dt", Grain.DAY),
    "dw.unknown": PartitionColumn("dt", Grain.DAY),
}
