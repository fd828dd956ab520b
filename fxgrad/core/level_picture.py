"""`fx.debug.levels`: the levels that are open at a point of the program, and the parts of values on each level."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from .aval import aval_of
from .interpreter import Tracer, api_boundary, ensure_open
from .interpreter import levels as open_levels
from .surface import SurfaceObject

ROW, BOX, GAP, LETTER = 70, 40, 28, 6.1  # heights of a level and of a value, and widths, in pixels
HUES = 200, 32, 140, 280, 90, 330


@api_boundary
def levels(**values: Any) -> Levels:
    """The levels that are open here, and the parts of values on each of them.

    Every open transform is a level. What a transform gives to the function is a *tracer* of its level, made of values
    of levels further out: a tracer of `jvp` has a `primal` and a `tangent`, one of `vmap` a `value` with one more axis,
    one of `grad` a `primal`, beside its node on the tape. Where this ends there are arrays, on level 0, or variables
    of a Graph that `jit` makes, behind which there are no numbers.

    Args:
        **values: what to follow through the levels, by name: arrays, scalars or traced values.

    Returns:
        A table, innermost level first, that notebooks show as a picture. It is text and keeps no value alive.

    Raises:
        EscapedTracerError: a value belongs to a transform that is not open here.

    >>> def f(x):
    ...     print(fx.debug.levels(x=x))
    ...     return fnp.sum(fnp.sin(x))
    >>> y = fx.grad(lambda xs: fnp.sum(fx.vmap(f)(xs)))(np.ones((5, 3)))
    level 2  vmap at ...  x: BatchTracer f64[3]
    level 1  grad at ...  x.value: ReverseTracer f64[5,3]
    level 0  evaluation...x.value.primal: ndarray f64[5,3]
    """
    return Levels(values)


class Part(NamedTuple):
    """A value: its path from a name of the user's, its type, aval and level, and the values it is made of."""

    path: str
    kind: str
    aval: str
    level: int
    parts: list[Part]

    def walk(self) -> Iterator[Part]:
        """Yield this value and all that it is made of."""
        yield self
        for part in self.parts:
            yield from part.walk()


class Levels:
    """The levels at a point of a program, made by `fx.debug.levels`: a table, and in notebooks a picture."""

    def __init__(self, values: dict[str, Any]):
        chain = [level for level in open_levels() if not level.transparent][::-1]
        numbers = {interpreter: number for number, interpreter in enumerate(chain, 1)}
        self.names = ["evaluation", *[level.name for level in chain]]
        self.sites = ["", *[str(level.site) if level.site else "" for level in chain]]
        self.roots = [describe(name, value, numbers) for name, value in values.items()]

    def __repr__(self) -> str:
        places = [f"{name} at {site}" if site else name for name, site in zip(self.names, self.sites)]
        wide = max(map(len, places))
        lines: list[str] = []
        for number, place in reversed([*enumerate(places)]):
            parts = [part for root in self.roots for part in root.walk() if part.level == number]
            texts = [f"{part.path}: {part.kind} {part.aval}" for part in parts]
            lines.append(f"level {number}  {place:<{wide}}  {',  '.join(texts)}".rstrip())
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        return draw(self)


def describe(path: str, value: Any, numbers: dict[Any, int]) -> Part:
    """Return a value as a Part, given the numbers of the open levels."""
    if isinstance(value, SurfaceObject):
        value = value.__fxgrad_value__()
    parts = []
    if isinstance(value, Tracer):
        ensure_open(value, "levels")
        parts = [describe(f"{path}.{name}", part, numbers) for name, part in parts_of(value)]
    level = numbers.get(value.interpreter, 0) if isinstance(value, Tracer) else 0
    return Part(path, type(value).__name__, repr(aval_of(value)), level, parts)


def parts_of(tracer: Tracer) -> Iterator[tuple[str, Any]]:
    """Yield what a tracer is made of, by the names of its attributes."""
    slots = [name for kind in type(tracer).__mro__ for name in getattr(kind, "__slots__", ())]
    for part in tracer.contents():
        if part is not None:
            yield next((name for name in slots if getattr(tracer, name, None) is part), "…"), part


# -- the picture ------------------------------------------
def draw(shown: Levels) -> str:
    """Draw each level as a band and each value as a box, with lines to the values that it is made of. The first of
    these stands below it, and every other one begins a column."""
    heads = [f"level {n}: {name}" for n, name in enumerate(shown.names)]
    left = 24 + LETTER * max(map(len, [*heads, *shown.sites]))
    width_of_column = GAP + max(
        map(width_of, (part for root in shown.roots for part in root.walk())), default=0
    )
    top = len(heads) - 1
    boxes = Boxes(left, width_of_column, top)
    for root in shown.roots:
        boxes.draw(root, boxes.columns)
        boxes.columns += 1
    width, height = left + boxes.columns * width_of_column + 8, ROW * len(heads)
    bands = [
        f'<rect y="{ROW * (top - n) + 2}" width="{width:.0f}" height="{ROW - 4}" rx="6" '
        f'fill="hsl({HUES[(n - 1) % len(HUES)]},{70 if n else 0}%,92%)"/>'
        f"{text(12, ROW * (top - n) + ROW / 2 - 3, head, 'start', bold=True)}"
        f"{text(12, ROW * (top - n) + ROW / 2 + 12, site, 'start')}"
        for n, (head, site) in enumerate(zip(heads, shown.sites))
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" font-family="monospace" font-size="10">{"".join(bands + boxes.drawn)}</svg>'
    )


class Boxes:
    """The boxes of values that are drawn, in columns."""

    def __init__(self, left: float, width_of_column: float, top: int):
        self.left, self.width_of_column, self.top = left, width_of_column, top
        self.columns = 0
        self.drawn: list[str] = []

    def draw(self, part: Part, column: int) -> tuple[float, float]:
        """Draw a value with its parts, and return the middle of its box."""
        x, y = self.left + (column + 0.5) * self.width_of_column, ROW * (self.top - part.level) + ROW / 2
        for index, inner in enumerate(part.parts):
            self.columns += index > 0
            below_x, below_y = self.draw(inner, self.columns)
            self.drawn.append(
                f'<path d="M{x:.1f} {y + BOX / 2}L{below_x:.1f} {below_y - BOX / 2}" stroke="#555" fill="none"/>'
            )
        wide = width_of(part)
        self.drawn.append(
            f'<rect x="{x - wide / 2:.1f}" y="{y - BOX / 2}" width="{wide:.1f}" height="{BOX}" rx="4" fill="white" '
            f'stroke="#555"/>{text(x, y - 3, part.path, bold=True)}{text(x, y + 12, f"{part.kind} {part.aval}")}'
        )
        return x, y


def width_of(part: Part) -> float:
    """The width of the box of a value."""
    return 16 + LETTER * max(len(part.path), len(part.kind) + 1 + len(part.aval))


def text(x: float, y: float, content: str, anchor: str = "middle", bold: bool = False) -> str:
    """An SVG element of text."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(content)}</text>'
