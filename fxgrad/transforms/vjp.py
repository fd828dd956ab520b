"""Reverse mode: `vjp`, `grad`, `value_and_grad`, and `linear_transpose`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, Unpack, overload

import numpy as np

from .. import ops
from ..core import pytree, source_info
from ..core.arrays import as_value, holds_objects
from ..core.aval import PLAIN, aval_of, dtype_of, is_differentiable
from ..core.common_errors import not_a_function
from ..core.costs import DEFERRED_ENTRIES
from ..core.errors import DTypeError, NonScalarError, NotLinearError
from ..core.graph import Graph, Literal
from ..core.interpreter import (
    CURRENT,
    Context,
    Tracer,
    api_boundary,
    copy_level,
    ensure_open,
    leave_library,
    opened,
)
from ..core.staging import stage
from ..core.surface import OBJECTS, hand_on, make_object, release, release_all
from ..kernels.memory import keep_freed_memory
from ..ops.kinds import Elementwise, Linear
from ..ops.masked import densify
from ..ops.projection import project
from ..ops.transpose import transpose_graph
from ..transforms.arguments import positions_of, wrong_argnums
from .arguments import (
    FLOAT,
    LeafName,
    admit,
    admit_arguments,
    admit_or_float0,
    path_in_arguments,
    zero_tangent,
)
from .derived_function import derive
from .flat_function import FlatFunction, split_aux, strip_tracers
from .linear_function import LinearFunction
from .reverse import ReverseInterpreter, ReverseTracer, backward, unshare_cotangent

if TYPE_CHECKING:
    from ..core.typing import P, R, T
    from .signatures import (
        Argument2,
        Arguments,
        Aux,
        Derivative,
        First,
        FirstTwo,
        GradOptions,
        NoAux,
        Pullback,
        ValueAndDerivative,
        WithAux,
    )

ONE = np.float64(1)
NODE = attrgetter("node")
DEFERS = os.environ.get("FXGRAD_DEFER", "1") != "0"
keep_freed_memory()  # this module is loaded when reverse mode is first used


def primal_and_node(interpreter: ReverseInterpreter, value: Any) -> tuple[Any, list | None]:
    """Split a result into its primal and its node (None: constant)."""
    if type(value) is ReverseTracer and value.interpreter is interpreter:
        return value.primal, value.node
    if isinstance(value, Tracer):
        if isinstance(value, ReverseTracer) and value.interpreter is interpreter:  # a deferred one
            return value.primal, value.node
        ensure_open(value, interpreter.name)
    elif (
        holds_objects(value) and value.ndim == 0 and isinstance(value.item(), Tracer)
    ):  # np.array(x) of a number
        return primal_and_node(interpreter, value.item())
    return value, None


def open_deferring(name: str, site: Any) -> ReverseInterpreter:
    """Return the interpreter of a transform of large arrays: elementwise work is deferred, where it may be."""
    outer = CURRENT.get()
    if DEFERS and outer.interpreter.outer is None and outer.observer is None:
        from .deferral import DeferringInterpreter, may_defer  # compiles: not everybody needs it

        if may_defer():
            return DeferringInterpreter(name, site)
    return ReverseInterpreter(name, site)


def input_cotangents(
    nodes: Sequence[Any], cts: Sequence[Any], leaves: Sequence[Any], values: Sequence[Any], consume: bool
) -> list[Any]:
    """Return the cotangents of the inputs, ready to hand out, for cotangents of the results that `nodes` made. Inputs
    are given by their nodes, `leaves`, and their values."""
    results = backward(zip(nodes, cts), leaves, consume)
    taken = set(map(id, cts))
    for i, ct in enumerate(results):
        results[i] = zero_tangent(values[i]) if ct is None else unshare_cotangent(ct, taken)
    return results


@overload
def vjp(
    fun: Callable[[*Arguments], R], *primals: *Arguments, has_aux: NoAux = False, check: bool = False
) -> tuple[R, Pullback[*Arguments]]: ...
@overload
def vjp(
    fun: Callable[[*Arguments], tuple[R, Aux]], *primals: *Arguments, has_aux: WithAux, check: bool = False
) -> tuple[R, Pullback[*Arguments], Aux]: ...
@overload
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool, check: bool = False) -> tuple[Any, ...]: ...
@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, check: bool = False) -> Any:
    """The value of `fun` and its pullback at `primals` (vector-Jacobian product).

    Args:
        fun: a function of pytrees of arrays.
        primals: its arguments.
        has_aux: `fun` returns (value, aux); aux is handed through.
        check: compare the pullback of a random cotangent with a numerical derivative.

    Returns:
        (value, pullback), and aux if `has_aux`. `pullback(ct)` takes a cotangent with the structure, shapes and
        dtypes of the value and returns a tuple of cotangents, one for each of `primals` (float0 zeros for
        integers). It may be called any number of times, and is a pytree of what it needs, which `jit` and `vmap` take
        and return. Complex numbers follow JAX's convention: no conjugation.

    Raises:
        DTypeError: an argument is no array or number.
        StructureError, ShapeError, DTypeError: by the pullback, where the cotangent does not fit the value.
        CheckError, ConcretizationError: as for `grad`, with `check`.

    >>> y, pullback = fx.vjp(lambda a, b: a * b, 3.0, 4.0)
    >>> [float(ct) for ct in pullback(1.0)]
    [4.0, 3.0]
    """
    site = source_info.user_frame()
    values, structure = pytree.flatten(primals)
    values = admit_arguments("vjp", values, structure)
    large = any(type(v) is np.ndarray and v.size >= DEFERRED_ENTRIES for v in values)
    interpreter = (open_deferring if large else ReverseInterpreter)("vjp", site)
    inputs = [interpreter.new(v) for v in values]
    leaves = list(map(NODE, inputs))
    aux = None
    with opened(interpreter):
        level = copy_level()
        arguments = inputs if level is None else list(map(level.spread, inputs))
        result = fun(*pytree.unflatten(structure, arguments))
        if has_aux:
            result, aux = split_aux(result, "vjp")
        results, out_structure = pytree.flatten(result)
        results = [as_value(r) if holds_objects(r) else r for r in results]
        if level is not None:
            results = list(map(level.unite, results))
    pairs = [primal_and_node(interpreter, r) for r in results]
    interpreter.snapshots.clear()
    ys = [admit_or_float0(y, "vjp: a result") for y, _ in pairs]
    avals = [aval_of(y) for y in ys]
    nodes = [node for _, node in pairs]
    # Results may be residuals as well: the caller gets arrays of their own.
    ys = [y.copy() if type(y) is np.ndarray else y for y in ys]

    def pull(cts: list[Any]) -> list[Any]:
        return input_cotangents(nodes, cts, leaves, values, False)

    pullback = LinearFunction("vjp", "cotangent", avals, out_structure, structure, pull, True)
    out = pytree.unflatten(out_structure, release_all(ys)), pullback
    if check:
        from ..checking.compare import check_vjp_result  # a program over the transforms

        check_vjp_result(fun, primals, has_aux, *out)
    return (*out, strip_tracers(aux, interpreter)) if has_aux else out


@overload
def grad(
    fun: Callable[Concatenate[T, P], Any],
    argnums: First = 0,
    has_aux: NoAux = False,
    **options: Unpack[GradOptions],
) -> Derivative[T, P]: ...
@overload
def grad(
    fun: Callable[Concatenate[T, P], tuple[Any, Aux]],
    argnums: First = 0,
    *,
    has_aux: WithAux,
    **options: Unpack[GradOptions],
) -> Callable[Concatenate[T, P], tuple[T, Aux]]: ...
@overload
def grad(
    fun: Callable[Concatenate[T, Argument2, P], Any],
    argnums: FirstTwo,
    has_aux: NoAux = False,
    **options: Unpack[GradOptions],
) -> Callable[Concatenate[T, Argument2, P], tuple[T, Argument2]]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    check: bool = False,
) -> Callable[P, Any]: ...
@api_boundary
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    check: bool = False,
) -> Callable[P, Any]:
    """The gradient of a scalar function, as a function of the same arguments.

    Args:
        fun: a function of pytrees of arrays that returns a scalar.
        argnums: which positional arguments to differentiate (int or sequence of ints; may be negative).
        has_aux: `fun` returns (value, aux).
        holomorphic: `fun` is holomorphic: arguments and result are complex. (A real function of complex arguments
            needs none: its gradient is ∂/∂x − i ∂/∂y, JAX's convention, as −4j for z.imag ** 2 at 2j.)
        allow_int: integer arguments are allowed; their gradient is zeros of dtype float0.
        check: compare each gradient with a numerical derivative along a random direction, the same in every run. It
            takes five evaluations of `fun` or more.

    Returns:
        A function giving the gradient with the structure of the argument (a tuple of them for a sequence
        `argnums`); (gradient, aux) if `has_aux`.

    Raises:
        StructureError: the argument is no function.
        NonScalarError: the result is not a scalar.
        DTypeError: an argument is an integer or boolean, or the result is not real (see `allow_int`, `holomorphic`).
        CheckError: with `check`, the gradient disagrees with the numerical derivative, or the point is a kink of
            `fun`, or `fun` is noisy, so that there is none.
        ConcretizationError: with `check`, the values are not known (under `jit`, `vmap`, or another derivative).

    >>> float(fx.grad(lambda x: fnp.sin(x) * x)(0.0))
    0.0
    """
    compute = differentiator(fun, argnums, has_aux, holomorphic, allow_int, "grad", check)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        outer = CURRENT.get()
        try:
            _, gradients, aux = compute(args, kwargs)
        except BaseException as error:  # as `api_boundary`, without its call
            leave_library(error, outer)
            raise
        return (gradients, aux) if has_aux else gradients

    return derive(
        gradient,
        grad,
        fun,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        allow_int=allow_int,
        check=check,
    )


@overload
def value_and_grad(
    fun: Callable[Concatenate[T, P], R],
    argnums: First = 0,
    has_aux: bool = False,
    **options: Unpack[GradOptions],
) -> ValueAndDerivative[T, P, R]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[T, Argument2, P], R],
    argnums: FirstTwo,
    has_aux: bool = False,
    **options: Unpack[GradOptions],
) -> Callable[Concatenate[T, Argument2, P], tuple[R, tuple[T, Argument2]]]: ...
@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    check: bool = False,
) -> Callable[P, tuple[R, Any]]: ...
@api_boundary
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    check: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """The value and the gradient of a scalar function. Arguments and errors as for `grad`.

    Returns:
        A function giving (value, gradient), or ((value, aux), gradient) if `has_aux`.

    >>> value, gradient = fx.value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    """
    compute = differentiator(fun, argnums, has_aux, holomorphic, allow_int, "value_and_grad", check)

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        outer = CURRENT.get()
        try:
            value, gradients, aux = compute(args, kwargs)
        except BaseException as error:
            leave_library(error, outer)
            raise
        if type(value) not in PLAIN:
            value = release(value)
        return ((value, aux), gradients) if has_aux else (value, gradients)

    return derive(
        value_and_gradient,
        value_and_grad,
        fun,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        allow_int=allow_int,
        check=check,
    )


def differentiator(
    fun: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    name: str,
    check: bool,
    pull: Callable[..., tuple[Any, list[Any]]] | None = None,
) -> Callable[..., tuple]:
    """Return a function (args, kwargs) → (value, gradients, aux), which `grad` and `value_and_grad` share.

    `pull(value, node, seed, leaves, values)` replaces the way back from a node to the nodes and values of the
    arguments, and returns the value and the gradients.
    """
    single = isinstance(argnums, int | np.integer)
    if not callable(fun):
        raise not_a_function(name, fun)
    positions = (argnums,) if type(argnums) is int else positions_of(name, argnums)

    def compute(args: tuple, kwargs: dict) -> tuple[Any, Any, Any]:
        count = len(args)
        chosen: dict[int, Any] = {}  # position → argument
        place = 0
        for p in positions:
            place = p + count if p < 0 else p
            if not 0 <= place < count:
                raise wrong_argnums(name, argnums, count)
            chosen[place] = args[place]
        if len(chosen) < len(positions):
            raise wrong_argnums(name, argnums, count)
        values, structure = pytree.flatten(chosen[place] if single else tuple(chosen.values()))
        large = False
        for index, leaf in enumerate(values):
            if holomorphic or (
                type(leaf) is not float and (type(leaf) is not np.ndarray or leaf.dtype is not FLOAT)
            ):
                leaf_name = LeafName(f"{name}: the argument", path_in_arguments, chosen, index)
                values[index] = leaf = admit_for_grad(leaf, leaf_name, holomorphic, allow_int)
            if type(leaf) is np.ndarray and leaf.size >= DEFERRED_ENTRIES:
                large = True
        interpreter = (open_deferring if large else ReverseInterpreter)(name, source_info.user_frame())
        inputs = list(map(interpreter.new, values))
        leaves = list(map(NODE, inputs))
        traced_args = list(args)
        token = CURRENT.set(Context(interpreter, interpreter.outer.observer))
        try:
            level = None if interpreter.outer.interpreter.outer is None else copy_level()
            traced = structure.unflatten(inputs if level is None else list(map(level.spread, inputs)))
            for place, t in zip(chosen, (traced,) if single else traced):
                traced_args[place] = t
            if count > len(chosen):
                for place, argument in enumerate(args):
                    if place not in chosen:
                        traced_args[place] = hand_on(argument)
            if kwargs:
                kwargs = {name: hand_on(argument) for name, argument in kwargs.items()}
            result = fun(*traced_args, **kwargs)
            result, aux = split_aux(result, name) if has_aux else (result, None)
            if level is not None:
                result = level.unite(result)
        finally:
            CURRENT.reset(token)
        kind = type(result)
        value, node = primal_and_node(interpreter, result.__fxgrad_value__() if kind in OBJECTS else result)
        seed = ONE if type(value) is np.float64 and not holomorphic else scalar_seed(value, holomorphic, name)
        interpreter.snapshots.clear()
        if pull is None:
            gradients = input_cotangents([node], [seed], leaves, values, True)
        else:
            value, gradients = pull(value, node, seed, leaves, values)
        if kind in OBJECTS:
            value = make_object(kind, value)
        return value, structure.unflatten(gradients), strip_tracers(aux, interpreter) if has_aux else None

    def compute_and_check(args: tuple, kwargs: dict) -> tuple[Any, Any, Any]:
        from ..checking.compare import check_gradient  # a program over the transforms

        found = compute(args, kwargs)
        check_gradient(name, fun, positions, has_aux, args, kwargs, found[1])
        return found

    return compute_and_check if check else compute


def admit_for_grad(leaf: Any, name: LeafName, holomorphic: bool, allow_int: bool) -> Any:
    """Admit an argument of `grad`; raise unless it can be differentiated."""
    leaf = admit(leaf, name)
    dtype = dtype_of(leaf)
    if holomorphic and dtype.kind != "c":
        raise DTypeError(
            f"{name} is {dtype}, holomorphic=True needs complex arguments",
            hint="x.astype(complex), or leave holomorphic=True out",
        )
    if not is_differentiable(dtype) and not allow_int:
        raise DTypeError(
            f"{name} has integer or boolean dtype {dtype}, which has no gradient",
            hint="convert it (x.astype(float), 2.0 instead of 2), choose other argnums, or allow_int=True",
        )
    return leaf


def scalar_seed(value: Any, holomorphic: bool, name: str) -> Any:
    """Return the cotangent 1 of a scalar result; raise unless the result is a scalar with a derivative."""
    try:
        aval = aval_of(value)
    except DTypeError:
        raise NonScalarError(
            f"{name} is of scalar functions; the result is a {type(value).__name__}",
            hint="return the result: a function without `return` gives None"
            if value is None
            else "for a result with several parts use has_aux=True, fx.vjp or fx.jacrev",
        ) from None
    if aval.shape != ():
        raise NonScalarError(
            f"{name} is of scalar functions; the result has shape {aval.shape}",
            hint="sum it (fnp.sum), or use fx.jacrev, fx.vjp or fx.vmap(fx.grad(f))",
        )
    if holomorphic != (aval.dtype.kind == "c"):
        raise DTypeError(
            f"{name}: the result has dtype {aval.dtype}, expected a "
            f"{'complex' if holomorphic else 'real'} one (holomorphic={holomorphic})",
            hint=None
            if holomorphic
            else "for a holomorphic function give holomorphic=True; otherwise differentiate the real and the "
            "imaginary part",
        )
    if not is_differentiable(aval.dtype):
        raise DTypeError(
            f"{name}: the result has dtype {aval.dtype}, which has no gradient",
            hint="return a floating-point number: y.astype(float), or a sum of such",
        )
    return ops.full_like(value, value=1) if type(value) not in PLAIN else aval.dtype.type(1)


@api_boundary
def linear_transpose(fun: Callable[[*Arguments], Any], *primals: *Arguments) -> Pullback[*Arguments]:
    """The transpose of a linear function of `primals`, of which only shapes and dtypes are used.

    Args:
        fun: a linear function of pytrees of floating-point or complex arrays to such, or of integers to integers.
        primals: arrays, or anything with `shape` and `dtype`.

    Returns:
        A function from a cotangent of the result to the tuple of cotangents of the arguments; of integers these are
        integers.

    Raises:
        NotLinearError: `fun` is not linear.
        DTypeError: `fun` goes from integers to floating-point numbers or back.

    >>> transposed = fx.linear_transpose(lambda x: 3.0 * x, np.zeros(2))
    >>> transposed(np.ones(2))
    (array([3., 3.]),)
    """
    site = source_info.user_frame()
    leaves, structure = pytree.flatten(primals)
    avals = [aval_of(v) for v in leaves]
    flat_fun = FlatFunction(fun, structure, "linear_transpose")
    graph = stage(flat_fun, avals, "linear_transpose", site)
    dtypes = [a.dtype for a in (*avals, *graph.out_avals)]
    if not all(map(is_differentiable, dtypes)) and any(d.kind not in "iu" for d in dtypes):
        raise DTypeError(
            "linear_transpose is of functions of floating-point and complex numbers to such, or of integers to "
            f"integers, not of {avals} to {graph.out_avals}",
            hint="convert the arguments: x.astype(float), 2.0 instead of 2",
        )
    ensure_linear(graph)

    def transposed(given: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):  # as on the way back of `vjp`
            cts = transpose_graph(graph, [], len(leaves), given)
        seen = {id(c) for c in given}
        return [
            np.zeros(a.shape, a.dtype) if c is None else unshare_cotangent(densify(project(c, a)), seen)
            for c, a in zip(cts, avals)
        ]

    structures = flat_fun.out_structure, structure
    return LinearFunction(
        "linear_transpose",
        "cotangent",
        graph.out_avals,
        *structures,
        transposed,
        True,
        dtype_for=lambda dtype: dtype,  # cotangents of linear functions of integers are integers
    )


def ensure_linear(graph: Graph) -> None:
    """Raise NotLinearError where a constant other than zero is a result, or a term of a sum (concatenation,
    …) on the way to one."""
    dependent = graph.dependents(graph.inputs)

    def check_term(atom: Any, what: str, site: Any = None) -> None:
        constant = atom.value if type(atom) is Literal else graph.captured.get(atom)
        if atom not in dependent and type(constant) in PLAIN and np.any(constant):
            raise NotLinearError(
                f"linear_transpose: {what} does not depend on the arguments: the function adds a constant",
                hint="leave out the constant, or use fx.vjp, which takes functions that are not linear",
                site=site,
            )

    for equation in graph.equations:
        primitive, inputs = equation.primitive, equation.inputs
        if isinstance(primitive, Linear):
            terms = inputs[: primitive.count]
        elif isinstance(primitive, Elementwise) and primitive.jointly:
            terms = [inputs[i] for i in primitive.linear]
        else:
            continue
        if dependent.issuperset(equation.outputs):
            for atom in terms:
                check_term(atom, f"an operand of {primitive.name}", equation.site)
    for atom in graph.outputs:
        check_term(atom, "a result")
