"""Guards: generated Python that checks whether compiled code was made for arguments of this kind.

A guard decides like the key under which `jit` keeps the code (`tests/transforms/test_guard.py` tests this), in a tenth
of the time: the key analyses arbitrary arguments, while the guard compares them with expected ones. When in doubt, the
guard says no, and the key decides.

    def guard(args, kwargs):
        if kwargs or len(args) != 2: return None
        v0, v1 = args
        if type(v0) is not k4 or len(v0) != 1: return None
        v2, = v0
        if v2 is not k5 and (type(v2) is not k6 or v2 != k5): return None
        v3, = v0.values()
        if type(v3) is not ndarray or v3.shape != (3,) or (v3.dtype is not k7 and v3.dtype != k7): return None
        if type(v1) is not k8: return None
        return v3, v1
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import pytree
from ..core.aval import PLAIN
from ..core.key import EXACT, key_of
from ..core.pytree import NODES
from ..core.surface import OBJECTS, SurfaceObject
from ..kernels.codegen.source import INDENT, make_function


def refuse(args: tuple, kwargs: dict) -> None:
    """The guard of code whose arguments only a key describes: it says no."""


class UnguardedError(Exception):
    """An argument is of a kind that only a key describes."""


class GuardBuilder:
    """A guard under construction: its statements, the names of the leaves found so far, and what it compares with."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.namespace: dict[str, Any] = {
            "ndarray": np.ndarray,
            "key_of": key_of,
            "nodes": NODES,
            "items": tuple.__iter__,
        }
        self.variables = itertools.count()

    def constant(self, value: Any) -> str:
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def variable(self) -> str:
        return f"v{next(self.variables)}"

    def refuse_if(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return None")

    def unpack(self, count: int, source: str) -> list[str]:
        """Append the assignment of the items of `source` to new variables."""
        names = [self.variable() for _ in range(count)]
        if names:
            self.lines.append(f"{', '.join(names)}{',' * (count == 1)} = {source}")
        return names

    def compare_static(self, name: str, value: Any) -> None:
        """Refuse what another program may belong to, by the value's key."""
        if type(value) in EXACT:
            constant, kind = self.constant(value), self.constant(type(value))
            self.refuse_if(
                f"{name} is not {constant} and (type({name}) is not {kind} or {name} != {constant})"
            )
        else:
            self.refuse_if(f"key_of({name}) != {self.constant(key_of(value))}")

    def compare_leaf(self, name: str, value: Any) -> None:
        """Refuse a leaf of another type, shape or dtype."""
        if type(value) is np.ndarray:
            dtype = self.constant(value.dtype)
            self.refuse_if(
                f"type({name}) is not ndarray or {name}.shape != {value.shape!r} "
                f"or ({name}.dtype is not {dtype} and {name}.dtype != {dtype})"
            )
        else:
            self.refuse_if(f"type({name}) is not {self.constant(type(value))}")
        self.leaves.append(name)

    def compare_tree(self, name: str, tree: Any, structure: Any) -> None:
        """Refuse a tree of another kind than `tree`, whose structure is given; note its leaves in their order."""
        kind = type(tree)
        if kind in PLAIN:
            self.compare_leaf(name, tree)
        elif tree is None:
            self.refuse_if(f"{name} is not None")
        elif kind in (tuple, list):
            self.refuse_if(f"type({name}) is not {kind.__name__} or len({name}) != {len(tree)}")
            self.compare_children(self.unpack(len(tree), name), tree, structure)
        elif kind in (dict, OrderedDict):
            self.refuse_if(f"type({name}) is not {self.constant(kind)} or len({name}) != {len(tree)}")
            self.compare_entries(name, tree, structure)
        elif kind in OBJECTS:
            self.refuse_if(f"type({name}) is not {self.constant(kind)}")
            is_held = kind.__fxgrad_value__ is SurfaceObject.__fxgrad_value__
            self.lines.append(f"{name} = {name}.{'_fx_value' if is_held else '__fxgrad_value__()'}")
            self.compare_children([name], [tree.__fxgrad_value__()], structure)
        elif NODES.get(kind) is not None:
            flatten = NODES[kind].flatten  # type: ignore[union-attr]
            children, auxiliary = flatten(tree)
            children, pair = tuple(children), self.variable()
            self.refuse_if(f"type({name}) is not {self.constant(kind)}")
            self.lines.append(f"{pair}, {name} = {self.constant(flatten)}({name})")
            self.lines.append(f"{pair} = tuple({pair})")
            self.refuse_if(
                f"len({pair}) != {len(children)} or key_of({name}) != {self.constant(key_of(auxiliary))}"
            )
            self.compare_children(self.unpack(len(children), pair), children, structure)
        elif kind not in NODES and issubclass(kind, tuple) and pytree.is_tree_node(kind):  # a named tuple
            known = self.constant(kind)
            self.refuse_if(f"type({name}) is not {known} or {known} in nodes")
            self.lines.append(f"{name} = tuple(items({name}))")
            children = tuple(tuple.__iter__(tree))
            self.refuse_if(f"len({name}) != {len(children)}")
            self.compare_children(self.unpack(len(children), name), children, structure)
        else:
            raise UnguardedError

    def compare_children(self, names: Sequence[str], children: Sequence[Any], structure: Any) -> None:
        for name, child, below in zip(names, children, structure.children(), strict=True):
            self.compare_tree(name, child, below)

    def compare_entries(self, name: str, tree: dict, structure: Any) -> None:
        """Refuse other keys, or keys in another order; then compare the values, in the order of the leaves."""
        for variable, key in zip(self.unpack(len(tree), name), tree):
            self.compare_static(variable, key)
        values = dict(zip(tree, self.unpack(len(tree), f"{name}.values()")))
        order = structure.entries()
        self.compare_children([values[key] for key in order], [tree[key] for key in order], structure)


def make_guard(
    args: tuple, kwargs: dict, dynamic: tuple, fixed: Sequence[tuple[Any, Any]], structure: Any
) -> Callable[[tuple, dict], tuple | None]:
    """Make the function (args, kwargs) → the leaves that compiled code takes, or None for arguments that may be of
    another kind than these.

    `fixed` are the static ones, by position or name, `dynamic` the other positional ones, and `structure` is that of
    (dynamic, other keyword arguments).
    """
    static = dict(fixed)
    guard = GuardBuilder()
    try:
        guard.refuse_if(
            f"len(args) != {len(args)} or " + (f"len(kwargs) != {len(kwargs)}" if kwargs else "kwargs")
        )
        names = guard.unpack(len(args), "args")
        for place, name in enumerate(names):
            if place in static:
                guard.compare_static(name, static[place])
        positional, named = structure.children()
        guard.compare_children([n for i, n in enumerate(names) if i not in static], dynamic, positional)
        if kwargs:
            for variable, key in zip(guard.unpack(len(kwargs), "kwargs"), kwargs):
                guard.compare_static(variable, key)
            values = dict(zip(kwargs, guard.unpack(len(kwargs), "kwargs.values()")))
            for key in kwargs:
                if key in static:
                    guard.compare_static(values[key], static[key])
            order = named.entries()
            guard.compare_children([values[key] for key in order], [kwargs[key] for key in order], named)
    except UnguardedError:
        return refuse
    found = ", ".join(guard.leaves) + "," * (len(guard.leaves) == 1)
    body = [*guard.lines, f"return {found or '()'}"]
    text = f"\n{INDENT}".join(["def guard(args, kwargs):", *body]) + "\n"
    return make_function("guard", text, guard.namespace)
