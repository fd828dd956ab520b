"""`coverage()`: a table of the rules and kernels of each operation, found by inspecting the declarations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from .. import ops
from ..core.primitive import REGISTRY, Primitive
from ..ops.kinds import Bilinear, Elementwise, General, Linear

NONE = "—"
LIBRARIES = ("numpy", "array_api_strict", "cupy")


class Row(NamedTuple):
    """The rules and kernels of one operation. A rule that is "—" is not there; `kernels` is by array
    library."""

    name: str
    kind: str
    jvp: str
    reverse: str
    transpose: str
    batching: str
    staging: str
    kernels: dict[str, bool]

    def cells(self) -> list[str]:
        return [*self[:-1], *("yes" if has else NONE for has in self.kernels.values())]


class Coverage(list[Row]):
    """The rows of the table; it prints as text and shows as HTML in notebooks."""

    def header(self) -> list[str]:
        return ["operation", *Row._fields[1:-1], *(self[0].kernels if self else ())]

    def __repr__(self) -> str:
        table = [self.header(), *(row.cells() for row in self)]
        widths = [max(map(len, column)) for column in zip(*table)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in table)

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"

        rows = "\n".join(line(row.cells(), "td") for row in self)
        return f"<table>\n{line(self.header(), 'th')}\n{rows}\n</table>"


def coverage() -> Coverage:
    """The operations with their rules for forward mode, reverse mode, transposition, batching and staging, and whether
    there is a kernel for each array library that is installed.

    Returns:
        A list of rows (see `Row`) that prints as a table. An operand is meant by its number where not all have a rule.

    >>> {row.name: row.jvp for row in fx.testing.coverage() if row.name in ("sin", "floor", "where")}
    {'floor': '—', 'sin': 'rule', 'where': 'rule for 1, 2'}
    """
    ops.load_families()
    namespaces = dict(installed_libraries())
    return Coverage(make_row(primitive, namespaces) for _, primitive in sorted(REGISTRY.items()))


def installed_libraries() -> Iterator[tuple[str, Any]]:
    """Yield the array libraries that can be imported."""
    for name in LIBRARIES:
        if find_spec(name) is not None:
            try:
                yield name, import_module(name)
            except ImportError:  # CuPy without CUDA
                continue


def make_row(primitive: Primitive, namespaces: dict[str, Any]) -> Row:
    kernels = {name: has_kernel(primitive, xp) for name, xp in namespaces.items()}
    return Row(
        primitive.name,
        type(primitive).__name__.lower(),
        *derivative_rules(primitive),
        "rule" if overrides(primitive, "batch") else NONE,
        "rule" if overrides(primitive, "abstract_eval") else NONE,
        kernels,
    )


def derivative_rules(primitive: Primitive) -> tuple[str, str, str]:
    """Tell where the rules for forward mode, reverse mode and transposition come from."""
    match primitive:
        case Elementwise():
            those = [i for i, rule in enumerate(primitive.partials) if rule is not None]
            if not those:
                return NONE, NONE, NONE
            among = len(primitive.partials)
            linear = (
                "same rule" + operand_numbers(sorted(primitive.linear), among) if primitive.linear else NONE
            )
            return "rule" + operand_numbers(those, among), "same rule", linear
        case Linear():
            return "itself", "transpose", "rule"
        case Bilinear():
            return "itself", "transpose", "rule for each"
        case General():
            transpose = NONE if primitive.transpose_rule is None else "rule"
            if primitive.tangent_rule is None:
                return NONE, NONE, transpose
            return "rule", "from jvp", transpose
        case _:
            jvp, reverse, transpose = (
                "rule" if overrides(primitive, name) else NONE for name in ("jvp", "vjp", "transpose")
            )
            return jvp, reverse, transpose


def operand_numbers(those: Sequence[int], among: int) -> str:
    """Write ' for 0, 2' where not all operands are meant."""
    return "" if len(those) == among else " for " + ", ".join(map(str, those))


def overrides(primitive: Primitive, method: str) -> bool:
    """Whether there is more than the method of the base class, which raises."""
    return getattr(type(primitive), method) is not getattr(Primitive, method)


def has_kernel(primitive: Primitive, xp: Any) -> bool:
    """Whether a kernel can be made for the array namespace."""
    if primitive.make_kernel is None:
        return False
    try:
        primitive.make_kernel(xp)
    except (AttributeError, NotImplementedError):
        return False
    return True
