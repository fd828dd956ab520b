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

import abc
import builtins
import functools
import warnings
from _thread import RLock  # `threading`, which has it of there, takes two milliseconds
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext
from importlib import import_module
from operator import is_not
from typing import Any, NamedTuple, Self

from .pytree_keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    keystr,
)
from .typing import type_of

NAMESPACE = "fxgrad"
IsLeaf = Callable[[Any], bool]


# ----------------------------------------------------------------------------------------------- the registry


class _NodeType(NamedTuple):
    """The functions by which instances of a registered class are taken apart and put together again."""

    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Any, Any], Any]
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]] | None


# Every node type that is recognized by its exact class; None for those that optree knows by itself. Named
# tuples are recognized by their shape. (`frozendict` is a builtin from Python 3.15 on.)
NODES: dict[type, _NodeType | None] = dict.fromkeys(
    [type(None), tuple, list, dict, OrderedDict, defaultdict, deque, getattr(builtins, "frozendict", dict)]
)
_registry_lock = RLock()


class _Optree:
    """optree, imported when the first node is met.

    Importing it takes 12-15 ms, more than a third of what `import fxgrad` may cost, and no part of it can be
    had for less: its C extension lies inside the package. Until then registrations wait in `NODES`. Each
    function becomes an ordinary attribute when it is first used, so that later uses pay nothing.
    """

    def __init__(self) -> None:
        self.loaded = False

    def install(self, cls: type, node: _NodeType) -> None:
        register = import_module("optree").register_pytree_node  # whose own types leave parts open
        # optree warns where its own view of a namedtuple is replaced, which is what the user asks for.
        quiet = warnings.catch_warnings(action="ignore") if tuple in cls.__mro__ else nullcontext()
        with quiet:
            register(cls, _checked(cls, node.flatten), node.unflatten, namespace=NAMESPACE)

    def __getattr__(self, name: str) -> Any:
        with _registry_lock:
            import optree

            if not self.loaded:
                PyTreeDef.register(optree.PyTreeSpec)
                for cls, node in NODES.items():
                    if node is not None:
                        self.install(cls, node)
                self.loaded = True
        value = getattr(optree, name)
        setattr(self, name, value)
        return value


def _checked(cls: type, flatten_func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that flattens instances of a class, and raises StructureError unless it gives what it must."""

    def flatten_instance(node: Any) -> Any:
        found = flatten_func(node)
        kind = type_of(found)
        if issubclass(kind, (tuple, list)) and 2 <= len(found) <= 3 and isinstance(found[0], Iterable):
            return found
        from .errors import StructureError

        raise StructureError(
            f"the function that flattens {cls.__module__}.{cls.__qualname__} returned {found!r}",
            hint="a pair (children, auxiliary), as register_pytree_node says",
        )

    return flatten_instance


_optree = _Optree()


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]] | None = None,
) -> None:
    """Make the instances of a class, `nodetype`, nodes of pytrees.

    `flatten_func(x)` returns `(children, auxiliary)`, where the auxiliary data is part of the structure: it
    is compared with `==` and hashed, and holds no arrays. `unflatten_func(auxiliary, children)` makes `x`
    again; it must accept any objects as children, for transforms put tracers there. `flatten_with_keys_func`,
    if given, returns `((key, child) pairs, auxiliary)` and is asked for paths only.

    May be called from any thread. A subclass of a registered class is not registered.

    Raises:
        TypeError: it is no class.
        ValueError: it is registered already.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> fx.tree.register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy))
    >>> fx.tree.leaves([Point(1, 2), 3])
    [1, 2, 3]
    """
    if not isinstance(nodetype, type):  # pyright: ignore[reportUnnecessaryIsInstance]  # not all callers check
        raise TypeError(f"register_pytree_node: a class is needed, not {nodetype!r}")
    node = _NodeType(flatten_func, unflatten_func, flatten_with_keys_func)
    with _registry_lock:
        if nodetype in NODES:
            raise ValueError(
                f"register_pytree_node: {nodetype.__module__}.{nodetype.__qualname__} is a pytree node "
                "already; a class has one way to be flattened: register a subclass of it instead"
            )
        if _optree.loaded:
            _optree.install(nodetype, node)
        NODES[nodetype] = node


def is_tree_node(cls: type) -> bool:
    """Whether the instances of a class are nodes.

    >>> fx.tree.is_tree_node(list), fx.tree.is_tree_node(float)
    (True, False)
    """
    return cls in NODES or _optree.is_namedtuple_class(cls) or _optree.is_structseq_class(cls)


# --------------------------------------------------------------------------------------- leaves and structure


class PyTreeDef(abc.ABC):
    """The structure of a pytree, without its leaves: equal, and hashes equal, for trees of equal structure.

    It has `compose(inner)` too. This class is for `isinstance` and annotations; `structure` makes instances.

    >>> treedef = fx.tree.structure({"a": 1, "b": (2, 3)})
    >>> treedef.num_leaves, isinstance(treedef, fx.tree.PyTreeDef)
    (3, True)
    """

    __slots__ = ()
    num_leaves: int
    num_nodes: int
    type: type | None  # of the root; None for a leaf

    @abc.abstractmethod
    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure that has these leaves."""

    @abc.abstractmethod
    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What stands in a tree in the places of the leaves; ValueError if it does not begin like this."""

    @abc.abstractmethod
    def children(self) -> list[PyTreeDef]:
        """The structures of the children of the root."""


class _Leaf(PyTreeDef):
    """The structure of a lone leaf: equal to optree's, but there before optree is, and quicker."""

    __slots__ = ()
    num_leaves = num_nodes = 1

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        try:
            (leaf,) = leaves
        except ValueError as error:
            raise ValueError(f"the structure is one leaf: {error}") from None
        return leaf

    def flatten_up_to(self, tree: Any) -> list[Any]:
        return [tree]

    def children(self) -> list[PyTreeDef]:
        return []

    def __getattr__(self, name: str) -> Any:
        return getattr(_leaf_spec(), name)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, PyTreeDef) and _leaf_spec() == other)

    def __hash__(self) -> int:
        return hash(_leaf_spec())

    def __repr__(self) -> str:
        return "PyTreeSpec(*)"

    def __reduce__(self) -> str:
        return "LEAF"


LEAF = _Leaf()


class _Call(PyTreeDef):
    """The structure of `(args, {})` with a leaf for each argument: equal to optree's, but there before optree is.

    No function here returns another for such a tree. Its hash differs from that of the equal structure which optree's
    own methods may return (`children` of a larger one).
    """

    __slots__ = ("known", "num_leaves", "num_nodes")
    type = tuple

    def __init__(self, num_leaves: int) -> None:
        self.num_leaves, self.num_nodes = num_leaves, num_leaves + 3
        self.known: Any = None  # optree's, kept since its functions take this for it by its address

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        args = tuple(leaves)
        if len(args) != self.num_leaves:
            raise ValueError(f"the structure has {self.num_leaves} leaves, not {len(args)}")
        return args, {}

    def flatten_up_to(self, tree: Any) -> list[Any]:
        return self.spec().flatten_up_to(tree)

    def children(self) -> list[PyTreeDef]:
        return [_tuple_structure(self.num_leaves), structure({})]

    def spec(self) -> Any:
        """Return optree's."""
        if self.known is None:
            self.known = _optree.tree_structure(self.unflatten([0] * self.num_leaves), namespace=NAMESPACE)
        return self.known

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spec(), name)

    def __eq__(self, other: object) -> bool:
        if type(other) is _Call:
            return self.num_leaves == other.num_leaves
        return isinstance(other, PyTreeDef) and self.num_nodes == other.num_nodes and self.spec() == other

    def __hash__(self) -> int:
        return hash((_Call, self.num_leaves))

    def __repr__(self) -> str:
        return repr(self.spec())

    def __reduce__(self) -> Any:
        return _Call, (self.num_leaves,)


@functools.cache
def _leaf_spec() -> Any:
    return _optree.treespec_leaf(namespace=NAMESPACE)


@functools.lru_cache(maxsize=64)
def _tuple_structure(length: int) -> PyTreeDef:
    return _optree.tree_structure((0,) * length, namespace=NAMESPACE)


def _as_treespec(treedef: PyTreeDef) -> Any:
    """Return the treedef as optree's functions take it."""
    if type(treedef) is _Call:
        return treedef.spec()
    return _leaf_spec() if treedef is LEAF else treedef


def _preferred(treedef: PyTreeDef) -> PyTreeDef:
    """Return what `flatten` gives for a structure of optree's."""
    if treedef.num_nodes != treedef.num_leaves + 3 or treedef.type is not tuple:
        return treedef
    call = _Call(treedef.num_leaves)
    return call if call == treedef else treedef


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
            return list(args), _tuple_structure(len(args)) if args is tree else _Call(len(args))
    found, treedef = _optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    return found, treedef if is_leaf is None else _preferred(treedef)


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
    return _preferred(_optree.treespec_tuple([*builtins.map(_as_treespec, treedefs)], namespace=NAMESPACE))


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
    return _optree.tree_flatten(node, functools.partial(is_not, node), namespace=NAMESPACE)


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

    return pairs, _preferred(_optree.tree_structure(tree, answer_again, namespace=NAMESPACE))


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
