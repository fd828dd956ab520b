"""The Node of a Function, its `ctx`, and the methods of a Function.

The object `ctx` that `forward` and `backward` share is a `Ctx`: it is the Node of the tape that users see as `grad_fn`,
with a separate set of attributes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import (
    CURRENT,
    EVAL,
    Context,
    PullbackRule,
    acting_level,
    aval_of,
    kind_of,
    levels,
    projection,
    source_info,
)
from .._core.anomaly import note_call
from .._core.backward.accumulation import to_cotangent, to_gradient
from .._core.backward.saved_tensors import SavedTensor
from .._core.error_messages import tensor_hint
from .._core.memory import ensure_unmodified
from .._core.modes import current_modes, use_user_context, with_modes
from .._core.packing import PackedValue
from .._core.tape import BASE_TAPE, FREED, AccumulateGrad, Edge, Node, current_tape, freed_error
from .._core.tensor import Tensor, gradient_edge, make_tensor, refresh
from ..errors import NotSupportedError, TensorError


class FunctionCtx:
    """The part of `ctx` with which `forward` or `setup_context` describe an application of a Function.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    to_save: tuple = ()
    saved_for_forward: tuple = ()
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()
    materialize_grads = True

    def save_for_backward(self, *tensors) -> None:
        """Keep inputs and outputs (Tensors or None) for `backward`, to be had from `saved_tensors`. Before they are, it
        is checked that they were not modified in place. `FunctionCtx` has an example.

        Args:
            tensors: the Tensors, or None; a second call replaces those of the first.

        Raises:
            TypeError: one is neither a Tensor nor None.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors) -> None:
        """Keep inputs and outputs (Tensors or None) for `jvp`, which reads them from `saved_tensors`.

        Raises:
            AssertionError: something is no Tensor.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors "
                    "as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args) -> None:
        """Declare that these inputs are modified in place. They must be outputs as well.

        Args:
            args: the inputs.

        >>> class DoubleInPlace(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> y = x.clone()
        >>> DoubleInPlace.apply(y).backward()
        >>> y.item(), x.grad
        (6.0, tensor(2.))
        """
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args) -> None:
        """Declare that these outputs have no gradient: `backward` is given zeros for them.

        Args:
            args: the outputs.

        >>> class SortedWithPlaces(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, places = x.sort()
        ...         ctx.mark_non_differentiable(places)
        ...         ctx.save_for_backward(places)
        ...         return values, places
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad, _):
        ...         (places,) = ctx.saved_tensors
        ...         return torch.zeros_like(grad).index_put((places,), grad)
        >>> x = torch.tensor([3.0, 1.0], requires_grad=True)
        >>> values, places = SortedWithPlaces.apply(x)
        >>> values.requires_grad, places.requires_grad
        (True, False)
        """
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs) -> None:
        """Do nothing; deprecated."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether `backward` (and `jvp`) are given zeros if there is no gradient; None otherwise.

        Args:
            value: whether there are zeros.

        >>> class Split(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return x.clone(), x.clone()
        ...
        ...     @staticmethod
        ...     def backward(ctx, first, second):
        ...         print("the second is", second)
        ...         return first
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Split.apply(x)[0].backward()
        the second is None
        """
        self.materialize_grads = value


class SavedOutput:
    """An output that was saved: its place among the outputs, and its value. A Tensor would keep its own Node alive."""

    __slots__ = ("_fx_value", "index")

    def __init__(self, index: int, value):
        self.index, self._fx_value = index, value


class PackedEntry:
    """A saved Tensor that a hook has packed; an output is known by its number, an operand by its edge."""

    __slots__ = ("edge", "index", "packed")

    def __init__(self, packed: PackedValue, index: int | None, edge):
        self.packed, self.index, self.edge = packed, index, edge


class BackwardCFunction(Node, PullbackRule):
    """The base of the Nodes of Functions. For each Function `F` there is a class `FBackward`.

    It is its own rule. What it keeps are Tensors, not values, since user code asks for those: of its operands, which
    lead to the rest of the graph, and never of its results. `ctx_attributes` are those of its `ctx`: see `Ctx`.

    Args:
        tape: the level that records it.
        needs_input_grad: for each argument, whether it needs a gradient.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> y = Double.apply(torch.tensor(3.0, requires_grad=True))
    >>> isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction), y.grad_fn.name()
    (True, 'DoubleBackward')
    """

    _forward_cls: Any
    is_named = True
    pull_plain = None
    saved_from = (0,)
    saved_entries: tuple = ()
    is_in_jvp = False  # `jvp` is running
    is_freed = False

    def __init__(self, tape, needs_input_grad: tuple) -> None:
        """The other parts of a Node come with the outputs."""
        site = source_info.user_frame()
        self.code, self.lasti = site.code, site.lasti
        note_call(self)
        self.tape, self.needs_input_grad = tape, needs_input_grad
        self.ctx_attributes: dict[str, Any] = {"needs_input_grad": needs_input_grad}

    rule = property(lambda self: self)  # type: ignore[assignment]
    operation = property(lambda self: self)  # type: ignore[assignment]
    node_name = property(lambda self: type(self).__name__, doc="The name of its class.")

    def name(self) -> str:
        return type(self).__name__

    def __getattr__(self, name: str) -> Any:
        """Look up an attribute that the user has set on `ctx`, or a member that `ctx` offers."""
        if name != "attributes" and (name in self.ctx_attributes or hasattr(FunctionCtx, name)):
            return getattr(Ctx(self), name)
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.ctx_attributes]

    @property
    def residuals(self) -> tuple:  # type: ignore[override]
        """No residuals that backward has to check: the user's code asks for `saved_tensors`."""
        return ()

    @residuals.setter
    def residuals(self, value) -> None:
        if value is FREED:
            self.saved_entries, self.is_freed = (), True

    def map_residuals(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`: there are no residuals."""
        return residuals

    @property
    def saved_tensors(self) -> tuple:
        """The Tensors given to `save_for_backward`; in `jvp` those given to `save_for_forward`.

        Raises:
            RuntimeError: they have been freed.
        """
        if self.is_in_jvp:
            return self.saved_for_forward
        if self.is_freed:
            raise freed_error()
        return tuple([self.unpack_saved(entry) for entry in self.saved_entries])

    @property
    def saved_variables(self) -> tuple:
        """The former name of `saved_tensors`; deprecated."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=3
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """The places where the `saved_tensors` are kept."""
        if self.is_freed:
            raise freed_error()
        return tuple([SavedTensor.of(self, i) for i in range(len(self.saved_entries))])

    def save(self, entries: Sequence[Any]) -> None:
        """Keep the Tensors of `save_for_backward`, packed if there are hooks."""
        self.saved_entries = tuple(entries)
        packing = current_modes().packing
        if packing:
            for i, entry in enumerate(entries):
                if entry is not None and packing[-1].accepts(entry._fx_value):
                    self.write_saved(i, packing[-1].pack(self.unpack_saved(entry)))

    def read_saved(self, name: int) -> Any:
        """Return the kept Tensors of one kind: see `saved_tensors.read_saved`."""
        if self.is_freed:
            return FREED
        entry = self.saved_entries[name]
        return entry.packed if type(entry) is PackedEntry else entry

    def write_saved(self, name: int, packed: PackedValue) -> None:
        """Keep a PackedValue in place of the Tensor that is kept there.

        Args:
            name: the number of the Tensor among those that are kept.
            packed: the PackedValue.
        """
        entries = list(self.saved_entries)
        entry = entries[name]
        is_output = type(entry) is SavedOutput
        edge = None if is_output or entry._fx_tape is not self.tape else gradient_edge(entry)
        entries[name] = PackedEntry(packed, entry.index if is_output else None, edge)
        self.saved_entries = tuple(entries)

    def open_saved(self, name: int) -> Tensor | None:
        """Return the Tensor that is kept in a place."""
        return self.unpack_saved(self.saved_entries[name])

    def unpack_saved(self, entry) -> Tensor | None:
        """Return a saved Tensor; raise if it was modified in place since."""
        if type(entry) is PackedEntry:
            value, edge = entry.packed.unpack(), entry.edge
            if type(edge) is AccumulateGrad:
                return edge.stand_in(value)
            return make_tensor(self.tape, value, edge if entry.index is None else Edge(self, entry.index))
        if type(entry) is SavedOutput:
            edge = Edge(self, entry.index)
            ensure_unmodified(entry._fx_value, self.order, edge, self)
            return make_tensor(self.tape, entry._fx_value, edge)
        if entry is not None:
            ensure_unmodified(refresh(entry)._fx_value, self.order, None, self)
        return entry

    def pull(self, cts: dict) -> list[Any]:
        """Compute the cotangents of the Tensors among the inputs by the user's `backward`: see `Node`.

        Raises:
            RuntimeError: `backward` has returned another number of gradients, or one of another shape.
        """
        context, tape = CURRENT.get(), self.tape
        create = tape is not BASE_TAPE or any(level is BASE_TAPE for level in levels())
        if tape is not BASE_TAPE:
            # What was saved may belong to a tape that is closed, which operations have to look at.
            inside = Context(context.interpreter, context.observer, context.modes)
        else:
            if acting_level(context) in (EVAL.interpreter, BASE_TAPE):
                bottom = Context(EVAL.interpreter, None, context.modes)
                context = bottom if context.observer is None else context.observer.above(bottom)
            inside = with_modes(context, grad=create)
        with use_user_context(inside):
            given = [as_grad_output(self, cts.get(i), aval) for i, aval in enumerate(self.result_avals)]
            results = self.apply(*given)
            results = results if isinstance(results, tuple) else (results,)
            return check_cotangents(self, results, create)

    def apply(self, *args) -> Any:
        """Call the user's `backward` with gradients of the outputs.

        Raises:
            RuntimeError: both `backward` and `vjp` are defined.
        """
        return user_backward(self._forward_cls)(Ctx(self), *args)

    def apply_jvp(self, *args) -> Any:
        """Call the user's `jvp` with tangents of the inputs."""
        self.is_in_jvp = True
        try:
            return self._forward_cls.jvp(Ctx(self), *args)
        finally:
            self.is_in_jvp = False


class Ctx(FunctionCtx):
    """The user's `ctx`: a Node that accepts attributes of any name."""

    __slots__ = ("__node",)

    def __init__(self, node: BackwardCFunction):
        self.__node = node
        self.__dict__ = node.ctx_attributes

    __class__ = property(lambda self: type(self.__node))  # type: ignore[assignment]
    saved_tensors = property(lambda self: self.__node.saved_tensors)
    saved_variables = property(lambda self: self.__node.saved_variables)

    def __getattr__(self, name: str) -> Any:
        if name not in NODE_ATTRIBUTES:
            raise AttributeError(f"'{type(self.__node).__name__}' object has no attribute '{name}'")
        return getattr(self.__node, name)

    def __repr__(self) -> str:
        return repr(self.__node)


# What a `ctx` has of its Node.
NODE_ATTRIBUTES = {
    "_forward_cls",
    "_sequence_nr",
    "apply",
    "apply_jvp",
    "metadata",
    "name",
    "next_functions",
    "register_hook",
    "register_prehook",
}


def as_grad_output(node, ct, aval) -> Tensor | None:
    """Wrap a cotangent of an output for the user; a missing one becomes zeros."""
    if ct is not None:
        return to_gradient(ct)
    if aval is None or not node.materialize_grads:
        return None
    return make_tensor(current_tape(), np.zeros(aval.shape, aval.dtype))


def check_cotangents(node, results: tuple, create: bool) -> list[Any]:
    """Check the gradients that `backward` returned, and convert them to cotangents of the inputs that need one."""
    count = len(node.needs_input_grad)
    check_gradient_places(type(node).__name__, results, count, node.places)
    found = []
    for k, (place, parent, aval) in enumerate(zip(node.places, node.next_edges, node.operands)):
        result = results[place]
        if result is not None and not isinstance(result, Tensor):
            raise TensorError(
                f"expected Variable or None (got {type(result).__name__})", hint=tensor_hint(result)
            )
        if result is None or parent is None:
            found.append(None)
            continue
        if not is_expandable(aval.shape, result.shape):
            raise TensorError(
                f"Function {node.name()} returned an invalid gradient at index {k} - got {list(result.shape)} but "
                f"expected shape compatible with {list(aval.shape)}",
                hint=f"gradient.sum(…) over what was broadcast, or gradient.reshape({list(aval.shape)})",
            )
        if result.dtype.is_complex and kind_of(aval.dtype) != "c":
            raise TensorError(
                f"Function {node.name()} returned an invalid gradient at index {k} - it is complex, and the input is "
                "real",
                hint="return gradient.real, which is the gradient of a real input",
            )
        ct = to_cotangent(result, create)
        have = aval_of(ct)
        found.append(
            ct if have.shape == aval.shape and have.dtype == aval.dtype else projection.project(ct, aval)
        )
    return found


def check_gradient_places(name: str, results: tuple, count: int, places: Sequence[int]) -> None:
    """Raise unless `backward` returned one gradient for each argument, and None for arguments that are not Tensors."""
    if len(results) < count or any(r is not None for r in results[count:]):
        raise TensorError(
            f"function {name} returned an incorrect number of gradients (expected {count}, got {len(results)})",
            hint=f"return one for each argument of forward without ctx: {count}, with None for what is no Tensor",
        )
    for i, result in enumerate(results[:count]):
        if i not in places and result is not None:
            raise TensorError(
                f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding "
                "forward input was not a Variable",
                hint=f"None in place {i} of what backward returns",
            )


def is_expandable(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Whether a Tensor of a shape could be expanded to another."""
    extra = len(to) - len(shape)
    return extra >= 0 and all(m in (1, n) for m, n in zip(shape, to[extra:]))


# -- the methods of a Function ------------------------------------------
class FunctionMeta(type):
    """Makes the class of the Nodes of a Function along with it: `F._backward_cls` is `FBackward`.

    Args:
        name: as of every class.
        bases: as of every class.
        attrs: as of every class.

    >>> class Double(torch.autograd.Function):
    ...     pass
    >>> Double._backward_cls.__name__
    'DoubleBackward'
    """

    def __init__(cls, name: str, bases: tuple, attrs: dict):
        members = {"_forward_cls": cls, "__module__": cls.__module__, "__doc__": f"The Node of `{name}`."}
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), members)
        super().__init__(name, bases, attrs)


class SingleLevelFunction(FunctionCtx, metaclass=FunctionMeta):
    """The application of a `Function` at one level."""

    generate_vmap_rule = False
    _fx_apply_to_entries: Any  # its application to a batch: see `vmap_rule`

    @staticmethod
    def forward(*args, **kwargs) -> Any:
        """The operation: see `Function`."""
        raise NotSupportedError(
            "You must implement the forward function for custom autograd.Function.",
            hint="@staticmethod def forward(ctx, x): …, or forward(x) with setup_context(ctx, inputs, output)",
        )

    @staticmethod
    def setup_context(ctx, inputs: tuple, output) -> Any:
        """Save what `backward` needs; for a `forward` that takes no `ctx`.

        Args:
            inputs: the arguments of `forward`, a tuple.
            output: what it returned.
        """
        raise NotSupportedError(
            "setup_context is not implemented.",
            hint="@staticmethod def setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs)",
        )

    @staticmethod
    def backward(ctx, *grad_outputs) -> Any:
        """The gradients of the inputs: see `Function`."""
        raise NotSupportedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD.",
            hint="@staticmethod def backward(ctx, gradient): …, a gradient for each argument of forward",
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs) -> Any:
        """The tangents of the outputs: see `Function`."""
        raise NotSupportedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
            hint="@staticmethod def jvp(ctx, tangent): …, a tangent for each output of forward",
        )

    @staticmethod
    def vmap(info, in_dims: tuple, *args) -> Any:
        """The operation on a batch: see `Function`."""
        raise NotSupportedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True.",
            hint="generate_vmap_rule = True in the class, if forward and backward are made of torch's operations",
        )


def has_setup_context(cls: type[SingleLevelFunction]) -> bool:
    """Whether `forward` takes no `ctx`, so that the class defines `setup_context`."""
    return cls.setup_context is not SingleLevelFunction.setup_context


def user_backward(cls: type[SingleLevelFunction]) -> Callable[..., Any]:
    """The user's `backward`, which may also be called `vjp`."""
    backward, vjp = cls.backward, cls.vjp
    if backward is not SingleLevelFunction.backward and vjp is not SingleLevelFunction.vjp:
        raise TensorError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
            "implement one of them.",
            hint="delete one of them: vjp is another name of backward",
        )
    return vjp if vjp is not SingleLevelFunction.vjp else backward
