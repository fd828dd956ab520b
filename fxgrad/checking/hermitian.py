"""Functions of matrices of which one triangle is read, to be measured along any direction.

`eigh`, `cholesky` and others read one triangle, as NumPy does, and have the derivative of a function of Hermitian
matrices. Along a direction that is not Hermitian the two are not of one function. So here such a matrix is replaced by
its Hermitian part: at a Hermitian matrix that changes nothing, and along a direction it moves along the Hermitian part
of that, as the derivative has it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.aval import aval_of, is_differentiable
from ..core.interpreter import Interpreter, Tracer, is_plain, opened, within
from ..ops.linalg import hermitian
from ..transforms.custom.call import CustomCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class HermitianTracer(Tracer):
    """The value, as a primal without derivative."""

    __slots__ = ("primal",)

    def __init__(self, interpreter: HermitianInterpreter, value: Any):
        self.interpreter, self.primal = interpreter, value

    aval = property(lambda self: aval_of(self.primal))

    def contents(self) -> tuple:
        return (self.primal,)

    def concrete(self, operation: str) -> Any:
        return self.primal


class HermitianInterpreter(Interpreter):
    """Evaluates; takes the Hermitian part of matrices that are taken for Hermitian. `met`: there were some.

    It watches, so that `jit` and loops show what they do; for the same reason it looks at nothing.
    """

    name = "measurement"
    watches = True
    __slots__ = ("met",)

    def __init__(self) -> None:
        super().__init__()
        self.met = False

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        values = list(map(self.value_of, args))
        if primitive is ops.selfadjoint.primitive:
            self.met = True
            with within(self.outer):
                result = hermitian(values[0])
        elif isinstance(primitive, CustomCall):
            return primitive.kernel(*args, **params)  # the user's function, for which tracers are arrays
        elif primitive.runs_user_code and is_plain(values):
            result = primitive.kernel(*values, **params)  # Graphs, in our own context
        else:
            result = self.bind_outer(primitive, values, params)
        if not any(isinstance(a, HermitianTracer) for a in args):
            return result
        return list(map(self.traced, result)) if primitive.multiple_results else self.traced(result)

    def traced(self, value: Any) -> Any:
        """A value as the function gets it."""
        return HermitianTracer(self, value) if is_differentiable(aval_of(value).dtype) else value

    def value_of(self, value: Any) -> Any:
        return value.primal if type(value) is HermitianTracer and value.interpreter is self else value

    # -- the manners of a level that watches
    def looks(self) -> bool:
        return False

    def jvp(self, primitive: Any, primals: Any, tangents: Any, params: dict) -> tuple[Any, Any]:
        return primitive.jvp(primals, tangents, params)

    def pullback(self, interpreter: Interpreter, primitive: Any, rule: Any) -> Any:
        return rule


def measurable(fun: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """`fun`; where it takes matrices for Hermitian at these arguments, with their Hermitian parts."""
    met = False

    def moved(*args: Any) -> Any:
        nonlocal met
        level = HermitianInterpreter()
        with opened(level):
            result = fun(*pytree.map(level.traced, tuple(args)))
        met = level.met
        return pytree.map(level.value_of, result)

    with suppress(Exception), np.errstate(all="ignore"):
        moved(*args)  # fails where the function cannot be traced: it meets none
    return moved if met else fun
