"""Pytrees: any nesting of containers, seen as a list of leaves and a structure.

A *node* is a tuple, list, dict, OrderedDict, defaultdict, deque, namedtuple, None (a node without children)
or an instance of a registered class; everything else is a *leaf*. optree does the walking. This module adds
what the transforms need on top: short cuts for the trees that nearly every call passes (a lone leaf, a tuple
of leaves), prefixes (`in_axes`), paths, and errors that name the place where two trees differ. `fxgrad.tree`
is the public face of it, and has what only users need.

The names are those of `jax.tree`, and so is what they do, but for four choices of optree, each more lenient:
a deque is a node; dict keys that cannot be sorted keep their order of insertion; a dict is rebuilt in its own
order of insertion; and a dict, an OrderedDict and a defaultdict with the same keys may be mapped together.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Mapping
from operator import is_not
from typing import Any, Self

from .labels import watch_imports
from .pytree_keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    keystr,
)
from .pytree_structures import (
    LEAF,
    NAMESPACE,
    NODES,
    OPTREE,
    CallStructure,
    PyTreeDef,
    as_treespec,
    is_tree_node,
    preferred_structure,
    register_pytree_node,
    tuple_structure,
)
from .typing import type_of

IsLeaf = Callable[[Any], bool]


# --------------------------------------------------------------------------------------- leaves and structure


def _is_leaf(tree: Any) -> bool:
    kind = type_of(tree)
    return kind not in NODES and not (isinstance(tree, tuple) and is_tree_node(kind))


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Take a tree apart into the list of its leaves and its structure.

    Dict entries come in the order of their sorted keys. A subtree for which `is_leaf(subtree)` is true is
    taken for a leaf.

    >>> leaves, treedef = fx.tree.flatten({"b": [2, 3], "a": 1, "c": None})
    >>> leaves
    [1, 2, 3]
    >>> fx.tree.unflatten(treedef, ["x", "y", "z"])
    {'b': ['y', 'z'], 'a': 'x', 'c': None}
    """
    kind = type_of(tree)
    if kind not in NODES and not issubclass(kind, tuple):
        return [tree], LEAF
    if kind is tuple and is_leaf is None:  # the arguments of a call, mostly: optree takes four times as long
        args = tree
        if len(tree) == 2 and type(tree[0]) is tuple and type(tree[1]) is dict and not tree[1]:
            args = tree[0]
        for item in args:
            kind = type_of(item)
            if kind in NODES or issubclass(kind, tuple):
                break
        else:
            return list(args), tuple_structure(len(args)) if args is tree else CallStructure(len(args))
    found, treedef = OPTREE.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    return found, treedef if is_leaf is None else preferred_structure(treedef)


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Put a tree together from its structure and its leaves: the inverse of `flatten`.

    Raises ValueError if the number of leaves is not `treedef.num_leaves`.

    >>> fx.tree.unflatten(fx.tree.structure((0, [0, 0])), "abc")
    ('a', ['b', 'c'])
    """
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, in order; `is_leaf` as in `flatten`.

    >>> fx.tree.leaves([1, (2, None), {"a": 3}])
    [1, 2, 3]
    >>> fx.tree.leaves([1, (2, None)], is_leaf=lambda x: x is None)
    [1, 2, None]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """The structure of a tree; `is_leaf` as in `flatten`.

    >>> fx.tree.structure((1, [2, 3])) == fx.tree.structure(("a", ["b", "c"]))
    True
    """
    return flatten(tree, is_leaf)[1]


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose items have the given structures.

    >>> fx.tree.treedef_tuple([fx.tree.structure(1), fx.tree.structure([2])])
    PyTreeSpec((*, [*]))
    """
    return preferred_structure(
        OPTREE.treespec_tuple([*builtins.map(as_treespec, treedefs)], namespace=NAMESPACE)
    )


# -------------------------------------------------------------------------------------------------------- map


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply a function to each leaf of a tree, and to what stands in its place in the trees of `rest`.

    `tree` may be a prefix of each tree of `rest`: `f` is then given whole subtrees of those. Returns a tree
    with the structure of `tree`; `is_leaf` says of which nodes there is no going on.

    Raises:
        StructureError: a tree of `rest` has another structure; a ValueError, which names the path.

    >>> fx.tree.map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    found, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in found])
    columns = _matching_subtrees(treedef, tree, rest, is_leaf)
    return treedef.unflatten([f(*row) for row in zip(found, *columns)])


def _matching_subtrees(
    treedef: PyTreeDef, tree: Any, rest: tuple[Any, ...], is_leaf: IsLeaf | None
) -> list[list[Any]]:
    """Return the subtrees of each tree of `rest` that stand in the place of the leaves of `tree`."""
    return [
        _flatten_up_to(treedef, tree, other, "map: tree", f"the tree of rest[{i}]", is_leaf)
        for i, other in enumerate(rest)
    ]


# ------------------------------------------------------------------------------------------------------ paths


def _flatten_one_level(node: Any) -> tuple[list[Any], Any]:
    """Return the children of a node and its structure one level deep."""
    return OPTREE.tree_flatten(node, functools.partial(is_not, node), namespace=NAMESPACE)


def _keyed_children(node: Any) -> list[tuple[Any, Any]]:
    """Return the children of a node, each with its step of a path."""
    registered = NODES.get(type_of(node))
    if registered is not None and registered.flatten_with_keys is not None:
        return list(registered.flatten_with_keys(node)[0])
    children, spec = _flatten_one_level(node)
    if registered is not None:
        keys = [FlattenedIndexKey(i) for i in range(len(children))]
    elif isinstance(node, Mapping):
        keys = [DictKey(key) for key in spec.entries()]
    elif hasattr(node, "_fields"):
        keys = [GetAttrKey(name) for name in node._fields]
    else:
        keys = [SequenceKey(i) for i in range(len(children))]
    return list(zip(keys, children))


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Like `flatten`, with `(path, leaf)` pairs in the place of the leaves; a path is a tuple of keys.

    With `is_leaf_takes_path=True` the predicate is called as `is_leaf(path, subtree)`.

    >>> pairs, treedef = fx.tree.flatten_with_path({"a": [5, 6]})
    >>> pairs
    [((DictKey(key='a'), SequenceKey(idx=0)), 5), ((DictKey(key='a'), SequenceKey(idx=1)), 6)]
    """
    pairs: list[tuple[KeyPath, Any]] = []
    answers: list[bool] = []  # of is_leaf, in order: the structure is then found without asking twice

    waiting: list[tuple[KeyPath, Any]] = [((), tree)]
    while waiting:
        path, subtree = waiting.pop()
        question = (path, subtree) if is_leaf_takes_path else (subtree,)
        stop = is_leaf is not None and bool(is_leaf(*question))
        answers.append(stop)
        if stop or _is_leaf(subtree):
            pairs.append((path, subtree))
        else:
            waiting += reversed([((*path, key), child) for key, child in _keyed_children(subtree)])
    if is_leaf is None:
        return pairs, structure(tree)
    replay = iter(answers)

    def answer_again(_: Any) -> bool:
        return next(replay)

    return pairs, preferred_structure(OPTREE.tree_structure(tree, answer_again, namespace=NAMESPACE))


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The `(path, leaf)` pairs of a tree: the first result of `flatten_with_path`. Arguments as for that.

    >>> [(fx.tree.keystr(path), leaf) for path, leaf in fx.tree.leaves_with_path([1, {"a": 2}])]
    [('[0]', 1), ("[1]['a']", 2)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Like `map`, for a function that is also given the path: `f(path, leaf, *rest_leaves)`; arguments as for that.

    `is_leaf_takes_path`: whether `is_leaf` is called with the path as well.

    Raises:
        StructureError: a further tree has not the structure of the first.

    >>> fx.tree.map_with_path(lambda path, x: f"{fx.tree.keystr(path)} = {x}", [1, (2,)])
    ['[0] = 1', ('[1][0] = 2',)]
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    stop = None if is_leaf_takes_path else is_leaf
    rows = zip(pairs, *_matching_subtrees(treedef, tree, rest, stop))
    return treedef.unflatten([f(path, leaf, *others) for (path, leaf), *others in rows])


# --------------------------------------------------------------------------------------------------- prefixes


def flatten_prefix(prefix_tree: Any, full_tree: Any, what: str) -> list[Any]:
    """Give each leaf of `full_tree` the leaf of `prefix_tree` that stands for it.

    None counts as a leaf of the prefix (as in `in_axes=(0, None)`) and as no leaf of the full tree. `what`
    names the prefix in the StructureError that is raised where it does not fit.

    >>> from fxgrad.core.pytree import flatten_prefix
    >>> flatten_prefix((0, None), ({"a": 1.0, "b": 2.0}, [3.0]), "in_axes")
    [0, 0, None]
    """
    return _broadcast_leaves(prefix_tree, full_tree, what, lambda subtree: subtree is None, None)


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Repeat each leaf of `prefix_tree` over the subtree of `full_tree` for which it stands.

    Returns a tree with the structure of `full_tree`; `is_leaf` holds for both.

    Raises:
        StructureError: the first is no prefix of the second; a ValueError, which names the path.

    >>> fx.tree.broadcast((1, 2), ([0, 0], {"a": 0}))
    ([1, 1], {'a': 2})
    """
    owners = _broadcast_leaves(prefix_tree, full_tree, "broadcast: prefix_tree", is_leaf, is_leaf)
    return unflatten(structure(full_tree, is_leaf), owners)


def _broadcast_leaves(
    prefix: Any, full: Any, what: str, prefix_is_leaf: IsLeaf | None, is_leaf: IsLeaf | None
) -> list[Any]:
    owners, treedef = flatten(prefix, prefix_is_leaf)
    if treedef is LEAF:
        return owners * flatten(full, is_leaf)[1].num_leaves
    subtrees = _flatten_up_to(treedef, prefix, full, what, "the tree it describes", prefix_is_leaf)
    return [owner for owner, subtree in zip(owners, subtrees) for _ in leaves(subtree, is_leaf)]


def _flatten_up_to(
    treedef: PyTreeDef, prefix: Any, full: Any, what: str, other: str, is_leaf: IsLeaf | None
) -> list[Any]:
    """`treedef.flatten_up_to(full)`, with an error that names the path where it cannot be done."""
    try:
        return treedef.flatten_up_to(full)
    except ValueError as error:
        from .errors import StructureError

        def is_whole(x: Any) -> bool:
            return getattr(x, "_fx_is_box", False) or (is_leaf is not None and is_leaf(x))

        whole = structure(prefix, is_whole)
        if whole != treedef:  # an array stands where the other tree has one that can be written into
            return _flatten_up_to(whole, prefix, full, what, other, is_leaf)
        place = _first_mismatch(prefix, full, (), is_leaf)
        if place is None:  # a registered class of the user's raised it while being flattened
            raise
        path, mine, theirs = place
        hint = "pass is_leaf=lambda x: x is None, if None is to be a leaf" if mine is None else None
        raise StructureError(
            f"{what}{keystr(path)} is {_describe_tree(mine)}, but {other} has {_describe_tree(theirs)} there",
            hint=hint,
        ) from error


def _first_mismatch(
    prefix: Any, full: Any, path: KeyPath, is_leaf: IsLeaf | None
) -> tuple[KeyPath, Any, Any] | None:
    """Return the path at which `prefix` ceases to be a prefix of `full`, and the two subtrees there."""
    if _is_leaf(prefix) or (is_leaf is not None and is_leaf(prefix)):
        return None
    try:
        others = _flatten_one_level(prefix)[1].flatten_up_to(full)
    except ValueError:
        return path, prefix, full
    for (key, child), other in zip(_keyed_children(prefix), others):
        found = _first_mismatch(child, other, (*path, key), is_leaf)
        if found is not None:
            return found
    return None


def describe(treedef: PyTreeDef) -> str:
    """Say what a structure is at its root: `a tuple of length 2`."""
    return _describe_tree(unflatten(treedef, [LEAF] * treedef.num_leaves))


def describe_difference(given: PyTreeDef, expected: PyTreeDef) -> str:
    """Say where the first of two structures is not the second: `have a list of length 1 at [0], expected …`."""
    trees = [unflatten(treedef, [LEAF] * treedef.num_leaves) for treedef in (given, expected)]
    for first, second in (trees, trees[::-1]):  # a leaf is a prefix of everything
        if place := _first_mismatch(first, second, (), None):
            path, *subtrees = place
            theirs, ours = builtins.map(_describe_tree, subtrees if first is trees[0] else subtrees[::-1])
            return (
                f"have {theirs} at {keystr(path)}, expected {ours}"
                if path
                else f"are {theirs}, expected {ours}"
            )
    return f"have the structure {given}, expected {expected}"


def _describe_tree(tree: Any) -> str:
    name = type(tree).__name__
    if tree is None:
        return "None"
    if tree is LEAF:
        return "a leaf"
    if _is_leaf(tree):
        return f"a leaf of type {name}"
    children, spec = _flatten_one_level(tree)
    if isinstance(tree, Mapping):
        return f"a {name} with the keys {spec.entries()}"
    if NODES.get(type_of(tree)) is not None:
        return f"a node {spec}"
    return f"a {name} of length {len(children)}"


# ----------------------------------------------------------------------------------------------- functions


class Partial(functools.partial[Any]):
    """`functools.partial` as a pytree: the bound arguments are its children, the function is static.

    So a function together with the arrays it needs can be passed through transforms. A Partial of a Partial
    has the arguments of both as children; an ordinary `functools.partial` inside it is left whole: static.

    >>> scale = fx.tree.Partial(lambda a, x: a * x, 3.0)
    >>> fx.tree.map(lambda a: a + 1.0, scale)(10.0)
    40.0
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Self:
        if isinstance(func, functools.partial) and not isinstance(func, Partial):
            func = func.__call__  # compares and hashes as `func` does, but is not merged into the new partial
        return super().__new__(cls, func, *args, **keywords)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
watch_imports()
