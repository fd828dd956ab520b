"""Functions that read one triangle of a matrix, symmetrized so that they can be measured along any direction.

`eigh`, `cholesky` and others read one triangle, as NumPy does, and have the derivative of a function of Hermitian
matrices. Along a direction that is not Hermitian the two disagree. So the matrix is replaced by its Hermitian part: a
Hermitian matrix stays as it is, and a direction is replaced by its Hermitian part, as in the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.aval import aval_of, is_differentiable
from ..core.interpreter import PrimalTracer, is_plain, opened, use_context
from ..core.observer import Observer
from ..core.primitive import HigherOrder
from ..ops.linalg import hermitian_part


class HermitianTracer(PrimalTracer):
    """A value, as a primal without derivative."""

    __slots__ = ()

    def __init__(self, interpreter: HermitianInterpreter, value: Any):
        self.interpreter, self.primal = interpreter, value


class HermitianInterpreter(Observer):
    """A level that evaluates, and takes the Hermitian part of matrices that are taken for Hermitian;
    `has_hermitian` tells whether there were some.

    It is an observer so that `jit` and loops show what they do.
    """

    name = "measurement"
    __slots__ = ("has_hermitian",)

    def __init__(self) -> None:
        super().__init__()
        self.has_hermitian = False

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        values = list(map(self.unwrap, args))
        if primitive is ops.mirror_triangle.primitive:
            self.has_hermitian = True
            with use_context(self.outer):
                result = hermitian_part(values[0])
        elif primitive.rules_run_user_code:
            return primitive.kernel(*args, **params)  # the user's function, for which tracers are arrays
        elif isinstance(primitive, HigherOrder) and is_plain(values):
            result = primitive.kernel(*values, **params)  # Graphs, in our own context
        else:
            result = self.bind_outer(primitive, values, params)
        if not any(isinstance(a, HermitianTracer) for a in args):
            return result
        return list(map(self.trace, result)) if primitive.multiple_results else self.trace(result)

    def trace(self, value: Any) -> Any:
        """Return a value as the function gets it."""
        return HermitianTracer(self, value) if is_differentiable(aval_of(value).dtype) else value

    def unwrap(self, value: Any) -> Any:
        return value.primal if type(value) is HermitianTracer and value.interpreter is self else value


def with_hermitian_parts(fun: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """Return `fun`; where it takes matrices for Hermitian at these arguments, it gets their Hermitian
    parts."""
    met = False

    def hermitian_fun(*args: Any) -> Any:
        nonlocal met
        level = HermitianInterpreter()
        with opened(level):
            result = fun(*pytree.map(level.trace, tuple(args)))
        met = level.has_hermitian
        return pytree.map(level.unwrap, result)

    with suppress(Exception), np.errstate(all="ignore"):
        hermitian_fun(*args)  # fails where the function cannot be traced: it meets none
    return hermitian_fun if met else fun
