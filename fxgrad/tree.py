"""Pytrees: functions over nested containers of arrays, and the registration of container classes.

The module has the names of `jax.tree` (`map`, `flatten`, ...) and of `jax.tree_util` (`tree_map`, `tree_flatten`,
...). `fxgrad.core.pytree` defines nodes and leaves.

>>> params = {"w": [1.0, 2.0], "b": 3.0}
>>> fx.tree.map(lambda p: 10 * p, params)
{'w': [10.0, 20.0], 'b': 30.0}
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from .core import pytree
from .core.errors import StructureError
from .core.face import show_public_names
from .core.interpreter import api_boundary
from .core.pytree import LEAF, IsLeaf, Partial, PyTreeDef, register_pytree_node, treedef_tuple, unflatten
from .core.pytree_classes import (
    attrs_class,
    register_dataclass,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
    static_field,
)
from .core.pytree_keys import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey, keystr
from .core.surface import OBJECTS, with_whole_objects

T = TypeVar("T")

if TYPE_CHECKING:
    from .core.pytree import broadcast as broadcast
    from .core.pytree import flatten as flatten
    from .core.pytree import flatten_with_path as flatten_with_path
    from .core.pytree import leaves as leaves
    from .core.pytree import leaves_with_path as leaves_with_path
    from .core.pytree import map as map
    from .core.pytree import map_with_path as map_with_path
    from .core.pytree import structure as structure
else:
    flatten = with_whole_objects(pytree.flatten, __name__)
    flatten_with_path = with_whole_objects(pytree.flatten_with_path, __name__)
    leaves = with_whole_objects(pytree.leaves, __name__)
    leaves_with_path = with_whole_objects(pytree.leaves_with_path, __name__)
    map = with_whole_objects(pytree.map, __name__)
    map_with_path = with_whole_objects(pytree.map_with_path, __name__)
    structure = with_whole_objects(pytree.structure, __name__)
    broadcast = with_whole_objects(pytree.broadcast, __name__)


@functools.wraps(pytree.is_tree_node, assigned=("__doc__",))
def is_tree_node(cls: type) -> bool:
    return cls not in OBJECTS and pytree.is_tree_node(cls)


@api_boundary
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether each item of an iterable is a leaf, by `is_leaf` too.

    >>> fx.tree.all_leaves([1, "a"]), fx.tree.all_leaves([1, (2,)]), fx.tree.all_leaves([None])
    (True, False, False)
    """
    return builtins.all(structure(item, is_leaf) == LEAF for item in iterable)


@api_boundary
def all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf is true; `is_leaf` says where a tree ends.

    >>> fx.tree.all([True, (True, None)]), fx.tree.all({"a": False})
    (True, False)
    """
    return builtins.all(leaves(tree, is_leaf))


_MISSING: Any = object()


@api_boundary
def reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _MISSING, is_leaf: IsLeaf | None = None
) -> Any:
    """Combine the leaves of `tree` from left to right: `function(function(first, second), third)` and so on.

    `is_leaf`: as for `map`. Starts with `initializer` if given; without it a tree that has no leaves raises TypeError.

    >>> fx.tree.reduce(lambda x, y: x - y, [10, (3, 2)])
    5
    """
    found = leaves(tree, is_leaf)
    return functools.reduce(function, found, *([] if initializer is _MISSING else [initializer]))


@api_boundary
def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of `tree` in pairs, then the results in pairs, and so on; `is_leaf` as for `map`.

    `operation` must be associative; rounding errors grow with log(n) only. A tree without leaves gives
    `identity`.

    Raises:
        TypeError: a tree without leaves, and no `identity`.

    >>> fx.tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcd"))
    '((ab)(cd))'
    """
    found = leaves(tree, is_leaf)
    if found:
        return combine_halves(operation, found)
    if identity is _MISSING:
        raise StructureError(
            "reduce_associative: the tree has no leaves", hint="identity=, what that is to give"
        )
    return identity


def combine_halves(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    """Combine what the halves of a list combine to."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(combine_halves(operation, values[:half]), combine_halves(operation, values[half:]))


@api_boundary
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure has no children: that of a leaf, of None or of an empty container.

    >>> fx.tree.treedef_is_leaf(fx.tree.structure(1)), fx.tree.treedef_is_leaf(fx.tree.structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


@api_boundary
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root.

    >>> fx.tree.treedef_children(fx.tree.structure([1, (2, 3)]))
    [PyTreeSpec(*), PyTreeSpec((*, *))]
    """
    return treedef.children()


@api_boundary
def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees, `pytree_to_transpose`, inside out: from `outer` of `inner` to `inner` of `outer`.

    `outer_treedef` is the structure around; `inner_treedef=None` takes that of the first inner tree. Raises
    StructureError (a TypeError and ValueError) if the tree is not an `outer` of `inner`s.

    Raises:
        StructureError: the tree has not the structure that `outer_treedef` and `inner_treedef` say.

    >>> fx.tree.transpose(fx.tree.structure([0, 0]), None, [{"x": 1, "y": 2}, {"x": 3, "y": 4}])
    {'x': [1, 3], 'y': [2, 4]}
    """
    from .core.errors import StructureError

    try:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
    except ValueError as error:
        flat = leaves(pytree_to_transpose)
        # The auxiliary data of a class may follow what is in it: then the number of leaves must do.
        if (
            inner_treedef is None
            or "custom node data" not in str(error)
            or inner_treedef.num_leaves * outer_treedef.num_leaves != len(flat)
        ):
            raise StructureError(
                f"transpose: the tree does not begin as outer_treedef does: {error}",
                hint=f"a tree whose outermost containers are those of {outer_treedef}",
            ) from error
        step = inner_treedef.num_leaves
        subtrees = [unflatten(inner_treedef, flat[i : i + step]) for i in range(0, len(flat), step or 1)]
    if inner_treedef is None:
        if not subtrees:
            raise StructureError(
                "transpose: outer_treedef has no leaves that show what is inside",
                hint="give inner_treedef=fx.tree.structure(…)",
            )
        inner_treedef = structure(subtrees[0])
    rows = []
    for i, subtree in enumerate(subtrees):
        row, treedef = flatten(subtree)
        if treedef != inner_treedef:
            raise StructureError(
                f"transpose: inner tree {i} is {treedef}, but {inner_treedef} is needed",
                hint="the same containers at every leaf of the outer tree",
            )
        rows.append(row)
    columns = zip(*rows) if rows else [()] * inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


@api_boundary
def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """Build a tree of structure `treedef` from nested iterables `xs`: one for each node, with an item for each child.

    >>> fx.tree.build_tree(fx.tree.structure({"a": 0, "b": (0, 0)}), [1, [2, 3]])
    {'a': 1, 'b': (2, 3)}
    """
    return treedef.unflatten(leaves_of_nodes(treedef, xs))


def leaves_of_nodes(treedef: PyTreeDef, xs: Any) -> list[Any]:
    """The leaves among nested iterables, one for each node."""
    if treedef == LEAF:
        return [xs]
    pairs = zip(treedef.children(), xs, strict=True)
    return [leaf for child, x in pairs for leaf in leaves_of_nodes(child, x)]


@api_boundary
def flatten_one_level(tree: Any) -> tuple[list[Any], PyTreeDef]:
    """The children of a node, and its structure one level deep. Raises ValueError for a leaf.

    >>> children, treedef = fx.tree.flatten_one_level({"b": [1, 2], "a": 3})
    >>> children
    [3, [1, 2]]
    >>> treedef.unflatten(["x", "y"])
    {'b': 'y', 'a': 'x'}
    """
    pairs, treedef = flatten_one_level_with_keys(tree)
    return [child for _, child in pairs], treedef


@api_boundary
def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], PyTreeDef]:
    """Like `flatten_one_level`, with `(key, child)` pairs in the place of the children.

    Raises:
        ValueError: a leaf, which has no children.

    >>> fx.tree.flatten_one_level_with_keys({"a": [1, 2]})[0]
    [(DictKey(key='a'), [1, 2])]
    """
    if not is_tree_node(type(tree)):
        raise StructureError(
            f"flatten_one_level: a leaf of type {type(tree).__name__} has no children",
            hint="look first: fx.tree.all_leaves([tree]) is True of a leaf",
        )
    pairs, treedef = flatten_with_path(tree, is_leaf=lambda subtree: subtree is not tree)
    return [(key, child) for (key,), child in pairs], treedef


@api_boundary
def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Lay all leaves of a tree of arrays out in one vector.

    Returns `(vector, unravel)`: the vector has the dtype to which those of the leaves promote, and
    `unravel(vector)` makes the tree again, each leaf with its own shape and dtype. Both work under
    transforms.

    Where all leaves have the same dtype, `unravel` accepts any other and keeps it.

    Raises:
        ShapeError: by `unravel`, of a vector of another length; a ValueError.
        DTypeError: by `unravel`, of a vector of another dtype where leaves differ in theirs; a TypeError.

    >>> vector, unravel = fx.tree.ravel_pytree({"w": np.ones((2, 2)), "b": np.zeros(1)})
    >>> vector
    array([0., 1., 1., 1., 1.])
    >>> unravel(2 * vector)["w"].shape
    (2, 2)
    """
    from fxgrad import numpy as fnp

    from .core.errors import DTypeError, ShapeError, describe

    found, treedef = flatten(pytree)
    pieces = [fnp.ravel(leaf) for leaf in found]
    shapes = [getattr(leaf, "shape", ()) for leaf in found]  # a Python number has none
    ends = list(itertools.accumulate(math.prod(shape) for shape in shapes))
    size = ends[-1] if ends else 0
    dtypes = [piece.dtype for piece in pieces]
    mixed = len(set(dtypes)) > 1
    common = fnp.result_type(*dtypes) if mixed else None

    def unravel(vector: Any) -> Any:
        if getattr(vector, "shape", None) != (size,):
            raise ShapeError(
                f"unravel: an array of shape ({size},) is needed, not {describe(vector)}",
                hint=f"a vector of {size} entries, as ravel has returned",
            )
        if mixed and vector.dtype != common:
            raise DTypeError(
                f"unravel: an array of dtype {common} is needed, not {describe(vector)}",
                hint=f"vector.astype({str(common)!r})",
            )
        parts = [fnp.reshape(vector[end - math.prod(shape) : end], shape) for end, shape in zip(ends, shapes)]
        if mixed:
            parts = [_cast(part, dtype) for part, dtype in zip(parts, dtypes)]
        return treedef.unflatten(parts)

    if mixed:
        pieces = [piece.astype(common) for piece in pieces]
    return fnp.concatenate(pieces) if pieces else fnp.zeros(0), unravel


def _cast(array: Any, dtype: Any) -> Any:
    from fxgrad import numpy as fnp

    return (fnp.real(array) if dtype.kind != "c" and array.dtype.kind == "c" else array).astype(dtype)


tree_all = all
tree_broadcast = broadcast
tree_flatten = flatten
tree_flatten_with_path = flatten_with_path
tree_leaves = leaves
tree_leaves_with_path = leaves_with_path
tree_map = map
tree_map_with_path = map_with_path
tree_reduce = reduce
tree_reduce_associative = reduce_associative
tree_structure = structure
tree_transpose = transpose
tree_unflatten = unflatten

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all",
    "all_leaves",
    "attrs_class",
    "broadcast",
    "build_tree",
    "flatten",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_with_path",
    "is_tree_node",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "ravel_pytree",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "static_field",
    "structure",
    "transpose",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unflatten",
]

show_public_names(__name__)
