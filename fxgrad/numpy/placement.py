"""`fx.device_put` and `fx.device_get`, which move arrays and pytrees between devices, and new arrays on a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .. import ops  # noqa: F401  before its parts
from ..core import pytree
from ..core.arrays import as_value
from ..core.aval import SCALARS
from ..core.devices import CPU, DEFAULT_DEVICE, Placement, as_device, cuda_device
from ..core.interpreter import Tracer, api_boundary, concretize
from ..ops.transfer import put

T = TypeVar("T")
F = TypeVar("F", bound="Callable[..., Any]")


@api_boundary
def device_put(x: T, device: Any = None) -> T:
    """Return an array, or a pytree of them, on a device.

    Differentiable: cotangents go back to the device from which the value came. Values that are there already are
    returned as they are.

    Args:
        x: a pytree of arrays and numbers, which may be traced.
        device: a `Device` or its name ("cpu", "cuda", "cuda:1"), a `NamedSharding`, or a pytree prefix of x of them;
            None is the default device.

    Returns:
        The pytree with NumPy arrays on the processor, CuPy arrays on a CUDA device; shapes and dtypes are the same.

    Raises:
        DeviceError: there is no such device.
        MissingLibraryError: it is a CUDA device, and CuPy is not installed.
        DTypeError: CuPy has no arrays of this dtype.
        ShapeError: a NamedSharding divides axes that an array has not.
        UnsupportedError: a NamedSharding divides an array among several processes.

    A copy from pinned memory (`fx.pinned_empty`) to a CUDA device is queued in CuPy's stream in use.

    >>> fx.device_put({"w": np.ones(2), "b": 0.5}, "cpu")
    {'w': array([1., 1.]), 'b': array(0.5)}
    >>> print(fx.grad(lambda x: fx.device_put(x, "cpu") ** 2)(3.0))
    6.0
    """
    leaves, structure = pytree.flatten(x)
    prefix = device if isinstance(device, dict | list | tuple | Placement) else as_device(device)
    targets = pytree.leaves(pytree.broadcast(prefix, x))
    return pytree.unflatten(structure, [put_at(as_array(v), d) for v, d in zip(leaves, targets)])


def put_at(value: Any, place: Any) -> Any:
    """Return an array on a device, or where a Placement wants it."""
    return place.place(value) if isinstance(place, Placement) else put(value, as_device(place))


def as_array(leaf: Any) -> Any:
    """A value with a dtype: numbers become arrays without axes."""
    value = as_value(leaf)
    return np.asarray(value) if type(value) in SCALARS or isinstance(value, np.generic) else value


def device_get(x: T) -> T:
    """Return an array, or a pytree of them, in NumPy's memory. Differentiable, as `device_put` to "cpu".

    Args:
        x: a pytree of arrays and numbers, which may be traced.

    Returns:
        The pytree with NumPy arrays.

    >>> fx.device_get([np.ones(2)])
    [array([1., 1.])]
    """
    return device_put(x, CPU)


def on_default_device(make: F) -> F:
    """Return a function of NumPy's that makes arrays as one that makes them on the device `device=`, or else on the
    default one."""
    name = make.__name__

    @wraps(make)
    def function(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        try:
            if device is None and DEFAULT_DEVICE.get() is CPU:
                return make(*args, **kwargs)
            device = as_device(device)
            if device == CPU:
                return make(*args, **kwargs)
            with cuda_device(device) as library:
                if hasattr(library, name):
                    return getattr(library, name)(*args, **kwargs)
            return put(make(*args, **kwargs), device)
        except TypeError as error:
            reason = error
        require_known_sizes(args, kwargs)
        raise reason

    return function  # type: ignore[return-value]


def require_known_sizes(args: Any, kwargs: Any) -> None:
    """Raise ConcretizationError for a traced number, of which NumPy says no more than that it is no integer."""
    for size in pytree.leaves((args, kwargs)):
        if isinstance(size, Tracer):
            concretize(size, "use as a size")
