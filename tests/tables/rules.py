"""The page of rules: for every operation, what says how it is differentiated, transposed and batched."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import fxgrad as fx
from fxgrad.core.primitive import REGISTRY, Primitive
from fxgrad.testing.table import NONE, Row, make_row

KINDS = {
    "elementwise": (
        "Elementwise operations",
        "A rule is one partial derivative an operand. It serves forward mode, and reverse mode as it is.",
    ),
    "linear": (
        "Linear operations",
        "The tangent is the operation itself, applied to the tangent; reverse mode is the transpose.",
    ),
    "bilinear": ("Bilinear operations", "Linear in each operand: one transpose for each."),
    "": ("Other operations", "Reverse mode is derived from the tangent rule, by transposing it."),
}
PROGRAMS = [
    ("control.branches", "control.linear_solve", "control.loops"),
    ("transforms.checkpoint", "transforms.callback", "transforms.custom.call"),
    ("ops.collective", "ops.ranks"),
]
HEAD = ["operation", "forward mode", "reverse mode", "transpose", "batching", "staging"]


def page_of_rules() -> str:
    """The page: `fx.testing.coverage()` by kind of operation, SciPy's functions, and what carries programs."""
    from .pages import MADE, grid

    rows = fx.testing.coverage()
    special = list(special_functions())
    carrying = [make_row(primitive, {}) for names in PROGRAMS for primitive in declared(names)]
    total = len(rows) + len(special) + len(carrying)
    text = [
        "# Rules of the operations",
        "",
        MADE,
        f"Which rules each of the {total} operations has, found by looking at its declaration.",
        "`fx.testing.coverage()` gives the first four tables, with the kernels for each array library that is",
        "installed. A sign — means that there is no rule: the operation has no derivative (or is not linear, in the",
        "column of transposes), and says so in an error where one is asked for. Numbers name the operands that have a",
        "rule, where not all have one.",
        "",
    ]
    for kind, (title, told) in KINDS.items():
        mine = [
            row
            for row in rows
            if (row.kind if row.kind in KINDS else "") == kind or (not kind and row.kind == "general")
        ]
        text += [f"## {title}", "", f"{told} {len(mine)} operations.", "", *grid(HEAD, map(cells, mine))]
    text += [
        "## Functions of scipy.special",
        "",
        "Elementwise operations whose kernels are SciPy's. Where no closed form of a derivative is known, asking for",
        f"it is an error. {len(special)} functions; a number at the end is the place of a result among several.",
        "",
        *grid(["function", "forward and reverse mode", "no closed form in operand"], special),
        "## Operations that carry programs, and collectives",
        "",
        "Their rules derive new programs from those that they carry, or are collectives themselves.",
        "",
        *grid(HEAD, map(cells, carrying)),
    ]
    return "\n".join(text)


def cells(row: Row) -> list[str]:
    return [f"`{row.name}`", row.jvp, row.reverse, row.transpose, row.batching, row.staging]


def declared(modules: tuple[str, ...]) -> Iterator[Primitive]:
    """Yield the primitives of modules that the registry does not have, by name."""
    found = {}
    for name in modules:
        for value in vars(import_module(f"fxgrad.{name}")).values():
            primitive = getattr(value, "primitive", value)
            if isinstance(primitive, Primitive) and REGISTRY.get(primitive.name) is not primitive:
                found[primitive.name] = primitive
    yield from (found[name] for name in sorted(found))


def special_functions() -> Iterator[tuple[str, str, str]]:
    """Yield (function, its derivative rules, operands in which there is none) of what is declared for scipy.special."""
    package = import_module("fxgrad.scipy.special")
    modules = tuple(f"scipy.special.{module.name}" for module in iter_modules(package.__path__))
    for primitive in declared(modules):
        if primitive.name.startswith("scipy_"):
            refused = [
                i for i, rule in enumerate(primitive.partials) if getattr(rule, "__name__", "") == "refuse"
            ]
            row = make_row(primitive, {})
            yield f"`{primitive.name.removeprefix('scipy_')}`", row.jvp, ", ".join(map(str, refused)) or NONE
