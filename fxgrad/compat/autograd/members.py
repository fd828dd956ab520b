"""The members of a Tensor that belong to autograd: `grad`, `requires_grad_`, `detach`, `data`, and hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ...extend import (
    JVPInterpreter,
    api_boundary,
    aval_of,
    device_of,
    is_differentiable,
    kind_of,
    source_info,
)
from .._core.bits import memory_array
from .._core.dtypes import from_numpy_dtype
from .._core.error_messages import tensor_hint
from .._core.hooks import HookList, RemovableHandle, ensure_hooks
from .._core.memory import alias_memory, is_array
from .._core.modes import current_modes
from .._core.tape import LEAF, grad_accumulator, node_and_index
from .._core.tensor import Tensor, attach_retain_hook, gradient_edge, refresh
from .._core.views import make_detached, mark_inference, rebind_value, replace_memory, stop_outer_gradient
from .._declare.spaces import expose
from ..errors import ArgumentError, TensorError

NO_HOOK = "cannot register a hook on a tensor that doesn't require gradient"
CHANGE = "you can only change requires_grad flags of leaf variables."


@expose("method")
def requires_grad_(self: Tensor, mode: bool = True) -> Tensor:
    """Have a leaf require a gradient, or not; the Tensor itself is returned.

    Raises:
        RuntimeError: it is no leaf, or neither floating nor complex.
    """
    if type(mode) is not bool:
        raise TensorError(
            "requires_grad must be a bool",
            hint="x.requires_grad_(True) or x.requires_grad_(False)",
        )
    if not self.is_leaf:
        if mode:
            return self
        raise TensorError(
            f"{CHANGE} If you want to use a computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach().",
            hint="x = x.detach(), or the whole computation under torch.no_grad()",
        )
    if mode and not is_differentiable(aval_of(self._fx_value).dtype):
        raise TensorError(
            "only Tensors of floating point dtype can require gradients",
            hint="t.to(torch.float32), or leave it: what has no derivative is constant",
        )
    if mode and self._fx_is_inference_tensor and not current_modes().inference:
        raise TensorError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
            hint="x.clone().requires_grad_()",
        )
    self._fx_node = LEAF if mode else None
    return self


@api_boundary
def set_requires_grad(self: Tensor, requires_grad: bool) -> None:
    """Set `requires_grad`; a Tensor that is no leaf raises in any case."""
    if requires_grad and not self.is_leaf:
        raise TensorError(CHANGE, hint="x.detach().requires_grad_(), or x.retain_grad() for its gradient")
    requires_grad_(self, requires_grad)


expose("method", "requires_grad")(Tensor.requires_grad.setter(set_requires_grad))


@expose("function method")
def detach(input: Tensor) -> Tensor:
    """A Tensor that shares the memory and has no history."""
    return make_detached(input, memory_array(refresh(input)))


@expose("function method")
def detach_(input: Tensor) -> Tensor:
    """Take the history from this Tensor, which becomes a leaf.

    Raises:
        RuntimeError: it is a view.
    """
    if input._fx_view_meta is not None and input._fx_view_meta.base is not None:
        raise TensorError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.",
            hint="x = x.detach(), a new Tensor on the same memory",
        )
    input._fx_node = None
    if input._fx_view_meta is not None:
        input._fx_view_meta.tangent = None
    if not is_array(input._fx_value) and not input._fx_tape.is_differentiating:
        level = input._fx_tape.outer.interpreter
        # Like the history, a tangent is that of the innermost level.
        own = isinstance(level, JVPInterpreter)
        rebind_value(
            input,
            level.primal_and_tangent(input._fx_value)[0]
            if own
            else stop_outer_gradient(input._fx_value, input._fx_tape),
        )
    return input


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


def set_grad(self: Tensor, grad) -> None:
    """Set the gradient: a Tensor of the same shape and dtype, or None. Later gradients are added to it in place."""
    if grad is not None:
        try:
            check_gradient(self, grad)
        except BaseException as error:
            source_info.hide_frames(error)
            raise
    self._grad = grad


def check_gradient(self: Tensor, grad) -> None:
    """Raise unless the value can be the gradient of the Tensor."""
    if not isinstance(grad, Tensor):
        raise ArgumentError(
            f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}",
            hint=tensor_hint(grad),
        )
    if grad is self:
        raise TensorError("can't assign Variable as its own grad", hint="x.grad = x.detach().clone()")
    have, want = aval_of(refresh(grad)._fx_value), aval_of(refresh(self)._fx_value)
    if have.dtype != want.dtype:
        raise TensorError(
            f"attempting to assign a gradient with dtype '{from_numpy_dtype(have.dtype)}' to a tensor with dtype "
            f"'{from_numpy_dtype(want.dtype)}'.",
            hint=f"x.grad = gradient.to({from_numpy_dtype(want.dtype)})",
        )
    place, here = device_of(grad._fx_value), device_of(self._fx_value)
    if place is not None and here is not None and place != here:
        raise TensorError(
            f"attempting to assign a gradient with device type '{place.kind}' to a tensor with device type "
            f"'{here.kind}'. Please ensure that the gradient and the tensor are on the same device"
            if place.kind != here.kind
            else f"attempting to assign a gradient located on device with index {place.index} to a tensor located on "
            f"device with index {here.index}. Please ensure that the gradient and the tensor are on the same device",
            hint="x.grad = gradient.to(x.device)",
        )
    if have.shape != want.shape:
        raise TensorError(
            f"attempting to assign a gradient of size '{list(have.shape)}' to a tensor of size "
            f"'{list(want.shape)}'. Please ensure that the gradient and the tensor are the same size",
            hint=f"gradient.reshape({list(want.shape)}), .expand(…), or .sum(…) over what was broadcast",
        )


def delete_grad(self: Tensor) -> None:
    """Set the gradient to None."""
    self._grad = None


expose("method", "grad")(property(get_grad, set_grad, delete_grad))


def get_data(self: Tensor) -> Tensor:
    """A Tensor on the same memory without history; autograd does not see what is written into it: `detach` is safe."""
    value = memory_array(refresh(self))
    return make_detached(self, alias_memory(value) if is_array(value) else value)


@api_boundary
def set_data(self: Tensor, data) -> None:
    """Replace the value and its memory by those of another Tensor, and keep the history. It is an inference Tensor
    afterwards if the other is one."""
    if not isinstance(data, Tensor):
        raise ArgumentError(
            f"Variable data has to be a tensor, but got {type(data).__name__}", hint=tensor_hint(data)
        )
    value = refresh(data)._fx_value
    if self.requires_grad and kind_of(aval_of(value).dtype) not in "fc":
        raise TensorError(
            "data set to a tensor that requires gradients must be floating point or complex dtype",
            hint="x.data = data.to(torch.float32), or a new Tensor",
        )
    if is_array(value):
        replace_memory(self, memory_array(data), 0 if data._fx_view_meta is None else data._fx_view_meta.bits)
    else:
        self._fx_value = value
    if self._fx_accumulator is not None:
        self._fx_accumulator.value = value
    if data._fx_is_inference_tensor:
        mark_inference(self)
    elif self._fx_is_inference_tensor:
        self._fx_is_inference_tensor = False


expose("method", "data")(property(get_data, set_data))


# -- hooks ------------------------------------------
@expose("method")
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Register `hook(grad)` to be called whenever the gradient of this Tensor is computed; what it returns, if not
    None, is used in its place.

    Returns:
        A handle whose `remove()` takes it away again.

    Raises:
        RuntimeError: the Tensor requires no gradient.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 2):
    ...     (x * x).sum().backward()
    >>> x.grad.tolist()
    [4.0, 8.0]
    """
    if not self.requires_grad:
        raise TensorError(
            NO_HOOK, hint="x.requires_grad_() before, or a Tensor that is computed from such a one"
        )
    node, index = node_and_index(gradient_edge(self))
    return ensure_hooks(node).result_hooks.setdefault(index, HookList()).add(hook)


@expose("method")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Register `hook(tensor)` to be called whenever a gradient of this leaf was added to its `.grad`, as soon as it is
    complete. It returns nothing.

    Returns:
        A handle whose `remove()` takes it away again.

    Raises:
        RuntimeError: the Tensor is no leaf, or requires no gradient.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad.tolist()))
    >>> (x * x).sum().backward()
    [2.0, 4.0]
    """
    if not self.requires_grad:
        raise TensorError(
            NO_HOOK, hint="x.requires_grad_() before, or a Tensor that is computed from such a one"
        )
    if self._fx_node is not LEAF:
        raise TensorError(
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
            hint="y.register_hook(…), which is called with the gradient before it goes on",
        )
    return ensure_hooks(grad_accumulator(self)).post_accumulate_hooks.add(hook)


@expose("method")
def retain_grad(self: Tensor) -> None:
    """Let backward fill `.grad` of a Tensor that is not a leaf; that of a leaf is always filled.

    Raises:
        RuntimeError: the Tensor requires no gradient; or `grad` of torch.func differentiates it, which hands out the
            gradients of its arguments and leaves none behind.
    """
    if self._fx_tape.is_differentiating:
        raise TensorError(
            "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch "
            "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
            "jacfwd, hessian) or call retain_grad() outside of a function being transformed instead.",
            hint="autograd.grad(y, x) gives a gradient inside the function",
        )
    if not self.requires_grad:
        raise TensorError(
            "can't retain_grad on Tensor that has requires_grad=False",
            hint="x.requires_grad_() before; y = f(x) requires a gradient if x does, and no_grad is not on",
        )
    if self._fx_node is not LEAF:
        self._fx_is_grad_retained = True
        attach_retain_hook(self)


expose("method", "retains_grad")(property(lambda self: self._fx_is_grad_retained and not self.is_leaf))


def find_hooks(self: Tensor) -> HookList | None:
    """The hooks of the gradient, by the numbers of their handles: None if there never were any."""
    is_leaf = self._fx_node is None or self._fx_node is LEAF
    node, place = (self._fx_accumulator, 0) if is_leaf else node_and_index(gradient_edge(self))
    return None if node is None or node.hooks is None else node.hooks.result_hooks.get(place)


expose("method", "_backward_hooks")(property(find_hooks))


def get_volatile(self: Tensor) -> bool:
    """False: torch has replaced volatile Tensors by no_grad."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def set_volatile(self: Tensor, volatile) -> None:
    """Warn, and do nothing."""
    warnings.warn(
        "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
        UserWarning,
        stacklevel=2,
    )


expose("method", "volatile")(property(get_volatile, set_volatile))
