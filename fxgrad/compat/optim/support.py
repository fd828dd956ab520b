"""Helpers that third-party optimizers import from torch beside its `Optimizer`.

The names are private in torch, but widely used. `foreach`, `fused` and `capturable` select among torch's
implementations, of which there is one here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .._core.dtypes import dtype as torch_dtype
from .._core.dtypes import float32, float64, get_default_dtype
from .._core.tensor import Tensor
from .._make.devices import device as torch_device
from ..autograd.grad_mode import set_grad_enabled
from ..errors import TensorError
from ..nn.parameter import Parameter
from ..ops.complex import view_as_real

_foreach_supported_types = [Tensor, Parameter]
_params_doc = "params (iterable): parameters, named parameters, or dicts of groups of them"
_foreach_doc = "foreach (bool, optional): accepted, and changes nothing (default: None)"
_fused_doc = "fused (bool, optional): accepted, and changes nothing (default: None)"
_capturable_doc = "capturable (bool, optional): accepted, and changes nothing (default: False)"
_differentiable_doc = "differentiable (bool, optional): whether steps are recorded (default: False)"
_maximize_doc = "maximize (bool, optional): whether to go up instead of down (default: False)"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method `step` of an optimizer, recording only where the option `differentiable` says so."""

    @wraps(func)
    def step(self, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a decorator that changes nothing: no compiler reads the function."""
    return lambda func: func


def _get_value(x: Any) -> Any:
    """The number that a Tensor of one entry is; anything else itself."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A Tensor of one entry without its dimensions; anything else itself."""
    return x.squeeze() if isinstance(x, Tensor) and x.ndim else x


def _stack_if_compiling(x: Any) -> Any:
    """The argument: nothing is compiled."""
    return x


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex Tensors in a list, and what stands in their places in others, by views of their parts."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = view_as_real(tensors[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> torch_dtype:
    """The dtype of counters of steps."""
    return float64 if get_default_dtype() is float64 and not is_fused else float32


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices on which torch prefers lists of Tensors."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices for which torch has steps in one kernel."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices on which torch can record steps as a whole."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(
    params: Sequence[Tensor | None], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether torch would take its fused step, and whether its step by lists of Tensors."""

    def all_on(devices: list[str], floating: bool) -> bool:
        return all(
            p is None
            or (
                type(p) in _foreach_supported_types
                and p.device.type in devices
                and (p.is_floating_point() or not floating)
            )
            for p in params
        )

    if differentiable:
        return False, False
    fused = use_fused and all_on(_get_fused_kernels_supported_devices(), True)
    return fused, not fused and all_on(_get_foreach_kernels_supported_devices(), False)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Check that torch has a fused step for a parameter.

    Raises:
        TensorError: it has none.
    """
    devices = [d for d in _get_fused_kernels_supported_devices() if d != "cuda" or not cuda_unsupported]
    if p.device.type not in devices or not p.is_floating_point():
        raise TensorError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}",
            hint="fused=False",
        )


def _device_has_foreach_support(device: torch_device) -> bool:
    """Whether torch has functions of lists of Tensors for a device."""
    return device.type in ("cpu", *_get_foreach_kernels_supported_devices())


def _has_foreach_support(tensors: Sequence[Tensor | None], device: torch_device) -> bool:
    """Whether torch has functions of lists for these Tensors."""
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in _foreach_supported_types for t in tensors
    )


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[torch_device, torch_dtype], tuple[list[list[Tensor | None]], list[int]]]:
    """Split lists of Tensors that belong together into those of one device and dtype.

    Args:
        tensorlistlist: lists; the first has Tensors only, the others are as long, or empty.
        with_indices: whether to return where the Tensors of each group stood.

    Returns:
        By device and dtype of the first list's Tensors: the parts of all lists, and the places ([] without
        `with_indices`).

    Raises:
        TensorError: there is no list, or lists of other lengths.
    """
    if not tensorlistlist or not tensorlistlist[0]:
        raise TensorError(
            "_group_tensors_by_device_and_dtype(): the first list has to have Tensors",
            hint="[parameters, gradients, …] with parameters in the first",
        )
    first = tensorlistlist[0]
    if any(len(tensors) not in (0, len(first)) for tensors in tensorlistlist):
        raise TensorError(
            "_group_tensors_by_device_and_dtype(): lists of different lengths",
            hint="None in the place of what a parameter has not, or an empty list",
        )
    groups: dict[Any, tuple[list[list[Tensor | None]], list[int]]] = {}
    for i, tensor in enumerate(first):
        assert tensor is not None
        lists, places = groups.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for part, tensors in zip(lists, tensorlistlist, strict=True):
            part.extend(tensors[i : i + 1])
        if with_indices:
            places.append(i)
    return groups
