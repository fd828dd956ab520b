"""Devices: where the memory of a Tensor is. "cpu" is NumPy's arrays, "cuda" CuPy's."""

from __future__ import annotations

import re
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

from ...core.interpreter import Tracer
from ...ops import kinds
from .._core.errors import ArgumentError, DeviceError, TensorError
from .._core.memory import is_array
from .._core.primitives import declare
from .._declare.operation import exposed, operation

KINDS = ("cpu", "cuda")


@exposed()
class device:
    """A device: `torch.device("cpu")`, `torch.device("cuda:1")`, `torch.device("cuda", 1)`. As a context manager, the
    device of what is made inside without `device=`.

    >>> import fxgrad.compat as torch
    >>> torch.device("cuda:1")
    device(type='cuda', index=1)
    >>> torch.device("cpu") == torch.zeros(2).device
    True
    """

    __slots__ = ("index", "tokens", "type")

    type: str
    index: int | None

    def __init__(self, type: Any, index: int | None = None):
        if isinstance(type, int) and index is None:
            type, index = "cuda", type
        if hasattr(type, "index") and not isinstance(type, str | int):
            type, index = type.type, type.index
        elif not isinstance(type, str):
            raise ArgumentError(
                f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}"
            )
        elif ":" in type:
            if index is not None:
                raise TensorError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            found = re.fullmatch(r"(\w+):(\d+)", type)
            if found is None:
                raise TensorError(f"Invalid device string: '{type}'")
            type, index = found[1], int(found[2])
        if type not in KINDS:
            raise TensorError(
                f"Expected one of {', '.join(KINDS)} device type at start of device string: {type}",
                hint="there are no other devices here",
            )
        self.type, self.index = type, index
        self.tokens: list[Any] = []

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return type(other) is device and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        self.tokens.append(DEFAULT.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        DEFAULT.reset(self.tokens.pop())


CPU = device("cpu")
# That of new Tensors; each thread and async task has its own.
DEFAULT: ContextVar[device] = ContextVar("fxgrad default device", default=CPU)


@exposed()
def get_default_device() -> device:
    """The device of Tensors that are made without `device=`."""
    return DEFAULT.get()


@exposed()
def set_default_device(device: Any) -> None:
    """Choose the device of Tensors that are made without `device=`; None: the CPU."""
    DEFAULT.set(as_device("cpu" if device is None else device))


def as_device(given: Any) -> device:
    """A device as users give it: the default one for None."""
    return given if isinstance(given, device) else DEFAULT.get() if given is None else device(given)


@cache
def cupy() -> Any:
    """CuPy, imported when a CUDA device is first asked for."""
    try:
        import cupy  # type: ignore[import-not-found]
    except ImportError:
        raise DeviceError("Torch not compiled with CUDA enabled", hint="pip install cupy-cuda12x") from None
    return cupy


def device_count() -> int:
    """How many CUDA devices there are: none without CuPy."""
    try:
        return cupy().cuda.runtime.getDeviceCount()
    except (DeviceError, RuntimeError):  # RuntimeError: no driver
        return 0


def device_of(value: Any) -> device:
    """The device of a value, arrays and traced values alike."""
    while isinstance(value, Tracer):
        inside = value.contents()
        if not inside:
            return CPU
        value = inside[0]
    return device("cuda", value.device.id) if hasattr(value, "__cuda_array_interface__") else CPU


def moved(value: Any, target: device) -> Any:
    """An array on a device: itself where it is there."""
    if target.type == "cpu":
        return value.get() if hasattr(value, "__cuda_array_interface__") else value
    library = cupy()
    with library.cuda.Device(target.index or 0):
        return library.asarray(value)


place = declare(
    kinds.Linear,
    "place",
    lambda xp: lambda x, *, target, source: moved(x, target),
    shape=lambda x, **params: x.shape,
    transposed=lambda ct, x, *, target, source: place(ct, target=source, source=target),
    batched=lambda x, *, size, **params: place(x, **params),
)


@operation("input", name="to_copy", node="ToCopyBackward0", spaces="", out=False)
def to_device(input: Any, target: device) -> Any:
    """A copy on another device."""
    source = device_of(input)
    return moved(input, target) if is_array(input) else place(input, target=target, source=source)


def new_array(value: np.ndarray, given: Any) -> Any:
    """An array that was just made, on the device that was asked for."""
    target = as_device(given)
    return value if target.type == "cpu" else moved(value, target)
