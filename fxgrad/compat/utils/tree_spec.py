"""Containers in the form of torch.utils._pytree: kinds of nodes, and the specification of a tree.

Dicts keep their order, None is a leaf, and container classes must agree exactly.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...extend import pytree
from ..errors import ArgumentError, ArgumentValueError


# -- keys: the steps of a path ------------------------------------------
class MappingKey(NamedTuple):
    """The step to an entry of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The entry."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """The step to an entry of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The entry."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """The step to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute."""
        return getattr(obj, self.name)


# -- kinds of nodes ------------------------------------------
class NodeDef(NamedTuple):
    """A kind of containers: how one is taken apart, made again, and which steps lead to its parts."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


def number_parts(parts: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Give parts the steps of a sequence."""
    return [(SequenceKey(i), part) for i, part in enumerate(parts)]


def name_parts(mapping: Any) -> list[tuple[Any, Any]]:
    """Give the parts of a mapping their steps."""
    return [(MappingKey(key), part) for key, part in mapping.items()]


SUPPORTED_NODES = {
    kind.type: kind
    for kind in (
        NodeDef(tuple, lambda x: (list(x), None), lambda c, _: tuple(c), None),
        NodeDef(list, lambda x: (list(x), None), lambda c, _: list(c), None),
        NodeDef(
            dict,
            lambda x: (list(x.values()), list(x)),
            lambda c, keys: dict(zip(keys, c, strict=True)),
            lambda x: (name_parts(x), list(x)),
        ),
        NodeDef(
            namedtuple,
            lambda x: (list(x), type(x)),
            lambda c, cls: cls(*c),
            lambda x: ([(GetAttrKey(f), v) for f, v in zip(x._fields, x, strict=True)], type(x)),
        ),
        NodeDef(
            OrderedDict,
            lambda x: (list(x.values()), list(x)),
            lambda c, keys: OrderedDict(zip(keys, c, strict=True)),
            lambda x: (name_parts(x), list(x)),
        ),
        NodeDef(
            defaultdict,
            lambda x: (list(x.values()), [x.default_factory, list(x)]),
            lambda c, made: defaultdict(made[0], zip(made[1], c, strict=True)),
            lambda x: (name_parts(x), [x.default_factory, list(x)]),
        ),
        NodeDef(deque, lambda x: (list(x), x.maxlen), lambda c, longest: deque(c, maxlen=longest), None),
    )
}


def is_namedtuple(obj: Any) -> bool:
    """Whether an object, or a class, is a namedtuple that `collections.namedtuple` or `typing.NamedTuple` has made."""
    cls = obj if isinstance(obj, type) else type(obj)
    fields = getattr(cls, "_fields", None)
    return issubclass(cls, tuple) and isinstance(fields, tuple) and callable(getattr(cls, "_make", None))


def node_of(tree: Any) -> NodeDef | None:
    """The kind of a container, or None for a leaf."""
    kind = type(tree)
    found = SUPPORTED_NODES.get(kind)
    return SUPPORTED_NODES[namedtuple] if found is None and is_namedtuple(kind) else found


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Let instances of a class be containers, for the functions here and for the transforms of torch.func.

    Args:
        cls: the class.
        flatten_fn: an instance → (its parts, whatever else it is made of).
        unflatten_fn: (parts, the rest) → an instance.
        serialized_type_name, to_dumpable_context, from_dumpable_context: how torch writes it; accepted.
        flatten_with_keys_fn: an instance → ((step, part) pairs, the rest).

    Raises:
        ArgumentError: it is no class.
        ArgumentValueError: it is registered already.

    >>> from fxgrad.compat.utils import _pytree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> _pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> _pytree.tree_leaves({"x": Pair(1, [2, 3])})
    [1, 2, 3]
    """
    if not isinstance(cls, type):
        raise ArgumentError(f"{cls!r} is no class", hint="register_pytree_node(MyClass, …)")
    if cls in SUPPORTED_NODES:
        raise ArgumentValueError(
            f"{cls} is already registered as pytree node.",
            hint="once for each class, in the module that defines it",
        )
    if not pytree.is_tree_node(cls):
        pytree.register_pytree_node(cls, flatten_fn, lambda rest, parts: unflatten_fn(list(parts), rest))
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


# -- specifications ------------------------------------------
class TreeSpec:
    """The structure of a container: its class, its further data (`context`), and the structures of its children. A leaf
    has the class None.

    `num_nodes` counts containers and leaves, `num_leaves` leaves, `num_children` the parts.
    """

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any = None, children_specs: Iterable[TreeSpec] = ()):
        self.type, self.context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in self._children)

    def is_leaf(self) -> bool:
        """Whether this is the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the parts."""
        return self._children.copy()

    children_specs = property(children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one part."""
        return self._children[index]

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree where this structure has its leaves.

        Raises:
            ArgumentValueError: the tree has another structure above.
        """
        if self.is_leaf():
            return [tree]
        kind = node_of(tree)
        if kind is None or kind.type != self.type:
            raise ArgumentValueError(
                f"Node type mismatch; expected {self.type!r}, but got {type(tree) if kind is None else kind.type!r}.",
                hint=f"a {self.type.__name__} there, as in the tree that the spec is of",
            )
        parts, context = kind.flatten_fn(tree)
        parts = list(parts)
        if self.type in (dict, OrderedDict, defaultdict):
            parts = self._fx_in_order(tree)
        elif len(parts) != self.num_children:
            raise ArgumentValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(parts)}.",
                hint=f"{self.num_children} parts there, as in the tree that the spec is of",
            )
        elif self.type is not deque and context != self.context:
            raise ArgumentValueError(
                f"Node context mismatch for custom node type {self.type!r}."
                if self.type is not namedtuple
                else f"Node type mismatch; expected {self.context!r}, but got {context!r}."
            )
        return [
            x for part, child in zip(parts, self._children, strict=True) for x in child.flatten_up_to(part)
        ]

    def _fx_in_order(self, mapping: Any) -> list[Any]:
        """The entries of a mapping in the order of this one's keys."""
        keys = self.context[1] if self.type is defaultdict else self.context
        missing, extra = set(keys) - set(mapping), set(mapping) - set(keys)
        if missing or extra:
            texts = [
                f"; {what} key(s): {found}"
                for what, found in (("missing", missing), ("extra", extra))
                if found
            ]
            raise ArgumentValueError(f"Node keys mismatch{''.join(texts)}.", hint=f"the keys {list(keys)}")
        return [mapping[key] for key in keys]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves.

        Raises:
            ArgumentValueError: there are more or fewer.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ArgumentValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self}).",
                hint=f"{self.num_leaves} leaves, as tree_flatten gave them",
            )
        return self._fx_build(iter(leaves))

    def _fx_build(self, leaves: Any) -> Any:
        if self.is_leaf():
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [child._fx_build(leaves) for child in self._children], self.context
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec)
            and self.type == other.type
            and self.context == other.context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        return hash((self.type, str(self.context), tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        inside = indent + 2
        parts = [child.__repr__(inside) for child in self._children]
        rest = "".join(f",\n{' ' * inside}{part}" for part in parts[1:])
        return f"TreeSpec({self.type.__name__}, {self.context}, [{''.join(parts[:1])}{rest}])"


PyTreeSpec = TreeSpec


def LeafSpec() -> TreeSpec:
    """The structure of a leaf."""
    return TreeSpec(None)
