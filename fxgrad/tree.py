"""Pytrees: functions over nested containers of arrays, and the ways to make a class such a container.

The names are those of `jax.tree` (`map`, `flatten`, ...) and of `jax.tree_util` (`tree_map`, `tree_flatten`,
...), here in one place. What a node is and what a leaf is, `fxgrad.core.pytree` says.

>>> import fxgrad as fx
>>> params = {"w": [1.0, 2.0], "b": 3.0}
>>> fx.tree.map(lambda p: 10 * p, params)
{'w': [10.0, 20.0], 'b': 30.0}
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar

from .core import pytree
from .core.pytree import LEAF, IsLeaf, Partial, PyTreeDef, register_pytree_node, treedef_tuple, unflatten
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


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Like `register_pytree_node`, for a class `nodetype` whose children have names of their own in paths.

    `flatten_with_keys(x)` returns `((key, child) pairs, auxiliary)`. Give `flatten_func` as well where making
    the keys takes time: it is then used wherever no path is asked for. `unflatten_func` is as there.

    >>> import fxgrad as fx
    >>> class Box:
    ...     def __init__(self, content):
    ...         self.content = content
    >>> key = fx.tree.GetAttrKey("content")
    >>> fx.tree.register_pytree_with_keys(Box, lambda b: (((key, b.content),), None), lambda _, c: Box(*c))
    >>> [(fx.tree.keystr(path), leaf) for path, leaf in fx.tree.leaves_with_path([Box(1)])]
    [('[0].content', 1)]
    """

    def flatten_without_keys(node: Any) -> tuple[Iterable[Any], Hashable]:
        pairs, auxiliary = flatten_with_keys(node)
        return [child for _, child in pairs], auxiliary

    register_pytree_node(nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: type[T]) -> type[T]:
    """Register a class by its methods `tree_flatten(self)` and `tree_unflatten(cls, auxiliary, children)`.

    A class decorator: returns the class. See `register_pytree_node` for what the methods do and for errors.

    >>> import fxgrad as fx
    >>> @fx.tree.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten(self):
    ...         return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, auxiliary, children):
    ...         return cls(*children)
    >>> fx.tree.leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    register_pytree_node(cls, methodcaller("tree_flatten"), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: type[T]) -> type[T]:
    """Register a class by its methods `tree_flatten_with_keys(self)` and `tree_unflatten`.

    A class decorator: returns the class. A method `tree_flatten` is used too if there is one. See
    `register_pytree_with_keys` for what the methods do.

    >>> import fxgrad as fx
    >>> @fx.tree.register_pytree_with_keys_class
    ... class Named:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def tree_flatten_with_keys(self):
    ...         return [(fx.tree.GetAttrKey("value"), self.value)], None
    ...     @classmethod
    ...     def tree_unflatten(cls, auxiliary, children):
    ...         return cls(*children)
    >>> fx.tree.keystr(fx.tree.leaves_with_path(Named(1))[0][0])
    '.value'
    """
    flatten_func = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    flatten_with_keys = methodcaller("tree_flatten_with_keys")
    register_pytree_with_keys(cls, flatten_with_keys, cls.tree_unflatten, flatten_func)  # type: ignore[attr-defined]
    return cls


def register_static(cls: type) -> type:
    """Register a class whose instances have no leaves: each is part of the structure as it is.

    A class decorator: returns the class, which must have `==` and a hash.

    >>> import fxgrad as fx
    >>> @fx.tree.register_static
    ... class Mode(str):
    ...     pass
    >>> fx.tree.map(lambda x: x + 1, [1.0, Mode("train")])
    [2.0, 'train']
    """
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


def register_dataclass(
    nodetype: type,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type:
    """Register a dataclass, or any class `nodetype` whose constructor takes its fields as keywords.

    `data_fields` are the children, `meta_fields` are part of the structure; a field in `drop_fields` is left
    to its default when an instance is rebuilt. Without the first two, a dataclass's fields made by `static`
    are meta and its other fields data. Returns the class, so that it can be used as a decorator. Instances
    are rebuilt by calling the class (`attrs_class` does not do so).

    Raises ValueError if the names are not those of the fields with `init=True`, or if the class is registered
    already; TypeError if only one of the two lists is given, or none for a class that is no dataclass.

    >>> import fxgrad as fx
    >>> from dataclasses import dataclass
    >>> @fx.tree.register_dataclass
    ... @dataclass
    ... class Layer:
    ...     w: float
    ...     activation: str = fx.tree.static(default="relu")
    >>> fx.tree.map(lambda w: 2 * w, Layer(1.5))
    Layer(w=3.0, activation='relu')
    """
    import dataclasses

    if (data_fields is None) != (meta_fields is None):
        raise TypeError("register_dataclass: give both data_fields and meta_fields, or neither")
    if dataclasses.is_dataclass(nodetype):
        fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in drop_fields]
        if data_fields is None or meta_fields is None:
            data_fields, meta_fields = _split_fields(fields)
        wrong = {f.name for f in fields} ^ {*data_fields, *meta_fields}
        if twice := {*data_fields} & {*meta_fields}:
            raise ValueError(f"register_dataclass: a field is data or meta, not both: {sorted(twice)}")
        if wrong:
            raise ValueError(
                f"register_dataclass: data_fields and meta_fields must name each field of "
                f"{nodetype.__qualname__} that has init=True and is not in drop_fields, and no others; "
                f"look at {sorted(wrong)}"
            )
    elif data_fields is None or meta_fields is None:
        raise TypeError(
            f"register_dataclass: {nodetype.__qualname__} is no dataclass: give data_fields and meta_fields"
        )

    _register_fields(nodetype, data_fields, meta_fields, lambda values: nodetype(**values))
    return nodetype


def static(**keywords: Any) -> Any:
    """A dataclass field that is part of the structure, not a child: `dataclasses.field` with a mark.

    Takes the arguments of `dataclasses.field`. See `register_dataclass` and `attrs_class`.

    >>> import fxgrad as fx
    >>> from dataclasses import dataclass
    >>> @fx.tree.attrs_class
    ... @dataclass
    ... class Scaled:
    ...     x: float
    ...     unit: str = fx.tree.static(default="m")
    >>> fx.tree.leaves(Scaled(2.0))
    [2.0]
    """
    import dataclasses

    return dataclasses.field(**_mark_static(keywords))


def static_field(**keywords: Any) -> Any:
    """An attrs field that is part of the structure, not a child: `attrs.field`, whose arguments it takes, with a mark.

    >>> import attrs, fxgrad as fx
    >>> @fx.tree.attrs_class
    ... @attrs.frozen
    ... class Layer:
    ...     weight: float
    ...     name: str = fx.tree.static_field(default="dense")
    >>> fx.tree.leaves(Layer(1.0))
    [1.0]
    """
    import attrs

    return attrs.field(**_mark_static(keywords))


def _mark_static(keywords: dict[str, Any]) -> dict[str, Any]:
    return {**keywords, "metadata": {**(keywords.get("metadata") or {}), "static": True}}


def attrs_class(cls: type) -> type:
    """Make an attrs class, or a dataclass, a pytree: its fields are the children, static fields structure.

    A class decorator, put above `@attrs.define`, `@attrs.frozen` or `@dataclass`; returns the class. A field
    is static if its metadata has `"static": True`: `static_field` (for attrs) and `static` (for dataclasses)
    see to that. Instances are rebuilt field by field, without `__init__`: converters, validators and
    `__post_init__` do not run, for transforms put tracers and other objects in the place of arrays.

    Raises TypeError for any other class, ValueError if the class is registered already.

    >>> import attrs, fxgrad as fx
    >>> @fx.tree.attrs_class
    ... @attrs.frozen
    ... class Affine:
    ...     scale: float
    ...     shift: float
    ...     name: str = fx.tree.static_field(default="affine")
    >>> fx.tree.map(lambda x: 10 * x, Affine(1.0, 2.0))
    Affine(scale=10.0, shift=20.0, name='affine')
    """
    fields = getattr(cls, "__attrs_attrs__", None)
    if fields is None:
        import dataclasses

        if not dataclasses.is_dataclass(cls):
            raise TypeError(
                f"attrs_class: {cls!r} is neither an attrs class nor a dataclass: "
                "put @fx.tree.attrs_class above @attrs.define or @dataclass"
            )
        fields = dataclasses.fields(cls)

    def rebuild(values: dict[str, Any]) -> Any:
        instance = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(instance, name, value)
        return instance

    _register_fields(cls, *_split_fields(fields), rebuild)
    return cls


def _split_fields(fields: Iterable[Any]) -> tuple[list[str], list[str]]:
    """The names of the fields that are children, and of those that are static."""
    names: tuple[list[str], list[str]] = [], []
    for field in fields:
        names[bool(field.metadata.get("static"))].append(field.name)
    return names


def _register_fields(
    cls: type, data: Sequence[str], meta: Sequence[str], rebuild: Callable[[dict[str, Any]], Any]
) -> None:
    """Register a class by its attributes: `data` are children, `meta` auxiliary data."""
    data, meta = tuple(data), tuple(meta)
    keys = [GetAttrKey(name) for name in data]

    def flatten_fields(node: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(node, name) for name in data], tuple([getattr(node, name) for name in meta])

    def flatten_fields_with_keys(node: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        children, auxiliary = flatten_fields(node)
        return list(zip(keys, children)), auxiliary

    def unflatten_fields(auxiliary: tuple[Any, ...], children: Iterable[Any]) -> Any:
        return rebuild({**dict(zip(data, children)), **dict(zip(meta, auxiliary))})

    register_pytree_node(cls, flatten_fields, unflatten_fields, flatten_fields_with_keys)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether each item of an iterable is a leaf, by `is_leaf` too.

    >>> import fxgrad as fx
    >>> fx.tree.all_leaves([1, "a"]), fx.tree.all_leaves([1, (2,)]), fx.tree.all_leaves([None])
    (True, False, False)
    """
    return builtins.all(structure(item, is_leaf) == LEAF for item in iterable)


def all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf is true; `is_leaf` says where a tree ends.

    >>> import fxgrad as fx
    >>> fx.tree.all([True, (True, None)]), fx.tree.all({"a": False})
    (True, False)
    """
    return builtins.all(leaves(tree, is_leaf))


_MISSING: Any = object()


def reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _MISSING, is_leaf: IsLeaf | None = None
) -> Any:
    """Combine the leaves of `tree` from left to right: `function(function(first, second), third)` and so on.

    `is_leaf`: as for `map`. Starts with `initializer` if given; without it a tree that has no leaves raises TypeError.

    >>> import fxgrad as fx
    >>> fx.tree.reduce(lambda x, y: x - y, [10, (3, 2)])
    5
    """
    found = leaves(tree, is_leaf)
    return functools.reduce(function, found, *([] if initializer is _MISSING else [initializer]))


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves of `tree` in pairs, then the results in pairs, and so on; `is_leaf` as for `map`.

    `operation` must be associative; rounding errors grow with log(n) only. A tree without leaves gives
    `identity`, or raises TypeError without it.

    >>> import fxgrad as fx
    >>> fx.tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcd"))
    '((ab)(cd))'
    """

    def combine(part: list[Any]) -> Any:
        if len(part) == 1:
            return part[0]
        half = len(part) // 2
        return operation(combine(part[:half]), combine(part[half:]))

    found = leaves(tree, is_leaf)
    if found:
        return combine(found)
    if identity is _MISSING:
        raise TypeError("reduce_associative: the tree has no leaves; pass identity= to say what that gives")
    return identity


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure has no children: that of a leaf, of None or of an empty container.

    >>> import fxgrad as fx
    >>> fx.tree.treedef_is_leaf(fx.tree.structure(1)), fx.tree.treedef_is_leaf(fx.tree.structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root.

    >>> import fxgrad as fx
    >>> fx.tree.treedef_children(fx.tree.structure([1, (2, 3)]))
    [PyTreeSpec(*), PyTreeSpec((*, *))]
    """
    return treedef.children()


def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees, `pytree_to_transpose`, inside out: from `outer` of `inner` to `inner` of `outer`.

    `outer_treedef` is the structure around; `inner_treedef=None` takes that of the first inner tree. Raises
    StructureError (a TypeError and ValueError) if the tree is not an `outer` of `inner`s.

    >>> import fxgrad as fx
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
                f"transpose: the tree does not begin as outer_treedef does: {error}"
            ) from error
        step = inner_treedef.num_leaves
        subtrees = [unflatten(inner_treedef, flat[i : i + step]) for i in range(0, len(flat), step or 1)]
    if inner_treedef is None:
        if not subtrees:
            raise StructureError("transpose: outer_treedef has no leaves, so inner_treedef must be given")
        inner_treedef = structure(subtrees[0])
    rows = []
    for i, subtree in enumerate(subtrees):
        row, treedef = flatten(subtree)
        if treedef != inner_treedef:
            raise StructureError(f"transpose: inner tree {i} is {treedef}, but {inner_treedef} is needed")
        rows.append(row)
    columns = zip(*rows) if rows else [()] * inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """Build a tree of structure `treedef` from nested iterables `xs`: one for each node, with an item for each child.

    >>> import fxgrad as fx
    >>> fx.tree.build_tree(fx.tree.structure({"a": 0, "b": (0, 0)}), [1, [2, 3]])
    {'a': 1, 'b': (2, 3)}
    """

    def collect(treedef: PyTreeDef, xs: Any) -> list[Any]:
        if treedef == LEAF:
            return [xs]
        return [leaf for child, x in zip(treedef.children(), xs, strict=True) for leaf in collect(child, x)]

    return treedef.unflatten(collect(treedef, xs))


def flatten_one_level(tree: Any) -> tuple[list[Any], PyTreeDef]:
    """The children of a node, and its structure one level deep. Raises ValueError for a leaf.

    >>> import fxgrad as fx
    >>> children, treedef = fx.tree.flatten_one_level({"b": [1, 2], "a": 3})
    >>> children
    [3, [1, 2]]
    >>> treedef.unflatten(["x", "y"])
    {'b': 'y', 'a': 'x'}
    """
    pairs, treedef = flatten_one_level_with_keys(tree)
    return [child for _, child in pairs], treedef


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], PyTreeDef]:
    """Like `flatten_one_level`, with `(key, child)` pairs in the place of the children.

    >>> import fxgrad as fx
    >>> fx.tree.flatten_one_level_with_keys({"a": [1, 2]})[0]
    [(DictKey(key='a'), [1, 2])]
    """
    if not is_tree_node(type(tree)):
        raise ValueError(f"flatten_one_level: a leaf of type {type(tree).__name__} has no children")
    pairs, treedef = flatten_with_path(tree, is_leaf=lambda subtree: subtree is not tree)
    return [(key, child) for (key,), child in pairs], treedef


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Lay all leaves of a tree of arrays out in one vector.

    Returns `(vector, unravel)`: the vector has the dtype to which those of the leaves promote, and
    `unravel(vector)` makes the tree again, each leaf with its own shape and dtype. Both work under
    transforms.

    `unravel` raises ShapeError (a ValueError) for a vector of another length, and DTypeError (a TypeError)
    for one of another dtype. Where all leaves have the same dtype, any other is accepted and kept.

    >>> import numpy as np, fxgrad as fx
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
            raise ShapeError(f"unravel: an array of shape ({size},) is needed, not {describe(vector)}")
        if mixed and vector.dtype != common:
            raise DTypeError(f"unravel: an array of dtype {common} is needed, not {describe(vector)}")
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
