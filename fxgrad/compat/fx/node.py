"""torch.fx.node: Node, one operation of a traced program, and functions of the arguments of Nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import EllipsisType, NoneType
from typing import Any, TypeAlias

from .._core.dtypes import dtype
from .._core.layout import memory_format
from .._core.tensor import Tensor
from .._declare.packages import complete_module
from .._make.attributes import MemoryLayout
from .._make.devices import device
from ..errors import ArgumentValueError, RequirementError
from .immutable_collections import immutable_dict, immutable_list
from .names import shown_name

Argument: TypeAlias = Any
Target: TypeAlias = Callable[..., Any] | str
LEGAL_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
# What may stand in arguments as it is.
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    dtype,
    Tensor,
    device,
    memory_format,
    MemoryLayout,
    NoneType,
    EllipsisType,
)
# Functions that are called for what they do, and not for what they return.
SIDE_EFFECTS: set[Any] = {operator.setitem, operator.delitem, setattr, print}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Say that a function does something beside returning a value: Nodes that call it are never dead code.

    Args:
        fn: the function.

    Returns:
        The function itself.

    >>> from fxgrad.compat.fx.node import has_side_effect
    >>> @has_side_effect
    ... def log(x):
    ...     print(x)
    """
    SIDE_EFFECTS.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Apply a function to all that containers hold.

    Args:
        a: an argument: containers of any depth.
        fn: what is applied to all that is no tuple, list, dict or slice.

    Returns:
        The same containers, with what the function returns in them; lists and dicts cannot be modified.

    >>> from fxgrad.compat.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: 10 * x)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(x, fn) for key, x in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Apply a function to all Nodes in an argument.

    Args:
        a: an argument: containers of any depth.
        fn: what is applied to each Node.

    Returns:
        The same containers, with what the function returns in the places of Nodes.

    Raises:
        AssertionError: `fn` cannot be called.
    """
    if not callable(fn):
        raise RequirementError(
            "torch.fx.map_arg(a, fn): fn must be a callable", hint="a function of one Node"
        )
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """One operation of a Graph.

    `op` says what it is, and `target` of what:

    - "placeholder": an input, of this name
    - "get_attr": a parameter, a buffer or another attribute of the module, by its path
    - "call_function": a function, the target itself
    - "call_module": a module inside the module, by its path
    - "call_method": the method of this name of the first argument
    - "output": the result, which is the first argument

    Nodes are made by a Graph. The arguments hold the Nodes whose values are used.

    Attributes:
        graph: the Graph.
        name: the name of the value, which is unique in the Graph.
        op, target: what is done.
        args, kwargs: the arguments, which are replaced as a whole: `node.args = (x, 2)`.
        users: the Nodes that use the value.
        meta: what programs note for a Node.
        type: the annotation, or None.

    Args:
        graph: the Graph.
        name: the name of the value.
        op: what is done.
        target: of what.
        args: the arguments.
        kwargs: those by keyword.
        return_type: the annotation.

    Raises:
        AssertionError: there is no such `op`.
        ValueError: the target does not fit to it.

    >>> graph = torch.fx.symbolic_trace(lambda x: 2 * x).graph
    >>> x, double, result = graph.nodes
    >>> double.op, double.target, double.args
    ('call_function', <built-in function mul>, (2, x))
    """

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ):
        if op not in LEGAL_OPS:
            raise RequirementError(f"op '{op}' is not in _legal_ops", hint=f"one of {LEGAL_OPS[:-1]}")
        if op == "call_function" and not callable(target):
            raise ArgumentValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is "
                "expected",
                hint="a function; the names of methods are for call_method",
            )
        if op != "call_function" and not isinstance(target, str):
            raise ArgumentValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is "
                "expected",
                hint="the name, or the path, as a text",
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.meta: dict[str, Any] = {}
        self.users: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._input_nodes: dict[Node, None] = {}
        self._erased = False
        self._prev = self._next = self
        self._fx_set_arguments(args, kwargs)

    # -- the place in the Graph ------------------------------------------
    @property
    def next(self) -> Node:
        """The Node after this one; after the last one it is the root of the Graph, which is no operation."""
        return self._next

    @property
    def prev(self) -> Node:
        """The Node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a Node to the place before this one.

        Raises:
            AssertionError: it is of another Graph.
        """
        if x.graph is not self.graph:
            raise RequirementError(
                "Attempting to move a Node into a different Graph", hint="graph.node_copy(node, transform)"
            )
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move a Node to the place after this one.

        Raises:
            AssertionError: it is of another Graph.
        """
        if x is not self._next:
            self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        """Whether this Node is before another one."""
        return self != other and any(node is other for node in self._fx_following())

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return self == other or self < other

    def __ge__(self, other: Node) -> bool:
        return self == other or other < self

    def _fx_following(self) -> Any:
        """Yield the Nodes after this one."""
        node = self._next
        while node.op != "root":
            yield node
            node = node._next

    # -- the arguments ------------------------------------------
    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments; assigned as a whole."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._fx_set_arguments(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by keyword; assigned as a whole."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._fx_set_arguments(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The Nodes whose values are used, each once."""
        return list(self._input_nodes)

    def _fx_set_arguments(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        """Replace the arguments; those that are used know their users."""
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = tuple(map_arg(list(args), use))
        self._kwargs = map_arg(dict(kwargs), use)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace the argument at a place."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert an argument before a place.

        Raises:
            AssertionError: there are not that many arguments.
        """
        if not 0 <= idx <= len(self._args):
            raise RequirementError(
                "insert_args index must be between 0 and len(self.args)", hint=f"{self} has {len(self._args)}"
            )
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace the argument of a keyword."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use the value of another Node in the place of one.

        Args:
            old_input: the Node that is used.
            new_input: the one that is used from now on.
        """
        args, kwargs = map_arg((self._args, self._kwargs), lambda n: new_input if n is old_input else n)
        self._fx_set_arguments(args, kwargs)

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Have all Nodes that use this value use that of another Node.

        Args:
            replace_with: the other one.
            delete_user_cb: (a user) → whether it is changed.
            propagate_meta: whether the other one gets the `meta` of this one, where it has none.

        Returns:
            The Nodes that were changed.

        Raises:
            AssertionError: `propagate_meta`, and the other one has `meta` already.

        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
        >>> x, relu, *_ = graph.nodes
        >>> relu.replace_all_uses_with(x)
        [add]
        >>> graph.eliminate_dead_code()
        True
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})
            return add
        """
        if propagate_meta:
            if replace_with.meta:
                raise RequirementError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys",
                    hint="replace_with.meta.clear() before",
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # -- what it is ------------------------------------------
    @property
    def stack_trace(self) -> str | None:
        """Where the operation was called, if the Tracer has recorded it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the Node does something beside computing its value: as inputs, results and assignments do.

        Args:
            impure_random: whether random draws count.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            if self.target in SIDE_EFFECTS or (name.endswith("_") and not name.endswith("__")):
                return True
            return self.kwargs.get("out") is not None or (impure_random and name.split(".")[0] in RANDOM)
        if self.op == "call_module":
            module = getattr(self.graph.owning_module, "get_submodule", None)
            return module is not None and bool(getattr(module(self.target), "is_impure", False))
        return False

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        **options: Any,
    ) -> str | None:
        """Describe the Node in a line; None for an input where names are gathered.

        Args:
            placeholder_names: a list that takes the names of inputs, or None.
            maybe_return_typename: a list whose first entry takes the annotation of the result, or None.
            options: further ones of torch, without meaning here.

        >>> [*_, output] = torch.fx.symbolic_trace(lambda x: x).graph.nodes
        >>> output.format_node()
        'return x'
        """
        annotation = "" if self.type is None else f"{show_type(self.type)} "
        target = shown_name(self.target)
        name = f"%{self.name} : {annotation}[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(
                    target if self.type is None else f"{target} : {show_type(self.type)}"
                )
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{name} = placeholder[target={target}]{default}"
        if self.op == "get_attr":
            return f"{name} = get_attr[target={target}]"
        if self.op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {show_type(self.type)}"
            return f"return {self.args[0]}"
        args, kwargs = show(self.args), show(self.kwargs)
        return f"{name} = {self.op}[target={target}](args = {args}, kwargs = {kwargs})"

    def __repr__(self) -> str:
        return self.name


RANDOM = frozenset(
    [
        "bernoulli",
        "dropout",
        "alpha_dropout",
        "feature_dropout",
        "multinomial",
        "normal",
        "poisson",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "rrelu",
    ]
)


def show(a: Argument) -> str:
    """Describe arguments, with a % before the names of Nodes; texts are as they are."""
    if isinstance(a, list):
        return f"[{', '.join(map(show, a))}]"
    if isinstance(a, tuple):
        parts = ", ".join(map(show, a))
        return f"({parts},)" if len(a) == 1 else f"({parts})"
    if isinstance(a, dict):
        return f"{{{', '.join(f'{key}: {show(x)}' for key, x in a.items())}}}"
    return f"%{a}" if isinstance(a, Node) else str(a)


def show_type(annotation: Any) -> str:
    """Write an annotation as text."""
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return shown_name(annotation).removeprefix("builtins.")
    return repr(annotation)


__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

complete_module(globals(), "fx")
