"""`jax.tree` and `jax.tree_util` where they differ: dicts are rebuilt in the order of their keys, and the registry of
classes can be asked, as packages do."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ... import tree as here
from ...core import pytree
from ...core.pytree_structures import LEAF, NAMESPACE, NODES, OPTREE, CallStructure
from ...core.surface import OBJECTS, is_object

__all__ = [
    "PyTreeDef", "flatten", "flatten_with_path", "in_order", "map", "map_with_path", "register_static", "registry",
    "structure", "treedef_tuple",
]  # fmt: skip


class PyTreeDef(pytree.PyTreeDef):
    """A structure as programs see it: with JAX's text."""

    __slots__ = ("spec",)

    def __init__(self, spec: Any):
        self.spec = spec

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        return self.spec.unflatten(leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        return self.spec.flatten_up_to(tree)

    def children(self) -> list[pytree.PyTreeDef]:
        return [PyTreeDef(child) for child in self.spec.children()]

    def compose(self, inner: Any) -> PyTreeDef:
        """Return the structure with another one in the places of its leaves."""
        return PyTreeDef(self.spec.compose(getattr(inner, "spec", inner)))

    def node_data(self) -> Any:
        """Return the class of the root, and the keys of a dict; None for a leaf."""
        return None if self.spec.type is None else (self.spec.type, self.keys())

    def keys(self) -> list[Any] | None:
        """Return the keys of a dict."""
        return self.spec.entries() if self.spec.type is dict else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spec, name)

    def __eq__(self, other: object) -> bool:
        return self.spec == getattr(other, "spec", other)

    def __hash__(self) -> int:
        return hash(self.spec)

    def __repr__(self) -> str:
        return f"PyTreeDef({show(self.spec)})"

    def __reduce__(self) -> Any:
        return PyTreeDef, (self.spec,)


def show(spec: Any) -> str:
    """Return the text of a structure, as JAX writes it."""
    if spec.num_nodes == spec.num_leaves:
        return "*"
    kind, parts = spec.type, ", ".join([show(child) for child in spec.children()])
    if kind is type(None):
        return "None"
    if kind is tuple:
        return f"({parts},)" if len(spec.children()) == 1 else f"({parts})"
    if kind is list:
        return f"[{parts}]"
    keys = spec.entries()
    if kind is dict:
        return "{" + ", ".join([f"{key!r}: {show(c)}" for key, c in zip(keys, spec.children())]) + "}"
    return f"CustomNode({show_node(spec, kind, keys)}, [{parts}])"


def show_node(spec: Any, kind: type, keys: list[Any]) -> str:
    """Return the name of the class of a node, and what it keeps beside its children."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return f"namedtuple[{kind.__name__}]"
    if kind is OrderedDict:
        return f"OrderedDict[{tuple(keys)}]"
    if kind is defaultdict:
        return f"defaultdict[({spec.unflatten(spec.num_leaves * [0]).default_factory}, {tuple(keys)})]"
    text = repr(spec.one_level()).partition("CustomTreeNode(")[2]
    kept = text[len(kind.__name__) + 1 :].rpartition(f"], [{', '.join('*' * len(keys))}]")[0]
    is_text = kept[:1] == kept[-1:] in ("'", '"')
    return f"{kind.__name__}[{kept[1:-1] if is_text else kept}]"


def in_order(treedef: Any) -> Any:
    """Return a structure as JAX rebuilds trees: dicts have their keys in order, not as they were inserted."""
    if treedef is LEAF or type(treedef) is CallStructure:
        return treedef
    try:
        return known_in_order(treedef)
    except (TypeError, ValueError):  # of classes whose auxiliary data cannot be hashed or compared
        return treedef.transform(sort_keys)


@lru_cache(256)
def known_in_order(treedef: Any) -> Any:
    """Return it from the memory: structures are equal whose dicts differ in order alone."""
    return treedef.transform(sort_keys)


def sort_keys(node: Any) -> Any:
    """Return the structure of one node with its keys in order."""
    if node.type not in (dict, defaultdict):
        return node
    items = node.unflatten(range(node.num_leaves))
    for key in node.entries():
        items[key] = items.pop(key)
    return OPTREE.tree_structure(items, namespace=NAMESPACE)


UNSETTLED = object()


def settle(tree: Any, kinds: frozenset[type]) -> Any:
    """Return a tree of Python's containers, whose leaves are of these classes, with dicts in the order of their keys:
    itself, if all are. Return UNSETTLED if a leaf is of another class."""
    kind = type(tree)
    if kind in kinds:
        return tree
    if kind is dict:
        keys = [*tree]
        try:
            keys.sort()
        except TypeError:  # they have no order
            keys = [*tree]
        children = [*tree.values()]
        found = settle(children, kinds)
        if found is UNSETTLED or (found is children and keys == [*tree]):
            return found if found is UNSETTLED else tree
        known = dict(zip(tree, found))
        return {key: known[key] for key in keys}
    if kind is not tuple and kind is not list:
        return UNSETTLED
    if kinds.issuperset([type(child) for child in tree]):
        return tree
    parts = [settle(child, kinds) for child in tree]
    if any([part is UNSETTLED for part in parts]):
        return UNSETTLED
    return tree if all([part is child for part, child in zip(parts, tree)]) else kind(parts)


def flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], PyTreeDef]:
    """Return leaves and structure of a tree."""
    leaves, treedef = take_apart(tree, is_leaf)
    return leaves, PyTreeDef(treedef)


def take_apart(tree: Any, is_leaf: Any) -> tuple[list[Any], Any]:
    """Return leaves, and the structure of a tree as this library has it."""
    leaves, treedef = pytree.flatten(tree, is_object) if is_leaf is None else here.flatten(tree, is_leaf)
    return leaves, in_order(treedef)


def structure(tree: Any, is_leaf: Any = None) -> Any:
    """Return the structure of a tree."""
    return PyTreeDef(in_order(here.structure(tree, is_leaf)))


def treedef_tuple(treedefs: Iterable[Any]) -> PyTreeDef:
    """Return the structure of a tuple of trees."""
    return PyTreeDef(here.treedef_tuple([getattr(treedef, "spec", treedef) for treedef in treedefs]))


def flatten_with_path(tree: Any, is_leaf: Any = None, is_leaf_takes_path: bool = False) -> tuple[Any, Any]:
    """Return leaves with their paths, and the structure of a tree."""
    pairs, treedef = here.flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    return pairs, PyTreeDef(in_order(treedef))


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Any = None) -> Any:
    """Apply a function to the leaves of trees."""
    leaves, treedef = take_apart(tree, is_leaf)
    try:
        columns = [treedef.flatten_up_to(other) for other in rest]
    except ValueError:  # which is explained there, unless it is about arrays that can be written into
        rows: list[Any] = []
        here.map(lambda *row: rows.append(row), tree, *rest, is_leaf=is_leaf)
        leaves, *columns = zip(*rows)
    return treedef.unflatten([f(*row) for row in zip(leaves, *columns)])


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Any = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to paths and leaves of trees."""
    found: list[Any] = []
    options = {"is_leaf": is_leaf, "is_leaf_takes_path": is_leaf_takes_path}
    here.map_with_path(lambda *row: found.append(f(*row)), tree, *rest, **options)
    return flatten_with_path(tree, **options)[1].unflatten(found)


class Compared:
    """What is part of a structure and may have no hash: JAX compares it, and hashes only its class."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compared) and (self.value is other.value or self.value == other.value)

    def __hash__(self) -> int:
        try:
            return hash(self.value)
        except TypeError:
            return hash(type(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


def register_static(cls: type) -> type:
    """Register a class whose instances have no leaves; they need no hash."""
    here.register_pytree_node(cls, lambda node: ((), Compared(node)), lambda kept, _: kept.value)
    return cls


class Entry(NamedTuple):
    """How instances of a class are taken apart and put together."""

    to_iter: Callable[[Any], tuple[Iterable[Any], Any]]
    from_iter: Callable[[Any, Iterable[Any]], Any]


class Registry(Mapping[type, Entry]):
    """The classes whose instances are nodes, without those of arrays, which are nodes to this library alone."""

    def __getitem__(self, cls: type) -> Entry:
        if cls in OBJECTS:
            raise KeyError(cls)
        node = NODES[cls]
        return (
            Entry(here.flatten_one_level, put_together)
            if node is None
            else Entry(node.flatten, node.unflatten)
        )

    def __iter__(self) -> Iterator[type]:
        return (cls for cls in NODES if cls not in OBJECTS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def put_together(treedef: Any, children: Iterable[Any]) -> Any:
    """Return a container of Python's from its children."""
    return in_order(treedef).unflatten(children)


registry = Registry()
