"""The nodes of pytrees, which are registered by class, and structures: trees without their leaves."""

from __future__ import annotations

import abc
import builtins
import functools
import warnings
from _thread import RLock  # `threading`, which has it of there, takes two milliseconds
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import nullcontext
from importlib import import_module
from typing import Any, NamedTuple

from .typing import type_of

NAMESPACE = "fxgrad"


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
        if kind is tuple and len(found) == 2 and type(found[0]) is tuple:  # mostly
            return found
        if issubclass(kind, (tuple, list)) and 2 <= len(found) <= 3 and isinstance(found[0], Iterable):
            return found
        from .errors import StructureError

        raise StructureError(
            f"the function that flattens {cls.__module__}.{cls.__qualname__} returned {found!r}",
            hint="a pair (children, auxiliary), as register_pytree_node says",
        )

    return flatten_instance


OPTREE = _Optree()


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
        if OPTREE.loaded:
            OPTREE.install(nodetype, node)
        NODES[nodetype] = node


def is_tree_node(cls: type) -> bool:
    """Whether the instances of a class are nodes.

    >>> fx.tree.is_tree_node(list), fx.tree.is_tree_node(float)
    (True, False)
    """
    return cls in NODES or OPTREE.is_namedtuple_class(cls) or OPTREE.is_structseq_class(cls)


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


class CallStructure(PyTreeDef):
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
        return [tuple_structure(self.num_leaves), OPTREE.tree_structure({}, namespace=NAMESPACE)]

    def spec(self) -> Any:
        """Return optree's."""
        if self.known is None:
            self.known = OPTREE.tree_structure(self.unflatten([0] * self.num_leaves), namespace=NAMESPACE)
        return self.known

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spec(), name)

    def __eq__(self, other: object) -> bool:
        if type(other) is CallStructure:
            return self.num_leaves == other.num_leaves
        return isinstance(other, PyTreeDef) and self.num_nodes == other.num_nodes and self.spec() == other

    def __hash__(self) -> int:
        return hash((CallStructure, self.num_leaves))

    def __repr__(self) -> str:
        return repr(self.spec())

    def __reduce__(self) -> Any:
        return CallStructure, (self.num_leaves,)


@functools.cache
def _leaf_spec() -> Any:
    return OPTREE.treespec_leaf(namespace=NAMESPACE)


@functools.lru_cache(maxsize=64)
def tuple_structure(length: int) -> PyTreeDef:
    return OPTREE.tree_structure((0,) * length, namespace=NAMESPACE)


def as_treespec(treedef: PyTreeDef) -> Any:
    """Return the treedef as optree's functions take it."""
    if type(treedef) is CallStructure:
        return treedef.spec()
    return _leaf_spec() if treedef is LEAF else treedef


def preferred_structure(treedef: PyTreeDef) -> PyTreeDef:
    """Return what `flatten` gives for a structure of optree's."""
    if treedef.num_nodes != treedef.num_leaves + 3 or treedef.type is not tuple:
        return treedef
    call = CallStructure(treedef.num_leaves)
    return call if call == treedef else treedef
