"""Assembly: generated Python that makes the leaves of a tree from flat values, and puts the tree together. It does what
`treedef.unflatten` does of a list of leaves, in half of the time.

    def unflatten(values):
        v0, v1, = values
        v1 = k0(v1)
        return (v0, {k1: v1, }, )
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..kernels.codegen.source import INDENT, make_function


def make_assembly(
    treedef: Any, statements: Sequence[str], names: dict[str, Any]
) -> Callable[[Iterable[Any]], Any]:
    """Make the function from flat values to the tree of a structure. The statements make the leaves `v0`, `v1`, … of
    the values of these names, and may refer to `names`."""
    leaves = [f"v{i}" for i in range(treedef.num_leaves)]
    unpack = [f"{', '.join(leaves)}, = values"] if leaves else []
    lines = [*unpack, *statements, f"return {write_tree(treedef, iter(leaves), names)}"]
    return make_function("unflatten", f"\n{INDENT}".join(["def unflatten(values):", *lines]) + "\n", names)


def note(names: dict[str, Any], value: Any) -> str:
    """Enter a value into a namespace; return its name."""
    name = f"k{len(names)}"
    names[name] = value
    return name


def write_tree(treedef: Any, leaves: Iterator[str], names: dict[str, Any]) -> str:
    """Write a tree of this structure as an expression, with these leaves."""
    kind = treedef.type
    if kind is None:
        return next(leaves)
    if kind is tuple or kind is list or kind is dict:
        parts = [write_tree(child, leaves, names) for child in treedef.children()]
        if kind is dict:
            parts = [f"{note(names, key)}: {part}" for key, part in zip(treedef.entries(), parts)]
        before, after = {tuple: "()", list: "[]", dict: "{}"}[kind]
        return f"{before}{''.join(f'{part}, ' for part in parts)}{after}"
    inside = ", ".join([next(leaves) for _ in range(treedef.num_leaves)])
    return f"{note(names, treedef.unflatten)}([{inside}])"
