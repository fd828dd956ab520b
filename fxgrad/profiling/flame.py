"""Flame graphs: Events as bars, each as wide as its time, inside the bar of the Event that contains it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING
from zlib import crc32

from .recording import children_of
from .summary import format_time

if TYPE_CHECKING:
    from os import PathLike

    from .recording import Event

WIDTH, ROW, MARGIN = 960, 18, 4
LETTER = 6.2  # the width of a letter
NARROWEST = 0.3  # bars are left out that are not as wide as this
HUES = {"primitive": 32, "function": 200, "operation": 200, "pullback": 280, "node": 280, "jvp": 140}


class FlameGraph:
    """A picture of Events in their order, which notebooks show."""

    inside: dict[Event | None, list[Event]]

    def __init__(self, events: Sequence[Event]):
        self.inside = children_of(events)

    def _repr_svg_(self) -> str:
        roots = self.inside[None]
        total = sum(e.duration for e in roots) or 1
        scale = (WIDTH - 2 * MARGIN) / total
        bars: list[str] = []
        left, depth = float(MARGIN), 0
        for root in roots:
            depth = max(depth, self.draw(root, left, scale, total, bars))
            left += root.duration * scale
        height = ROW * depth + 2 * MARGIN
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        return f'{head}height="{height}" font-family="monospace" font-size="10">{"".join(bars)}</svg>'

    def draw(self, root: Event, left: float, scale: float, total: int, bars: list[str]) -> int:
        """Draw an Event and those inside it; return the number of rows they take."""
        deepest = 0
        waiting = [(root, 0)]
        while waiting:
            event, level = waiting.pop()
            width = event.duration * scale
            if width < NARROWEST:
                continue
            deepest = max(deepest, level + 1)
            x = left + (event.start - root.start) * scale
            bars.append(draw_bar(event, x, MARGIN + ROW * level, width, total))
            waiting += [(child, level + 1) for child in self.inside.get(event, ())]
        return deepest

    def save(self, path: str | PathLike[str]) -> None:
        """Write the SVG into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._repr_svg_())

    def __repr__(self) -> str:
        return (
            f"<flame graph of {sum(map(len, self.inside.values()))} operations: .save(path) writes the SVG>"
        )


def draw_bar(event: Event, x: float, y: float, width: float, total: int) -> str:
    """Return the bar of an Event: its name where there is room, and all that is known of it where the pointer
    rests."""
    known = [event.name, f"{format_time(event.duration)}, {100 * event.duration / total:.1f} %"]
    if event.operands:
        known.append(", ".join("number" if d is None else f"{d}{list(s)}" for s, d in event.operands))
    line = event.line
    if line is not None:
        known.append(line.describe())
    hue = HUES.get(event.kind, 90) + crc32(event.name.encode()) % 24
    room = int((width - 4) / LETTER)
    text = event.name if len(event.name) <= room else event.name[: room - 1] + "…" if room > 3 else ""
    label = f'<text x="{x + 2:.2f}" y="{y + 12}">{escape(text)}</text>' if text else ""
    return (
        f'<g><title>{escape(chr(10).join(known))}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" '
        f'height="{ROW - 1}" fill="hsl({hue},70%,78%)"/>{label}</g>'
    )
