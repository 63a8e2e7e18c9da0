"""Cutting an asset's partitions into batches: what one claim, and one Airflow task, writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from lineage import calendar
from sr_assets.assets import Asset, StreamLoad
from sr_assets.partitions import KeySpace, TimeKeys


def cut(indexes: Sequence[int], asset: Asset, keys: KeySpace) -> Iterator[list[int]]:
    """Batches of at most `asset.batch` partitions, in key order.

    Partitions that are loaded together stay in one batch, which may then be larger.
    """
    batch: list[int] = []
    for group in loaded_together(indexes, asset, keys):
        if batch and len(batch) + len(group) > asset.batch:
            yield batch
            batch = []
        batch.extend(group)
    if batch:
        yield batch


def loaded_together(indexes: Sequence[int], asset: Asset, keys: KeySpace) -> Iterator[list[int]]:
    """Runs of neighbouring partitions that one request loads; single partitions where nothing is said."""
    recipe = asset.recipe
    together = recipe.together if isinstance(recipe, StreamLoad) else None
    if together is None or not isinstance(keys, TimeKeys):
        yield from ([index] for index in indexes)
        return

    def run(position: int) -> tuple[int, int]:
        index = indexes[position]
        start = calendar.start(keys.grain, keys.first + index)
        return calendar.ordinal(together, start), index - position

    for _, positions in groupby(range(len(indexes)), key=run):
        yield [indexes[position] for position in positions]
