"""Keys under which results are cached.

Derived rules, plans, compiled programs and result dtypes are cached under keys made here. Python's equality is too
coarse for that: 0.0 == -0.0 and 1 == True == 1.0 == 1 + 0j, also inside tuples and frozensets, while a NaN does not
even equal itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .pytree import NODES
from .typing import type_of

# Types of which equal instances cannot be told apart.
EXACT = frozenset({type(None), bool, int, str, bytes, type(...)})


def key_of(value: Any) -> Any:
    """A hashable stand-in for a static value. Those of two values are equal only if no program can tell these apart:
    by type, also inside containers, by the sign of a zero or of a NaN. Objects of other classes are told apart by
    their own equality, functions and Graphs by identity.

    >>> key_of((1, 0.0)) == key_of((1, -0.0)), key_of(True) == key_of(1), key_of(float("nan")) == key_of(float("nan"))
    (False, False, True)
    """
    kind = type_of(value)
    if kind in EXACT:
        return kind, value
    if issubclass(kind, tuple):
        kinds = tuple(map(type, value)) if kind is tuple else ()
        if EXACT.issuperset(kinds) and kind is tuple:
            return kinds, value
        return (kind, *map(key_of, value))
    if issubclass(kind, (float, np.floating)):
        if value == value and value != 0:
            return kind, value
        return kind, repr(value), math.copysign(1.0, value)
    if issubclass(kind, (complex, np.complexfloating)):
        return kind, key_of(value.real), key_of(value.imag)
    if kind is slice:
        bounds = value.start, value.stop, value.step
        kinds = tuple(map(type, bounds))
        if EXACT.issuperset(kinds):
            return kind, kinds, bounds
        return (kind, *map(key_of, bounds))
    if issubclass(kind, frozenset):
        return kind, frozenset(map(key_of, value))
    if issubclass(kind, np.generic):
        return kind, value.dtype, value
    return (kind, value, *map(key_of, compared_fields(value)))


def compared_fields(value: Any) -> list[Any]:
    """Return the values of those fields that a dataclass, or a class of attrs, compares."""
    kind = type_of(value)
    if "__dataclass_fields__" in kind.__dict__:
        fields = kind.__dict__["__dataclass_fields__"].items()
        return [getattr(value, name) for name, field in fields if field.compare]
    return [getattr(value, a.name) for a in kind.__dict__.get("__attrs_attrs__", ()) if a.eq]


def params_key(params: dict[str, Any]) -> tuple[Any, ...]:
    """The key of the params of an operation."""
    key: list[Any] = []
    for name, value in params.items():
        kind = type_of(value)
        key += (name, kind, value) if kind in EXACT else (name, key_of(value))
    return tuple(key)


def tree_key(tree: Any) -> Any:
    """Return a key of all that a function may find in a tree besides leaves and structure, or None if there is nothing.
    The structures of two trees are equal also for dicts of another order or kind, and for keys and auxiliary data like
    1 and True.

    >>> ab, ba = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    >>> fx.tree.structure(ab) == fx.tree.structure(ba), tree_key(ab) == tree_key(ba)
    (True, False)
    """
    kind = type_of(tree)
    if kind is tuple or kind is list:
        found = [tree_key(child) for child in tree if type(child) in NODES or isinstance(child, tuple)]
        return tuple(found) if found else None
    if kind in NODES and issubclass(kind, dict):
        default = getattr(tree, "default_factory", None)
        return kind, default, *[(key_of(name), tree_key(child)) for name, child in tree.items()]
    node = NODES.get(kind)
    if node is not None:
        children, auxiliary = node.flatten(tree)
        return kind, key_of(auxiliary), *map(tree_key, children)
    if kind in NODES or issubclass(kind, tuple):
        return (kind, getattr(tree, "maxlen", None), *map(tree_key, tree or ()))
    return None
