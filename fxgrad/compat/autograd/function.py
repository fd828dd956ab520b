"""`Function`: operations with a derivative of the user's own.

The object `ctx` that `forward` and `backward` share is a `Ctx`: the Node of the tape, which users see as `grad_fn`,
apart from the attributes that it has for itself.
"""

from __future__ import annotations

import inspect
import warnings
from functools import wraps
from typing import TYPE_CHECKING, Any

from ...core import pytree, source_info
from ...core.interpreter import api_boundary
from ...core.pullback import PullbackRule
from .._core.errors import NotSupportedError, TensorError
from .._core.memory import ensure_unmodified
from .._core.modes import current_modes
from .._core.tape import FREED, FREED_MESSAGE, Edge, Node
from .._core.tensor import Tensor, make_tensor, refresh
from .grad_mode import no_grad

if TYPE_CHECKING:
    from collections.abc import Callable


class FunctionCtx:
    """The part of `ctx` with which `forward` or `setup_context` describe an application of a Function."""

    to_save: tuple = ()
    saved_for_forward: tuple = ()
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()
    materialize_grads = True

    def save_for_backward(self, *tensors) -> None:
        """Keep inputs and outputs (Tensors or None) for `backward`, to be had from `saved_tensors`. Before they are, it
        is checked that they were not modified in place."""
        self.to_save = tensors

    def save_for_forward(self, *tensors) -> None:
        """Keep inputs and outputs (Tensors or None) for `jvp`, to be had from `saved_tensors`."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors "
                    "as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args) -> None:
        """Say that these inputs are modified in place. They must be outputs as well."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args) -> None:
        """Say that these outputs have no gradient: `backward` is given zeros for them."""
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
        """Set whether `backward` (and `jvp`) are given zeros where there is no gradient; None otherwise."""
        self.materialize_grads = value


class SavedOutput:
    """An output that was saved: its place among the outputs, and its value. A Tensor would keep its own Node alive."""

    __slots__ = ("index", "value")

    def __init__(self, index: int, value):
        self.index, self.value = index, value


class BackwardCFunction(Node, PullbackRule):
    """The base of the Nodes of Functions. For each Function `F` there is a class `FBackward`.

    It is its own rule. What it keeps are Tensors, not values, since user code asks for those: of its operands, which
    lead to the rest of the graph, and never of its results. `ctx_attributes` are those of its `ctx`: see `Ctx`.
    """

    _forward_cls: Any
    pull_plain = None
    saved_from = (0,)
    saved_entries: tuple = ()
    is_in_jvp = False  # `jvp` is running
    is_freed = False

    def __init__(self, tape, needs_input_grad: tuple) -> None:
        """The other parts of a Node come with the outputs."""
        site = source_info.user_frame()
        self.code, self.lasti = site.code, site.lasti
        self.tape, self.needs_input_grad = tape, needs_input_grad
        self.ctx_attributes: dict[str, Any] = {"needs_input_grad": needs_input_grad}

    rule = property(lambda self: self)  # type: ignore[assignment]
    operation = property(lambda self: self)  # type: ignore[assignment]
    node_name = property(lambda self: type(self).__name__)

    def name(self) -> str:
        return type(self).__name__

    def __getattr__(self, name: str) -> Any:
        """Look up what the user has set on `ctx`, or may ask of it."""
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
        """See `PullbackRule`: there are none."""
        return residuals

    @property
    def saved_tensors(self) -> tuple:
        """The Tensors given to `save_for_backward`; in `jvp` those given to `save_for_forward`."""
        if self.is_in_jvp:
            return self.saved_for_forward
        if self.is_freed:
            raise TensorError(
                FREED_MESSAGE,
                hint="retain_graph=True in all calls of backward() and autograd.grad() but the last",
            )
        return tuple([self.unpack_saved(entry) for entry in self.saved_entries])

    saved_variables = saved_tensors

    def unpack_saved(self, entry) -> Tensor | None:
        """Return a saved Tensor, or raise if it was modified in place since."""
        if type(entry) is SavedOutput:
            edge = Edge(self, entry.index)
            ensure_unmodified(entry.value, self.order, edge, self)
            return make_tensor(self.tape, entry.value, edge)
        if entry is not None:
            ensure_unmodified(refresh(entry).value, self.order, None, self)
        return entry

    def pull(self, cts: dict) -> list[Any]:
        """Run the user's `backward`: see `Node`."""
        from .custom import apply_backward  # which records Functions

        return apply_backward(self, cts)

    def apply(self, *args) -> Any:
        """Call the user's `backward` with gradients of the outputs."""
        return user_backward(self._forward_cls)(Ctx(self), *args)

    def apply_jvp(self, *args) -> Any:
        """Call the user's `jvp` with tangents of the inputs."""
        self.is_in_jvp = True
        try:
            return self._forward_cls.jvp(Ctx(self), *args)
        finally:
            self.is_in_jvp = False


class Ctx(FunctionCtx):
    """The `ctx` of the user's methods: the Node as they see it, with room for attributes of every name."""

    __slots__ = ("__node",)

    def __init__(self, node: BackwardCFunction):
        self.__node = node
        self.__dict__ = node.ctx_attributes

    __class__ = property(lambda self: type(self.__node))  # type: ignore[assignment]
    saved_tensors = saved_variables = property(lambda self: self.__node.saved_tensors)

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


def user_backward(cls: type[Function]) -> Callable[..., Any]:
    """The user's `backward`, or `vjp` as it may be called."""
    backward, vjp = cls.backward, cls.vjp
    if backward is not Function.backward and vjp is not Function.vjp:
        raise TensorError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
            "implement one of them."
        )
    return vjp if vjp is not Function.vjp else backward


class FunctionMeta(type):
    """Makes the class of the Nodes of a Function along with it: `F._backward_cls` is `FBackward`."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple, namespace: dict):
        members = {"_forward_cls": cls, "__module__": cls.__module__, "__doc__": f"The Node of `{name}`."}
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), members)
        super().__init__(name, bases, namespace)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """An operation with a derivative of the user's own.

    A subclass defines static methods:

        forward(ctx, *args): the operation, on Tensors and whatever else. It is not recorded.
        backward(ctx, *grad_outputs): a gradient for each of `args`, None for what is no Tensor. `vjp` is another name.
        jvp(ctx, *grad_inputs): a tangent for each output, for forward mode.
        vmap(info, in_dims, *args): (output, out_dims) for a batch; `info.batch_size`, `info.randomness`.

    For the transforms of torch.func, `forward(*args)` does without `ctx`, and setup_context(ctx, inputs, output)
    tells it what there is to save. With `generate_vmap_rule = True`, `vmap` is made of the others. It is called as
    `F.apply`.

    >>> import fxgrad.compat as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x * x * grad
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad.numpy()
    array(12., dtype=float32)
    """

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    @api_boundary
    def __call__(self, *args, **kwargs) -> Any:
        raise TensorError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method.",
            hint=f"{type(self).__name__}.apply(…), where forward and backward are static methods",
        )

    @staticmethod
    def forward(*args, **kwargs) -> Any:
        """The operation: see `Function`."""
        raise NotSupportedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs: tuple, output) -> Any:
        """What `forward` without `ctx` leaves to be saved."""
        raise NotSupportedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs) -> Any:
        """The gradients of the inputs: see `Function`."""
        raise NotSupportedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs) -> Any:
        """The tangents of the outputs: see `Function`."""
        raise NotSupportedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims: tuple, *args) -> Any:
        """The operation on a batch: see `Function`."""
        raise NotSupportedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    @api_boundary
    def apply(cls, *args, **kwargs) -> Any:
        """The outputs of `forward`, with a history that leads to `backward`."""
        from .custom import apply_function  # which records Functions

        if has_setup_context(cls):
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, {}
        return apply_function(cls, args, kwargs)[1]


def has_setup_context(cls: type[Function]) -> bool:
    """Whether `forward` takes no `ctx`, so that `setup_context` is there."""
    return cls.setup_context is not Function.setup_context


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot be differentiated itself: that raises, instead of giving wrong results."""

    @wraps(fn)
    def wrapper(ctx, *args) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        if not current_modes().grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        made = NotTwiceDifferentiable.apply(*((outputs,) if single else outputs), *args)
        return made[0] if single else made[: len(outputs)]

    return wrapper


class NotTwiceDifferentiable(Function):
    """The identity, which cannot be differentiated."""

    @staticmethod
    def forward(ctx, *args) -> tuple:
        return tuple([a.clone() if isinstance(a, Tensor) else a for a in args])

    @staticmethod
    def backward(ctx, *grad_outputs) -> Any:
        raise TensorError(
            "trying to differentiate twice a function that was marked with @once_differentiable",
            hint="write backward with Tensor operations and without the decorator",
        )


class InplaceFunction(Function):
    """A Function with an attribute `inplace`; kept for older code."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function of nested tuples and lists of Tensors, defined by `forward_extended(ctx, *args)` and
    `backward_extended(ctx, *grad_outputs)`; kept for older code."""

    @staticmethod
    def forward_extended(ctx, *args) -> Any:
        """The operation, on nested arguments."""
        raise NotSupportedError("NestedIOFunction: forward_extended is not implemented")

    @staticmethod
    def backward_extended(ctx, *grad_outputs) -> Any:
        """The gradients of the arguments, nested like them."""
        raise NotSupportedError("NestedIOFunction: backward_extended is not implemented")

    @staticmethod
    def forward(ctx, structure, *leaves) -> tuple:
        output = ctx._forward_cls.forward_extended(ctx, *structure.unflatten(leaves))
        outputs, ctx.structure = pytree.flatten(output)
        return ctx.structure, *outputs

    @staticmethod
    def backward(ctx, _, *grads) -> tuple:
        given = ctx.structure.unflatten(grads)
        found = ctx._forward_cls.backward_extended(ctx, *(given if isinstance(given, tuple) else (given,)))
        found = found if isinstance(found, tuple) else (found,)
        return None, *pytree.flatten(found, lambda x: x is None)[0]

    @classmethod
    def apply(cls, *args) -> Any:
        """The outputs of `forward_extended`, nested as it gives them."""
        leaves, structure = pytree.flatten(args)
        structure, *outputs = super().apply(structure, *leaves)
        return structure.unflatten(outputs)


__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]
