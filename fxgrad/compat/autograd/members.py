"""What a Tensor has of autograd: `grad`, `requires_grad_`, `detach`, `data`, and hooks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...core.aval import aval_of, is_differentiable, kind_of
from ...core.interpreter import boundary
from ...transforms.jvp import JVPInterpreter
from .._core.dtypes import from_numpy_dtype
from .._core.errors import ArgumentError, TensorError
from .._core.hooks import HookList, RemovableHandle, hooks_of
from .._core.memory import alias, is_array
from .._core.modes import current_modes
from .._core.tape import LEAF, as_edge, leaf_of
from .._core.tensor import Tensor, current, follow_history, parent_of
from .._core.views import detached, exchange, replace, stopped
from .._declare.operation import exposed

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGE = "you can only change requires_grad flags of leaf variables."


@exposed("method")
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Have a leaf require a gradient, or not; the Tensor itself is returned.

    Raises:
        RuntimeError: it is no leaf, or neither floating nor complex.
    """
    if type(requires_grad) is not bool:
        raise TensorError("requires_grad must be a bool")
    if not self.is_leaf:
        if requires_grad:
            return self
        raise TensorError(
            f"{CHANGE} If you want to use a computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
    if requires_grad and not is_differentiable(aval_of(self.value).dtype):
        raise TensorError(
            "only Tensors of floating point dtype can require gradients",
            hint="t.to(torch.float32), or leave it: what has no derivative is constant",
        )
    if requires_grad and self.is_inference_tensor and not current_modes().inference:
        raise TensorError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )
    self.node = LEAF if requires_grad else None
    return self


@boundary
def set_requires_grad(self: Tensor, requires_grad: bool) -> None:
    """As `requires_grad_`; what is no leaf cannot be asked at all."""
    if requires_grad and not self.is_leaf:
        raise TensorError(CHANGE)
    requires_grad_(self, requires_grad)


exposed("method", "requires_grad")(Tensor.requires_grad.setter(set_requires_grad))


@exposed("function method")
def detach(input: Tensor) -> Tensor:
    """A Tensor that shares the memory and has no history."""
    return detached(input, current(input).value)


@exposed("function method")
def detach_(self: Tensor) -> Tensor:
    """Take the history from this Tensor, which becomes a leaf.

    Raises:
        RuntimeError: it is a view.
    """
    if self.aspect is not None and self.aspect.base is not None:
        raise TensorError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
        )
    self.node = None
    if self.aspect is not None:
        self.aspect.tangent = None
    if not is_array(self.value) and not self.tape.differentiates:
        level = self.tape.outer.interpreter
        # Like the history, a tangent is that of the innermost level.
        own = isinstance(level, JVPInterpreter)
        replace(self, level.pair(self.value)[0] if own else stopped(self.value, self.tape))
    return self


def get_grad(self: Tensor) -> Tensor | None:
    """The gradient that backward has accumulated, or None."""
    grad = self._grad
    if grad is None and not self.is_leaf and not self.retains_grad:
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
            "sure you access the leaf Tensor instead.",
            UserWarning,
            stacklevel=2,
        )
    return grad


@boundary
def set_grad(self: Tensor, grad: Any) -> None:
    """Take a Tensor of the same shape and dtype, or None. Later gradients are added to it in place."""
    if grad is not None:
        if not isinstance(grad, Tensor):
            raise ArgumentError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}"
            )
        if grad is self:
            raise TensorError("can't assign Variable as its own grad")
        have, want = aval_of(current(grad).value), aval_of(current(self).value)
        if have.dtype != want.dtype:
            raise TensorError(
                f"attempting to assign a gradient with dtype '{from_numpy_dtype(have.dtype)}' to a tensor with dtype "
                f"'{from_numpy_dtype(want.dtype)}'."
            )
        if is_array(grad.value) and is_array(self.value) and type(grad.value) is not type(self.value):
            raise TensorError("attempting to assign a gradient on another device than that of the tensor")
        if have.shape != want.shape:
            raise TensorError(
                f"attempting to assign a gradient of size '{list(have.shape)}' to a tensor of size "
                f"'{list(want.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
    self._grad = grad


def delete_grad(self: Tensor) -> None:
    """The same as to set it to None."""
    self._grad = None


exposed("method", "grad")(property(get_grad, set_grad, delete_grad))


def get_data(self: Tensor) -> Tensor:
    """The same memory without history; what is done to it there goes unnoticed: see `detach` for the safe way."""
    value = current(self).value
    return detached(self, alias(value) if is_array(value) else value)


@boundary
def set_data(self: Tensor, data: Any) -> None:
    """Take the value of another Tensor, memory and all, and keep the history."""
    if not isinstance(data, Tensor):
        raise ArgumentError(f"Variable data has to be a tensor, but got {type(data).__name__}")
    value = current(data).value
    if self.requires_grad and kind_of(aval_of(value).dtype) not in "fc":
        raise TensorError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    if is_array(value):
        exchange(self, value)
    else:
        self.value = value
    if self.leaf is not None:
        self.leaf.value = value


exposed("method", "data")(property(get_data, set_data))


# -- hooks ------------------------------------------
@exposed("method")
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Have `hook(grad)` called whenever the gradient of this Tensor is computed; what it returns, if not None, is used
    in its place.

    Returns:
        A handle whose `remove()` takes it away again.

    Raises:
        RuntimeError: the Tensor requires no gradient.

    >>> import fxgrad.compat as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 2):
    ...     (x * x).sum().backward()
    >>> x.grad.tolist()
    [4.0, 8.0]
    """
    if not self.requires_grad:
        raise TensorError("cannot register a hook on a tensor that doesn't require gradient")
    node, index = as_edge(parent_of(self))
    return hooks_of(node).results.setdefault(index, HookList()).add(hook)


@exposed("method")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Have `hook(tensor)` called whenever a gradient of this leaf was added to its `.grad`, as soon as it is complete.

    Raises:
        RuntimeError: the Tensor is no leaf, or requires no gradient.
    """
    if not self.requires_grad:
        raise TensorError("cannot register a hook on a tensor that doesn't require gradient")
    if self.node is not LEAF:
        raise TensorError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return hooks_of(leaf_of(self)).accumulated.add(hook)


@exposed("method")
def retain_grad(self: Tensor) -> None:
    """Have `.grad` of a Tensor that is no leaf filled by backward; on a leaf it always is.

    Raises:
        RuntimeError: the Tensor requires no gradient; or `grad` of torch.func differentiates it, which hands out the
            gradients of its arguments and leaves none behind.
    """
    if self.tape.differentiates:
        raise TensorError(
            "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch "
            "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
            "jacfwd, hessian) or call retain_grad() outside of a function being transformed instead.",
            hint="autograd.grad(y, x) gives a gradient inside the function",
        )
    if not self.requires_grad:
        raise TensorError("can't retain_grad on Tensor that has requires_grad=False")
    if self.node is not LEAF:
        self.retains = True
        follow_history(self)


exposed("method", "retains_grad")(property(lambda self: self.retains and not self.is_leaf))
