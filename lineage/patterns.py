"""The offset form of what is read: found from samples of windows, among them the awkward ones.

That the form holds for every window, and not for the samples only, follows from `predicates.is_affine`: all
that is applied to the window moves with the calendar, whose month lengths, leap days and weekdays the samples
have; and dates written in the template are samples too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from lineage import calendar, spans
from lineage.calendar import Grain
from lineage.partitions import ANCHORS, Bound, Pattern, Window
from lineage.spans import Spans

# In order of time. The first two differ in year, month, day and hour.
_MOMENTS = (
    datetime(1999, 12, 31, 23),
    datetime(2023, 1, 1, 0),
    datetime(2023, 2, 28, 22),
    datetime(2023, 3, 31, 1),
    datetime(2023, 7, 15, 5),
    datetime(2023, 12, 31, 23),
    datetime(2024, 1, 1, 0),
    datetime(2024, 2, 29, 12),
    datetime(2024, 3, 1, 6),
    datetime(2024, 5, 6, 7),
    datetime(2024, 8, 25, 23),
    datetime(2024, 12, 30, 13),
    datetime(2025, 4, 30, 8),
    datetime(2025, 9, 18, 9),
    datetime(2026, 10, 1, 0),
    datetime(2051, 6, 27, 18),
)
_WRITTEN = re.compile(r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)(?!\d)")
_MAX_WRITTEN = 8


def sample_windows(grain: Grain) -> list[Window]:
    """Fixed windows of a grain, in order of time."""
    numbers = sorted({calendar.ordinal(grain, moment) for moment in _MOMENTS})
    return [Window.of(grain, number) for number in numbers]


def written_windows(template: str, grain: Grain) -> list[Window]:
    """The windows of the dates that are written in a template, and those before and after each."""
    numbers: set[int] = set()
    for year, month, day in dict.fromkeys(_WRITTEN.findall(template)):
        if len(numbers) >= 3 * _MAX_WRITTEN:
            break
        try:
            number = calendar.ordinal(grain, datetime(int(year), int(month), int(day)))
            Window.of(grain, number - 1), Window.of(grain, number + 2)
        except (ValueError, OverflowError):
            continue  # digits that are no date, or one at the end of time
        numbers.update((number - 1, number, number + 1))
    return [Window.of(grain, number) for number in sorted(numbers)]


def find_pattern(
    samples: Sequence[tuple[Window, Spans]], upstream: Grain, reasons: tuple[str, ...]
) -> Pattern | None:
    """The pattern that gives exactly these spans, if there is one."""
    first = samples[0][1]
    if any(len(found) != len(first) for _, found in samples):
        return None
    windows = [window for window, _ in samples]
    bounds = []
    for at in range(len(first)):
        for side, opened in ((0, spans.LOWEST), (1, spans.HIGHEST)):
            numbers = [found[at][side] for _, found in samples]
            bound = _find_bound(windows, numbers, upstream) if opened not in numbers else None
            if bound is None and any(number != opened for number in numbers):
                return None
            bounds.append(bound)
    return Pattern(tuple(zip(bounds[::2], bounds[1::2], strict=True)), reasons)


def _find_bound(windows: Sequence[Window], numbers: Sequence[int], upstream: Grain) -> Bound | None:
    for anchor, moment in ANCHORS.items():
        offset = numbers[0] - calendar.ordinal(upstream, moment(windows[0]))
        if all(
            number - calendar.ordinal(upstream, moment(window)) == offset
            for window, number in zip(windows, numbers, strict=True)
        ):
            return Bound(anchor, offset)
    return None
