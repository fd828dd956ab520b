"""`Function`: operations with a user-defined derivative."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from ...extend import CURRENT, api_boundary, is_object, pytree
from .._core.modes import current_modes
from .._core.tensor import Tensor
from ..errors import NotSupportedError, TensorError
from .custom import apply_function
from .function_node import (
    BackwardCFunction,
    FunctionCtx,
    FunctionMeta,
    SingleLevelFunction,
    has_setup_context,
)
from .grad_mode import no_grad
from .vmap_rule import apply_to_entries


class Function(SingleLevelFunction):
    """An operation with a derivative of the user's own.

    A subclass defines static methods:

        forward(ctx, *args): the operation, on Tensors and whatever else. It is not recorded.
        backward(ctx, *grad_outputs): a gradient for each of `args`, None for what is no Tensor. `vjp` is another name.
        jvp(ctx, *grad_inputs): a tangent for each output, for forward mode.
        vmap(info, in_dims, *args): (output, out_dims) for a batch; `info.batch_size`, `info.randomness`.

    It is differentiated by the Tensors among `args` themselves; those in lists and dicts, and keywords, are constants.

    For the transforms of torch.func, `forward(*args)` does without `ctx`, and setup_context(ctx, inputs, output)
    tells it what there is to save. With `generate_vmap_rule = True`, `vmap` is made of the others. It is called as
    `F.apply`.

    Args:
        kwargs: no instance is to be made: `apply` is a class method.

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

    _fx_apply_to_entries = classmethod(apply_to_entries)

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

    @classmethod
    @api_boundary
    def apply(cls, *args, **kwargs) -> Any:
        """The outputs of `forward`, with a history that leads to `backward`.

        Args:
            args: those of `forward` after `ctx`.
            kwargs: those of `forward` by name.

        Returns:
            What `forward` returns, its Tensors with this history.

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> Double.apply(torch.tensor(3.0, requires_grad=True))
        tensor(6., grad_fn=<DoubleBackward>)
        """
        if has_setup_context(cls):
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs if kwargs else kwargs
        observer = CURRENT.get().observer
        if observer is None:
            return apply_function(cls, args, kwargs)[1]
        run = partial(apply_function, cls, args, kwargs)
        return observer.observe("custom", cls.__name__, args, run, node_number)[1]


def node_number(applied: tuple[Any, Any]) -> int | None:
    """The number of the node of a recorded application."""
    node = applied[0]
    return node.order if hasattr(node, "next_edges") else None


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot be differentiated itself: that raises, instead of giving wrong results.

    Args:
        fn: the `backward`.

    Returns:
        A `backward` whose results raise a RuntimeError in their own backward.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

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
    """A Function with an attribute `inplace`; kept for older code.

    Args:
        inplace: the attribute.

    >>> issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)
    True
    """

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function of nested tuples and lists of Tensors, defined by `forward_extended(ctx, *args)` and
    `backward_extended(ctx, *grad_outputs)`; kept for older code.

    Args:
        kwargs: no instance is to be made: `apply` is a class method.

    >>> class SumOfPair(torch.autograd.function.NestedIOFunction):
    ...     @staticmethod
    ...     def forward_extended(ctx, pair):
    ...         return pair[0] + pair[1]
    ...
    ...     @staticmethod
    ...     def backward_extended(ctx, grad):
    ...         return ((grad, grad),)
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> SumOfPair.apply((x, x)).backward()
    >>> x.grad
    tensor(2.)
    """

    @staticmethod
    def forward_extended(ctx, *args) -> Any:
        """The operation, on nested arguments."""
        raise NotSupportedError(
            "NestedIOFunction: forward_extended is not implemented",
            hint="define forward_extended(ctx, *args) in the subclass",
        )

    @staticmethod
    def backward_extended(ctx, *grad_outputs) -> Any:
        """The gradients of the arguments, nested like them."""
        raise NotSupportedError(
            "NestedIOFunction: backward_extended is not implemented",
            hint="define backward_extended(ctx, *grad_outputs) in the subclass",
        )

    @staticmethod
    def forward(ctx, structure, *leaves) -> tuple:
        output = ctx._forward_cls.forward_extended(ctx, *structure.unflatten(leaves))
        outputs, ctx.structure = pytree.flatten(output, is_object)
        return ctx.structure, *outputs

    @staticmethod
    def backward(ctx, _, *grads) -> tuple:
        given = ctx.structure.unflatten(grads)
        found = ctx._forward_cls.backward_extended(ctx, *(given if isinstance(given, tuple) else (given,)))
        found = found if isinstance(found, tuple) else (found,)
        return None, *pytree.flatten(found, lambda x: x is None or is_object(x))[0]

    @classmethod
    def apply(cls, *args) -> Any:
        """The outputs of `forward_extended`, with their nesting."""
        leaves, structure = pytree.flatten(args, is_object)
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
