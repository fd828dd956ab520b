"""Assembly: generated Python that makes the leaves of a tree from flat values, and puts the tree together. It does what
`treedef.unflatten` does of a list of leaves, in half of the time.

    def unflatten(values):
        v0, v1, = values
        v1 = k0(v1)
        t0 = {k1: v1, }
        t1 = (v0, t0, )
        return t1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..kernels.codegen.source import INDENT, make_function

BRACKETS = {tuple: "()", list: "[]", dict: "{}"}


def make_assembly(
    treedef: Any, statements: Sequence[str], names: dict[str, Any]
) -> Callable[[Iterable[Any]], Any]:
    """Make the function from flat values to the tree of a structure. The statements make the leaves `v0`, `v1`, … of
    the values of these names, and may refer to `names`."""
    leaves = [f"v{i}" for i in range(treedef.num_leaves)]
    unpack = [f"{', '.join(leaves)}, = values"] if leaves else []
    trees, whole = write_tree(treedef, iter(leaves), names)
    lines = [*unpack, *statements, *trees, f"return {whole}"]
    return make_function("unflatten", f"\n{INDENT}".join(["def unflatten(values):", *lines]) + "\n", names)


def note(names: dict[str, Any], value: Any) -> str:
    """Enter a value into a namespace; return its name."""
    name = f"k{len(names)}"
    names[name] = value
    return name


def write_tree(treedef: Any, leaves: Iterator[str], names: dict[str, Any]) -> tuple[list[str], str]:
    """Write a tree of this structure with these leaves: the statements that make each part after those in it, and the
    name of the whole. Python nests neither calls nor expressions as deep as trees may be."""
    statements: list[str] = []
    made: list[str] = []
    waiting = [(treedef, False)]
    while waiting:
        node, has_parts = waiting.pop()
        kind, parts = node.type, node.children()
        if kind is None:
            made.append(next(leaves))
        elif kind not in BRACKETS:
            inside = ", ".join([next(leaves) for _ in range(node.num_leaves)])
            made.append(f"{note(names, node.unflatten)}([{inside}])")
        elif not has_parts:
            waiting += [(node, True), *((part, False) for part in reversed(parts))]
        else:
            first = len(made) - len(parts)
            entries = made[first:]
            if kind is dict:
                entries = [f"{note(names, key)}: {entry}" for key, entry in zip(node.entries(), entries)]
            before, after = BRACKETS[kind]
            statements.append(f"t{len(statements)} = {before}{''.join(f'{e}, ' for e in entries)}{after}")
            made[first:] = [statements[-1].partition(" ")[0]]
    return statements, made[0]
