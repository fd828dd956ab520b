"""`autocast`: operations compute in a lower precision where that suffices, and in single precision elsewhere."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .._core.dtypes import dtype, from_name
from .._core.modes import current_modes
from .._core.tensor import Tensor
from .._declare.autocast import OFF, Autocast, is_castable
from .._declare.signatures import DerivedSignature
from .._declare.spaces import expose
from .._make.devices import device_count
from ..autograd.grad_mode import ModeSwitch, switch_modes
from ..errors import ArgumentValueError, TensorError

# The devices for which torch may cast.
DEVICE_TYPES = ("cpu", "cuda", "xpu", "mps", "mtia", "hpu", "ipu", "maia", "privateuseone", "xla")
NESTING: ContextVar[int] = ContextVar("fxgrad autocast nesting", default=0)


def current_settings() -> Autocast:
    """The settings of autocast in the current Context."""
    return current_modes().autocast or OFF


def use_settings(settings: Autocast) -> None:
    """Change the settings of autocast in the current Context."""
    switch_modes(autocast=settings.mode)


class autocast(ModeSwitch):
    """A context manager and decorator in which operations on the CPU cast their operands: products and convolutions to
    a lower precision, losses and decompositions to single precision, and joined Tensors to the widest of theirs; all
    others compute in the dtypes that they are given. Gradients have the dtypes of what was cast. Operations in place,
    with `out=`, and those of double precision are not changed.

    Enter it around the forward pass and the loss, not around backward. Contexts may be nested, and switched off inside.

    Args:
        device_type: "cpu". For "cuda" nothing is cast: a warning says so.
        dtype: bfloat16 (the default) or float16.
        enabled: False: nothing is cast inside, whatever the contexts around say.
        cache_enabled: whether casts of weights are kept until the outermost context ends.

    Raises:
        ArgumentValueError: `device_type` is no text.
        TensorError: there is no such device type.

    Source of what is cast: https://docs.pytorch.org/docs/stable/amp.html.

    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     y = torch.ones(1, 2) @ w
    >>> y.dtype
    torch.bfloat16
    >>> y.sum().backward()
    >>> w.grad.dtype
    torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        super().__init__()
        check_device_type(device_type)
        self.device, self._cache_enabled = device_type, cache_enabled
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and device_type == "cuda":
            reason = "fxgrad.compat casts on the CPU alone" if device_count() else "CUDA is not available"
            warnings.warn(f"{reason}. Disabling autocast.", UserWarning, stacklevel=2)
            enabled = False
        if enabled and self.fast_dtype not in (from_name("float16"), from_name("bfloat16")):
            warnings.warn(
                f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{device_type.upper()} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        settings = current_settings().with_device(self.device, self._enabled, self.fast_dtype)
        if self._cache_enabled is not None:
            settings = settings.with_caching(self._cache_enabled)
        self._fx_previous.append(switch_modes(autocast=settings.mode))
        return self

    def __exit__(self, *exc: object) -> None:
        ended = current_settings()
        super().__exit__(*exc)
        if not current_settings().enabled:
            ended.cache.clear()

    def clone(self) -> autocast:
        """A context of the same settings that is in use nowhere."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, previous=[])
        return made


expose(name="autocast")(autocast)


def check_device_type(device_type: Any) -> None:
    """Raise for a device type for which torch does not cast."""
    if not isinstance(device_type, str):
        raise ArgumentValueError(
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`",
            hint='torch.autocast("cpu", …)',
        )
    if device_type not in DEVICE_TYPES:
        raise TensorError(
            f"User specified an unsupported autocast device_type '{device_type}'", hint='there is "cpu"'
        )


def cast_floating(x: Any, wanted: dtype) -> Any:
    """Return arguments of a function with their floating Tensors of another dtype."""
    if isinstance(x, Tensor):
        return x.to(wanted) if is_castable(x) else x
    if isinstance(x, dict):
        return {cast_floating(name, wanted): cast_floating(part, wanted) for name, part in x.items()}
    if isinstance(x, list | tuple):
        return type(x)([cast_floating(part, wanted) for part in x])
    return x


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of a Function that may be used under autocast.

    Args:
        fwd: the function; without it a decorator is returned.
        device_type: that of its operands.
        cast_inputs: the dtype to which its floating Tensors are cast where autocast is on; its own operations cast
            nothing then. None: these cast as the context says.

    Raises:
        ArgumentValueError: `device_type` is no text.
        RuntimeError: there is no autocast for such devices.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         return x @ x
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return grad
    >>> with torch.autocast("cpu"):
    ...     Square.apply(torch.ones(2, 2)).dtype
    torch.float32
    """
    check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx, is_on = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if not is_on or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*cast_floating(args, cast_inputs), **cast_floating(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of a Function whose `forward` is decorated by `custom_fwd`: it casts as that did.

    Args:
        bwd: the function; without it a decorator is returned.
        device_type: that of its operands.

    Raises:
        ArgumentValueError: `device_type` is no text.
        RuntimeError: there is no autocast for such devices.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """
    check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, args[0]._dtype, enabled=args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return decorated


def is_autocast_available(device_type: str) -> bool:
    """Whether operands can be cast on a device: on the CPU.

    Args:
        device_type: the kind of device.

    Returns:
        A bool.

    Raises:
        ValueError: the device type is no text.
        RuntimeError: there is no autocast for such devices.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    check_device_type(device_type)
    return device_type == "cpu"


# -- torch's own questions and switches ------------------------------------------
@expose()
def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations on a device cast their operands."""
    check_device_type(device_type)
    return device_type in current_settings().enabled


@expose()
def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype to which operands are cast on a device."""
    check_device_type(device_type)
    return current_settings().dtype_for(device_type)


@expose()
def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on or off for a device; one argument alone is about CUDA devices. `autocast` is better, which
    ends."""
    device_type, enabled = ("cuda", device_type) if enabled is None else (device_type, enabled)
    check_device_type(device_type)
    use_settings(current_settings().with_device(device_type, bool(enabled)))


@expose()
def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype to which operands are cast on a device."""
    check_device_type(device_type)
    use_settings(current_settings().with_device(device_type, dtype=dtype))


@expose()
def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights are kept."""
    return current_settings().caching


@expose()
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts of weights are kept."""
    use_settings(current_settings().with_caching(bool(enabled)))


@expose()
def clear_autocast_cache() -> None:
    """Forget the casts of weights."""
    current_settings().cache.clear()


@expose()
def autocast_increment_nesting() -> int:
    """Count one more context that was entered by hand; return how many there are."""
    NESTING.set(NESTING.get() + 1)
    return NESTING.get()


@expose()
def autocast_decrement_nesting() -> int:
    """Count one context less that was entered by hand; return how many there are."""
    NESTING.set(NESTING.get() - 1)
    return NESTING.get()


def expose_former_switches(name: str, device_type: str) -> None:
    """Expose torch's deprecated questions and switches of one device."""
    former: dict[str, tuple[str, Callable[..., Any]]] = {
        f"get_autocast_{name}_dtype": (f"get_autocast_dtype({device_type!r})", get_autocast_dtype),
        f"is_autocast_{name}_enabled": (f"is_autocast_enabled({device_type!r})", is_autocast_enabled),
        f"set_autocast_{name}_dtype": (f"set_autocast_dtype({device_type!r}, dtype)", set_autocast_dtype),
        f"set_autocast_{name}_enabled": (
            f"set_autocast_enabled({device_type!r}, enabled)",
            set_autocast_enabled,
        ),
    }
    if name == "gpu":  # which are is_autocast_enabled() and set_autocast_enabled(enabled)
        former = {old: new for old, new in former.items() if old.endswith("_dtype")}
    for old, (words, function) in former.items():
        expose_former_switch(old, words, function, device_type)


def expose_former_switch(old: str, words: str, function: Callable[..., Any], device_type: str) -> None:
    """Expose a deprecated function, which calls another for the device: `words` name that."""

    def call(*given: Any) -> Any:
        warnings.warn(
            f"torch.{old}() is deprecated. Please use torch.{words} instead.",
            DeprecationWarning,
            stacklevel=3,
        )
        return function(device_type, *given)

    call.__signature__ = DerivedSignature(function, lambda given: given[1:])  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"Deprecated: `torch.{words}`."
    expose(name=old)(call)


for former_name, of_device in {"cpu": "cpu", "gpu": "cuda", "ipu": "ipu", "xla": "xla"}.items():
    expose_former_switches(former_name, of_device)

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
