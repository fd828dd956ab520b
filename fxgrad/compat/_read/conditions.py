"""`torch._check` and related functions, which packages use to assert conditions."""

from __future__ import annotations

from collections.abc import Callable

from ...extend import FxgradError
from .._core.error_messages import not_a_tensor_error
from .._core.tensor import Tensor
from .._declare.spaces import expose
from ..errors import (
    ArgumentError,
    ArgumentValueError,
    DimensionError,
    NotSupportedError,
    TensorError,
)


def declare_check(name: str, error: type[FxgradError]) -> None:
    """Declare a function that raises an error unless a condition holds."""

    def check(cond: bool, message: Callable[[], object] | None = None) -> None:
        if not isinstance(cond, bool):
            raise ArgumentError(
                f"cond must be a bool, but got {type(cond)}", hint="bool(…), or (…).all().item() of a Tensor"
            )
        if not cond:
            raise error("Expected cond to be True, but got False." if message is None else str(message()))

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise {error.__name__}, with what `message()` returns, unless the bool `cond` is True."
    expose(name=name)(check)


for name, error in {
    "_check": TensorError,
    "_check_index": DimensionError,
    "_check_not_implemented": NotSupportedError,
    "_check_type": ArgumentError,
    "_check_value": ArgumentValueError,
}.items():
    declare_check(name, error)


@expose(name="_assert")
def assert_condition(condition: object, message: str) -> None:
    """Raise an AssertionError with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


@expose(name="_assert_async")
def assert_nonzero(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise a TensorError, a RuntimeError, unless the only entry of a Tensor is not zero."""
    if not isinstance(input, Tensor):
        raise not_a_tensor_error("_assert_async", "input", 1, input)
    if not input:
        raise TensorError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


@expose(name="_check_tensor_all")
def check_entries(cond: Tensor, message: Callable[[], object] | None = None) -> None:
    """Raise a TensorError, with what `message()` returns, unless all entries of a Tensor of truth values are True."""
    if not isinstance(cond, Tensor):
        raise ArgumentError(
            f"cond must be a tensor, but got {type(cond)}",
            hint=f"torch.tensor({cond!r}), or torch._check({cond!r})"
            if isinstance(cond, bool)
            else "x > 0, or another comparison of Tensors",
        )
    if cond.dtype.name != "bool":
        raise ArgumentError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}", hint="cond != 0")
    if not cond.all():
        raise TensorError("Expected cond to be True, but got False." if message is None else str(message()))
