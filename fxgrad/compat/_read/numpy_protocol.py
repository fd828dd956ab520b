"""NumPy's own functions on Tensors.

They compute on the arrays of Tensors, as they do on torch's. Inside a transform they receive the values of Tensors, and
so call this library: `np.sin(x)` has a derivative inside `grad` whatever x is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import call_on_values, is_object, pytree
from .._core.memory import is_array
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.spaces import expose
from .python_protocols import to_numpy_array, wrap_array

# The ufuncs as which Python's operators come where the left operand is an array: the Tensor's operators take over.
OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.matmul: operator.matmul,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
WRAPPED_METHODS = ("__call__", "reduce", "accumulate")  # whose results are Tensors again, as NumPy has it


def any_transformed(values: Any) -> bool:
    """Whether a Tensor among these operands, however deep in containers, belongs to a transform that is open."""
    tensors = [refresh(x) for x in pytree.leaves(values, is_object) if isinstance(x, Tensor)]
    return any(not is_array(x._fx_value) or (x.requires_grad and not x._fx_tape.permanent) for x in tensors)


def to_array(operand: Any) -> Any:
    """Return an operand of a NumPy function with the array of a Tensor in its place."""
    return to_numpy_array(operand) if isinstance(operand, Tensor) else operand


@expose("method", "__array_ufunc__")
def apply_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs, **options) -> Any:
    """Apply one of NumPy's ufuncs (NEP 13).

    Raises:
        RuntimeError: a Tensor requires a gradient, outside all transforms.
    """
    if method == "__call__" and not options and not isinstance(inputs[0], Tensor) and ufunc in OPERATORS:
        left, right = inputs
        number = isinstance(left, np.generic)
        return OPERATORS[ufunc](
            left.item() if number else make_tensor(current_tape(), np.asarray(left)), right
        )
    function = getattr(ufunc, method)
    if any_transformed((inputs, options)):
        return call_on_values(self, function, inputs, options)
    y = function(*map(to_array, inputs), **options)
    if method not in WRAPPED_METHODS or options.get("out") is not None:
        return y
    return tuple([wrap_array(self, v) for v in y]) if type(y) is tuple else wrap_array(self, y)


@expose("method", "__array_function__")
def call_function(
    self: Tensor, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """Call one of NumPy's functions (NEP 18)."""
    if any_transformed((args, kwargs)):
        return call_on_values(self, function, args, kwargs)
    return function._implementation(*args, **kwargs)
