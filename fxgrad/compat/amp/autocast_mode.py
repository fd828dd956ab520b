"""`autocast`, which casts nothing: operations compute in the dtypes of their operands."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

from .._core.dtypes import PUBLIC, dtype, from_name
from .._core.errors import ArgumentValueError, TensorError
from .._declare.spaces import expose
from .._make.devices import device_count

if TYPE_CHECKING:
    from collections.abc import Callable

# The devices for which torch may cast.
DEVICE_TYPES = ("cpu", "cuda", "xpu", "mps", "mtia", "hpu", "ipu", "maia", "privateuseone", "xla")


def fast_dtype(device_type: str) -> dtype:
    """The dtype to which torch casts on a device unless another is chosen."""
    return PUBLIC["float16"] if device_type in ("cuda", "mps") else from_name("bfloat16")


class autocast:
    """A context manager and decorator in which torch computes products in half precision. Here they are computed in
    the dtypes of their operands: results are in full precision, and of that dtype.

    Where torch would cast, a warning says so; where it would not (`enabled=False`, a device that is not there), nothing
    is different.

    Args:
        device_type: "cpu" or "cuda"; other devices are not there.
        dtype: bfloat16 or float16.
        enabled: False: nothing is asked for.
        cache_enabled: whether torch keeps casted weights.

    Raises:
        ArgumentValueError: `device_type` is no text.
        TensorError: there is no such device type.

    >>> import fxgrad.compat as torch
    >>> with torch.autocast("cpu", enabled=False):
    ...     torch.ones(2, 2) @ torch.ones(2, 2)
    tensor([[2., 2.],
            [2., 2.]])
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        if not isinstance(device_type, str):
            raise ArgumentValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`",
                hint='torch.autocast("cpu", …)',
            )
        if device_type not in DEVICE_TYPES:
            raise TensorError(
                f"User specified an unsupported autocast device_type '{device_type}'",
                hint='there are "cpu" and "cuda"',
            )
        self.device, self.fast_dtype = device_type, fast_dtype(device_type) if dtype is None else dtype
        if enabled and device_type == "cuda" and not device_count():
            warnings.warn("CUDA is not available. Disabling autocast.", UserWarning, stacklevel=2)
        elif enabled and self.fast_dtype not in (PUBLIC["float16"], from_name("bfloat16")):
            warnings.warn(
                f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling autocast.",
                UserWarning,
                stacklevel=2,
            )
        elif enabled:
            warnings.warn(
                f"autocast to {self.fast_dtype} casts nothing in fxgrad.compat: operations compute in the dtypes of "
                "their operands. Convert the module and its inputs with .to(dtype) where half precision is wanted, or "
                "say enabled=False",
                UserWarning,
                stacklevel=2,
            )
        self._enabled = False

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


expose(name="autocast")(autocast)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str = "cuda", cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of a Function that has to know of autocast: the function itself, since nothing is
    cast. Without a function, a decorator."""
    return (lambda function: function) if fwd is None else fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cuda") -> Callable[..., Any]:
    """Decorate the `backward` of a Function that has to know of autocast: see `custom_fwd`."""
    return (lambda function: function) if bwd is None else bwd


def is_autocast_available(device_type: str) -> bool:
    """Whether anything can be cast on a device: nowhere."""
    return False


# -- torch's own questions ------------------------------------------
@expose()
def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations cast their operands: never."""
    return False


@expose()
def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype to which torch would cast on a device."""
    return fast_dtype(device_type)


@expose()
def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast off. On, it would cast nothing: that is refused."""
    if device_type if enabled is None else enabled:
        raise TensorError("autocast cannot be enabled", hint="convert modules and inputs with .to(dtype)")


@expose()
def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Accept the dtype to which torch would cast."""


@expose()
def is_autocast_cache_enabled() -> bool:
    """Whether casted weights are kept: there are none."""
    return True


@expose()
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Accept whether casted weights are kept."""


@expose()
def clear_autocast_cache() -> None:
    """Forget casted weights, of which there are none."""


@expose()
def is_autocast_cpu_enabled() -> bool:
    """Whether operations on the CPU cast their operands: never."""
    return False


@expose()
def get_autocast_cpu_dtype() -> dtype:
    """The dtype to which torch would cast on the CPU."""
    return fast_dtype("cpu")


@expose()
def get_autocast_gpu_dtype() -> dtype:
    """The dtype to which torch would cast on CUDA devices."""
    return fast_dtype("cuda")


__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
