"""Transfers between devices.

While a program is staged, the device of a value is unknown. So a transfer names both ends by locations, which are empty
arrays on the devices, and its transpose is the same operation with the ends exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.devices import Device, device_of, put_array
from ..core.interpreter import Tracer
from ..core.primitive import register
from .kinds import General

NOWHERE = Aval((0,), np.dtype(np.uint8))


class Location(General):
    """The location of x: an array without entries on the same device."""

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        return self.call(values[0]), False


class Transfer(General):
    """x, whose device is that of `source`, on the device of `target`; linear in x."""

    def evaluate(self, args: Sequence[Any], params: dict) -> Any:
        x, _, target = args
        device = device_of(target)
        assert device is not None, "an array is somewhere"
        return put_array(x, device)

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        return self.call(*values), is_batched[0]


location = register(
    Location(
        "location",
        lambda xp: lambda x: xp.zeros(0, dtype=xp.uint8),
        abstract_rule=lambda self, x: NOWHERE,
        tangent_rule=None,
        batch_rule=None,
    )
).call

transfer = register(
    Transfer(
        "transfer",
        lambda xp: lambda x, source, target: x,
        abstract_rule=lambda self, x, source, target: Aval(x.shape, x.dtype),
        tangent_rule=lambda y, primals, tangents, params: transfer(tangents[0], *primals[1:]),
        batch_rule=None,
        transpose_rule=lambda ct, x, source, target: [transfer(ct, target, source), None, None],
    )
).call


def put(x: Any, device: Device, source: Device | None = None) -> Any:
    """Return a value, which may be traced, on a device. `source` is where it is known to be."""
    here = source or device_of(x)
    if not isinstance(x, Tracer) or here == device:
        return put_array(x, device) if source is None else x
    return transfer(x, location(x) if here is None else location_on(here), location_on(device))


def location_on(device: Device) -> Any:
    """The location that a device has."""
    return put_array(np.zeros(0, np.uint8), device)
