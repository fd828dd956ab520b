"""Devices: where the memory of a Tensor is. "cpu" is NumPy's arrays, "cuda" CuPy's, "meta" nowhere."""

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
from .._core.meta import MetaTracer, WrapperTracer, refuse_entries, without_entries
from .._core.overriding import ORDINARY_CLASSES
from .._core.primitives import declare_primitive
from .._declare.operation import operation
from .._declare.spaces import expose

DEVICE_TYPES = ("cpu", "cuda", "meta")


@expose()
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

    def __init__(self, type, index: int | None = None):
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
        if type not in DEVICE_TYPES:
            raise TensorError(
                f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {type}",
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
        self.tokens.append(DEFAULT_DEVICE.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        DEFAULT_DEVICE.reset(self.tokens.pop())


ORDINARY_CLASSES.add(device)
CPU, META = device("cpu"), device("meta")
# That of new Tensors; each thread and async task has its own.
DEFAULT_DEVICE: ContextVar[device] = ContextVar("fxgrad default device", default=CPU)


@expose()
def get_default_device() -> device:
    """The device of Tensors that are made without `device=`."""
    return DEFAULT_DEVICE.get()


@expose()
def set_default_device(device) -> None:
    """Choose the device of Tensors that are made without `device=`; None: the CPU."""
    DEFAULT_DEVICE.set(as_device("cpu" if device is None else device))


def as_device(given) -> device:
    """A device as users give it: the default one for None."""
    return given if isinstance(given, device) else DEFAULT_DEVICE.get() if given is None else device(given)


@cache
def import_cupy() -> Any:
    """Import CuPy when a CUDA device is first asked for."""
    try:
        import cupy  # type: ignore[import-not-found]
    except ImportError:
        raise DeviceError("Torch not compiled with CUDA enabled", hint="pip install cupy-cuda12x") from None
    return cupy


def device_count() -> int:
    """How many CUDA devices there are: none without CuPy."""
    try:
        return import_cupy().cuda.runtime.getDeviceCount()
    except (DeviceError, RuntimeError):  # RuntimeError: no driver
        return 0


def device_of(value) -> device:
    """The device of a value, be it an array or traced."""
    while isinstance(value, Tracer):
        inside = value.contents()
        if not inside:
            return value.place if type(value) is WrapperTracer else META if type(value) is MetaTracer else CPU
        value = inside[0]
    return device("cuda", value.device.id) if hasattr(value, "__cuda_array_interface__") else CPU


def move_array(value, target: device) -> Any:
    """Return an array on a device: itself where it is there already."""
    if target.type == "meta":
        return without_entries(value)
    if type(value) is MetaTracer:
        refuse_entries()
    if target.type == "cpu":
        return value.get() if hasattr(value, "__cuda_array_interface__") else value
    library = import_cupy()
    with library.cuda.Device(target.index or 0):
        return library.asarray(value)


device_put = declare_primitive(
    kinds.Linear,
    "place",
    lambda xp: lambda x, *, target, source: move_array(x, target),
    shape_rule=lambda x, **params: x.shape,
    transpose_rule=lambda ct, x, *, target, source: device_put(ct, target=source, source=target),
    batch_rule=lambda x, *, size, **params: device_put(x, **params),
)


@operation("input", name="to_copy", node="ToCopyBackward0", spaces="", out=False)
def to_device(input, target: device) -> Any:
    """A copy of a Tensor on another device."""
    source = device_of(input)
    if is_array(input) or META in (source, target):
        return move_array(input, target)
    return device_put(input, target=target, source=source)


def put_new_array(value: np.ndarray, given) -> Any:
    """Put an array that was just made on the device that was asked for."""
    target = as_device(given)
    return value if target.type == "cpu" else move_array(value, target)
