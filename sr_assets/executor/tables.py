"""Creating the assets' tables from their declarations."""

from __future__ import annotations

from typing import Literal, cast

from sr_assets.assets import Asset
from sr_assets.errors import DeclarationError
from sr_assets.ledger.tables import with_replicas
from sr_assets.starrocks.session import Session
from sr_assets.starrocks.tables import PartitionSpec, TableSpec, ensure_table


def ensure_asset_table(session: Session, asset: Asset) -> bool:
    """Create the asset's table where it is missing; True if it was created.

    Raises DeclarationError where an existing table differs from the declaration, or where a missing one has
    no declared columns.
    """
    if not asset.columns:
        raise DeclarationError(
            f"{asset.name}: the table can not be created without columns",
            hint="declare columns=[Column(…), …]",
        )
    return ensure_table(session, with_replicas(session, table_spec(asset)))


def table_spec(asset: Asset) -> TableSpec:
    """The table that an asset declares."""
    column = asset.partitions.partition_column
    kind: Literal["range", "list"] = "list" if asset.partitions.grain is None else "range"
    return TableSpec(
        name=asset.name,
        columns=asset.columns,
        key_model=cast(Literal["duplicate", "primary"], asset.key_model),
        key=asset.key,
        partition=None if column is None else PartitionSpec(column, kind),
        distributed_by=asset.distributed_by,
        buckets=asset.buckets,
        properties=asset.properties,
        comment=asset.description,
    )
