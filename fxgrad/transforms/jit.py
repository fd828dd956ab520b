"""Functions as Graphs: `make_graph`, `eval_shape`, `jit`, `closure_convert`."""

from __future__ import annotations

import inspect
from functools import partial, update_wrapper, wraps
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..core import pytree, source_info
from ..core.arrays import namespace_of
from ..core.aval import PLAIN, SCALARS, Aval, aval_of, is_differentiable
from ..core.cache import Cache
from ..core.errors import FxgradError, StaticArgumentError, StructureError, reword
from ..core.graph import Graph
from ..core.interpreter import CURRENT, Tracer, api_boundary, is_plain, leave_library, named_axes
from ..core.key import key_of, tree_key
from ..core.primitive import KERNEL_ERRORS
from ..core.staging import stage
from ..core.surface import release_all
from ..kernels.codegen.source import compile_graph
from .arguments import LeafName, admit_or_float0, argument_path, unshare_results
from .flat_function import FlatFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.observer import Observer


class ShapeDtypeStruct:
    """A shape and a dtype: an array without data, as `eval_shape` returns it and staging accepts it.

    >>> import fxgrad as fx
    >>> fx.ShapeDtypeStruct((3,), float)
    ShapeDtypeStruct(shape=(3,), dtype=float64)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: Any):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: Aval(self.shape, None).size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


def stage_call(
    fun: Callable[..., Any], args: tuple, kwargs: dict, level: str, name: str, site: Any
) -> tuple[Graph, Any]:
    """Stage fun(*args, **kwargs) for the transform `level`; return the Graph, called `name`, and the
    structure of the result."""
    leaves, structure = pytree.flatten((args, kwargs))
    for index, v in enumerate(leaves):
        if not isinstance(v, ShapeDtypeStruct):
            leaves[index] = admit_or_float0(
                v, LeafName(f"{level}: the argument", argument_path, structure, index, True)
            )
    flat_fun = FlatFunction(fun, structure, level, keywords=True)
    graph = stage(flat_fun, [aval_of(v) for v in leaves], name, site, level=level)
    return graph, flat_fun.out_structure


def function_name(fun: Any) -> str:
    """Return the name of a function as a Graph shows it."""
    name = getattr(fun, "__name__", type(fun).__name__)
    return name if name.isidentifier() else "f"


def make_graph(
    fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), return_shape: bool = False
) -> Callable[..., Any]:
    """A function that stages `fun` at the given arguments and returns its Graph.

    Args:
        fun: a function of pytrees of arrays.
        static_argnums: positional arguments that are handed through as they are.
        return_shape: return (graph, shapes and dtypes of the result).

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> graph = fx.make_graph(lambda x: fnp.sin(x) * x)(1.0)
    >>> [equation.primitive.name for equation in graph.equations]
    ['sin', 'multiply']
    """
    static = as_argnums(static_argnums)

    @api_boundary
    @wraps(fun)
    def stage_to_graph(*args: Any, **kwargs: Any) -> Any:
        site = source_info.user_frame()
        applied, dynamic, _ = split_static(fun, args, static, "make_graph")
        graph, structure = stage_call(applied, dynamic, kwargs, "make_graph", function_name(fun), site)
        if not return_shape:
            return graph
        return graph, pytree.unflatten(
            structure, [ShapeDtypeStruct(a.shape, a.dtype) for a in graph.out_avals]
        )

    return stage_to_graph


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of fun(*args, **kwargs), without computing it.

    Args:
        fun: a function of pytrees of arrays.
        args, kwargs: arrays, or anything with `shape` and `dtype`.

    Returns:
        A pytree of `ShapeDtypeStruct`.

    >>> import fxgrad as fx, fxgrad.numpy as fnp, numpy as np
    >>> fx.eval_shape(fnp.matmul, np.zeros((2, 3)), np.zeros((3, 4)))
    ShapeDtypeStruct(shape=(2, 4), dtype=float64)
    """
    graph, structure = stage_call(
        fun, args, kwargs, "eval_shape", function_name(fun), source_info.user_frame()
    )
    return pytree.unflatten(structure, [ShapeDtypeStruct(a.shape, a.dtype) for a in graph.out_avals])


def as_argnums(argnums: int | Sequence[int] | None) -> tuple[int, ...]:
    return () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)


def split_static(
    fun: Callable, args: tuple, static: Sequence[int], name: str
) -> tuple[Callable, tuple, tuple]:
    """Split off the static arguments: return the function of the other arguments, these, and the static
    ones."""
    if not static:
        return fun, args, ()
    places = {p % len(args) if -len(args) <= p < len(args) else p for p in static}
    fixed = tuple((p, args[p]) for p in sorted(places) if p < len(args))
    held = dict(fixed)

    def dynamic_fun(*rest: Any, **kwargs: Any) -> Any:
        others = iter(rest)
        return fun(*[held[i] if i in held else next(others) for i in range(len(args))], **kwargs)

    return dynamic_fun, tuple(a for i, a in enumerate(args) if i not in held), fixed


class jit:
    """`fun`, staged once for every kind of arguments and run from then on as compiled straight-line code.

    The code is readable: `fx.jit(f).source(*args)`. It is kept for the structure, shapes, dtypes and weakness of
    the arguments and the values of the static ones. `fun` must be pure: what it does besides computing happens
    while staging only (except by `fx.debug.callback` and `fx.debug.print`), and arrays that it closes over are part of
    the code. (A Tensor with a history that it closes over is recorded, and the function staged again at every call:
    make it an argument.) Transforms apply to a jitted function and inside it.

    Args:
        fun: a function of pytrees of arrays.
        static_argnums, static_argnames: arguments that are compared by value; hashable. Python's `if` and `while`
            may depend on them.

    Raises:
        ConcretizationError: `fun` needs the value of a traced argument.
        StaticArgumentError: a static argument is not hashable.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> f = fx.jit(lambda x, n: fnp.sin(x) ** n, static_argnums=1)
    >>> float(f(0.0, 2))
    0.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        *,
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
    ):
        if not callable(fun):
            raise StructureError(f"jit takes a function, not a {type(fun).__name__}")
        self.fun = fun
        self.names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames or ())
        self.static = as_argnums(static_argnums)
        try:
            parameters = list(inspect.signature(fun).parameters)
        except (TypeError, ValueError):
            parameters = []
        self.names.update(parameters[p] for p in self.static if -len(parameters) <= p < len(parameters))
        self.static = tuple({*self.static, *(parameters.index(n) for n in self.names if n in parameters)})
        self.cache = Cache(256)
        update_wrapper(self, fun, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or isinstance(self.fun, staticmethod):
            return self
        return wraps(self.fun)(lambda *args, **kwargs: self(instance, *args, **kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        outer = CURRENT.get()
        try:
            if outer.observer is not None:
                return self.call_observed(outer.observer, args, kwargs)
            leaves, entry = self.lookup(args, kwargs, source_info.user_frame)
            for v in leaves:
                if type(v) not in PLAIN:
                    break
            else:
                if entry.plain is not None:
                    try:
                        results = entry.plain(*leaves)
                    except KERNEL_ERRORS as error:
                        entry.raise_with_location(error, entry.plain)
                    if entry.results_may_share:
                        results = unshare_results(results, [*leaves, *entry.graph.captured.values()])
                    return pytree.unflatten(entry.structure, results)
            return pytree.unflatten(entry.structure, release_all(entry.traced(*leaves)))
        except BaseException as error:  # as `api_boundary`, without its call
            leave_library(error, outer)
            raise

    def call_observed(self, observer: Observer, args: tuple, kwargs: dict) -> Any:
        """Call the function under an observer: as the Python that it is, or as code that shows its equations."""
        if observer.is_stepwise:
            results, structure = pytree.flatten(self.fun(*args, **kwargs))
            return pytree.unflatten(structure, unshare_results(results, pytree.leaves((args, kwargs))))
        leaves: list[Any] = []

        def run() -> Any:
            leaves[:], entry = self.lookup(args, kwargs, source_info.user_frame)
            if entry.plain is None or not is_plain(leaves):
                return pytree.unflatten(entry.structure, release_all(entry.traced(*leaves)))
            code = observer.observed_code(entry.plain)
            try:
                results = code(*leaves)
            except KERNEL_ERRORS as error:
                entry.raise_with_location(error, code)
            return pytree.unflatten(
                entry.structure, unshare_results(results, [*leaves, *entry.graph.captured.values()])
            )

        return observer.observe("jit", f"jit({function_name(self.fun)})", leaves, run)

    def lookup(self, args: tuple, kwargs: dict, site: Callable[[], Any]) -> tuple[list[Any], CompiledGraph]:
        """Return the flat dynamic arguments and the compiled function for arguments of their kind."""
        fun, dynamic, fixed = split_static(self.fun, args, self.static, "jit")
        if self.names and kwargs:
            named = tuple(sorted((k, v) for k, v in kwargs.items() if k in self.names))
            kwargs = {k: v for k, v in kwargs.items() if k not in self.names}
            fun = partial(fun, **dict(named))
            fixed = (*fixed, *named)
        leaves, structure = pytree.flatten((dynamic, kwargs))
        key = (
            structure,
            tree_key(dynamic),
            tree_key(kwargs) if kwargs else None,
            tuple([argument_key(leaves, i, structure) for i in range(len(leaves))]),
            *[(place, key_of(value)) for place, value in fixed],
        )
        try:
            entry = self.cache.get(key)
        except TypeError:
            for place, value in fixed:
                try:
                    hash(value)
                except TypeError:
                    raise StaticArgumentError(
                        f"jit: the static argument {place!r} of type {type(value).__name__} is not hashable",
                        hint="pass a tuple instead of a list, or make the argument dynamic",
                    ) from None
            raise
        if entry is None:
            axes = named_axes()
            if axes:  # on whose names and sizes the Graph may depend
                key = (*key, axes)
                entry = self.cache.get(key)
        if entry is None:
            entry = self.compile(fun, dynamic, kwargs, site)
            if not any(isinstance(v, Tracer) for v in entry.graph.captured.values()):
                self.cache[key] = entry
        return leaves, entry

    def compile(
        self, fun: Callable[..., Any], args: tuple, kwargs: dict, site: Callable[[], Any]
    ) -> CompiledGraph:
        """Stage and compile a function of the dynamic arguments; to an observer it is a step."""
        name = function_name(self.fun)

        def run() -> CompiledGraph:
            return CompiledGraph(*stage_call(fun, args, kwargs, "jit", name, site()))

        observer = CURRENT.get().observer
        return run() if observer is None else observer.observe("jit", f"staging of {name}", (), run)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python for these arguments."""
        return self.lookup(args, kwargs, source_info.user_frame)[1].traced.source

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        self.cache.clear()


class CompiledGraph:
    """A Graph with its compiled functions: one over NumPy kernels (None where the Graph captured arrays of
    another library or tracers), and one for any values.

    `results_may_share`: the results of `plain` may be arguments, captured values, views of these, or one array twice.
    """

    __slots__ = ("graph", "plain", "results_may_share", "structure", "traced")

    def __init__(self, graph: Graph, structure: Any):
        self.graph, self.structure = graph, structure
        self.plain: Any
        only_numpy = all(namespace_of(v) is np for v in graph.captured.values())
        self.plain = compile_graph(graph, True) if only_numpy else None
        self.traced = compile_graph(graph, False)
        fresh = {v for e in graph.equations if isinstance(e.primitive.kernel, np.ufunc) for v in e.outputs}
        self.results_may_share = len({*graph.outputs}) < len(graph.outputs) or not fresh.issuperset(
            graph.outputs
        )

    def raise_with_location(self, error: Exception, code: Any) -> NoReturn:
        """Raise the error of a kernel that was called by `code`, with the operation and the user's line at which it
        was staged; raise the user's own errors as they are."""
        entry = error.__traceback__
        while entry is not None and entry.tb_frame.f_code is not code.__code__:
            entry = entry.tb_next
        equation = entry and code.equations[entry.tb_lineno]
        if equation is None or equation.primitive.errors_are_users or isinstance(error, FxgradError):
            raise error
        operands = [a.aval for a in equation.inputs]
        raise reword(error, equation.primitive.name, operands, equation.site) from error


def argument_key(leaves: list[Any], index: int, structure: Any) -> Any:
    """Return what the code depends on for one argument, a leaf of (args, kwargs), and admit that leaf."""
    value = leaves[index]
    kind = type(value)
    if kind in SCALARS:
        return kind
    if kind in PLAIN:
        return value.shape, value.dtype
    leaves[index] = admit_or_float0(
        value, LeafName("jit: the argument", argument_path, structure, index, True)
    )
    return aval_of(leaves[index])


@api_boundary
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return `fun` as a function that takes the values it closes over as further arguments, and those
    values.

    For custom rules, whose functions must not close over traced values.

    Args:
        fun: a function of pytrees of arrays.
        example_args: arguments of the kind it will be called with.

    Returns:
        (converted, closed_over): converted(*args, *closed_over) is fun(*args); closed_over has the floating-point
        and complex values that `fun` uses from outside.

    >>> import fxgrad as fx, numpy as np
    >>> w = np.ones(2)
    >>> converted, closed_over = fx.closure_convert(lambda x: x * w, np.zeros(2))
    >>> len(closed_over), converted(np.array([3.0, 4.0]), 2 * w)
    (1, array([6., 8.]))
    """
    graph, out_structure = stage_call(
        fun, example_args, {}, "closure_convert", function_name(fun), source_info.user_frame()
    )
    structure = pytree.structure((example_args, {}))
    hoisted = [v for v, value in graph.captured.items() if is_differentiable(aval_of(value).dtype)]
    values = [graph.captured[v] for v in hoisted]
    captured = {v: value for v, value in graph.captured.items() if v not in set(hoisted)}
    converted_graph = Graph((*hoisted, *graph.inputs), graph.equations, graph.outputs, captured, graph.name)

    @api_boundary
    def converted_fun(*args: Any) -> Any:
        if len(args) != len(example_args) + len(hoisted):
            raise StructureError(
                f"the converted function takes {len(example_args)} arguments and {len(hoisted)} "
                f"closed-over values, {len(args)} were given"
            )
        leaves, given = pytree.flatten((args[: len(example_args)], {}))
        if given != structure:
            raise StructureError(
                f"the converted function was staged for the structure {structure}, not {given}"
            )
        return pytree.unflatten(out_structure, converted_graph(*args[len(example_args) :], *leaves))

    return converted_fun, values
