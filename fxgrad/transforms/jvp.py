"""Forward mode: JVPInterpreter, `jvp`, and `linearize`, which is jvp with the tangents staged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..core import pytree, source_info
from ..core.aval import PLAIN, Aval, aval_of, dtype_of, is_differentiable
from ..core.errors import StructureError
from ..core.interpreter import CURRENT, Interpreter, PrimalTracer, Tracer, api_boundary, opened
from ..core.observer import is_stepwise
from ..core.staging import GraphInterpreter
from ..core.surface import release_all
from .arguments import (
    admit_arguments,
    admit_tangents,
    tangent_dtype,
    unshare_results,
    zero_tangent,
)
from .flat_function import FlatFunction
from .linear_function import LinearFunction
from .reverse import stays_traced

if TYPE_CHECKING:
    from ..core.typing import R
    from .signatures import Arguments, Aux, Linearized, NoAux, WithAux


class JVPTracer(PrimalTracer):
    """A primal with its tangent (None stands for zero)."""

    __slots__ = ("tangent",)

    def __init__(self, interpreter: JVPInterpreter, primal: Any, tangent: Any):
        self.interpreter, self.primal, self.tangent = interpreter, primal, tangent

    is_differentiated = property(lambda self: self.tangent is not None)

    def contents(self) -> tuple:
        return self.primal, self.tangent


class JVPInterpreter(Interpreter):
    """Forward mode: it pushes tangents along with the values, by the JVP rules of the primitives."""

    name = "jvp"
    __slots__ = ()

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        primals, tangents, traced = [], [], False
        for a in args:
            if type(a) is JVPTracer and a.interpreter is self:
                traced = True
                primals.append(a.primal)
                tangents.append(a.tangent)
            else:
                primals.append(a)
                tangents.append(None)
        if not traced:
            return self.bind_outer(primitive, args, params)
        observer = self.outer.observer
        token = CURRENT.set(self.outer)
        try:
            if observer is None:
                y, t = primitive.jvp(primals, tangents, params)
            else:
                y, t = observer.jvp(primitive, primals, tangents, params)
        finally:
            CURRENT.reset(token)
        if primitive.multiple_results:
            return [JVPTracer(self, v, s) for v, s in zip(y, t)]
        if t is None and type(y) in PLAIN and not stays_traced(y, primals):
            return y
        return JVPTracer(self, y, t)

    def lend(self, array: Any) -> Any:
        return JVPTracer(self, array, None)

    def primal_and_tangent(self, value: Any) -> tuple[Any, Any]:
        """Split a result into its primal and its tangent (None: zero)."""
        if type(value) is JVPTracer and value.interpreter is self:
            return value.primal, value.tangent
        return value, None


def jvp_flat(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], site: Any = None
) -> tuple[Any, Any]:
    """Apply forward mode to a function from values to a flat sequence of values; return the results and their
    tangents (None: zero)."""
    interpreter = JVPInterpreter(site)
    tracers = [JVPTracer(interpreter, p, t) for p, t in zip(primals, tangents)]
    with opened(interpreter):
        results = [interpreter.primal_and_tangent(r) for r in fun(*tracers)]
    return [y for y, _ in results], [t for _, t in results]


def instantiate_tangent(y: Any, t: Any) -> Any:
    """Return a tangent as the user gets it: zeros are made explicit, and integers have tangents of dtype
    float0."""
    return zero_tangent(y) if t is None or not is_differentiable(dtype_of(y)) else t


@overload
def jvp(
    fun: Callable[[*Arguments], R],
    primals: tuple[*Arguments],
    tangents: Sequence[Any],
    *,
    has_aux: NoAux = False,
    check: bool = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[[*Arguments], tuple[R, Aux]],
    primals: tuple[*Arguments],
    tangents: Sequence[Any],
    *,
    has_aux: WithAux,
    check: bool = False,
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
    check: bool = False,
) -> tuple[Any, ...]: ...
@api_boundary
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
    check: bool = False,
) -> Any:
    """The value of `fun` at `primals` and its derivative along `tangents` (Jacobian-vector product).

    Args:
        fun: a function of pytrees of arrays.
        primals: tuple or list of its arguments.
        tangents: tuple or list of the same structure, shapes and dtypes (float0 for integer arguments).
        has_aux: `fun` returns (value, aux); aux is handed through.
        check: compare the tangent of the value with a numerical derivative along `tangents`.

    Returns:
        (value, tangent of the value), and aux if `has_aux`.

    Raises:
        StructureError, ShapeError, DTypeError: the tangents do not fit the primals.
        CheckError, ConcretizationError: as for `grad`, with `check`.

    >>> y, t = fx.jvp(fnp.sin, (0.0,), (2.0,))
    >>> float(y), float(t)
    (0.0, 2.0)
    """
    site = source_info.user_frame()
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise StructureError(
            f"jvp: primals and tangents must be tuples or lists, not {type(primals).__name__} and "
            f"{type(tangents).__name__}",
            hint="fx.jvp(f, (x,), (t,))",
        )
    values, structure = pytree.flatten(tuple(primals))
    given, tangent_structure = pytree.flatten(tuple(tangents))
    values = admit_arguments("jvp", values, structure)
    given = admit_tangents("jvp", "tangent", values, structure, given, tangent_structure)
    flat_fun = FlatFunction(fun, structure, "jvp", has_aux=has_aux)
    active = [t if is_differentiable(aval_of(v).dtype) else None for v, t in zip(values, given)]
    ys, ts = jvp_flat(flat_fun, values, active, site)
    ys = [
        y.copy() if t is None and type(y) is np.ndarray else y for y, t in zip(ys, ts)
    ]  # arrays closed over
    ts = [instantiate_tangent(y, t) for y, t in zip(ys, ts)]
    results = unshare_results([*ys, *ts], [*values, *given])
    parts = results[: len(ys)], results[len(ys) :]
    out = tuple([pytree.unflatten(flat_fun.out_structure, part) for part in parts])
    if check:
        from ..checking.compare import check_jvp_result  # a program over the transforms

        check_jvp_result(fun, primals, tangents, has_aux)
    return (*out, flat_fun.aux) if has_aux else out


@overload
def linearize(
    fun: Callable[[*Arguments], R], *primals: *Arguments, has_aux: NoAux = False
) -> tuple[R, Linearized[R]]: ...
@overload
def linearize(
    fun: Callable[[*Arguments], tuple[R, Aux]], *primals: *Arguments, has_aux: WithAux
) -> tuple[R, Linearized[R], Aux]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...
@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun` and its derivative at `primals` as a linear function of the tangents.

    The value is computed once; the linear function evaluates a Graph of what depends on the tangents alone.

    Args:
        fun: a function of pytrees of arrays.
        primals: its arguments.
        has_aux: `fun` returns (value, aux).

    Returns:
        (value, f_jvp), and aux if `has_aux`. `f_jvp(*tangents)` gives the tangent of the value; its Graph is
        `f_jvp.graph`.

    >>> y, f_jvp = fx.linearize(lambda x: x ** 3, 2.0)
    >>> float(y), float(f_jvp(1.0))
    (8.0, 12.0)
    """
    site = source_info.user_frame()
    values, structure = pytree.flatten(primals)
    values = admit_arguments("linearize", values, structure)
    staging = GraphInterpreter(site, "linearize")
    flat_fun = FlatFunction(fun, structure, "linearize", has_aux=has_aux)
    avals = [aval_of(v) for v in values]
    values = [staging.snapshot(v) for v in values]

    def jvp_at_primals(tangents: Sequence[Any]) -> tuple[Any, Any]:
        active = [t if is_differentiable(a.dtype) else None for t, a in zip(tangents, avals)]
        ys, ts = jvp_flat(flat_fun, values, active, site)
        return ys, [instantiate_tangent(y, t) for y, t in zip(ys, ts)]

    inputs = [staging.new(Aval(a.shape, tangent_dtype(a.dtype))) for a in avals]
    with opened(staging):
        ys, ts = jvp_at_primals(inputs)
        outputs = [staging.atom(t) for t in ts]
    graph = staging.finish_graph([t.variable for t in inputs], outputs, "linearized")

    def push(tangents: list[Any]) -> Sequence[Any]:
        # A checker is to see the user's operations rather than those that their rules left in the Graph.
        ts = jvp_at_primals(tangents)[1] if is_stepwise() else graph(*tangents)
        return unshare_results(ts, [*tangents, *graph.captured.values()])

    structures = structure, flat_fun.out_structure
    f_jvp = LinearFunction("linearized function", "tangent", avals, *structures, push, False, graph)
    ys = [y.copy() if hasattr(y, "copy") and not isinstance(y, Tracer) else y for y in ys]
    out = pytree.unflatten(flat_fun.out_structure, release_all(ys)), f_jvp
    return (*out, flat_fun.aux) if has_aux else out
