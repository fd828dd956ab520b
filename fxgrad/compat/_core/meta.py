"""The device "meta": Tensors with a shape and a dtype, and no memory.

Their values are tracers of a level that is always open and computes only shapes. Operations, gradients and all
transforms work on them as on any other traced value.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...extend import EVAL, Aval, Interpreter, Primitive, Tracer, aval_of
from ..errors import NotSupportedError, TensorError


class MetaTracer(Tracer):
    """A value without entries."""

    __slots__ = ("_aval",)

    def __init__(self, aval: Aval):
        self.interpreter, self._aval = META_LEVEL, aval

    aval = property(lambda self: self._aval)

    def concretize(self, operation: str) -> NoReturn:
        """Raise: there are no entries to look at."""
        raise TensorError("Tensor.item() cannot be called on meta tensors", hint=f"{operation} needs entries")


class WrapperTracer(MetaTracer):
    """The value of a Tensor whose class says what is in it: a shape, a dtype, and the place where it claims to be."""

    __slots__ = ("place",)

    def __init__(self, aval: Aval, place: Any):
        super().__init__(aval)
        self.place = place

    def concretize(self, operation: str) -> NoReturn:
        """Raise: the entries are known to the class alone."""
        raise TensorError(
            "Cannot access data pointer of Tensor that doesn't have storage",
            hint=f"{operation} needs entries: its class answers by __torch_function__ or __torch_dispatch__",
        )


class MetaInterpreter(Interpreter):
    """The level that computes with shapes."""

    __slots__ = ()
    name, programs = "meta", "whole"
    permanent = True

    def __init__(self) -> None:
        self.outer, self.site = EVAL, None

    def process(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        for a in args:
            if isinstance(a, Tracer) and a.interpreter is not self:  # of the tape, which records beside
                return a.interpreter.process(primitive, args, params)
        found = primitive.abstract_eval([aval_of(a) for a in args], params)
        return [MetaTracer(a) for a in found] if primitive.multiple_results else MetaTracer(found)


META_LEVEL = MetaInterpreter()


def without_entries(value: Any) -> MetaTracer:
    """Return a value of the same shape and dtype without entries."""
    aval = aval_of(value)
    return MetaTracer(Aval(aval.shape, aval.dtype))


def refuse_entries() -> NoReturn:
    """Raise for a value that is to be copied to where it would need entries."""
    raise NotSupportedError(
        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
        "torch.nn.Module.to() when moving module from meta to a different device.",
        hint="module.to_empty(device='cpu') gives it memory, load_state_dict(…, assign=True) other Tensors",
    )


def is_meta(value: Any) -> bool:
    """Whether a value, or the value inside it, has no entries."""
    while isinstance(value, Tracer) and type(value) is not MetaTracer:
        inside = value.contents()
        if not inside:
            return False
        value = inside[0]
    return type(value) is MetaTracer
