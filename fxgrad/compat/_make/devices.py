"""Devices: "cpu" holds NumPy arrays, "cuda" CuPy arrays, and "meta" shapes only."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...extend import Tracer, devices, ops
from .._core.memory import is_array
from .._core.meta import MetaTracer, WrapperTracer, refuse_entries, without_entries
from .._core.overriding import ORDINARY_CLASSES
from .._declare.composite import Composite
from .._declare.operation import operation
from .._declare.spaces import expose
from ..errors import ArgumentError, DeviceError, TensorError

DEVICE_TYPES = ("cpu", "cuda", "meta")


@expose()
class device:
    """A device: `torch.device("cpu")`, `torch.device("cuda:1")`, `torch.device("cuda", 1)`. As a context manager, the
    device of what is made inside without `device=`.

    Raises:
        TypeError: `type` is no text.
        RuntimeError: there is no such kind of device, or it has two indices.

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
                f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}",
                hint='"cpu" or "cuda:0"',
            )
        elif ":" in type:
            if index is not None:
                raise TensorError(
                    f"type (string) must not include an index because index was passed explicitly: {type}",
                    hint=f"torch.device({type!r}), or torch.device({type.partition(':')[0]!r}, {index})",
                )
            found = re.fullmatch(r"(\w+):(\d+)", type)
            if found is None:
                raise TensorError(f"Invalid device string: '{type}'", hint='"cpu", "cuda" or "cuda:0"')
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
    """Set the device of Tensors that are made without `device=`; None means the CPU."""
    DEFAULT_DEVICE.set(as_device("cpu" if device is None else device))


def as_device(given) -> device:
    """Convert a user's device specification; None means the default device."""
    return given if isinstance(given, device) else DEFAULT_DEVICE.get() if given is None else device(given)


def import_cupy() -> Any:
    """Import CuPy when a CUDA device is first asked for."""
    try:
        return devices.load_cupy()
    except ImportError as error:  # of CuPy, or of what it needs
        hint = getattr(error, "hint", None) or str(error).strip()
        raise DeviceError("Torch not compiled with CUDA enabled", hint=hint) from None


def device_count() -> int:
    """How many CUDA devices there are: none without CuPy.

    Returns:
        An int.

    >>> torch.cuda.device_count() >= 0
    True
    """
    return devices.count_cuda_devices()


def with_index(given: device) -> device:
    """Return a device with its number; for "cuda" that of the current device.

    Raises:
        DeviceError: there is no such device.
    """
    if given.type != "cuda":
        return given
    library = import_cupy()
    count = device_count()
    if not count:
        raise DeviceError("Found no NVIDIA driver on your system.", hint="there is no CUDA device")
    index = library.cuda.Device().id if given.index is None else given.index
    if index >= count:
        raise DeviceError("CUDA error: invalid device ordinal", hint=f"there are {count} CUDA devices")
    return device("cuda", index)


def core_device(given: device) -> devices.Device:
    """Convert a device to the object that fxgrad's core uses."""
    given = with_index(given)
    return devices.Device(given.type, given.index or 0)


def device_of(value) -> device:
    """The device of an array or a traced value."""
    while isinstance(value, Tracer):
        inside = value.contents()
        if not inside:
            return value.place if type(value) is WrapperTracer else META if type(value) is MetaTracer else CPU
        value = inside[0]
    return device("cuda", value.device.id) if devices.is_on_cuda(value) else CPU


def move_array(value, target: device) -> Any:
    """Return an array on a device, without a copy if it is there already."""
    if target.type == "meta":
        return without_entries(value)
    if type(value) is MetaTracer:
        refuse_entries()
    return devices.put_array(value, core_device(target))


class Placement(Composite):
    """The operation that copies its operand to other memory with the same strides."""

    shares = True

    def run(self, *values, **params) -> Any:
        """Run the function, whose result is on the named device."""
        return self.function(*values, **params)


@operation(
    "input", name="to_copy", node="ToCopyBackward0", by_value=True, spaces="", out=False, composite=Placement
)
def copy_between(input, source: device, target: device) -> Any:
    """A copy of a Tensor on another device."""
    if is_array(input) or META in (source, target):
        return move_array(input, target)
    return ops.put(input, core_device(target), core_device(source))


def to_device(tensor: Any, target: device) -> Any:
    """Return a copy of a Tensor on another device, as one recorded step."""
    return copy_between(tensor, device_of(tensor._fx_value), with_index(target))


def put_new_array(value: np.ndarray, given) -> Any:
    """Move a newly made array to the requested device."""
    target = as_device(given)
    return value if target.type == "cpu" else move_array(value, target)
