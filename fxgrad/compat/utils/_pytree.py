"""torch.utils._pytree: functions of Tensors in containers. The name is private, but other packages use it."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from .._declare.named_results import RETURN_TYPES
from .tree_spec import (
    SUPPORTED_NODES,
    GetAttrKey,
    LeafSpec,
    MappingKey,
    NodeDef,
    PyTreeSpec,
    SequenceKey,
    TreeSpec,
    is_namedtuple,
    node_of,
    number_parts,
    register_pytree_node,
)

PyTree: TypeAlias = Any
Context: TypeAlias = Any
KeyEntry: TypeAlias = MappingKey | SequenceKey | GetAttrKey
KeyPath: TypeAlias = tuple[KeyEntry, ...]
IsLeaf: TypeAlias = Callable[[Any], bool] | None
_register_pytree_node = _private_register_pytree_node = register_pytree_node
is_namedtuple_class = is_namedtuple_instance = is_namedtuple
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, namedtuple, deque}) | STANDARD_DICT_TYPES


def name_functions(kind: NodeDef) -> dict[str, Callable[..., Any]]:
    """Name the functions that take containers of a kind apart and make them again as torch does, which packages hand
    to `register_pytree_node` for classes of their own: `_dict_flatten_with_keys`."""

    def flatten_with_keys(tree: PyTree) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        parts, context = kind.flatten_fn(tree)
        return number_parts(parts), context

    start = f"_{kind.type.__name__.lower()}"
    return {
        f"{start}_flatten": kind.flatten_fn,
        f"{start}_unflatten": kind.unflatten_fn,
        f"{start}_flatten_with_keys": kind.flatten_with_keys_fn or flatten_with_keys,
    }


for _kind in SUPPORTED_NODES.values():
    globals().update(name_functions(_kind))


def _get_node_type(tree: Any) -> Any:
    """The key of `SUPPORTED_NODES` for a tree: its class, or `namedtuple` for all of those."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple(kind) else kind


def is_structseq(obj: Any) -> bool:
    """Whether an object, or a class, is a result with names, as of `torch.sort`."""
    cls = obj if isinstance(obj, type) else type(obj)
    return RETURN_TYPES.get(cls.__name__) is cls


is_structseq_class = is_structseq_instance = is_structseq


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or node_of(tree) is None


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure.

    >>> from fxgrad.compat.utils._pytree import tree_flatten
    >>> tree_flatten({"b": [1, 2], "a": None})
    ([1, 2, None], TreeSpec(dict, ['b', 'a'], [TreeSpec(list, None, [*,
        *]),
      *]))
    """
    leaves: list[Any] = []
    return leaves, collect(tree, leaves, is_leaf)


def collect(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    """Append the leaves of a tree to a list, and return its structure."""
    kind = node_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LeafSpec()
    parts, context = kind.flatten_fn(tree)
    return TreeSpec(kind.type, context, [collect(part, leaves, is_leaf) for part in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree of a structure with these leaves."""
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterable[Any]:
    """Yield the leaves of a tree."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    kind: Any = node_of(tree)
    for part in kind.flatten_fn(tree)[0]:
        yield from tree_iter(part, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Return the leaves of arguments."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_iter(tree)]


# -- functions of all leaves ------------------------------------------
def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Return the tree of what a function makes of the leaves, and of what `rests` have in their places.

    >>> from fxgrad.compat.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]})
    {'x': [11, 22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call a function, which changes its arguments, with all leaves; return the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for _ in map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)):
        pass
    return tree


def accept(wanted: Any) -> Callable[[Any], bool]:
    """Return a predicate that tests whether a leaf is an instance of one or several classes."""
    if isinstance(wanted, type | tuple) or hasattr(wanted, "__args__"):
        return lambda x: isinstance(x, wanted)
    return wanted


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator: the function is called for arguments of the given classes, or that satisfy a predicate; other
    arguments are returned unchanged."""
    holds = accept(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if holds(x) else x


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Map a function over the leaves of a class, or several, or for which a predicate holds."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call a function with the leaves of a class, or several, or for which a predicate holds; return the tree."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether a predicate holds for all leaves of a class."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether a predicate holds for any leaf of a class."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """Return one value for each leaf of a structure, from a tree that is a prefix of it: None if it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind: Any = node_of(tree)
    parts, context = kind.flatten_fn(tree)
    parts = list(parts)
    if (kind.type, context, len(parts)) != (treespec.type, treespec.context, treespec.num_children):
        return None
    found = [
        _broadcast_to_and_flatten(part, child, is_leaf)
        for part, child in zip(parts, treespec.children(), strict=True)
    ]
    return None if None in found else [x for part in found for x in part or ()]


# -- paths ------------------------------------------
def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return (path, leaf) for each leaf of a tree.

    >>> from fxgrad.compat.utils._pytree import keystr, tree_leaves_with_path
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(walk((), tree, is_leaf))


def walk(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterable[tuple[KeyPath, Any]]:
    """Yield (path, leaf) for each leaf."""
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind: Any = node_of(tree)
    keyed = kind.flatten_with_keys_fn
    pairs = number_parts(kind.flatten_fn(tree)[0]) if keyed is None else keyed(tree)[0]
    for key, part in pairs:
        yield from walk((*path, key), part, is_leaf)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return (path, leaf) for each leaf of a tree, and its structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return the tree of results of a function of (path, leaf) and the corresponding parts of `rests`."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(func(path, leaf, *more) for (path, leaf), *more in zip(pairs, *others, strict=True))


def keystr(kp: KeyPath) -> str:
    """Return a path as text."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the value at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


__all__ = [
    "SUPPORTED_NODES",
    "Context",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "TreeSpec",
    "arg_tree_leaves",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]
