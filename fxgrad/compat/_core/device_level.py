"""Arrays on a device as operands of declared operations.

Such operations compute with operators as well as with primitives, and with constants made by NumPy. The operators of
arrays on a device refuse NumPy's arrays. So the function sees an array on a device as a value of a level that is always
open, where every operator is a primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import CPU, EVAL, Interpreter, PrimalTracer, Primitive, Tracer, device_of, devices, is_on_cuda


class DeviceTracer(PrimalTracer):
    """An array on a device."""

    __slots__ = ()

    def __init__(self, primal: Any):
        self.interpreter, self.primal = DEVICE_LEVEL, primal


class DeviceInterpreter(Interpreter):
    """The level of arrays on devices, which adds nothing to evaluation."""

    __slots__ = ()
    name, programs = "device", "whole"
    permanent = True

    def __init__(self) -> None:
        self.outer, self.site = EVAL, None

    def process(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        for a in args:
            if isinstance(a, Tracer) and a.interpreter is not self:  # of the tape, which records beside
                return a.interpreter.process(primitive, args, params)
        return show(EVAL.interpreter.process(primitive, tuple(map(hide, args)), params))


DEVICE_LEVEL = DeviceInterpreter()


def show(value: Any) -> Any:
    """Return arrays on a device, alone or in a sequence, as values of the level."""
    if isinstance(value, list | tuple):
        return [show(v) for v in value]
    return DeviceTracer(value) if is_on_cuda(value) else value


def hide(value: Any) -> Any:
    """Return values of the level, alone or in a sequence, as the arrays that they are."""
    if isinstance(value, list | tuple):
        return [hide(v) for v in value]
    return value.primal if type(value) is DeviceTracer else value


def run_on_device(function: Callable[..., Any], values: Sequence[Any], params: dict[str, Any]) -> Any:
    """Return the results of a function of arrays, some of which are on a device, where its results are as well."""
    results = hide(function(*map(show, values), **params))
    device = device_of(next(v for v in values if is_on_cuda(v)))
    return [follow(r, device) for r in results] if isinstance(results, list) else follow(results, device)


def follow(result: Any, device: Any) -> Any:
    """Return a result that is a constant of NumPy's on a device; any other as it is."""
    return (
        devices.put_array(np.asarray(result), device)
        if isinstance(result, np.ndarray | np.generic)
        else result
    )


def run_on_host(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Return the results of a function that only NumPy computes, of operands by name. Those on a device are copied to
    the host for it, and its results back."""
    place = next((device_of(v) for v in given.values() if is_on_cuda(v)), None)
    if place is None:
        return function(**given)
    results = function(**{k: devices.put_array(v, CPU) if is_on_cuda(v) else v for k, v in given.items()})
    return [follow(r, place) for r in results] if isinstance(results, list) else follow(results, place)
