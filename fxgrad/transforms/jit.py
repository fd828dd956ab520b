"""Functions as Graphs: `make_graph`, `eval_shape`, `jit`, `closure_convert`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Self, cast, overload

from ..core import pytree, source_info
from ..core.aval import PLAIN, SCALARS, aval_of, is_differentiable
from ..core.cache import Cache
from ..core.common_errors import not_a_function
from ..core.devices import CPU, DEFAULT_DEVICE
from ..core.errors import StaticArgumentError, StructureError
from ..core.fp_errors import ERROR_STATE, IGNORE
from ..core.graph import Graph
from ..core.interpreter import (
    CURRENT,
    EVAL,
    Tracer,
    acting_level,
    api_boundary,
    copy_level,
    is_plain,
    leave_library,
    named_axes,
)
from ..core.key import key_of, tree_key
from ..core.primitive import KERNEL_ERRORS
from ..core.references import OuterRefError, PureFunction, is_reference, references_in
from ..core.staging import stage, stages_effects
from ..core.surface import release_all
from ..core.typing import P, Q, R
from .arguments import LeafName, admit_or_float0, argument_path, positions_of, unshare_results
from .compiled_graph import CompiledGraph
from .derived_function import describe_function, load_methods, pickled_form
from .flat_function import FlatFunction
from .guard import make_guard
from .shape_struct import ShapeDtypeStruct, lacks_data

if TYPE_CHECKING:
    from ..core.observer import Observer
    from .lowered import Lowered

SET_STATE, RESET_STATE = ERROR_STATE.set, ERROR_STATE.reset


def stage_call(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], level: str, name: str, site: Any
) -> tuple[Graph, Any]:
    """Stage fun(*args, **kwargs) for the transform `level`; return the Graph, called `name`, and the
    structure of the result."""
    leaves, structure = pytree.flatten((args, kwargs))
    for index, v in enumerate(leaves):
        if not lacks_data(v):
            leaves[index] = admit_or_float0(
                v, LeafName(f"{level}: the argument", argument_path, structure, index, True)
            )
    flat_fun = FlatFunction(fun, structure, level, keywords=True)
    graph = stage(flat_fun, [aval_of(v) for v in leaves], name, site, level=level)
    return flat_fun.name_inputs(graph), flat_fun.out_structure


def function_name(fun: Any) -> str:
    """Return the name of a function as a Graph shows it."""
    name = getattr(fun, "__name__", type(fun).__name__)
    return name if name.isidentifier() else "f"


@api_boundary
def make_graph(
    fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), return_shape: bool = False
) -> Callable[..., Any]:
    """A function that stages `fun` at the given arguments and returns its Graph.

    Args:
        fun: a function of pytrees of arrays.
        static_argnums: positional arguments that are handed through as they are.
        return_shape: return (graph, shapes and dtypes of the result).

    >>> graph = fx.make_graph(lambda x: fnp.sin(x) * x)(1.0)
    >>> [equation.primitive.name for equation in graph.equations]
    ['sin', 'multiply']
    """
    static = as_argnums(static_argnums, "make_graph")

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


make_jaxpr = make_graph  # JAX's name


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of fun(*args, **kwargs), without computing it.

    Args:
        fun: a function of pytrees of arrays.
        args, kwargs: arrays, or anything with `shape` and `dtype`.

    Returns:
        A pytree of `ShapeDtypeStruct`.

    >>> fx.eval_shape(fnp.matmul, np.zeros((2, 3)), np.zeros((3, 4)))
    ShapeDtypeStruct(shape=(2, 4), dtype=float64)
    """
    graph, structure = stage_call(
        fun, args, kwargs, "eval_shape", function_name(fun), source_info.user_frame()
    )
    return pytree.unflatten(structure, [ShapeDtypeStruct(a.shape, a.dtype) for a in graph.out_avals])


def as_argnums(argnums: int | Sequence[int] | None, name: str = "jit") -> tuple[int, ...]:
    return () if argnums is None else positions_of(name, argnums)


def parameter_names(fun: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters of a function, of which nothing is known of some built-in ones."""
    try:
        return list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        return []


def split_static(
    fun: Callable, args: tuple[Any, ...], static: Sequence[int], name: str
) -> tuple[Callable, tuple, tuple]:
    """Split off the static arguments: return the function of the other arguments, these, and the static
    ones."""
    if not static:
        return fun, args, ()
    places = {p % len(args) if -len(args) <= p < len(args) else p for p in static}
    held = {p: args[p] for p in sorted(places) if p < len(args)}
    dynamic = tuple([a for i, a in enumerate(args) if i not in held])
    return DynamicPart(fun, held), dynamic, tuple(held.items())


class DynamicPart:
    """A function of its dynamic arguments: the static ones, by their places, are `held`."""

    __slots__ = ("fun", "held")

    def __init__(self, fun: Callable[..., Any], held: dict[int, Any]):
        self.fun, self.held = fun, held

    def __call__(self, *rest: Any, **kwargs: Any) -> Any:
        held, others = self.held, iter(rest)
        args = [held[i] if i in held else next(others) for i in range(len(held) + len(rest))]
        return self.fun(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        parameters = enumerate(inspect.signature(self.fun).parameters.values())
        return inspect.Signature([p for i, p in parameters if i not in self.held])


class jit(Generic[P, R]):
    """Return `fun` as a function that is staged once for every kind of arguments, and then runs as compiled
    straight-line code.

    The code is readable: `fx.jit(f).source(*args)`. It is kept for the structure, shapes, dtypes and weakness of
    the arguments and the values of the static ones. `fun` must be pure: what it does besides computing happens
    while staging only (except by `fx.debug.callback` and `fx.debug.print`, and what it writes into an `fx.Ref`, an
    argument or one that it closes over), and arrays that it closes over are part of the code. (A Tensor with a history
    that it closes over is recorded, and the function staged again at every call: make it an argument.) Transforms apply
    to a jitted function and inside it.

    Results are those of `fun` to rounding. What is computed twice, or not needed, is left out; numbers, coefficients
    and products of several arrays are multiplied in the order that costs least. `fx.jit(f).lower(*args)` shows the
    Graph after each of these steps.

    Args:
        fun: a function of pytrees of arrays. Without it the result is a decorator: `@fx.jit(static_argnames="n")`.
        static_argnums, static_argnames: arguments that are compared by value; hashable. Python's `if` and `while`
            may depend on them.
        fastmath: let machine code add in any order, and round a product and a sum once instead of twice, where
            elementwise operations on large arrays are compiled to it (`fxgrad[native]`). Otherwise arithmetic is
            IEEE's, step by step, and results are those of NumPy's functions to rounding.
        cuda_graph: for arrays on a GPU, capture what a call launches into a CUDA graph, and launch that from the third
            call with arguments of these shapes on: where many small kernels follow one another, launching them takes
            most of the time. Arguments have to be arrays, and the host must not need to know values
            (`fx.lax.while_loop`). Arrays on the processor are computed with as otherwise.
        control: "follow" (experimental) follows what Python decides by values: `if`, `while`, `for` over a `range`,
            `break`, exceptions, `int(x)`. Each way is staged when it is first taken, and kept; states of the program
            that come again, as in loops, count once. The function must do the same whenever it is run. An integer
            that counts in a loop is a traced value from the third round on. What is compiled are the segments between
            decisions at first, then loops whose ways are taken often, and small programs that are called often.
            `lower` then shows the tree of decisions, and how often each way was taken.
        max_paths: with `control="follow"`, how many ways may be staged for one kind of arguments.
        donate_argnums, donate_argnames, keep_unused, inline, device, backend: for programs written for JAX. Nothing
            depends on them: arguments are never overwritten, and arrays are computed with where they are.

    Raises:
        ConcretizationError: `fun` needs the value of a traced argument.
        ImpureFunctionError: with `control="follow"`, `fun` does not do the same when it is run again.
        StaticArgumentError: a static argument is not hashable.
        StructureError: `fun` is no function, or one that yields its results.
        TypeError: an option is given by position, or has a name that is none.
        TooManyPathsError: with `control="follow"`, decisions lead to more than `max_paths` ways.
        ValueError: `control` is something else.

    >>> f = fx.jit(lambda x, n: fnp.sin(x) ** n, static_argnums=1)
    >>> float(f(0.0, 2))
    0.0
    >>> @fx.jit(control="follow", max_paths=8)
    ... def halve(x):
    ...     n = 0
    ...     while x > 1.0:
    ...         x, n = x / 2, n + 1
    ...     return x, n
    >>> halve(12.0), halve(1000.0)
    ((0.75, 4), (0.9765625, 10))
    """

    fun: Callable[P, R]
    fastmath: bool
    cuda_graph: bool
    options: dict[str, Any]
    names: set[str]
    static: tuple[int, ...]
    cache: Cache
    is_silent = False  # whether nothing warns of floating-point errors of the compiled code

    @overload
    def __new__(cls, fun: Callable[P, R], **options: Any) -> jit[P, R]: ...
    @overload
    def __new__(cls, fun: None = None, **options: Any) -> Callable[[Callable[P, R]], jit[P, R]]: ...
    def __new__(cls, fun: Any = None, *args: Any, **options: Any) -> Any:
        """Make the jitted function, or a decorator that makes it."""
        if args:
            raise TypeError(
                "jit takes its options by name; the arguments go to what it returns, jit(fun)(*args)"
            )
        if fun is None:
            inspect.signature(cls.__init__).bind(None, None, **options)  # a wrong name is an error here
            return partial(cls, **options)
        if options.get("control") == "follow":
            from .follow.jitted import FollowingJit  # for whoever asks for it

            return super().__new__(cast(Any, FollowingJit))
        return super().__new__(cls)

    def __init__(
        self,
        fun: Callable[P, R],
        *,
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
        fastmath: bool = False,
        cuda_graph: bool = False,
        control: str | None = None,
        max_paths: int = 64,
        donate_argnums: int | Sequence[int] | None = None,
        donate_argnames: str | Sequence[str] | None = None,
        keep_unused: bool = False,
        inline: bool = False,
        device: Any = None,
        backend: str | None = None,
    ):
        if not callable(fun):
            raise not_a_function("jit", fun)
        if inspect.isgeneratorfunction(fun):
            raise StructureError(
                f"jit takes a function that returns its result, {function_name(fun)} yields it",
                hint="return a list",
            )
        if control not in (None, "follow"):
            raise ValueError(f'jit: control is None or "follow", not {control!r}')
        self.max_paths = max_paths
        load_methods()  # a function that was pickled finds jit here, not in the package
        self.fun, self.fastmath, self.cuda_graph = fun, fastmath, cuda_graph
        self.options = {
            "static_argnums": static_argnums,
            "static_argnames": static_argnames,
            "fastmath": fastmath,
            "cuda_graph": cuda_graph,
            "control": control,
            "max_paths": max_paths,
        }
        self.names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames or ())
        self.static = as_argnums(static_argnums)
        parameters = parameter_names(fun) if self.static or self.names else []
        self.names.update(parameters[p] for p in self.static if -len(parameters) <= p < len(parameters))
        self.static = tuple({*self.static, *(parameters.index(n) for n in self.names if n in parameters)})
        self.cache = Cache(256)
        self.last: CompiledGraph | None = None  # of the latest call: its guard is asked first
        self.before: CompiledGraph | None = (
            None  # of the latest call of another kind: its guard is asked then
        )
        self.pure: PureFunction | None = None  # for references
        update_wrapper(self, fun, updated=())

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self: jit[Concatenate[Any, Q], R], instance: object, owner: Any = None) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or isinstance(self.fun, staticmethod):
            return self
        return MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        """Attributes that the user has given to the function."""
        if name == "fun":  # which is not there yet
            raise AttributeError(name)
        return getattr(self.fun, name)

    def __reduce__(self) -> Any:
        return pickled_form(self, jit, self.fun, self.options)

    def __repr__(self) -> str:
        return f"<fx.jit of {describe_function(self.fun)}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        outer = CURRENT.get()
        try:
            if outer.observer is not None:
                return self.call_observed(outer.observer, args, kwargs)
            entry = self.last if DEFAULT_DEVICE.get() is CPU else None
            leaves = None if entry is None else entry.guard(args, kwargs)
            if leaves is None and entry is not None and self.before is not None:
                entry = self.before
                leaves = entry.guard(args, kwargs)
                if leaves is not None:
                    self.before, self.last = self.last, entry
            if entry is None or leaves is None:
                if copy_level() is not None:  # which follows values: a derivative inside asks it
                    return self.fun(*args, **kwargs)
                if self.pure is not None and (self.pure.closed or references_in((args, kwargs))):
                    return self.call_with_references(args, kwargs)
                try:
                    leaves, entry = self.lookup(args, kwargs, source_info.user_frame)
                except OuterRefError as error:
                    return self.call_with_references(args, kwargs, error)
                if entry.plain is None or not is_plain(leaves):
                    return pytree.unflatten(entry.structure, release_all(entry.code_for(leaves)(*leaves)))
            if entry.acts and stages_effects():
                return pytree.unflatten(entry.structure, release_all(entry.traced(*leaves)))
            code = entry.code
            if code is None:  # not settled: Python computes, and asks from time to time
                entry.pause -= 1
                code = entry.plain if entry.pause > 0 else entry.choose_code()
            token = SET_STATE(IGNORE) if self.is_silent else None
            try:
                results = code(*leaves)
            except KERNEL_ERRORS as error:
                entry.raise_with_location(error, code)
            finally:
                if token is not None:
                    RESET_STATE(token)
            if entry.results_may_share:
                results = unshare_results(results, [*leaves, *entry.optimized.captured.values()])
            return entry.structure.unflatten(results)
        except BaseException as error:  # as `api_boundary`, without its call
            leave_library(error, outer)
            raise

    def call_observed(self, observer: Observer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function under an observer: as the Python that it is, or as code that shows its equations."""
        if observer.is_stepwise:
            results, structure = pytree.flatten(self.fun(*args, **kwargs))
            return pytree.unflatten(structure, unshare_results(results, pytree.leaves((args, kwargs))))
        leaves: list[Any] = []

        def run() -> Any:
            leaves[:], entry = self.lookup(args, kwargs, source_info.user_frame)
            return entry.run(leaves, observer.observed_code)

        try:
            return observer.observe("jit", f"jit({function_name(self.fun)})", leaves, run)
        except OuterRefError as error:
            return self.call_with_references(args, kwargs, error)

    def call_with_references(self, args: Any, kwargs: Any, error: OuterRefError | None = None) -> Any:
        """Call the function, which is given references or closes over some: the code of a pure function, or inside a
        transform the function itself, whose writes belong to that."""
        if error is not None and isinstance(self.fun, PureFunction):
            raise error
        if acting_level() is not EVAL.interpreter:
            function: Any = self.fun
            return function(*args, **kwargs)
        if self.pure is None:
            self.pure = PureFunction(self.fun, function_name(self.fun))
            shifted = [p + 1 if p >= 0 else p for p in self.static]
            options = {**self.options, "static_argnums": shifted, "static_argnames": sorted(self.names)}
            self.pure.staged = jit(self.pure, **options)
        return self.pure.run(args, kwargs)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], tuple, dict, tuple]:
        """Split off the static arguments: return the function of the others, these by position and by name, and the
        static ones with their places."""
        fun, dynamic, fixed = split_static(self.fun, args, self.static, "jit")
        if self.names and kwargs:
            named = tuple(sorted((k, v) for k, v in kwargs.items() if k in self.names))
            kwargs = {k: v for k, v in kwargs.items() if k not in self.names}
            fun = partial(fun, **dict(named))
            fixed = (*fixed, *named)
        return fun, dynamic, kwargs, fixed

    def lookup(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], site: Callable[[], Any]
    ) -> tuple[list[Any], CompiledGraph]:
        """Return the flat dynamic arguments and the compiled function for arguments of their kind.

        Raises:
            StaticArgumentError: a static argument cannot be hashed.
        """
        given = kwargs
        fun, dynamic, kwargs, fixed = self.split(args, kwargs)
        leaves, structure = pytree.flatten((dynamic, kwargs))
        key = (
            structure,
            tree_key(dynamic),
            tree_key(kwargs) if kwargs else None,
            tuple([argument_key(leaves, i, structure) for i in range(len(leaves))]),
            *[(place, key_of(value)) for place, value in fixed],
        )
        if DEFAULT_DEVICE.get() is not CPU:  # on which the Graph has what the function makes
            key = (*key, DEFAULT_DEVICE.get())
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
        if entry is not None and entry.plain is not None and is_plain(leaves):
            entry.guard = entry.guard or make_guard(args, given, dynamic, fixed, structure)
            if entry is not self.last:
                self.before, self.last = self.last, entry
        if entry is None:
            axes = named_axes()
            if axes:  # on whose names and sizes the Graph may depend
                key = (*key, axes)
                entry = self.cache.get(key)
        if entry is None:
            entry = self.compile(fun, dynamic, kwargs, site)
            if not any(isinstance(v, Tracer) for v in entry.captured.values()):
                known = self.cache.get(key)  # made by another thread meanwhile
                if known is None:
                    self.cache[key] = entry
                else:
                    entry = known
        return leaves, entry

    def compile(
        self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], site: Callable[[], Any]
    ) -> CompiledGraph:
        """Stage and compile a function of the dynamic arguments; to an observer it is a step.

        Args:
            fun: the function of the dynamic arguments.
            args, kwargs: those that it is staged for.
            site: gives the line of the user's program, for messages.
        """
        name = function_name(self.fun)

        def run() -> CompiledGraph:
            staged = stage_call(fun, args, kwargs, "jit", name, site())
            return CompiledGraph(*staged, self.fastmath, self.cuda_graph)

        observer = CURRENT.get().observer
        return run() if observer is None else observer.observe("jit", f"staging of {name}", (), run)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python for these arguments, an operation a line: what runs for traced values. For arrays it is
        made shorter first: `lower(*args).source` is what runs then, and `lower(*args).passes` how it came about."""
        return self.lookup(args, kwargs, source_info.user_frame)[1].traced.source

    @api_boundary
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Stage and compile for these arguments, without running anything: what to look at, and to call.

        Args:
            args, kwargs: as for a call; a `ShapeDtypeStruct` may stand for an array.

        Returns:
            A `Lowered`: the Graph after each pass (`passes`), the Python (`source`), the function (`compile()`).

        >>> lowered = fx.jit(lambda x: fnp.exp(-(-x)) * 1.0).lower(np.ones(3))
        >>> lowered.passes["staged"].equations[0].primitive, len(lowered.passes["algebra"].equations)
        (<primitive negative>, 1)
        """
        from .lowered import Lowered  # for whoever looks

        fun, dynamic, kwargs, _ = self.split(args, kwargs)
        name = function_name(self.fun)
        graph, structure = stage_call(fun, dynamic, kwargs, "jit", name, source_info.user_frame())
        return Lowered(
            name, graph, CompiledGraph(graph, structure, self.fastmath), pytree.structure((dynamic, kwargs))
        )

    def clear_cache(self) -> None:
        """Forget the compiled code."""
        self.cache.clear()
        self.last = self.before = None


def argument_key(leaves: list[Any], index: int, structure: Any) -> Any:
    """Return what the code depends on for one argument, a leaf of (args, kwargs), and admit that leaf."""
    value = leaves[index]
    kind = type(value)
    if kind in SCALARS:
        return kind
    if kind in PLAIN:
        return value.shape, value.dtype
    if is_reference(value):
        raise OuterRefError("jit: a reference is an argument", value)
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
        (converted, closed_over): converted(*args, *closed_over) is fun(*args); closed_over has the floating-point,
        complex and traced values that `fun` uses from outside.

    Raises:
        StructureError: by the function that it returns, of other arguments than it was made for.

    >>> w = np.ones(2)
    >>> converted, closed_over = fx.closure_convert(lambda x: x * w, np.zeros(2))
    >>> len(closed_over), converted(np.array([3.0, 4.0]), 2 * w)
    (1, array([6., 8.]))
    """
    graph, out_structure = stage_call(
        fun, example_args, {}, "closure_convert", function_name(fun), source_info.user_frame()
    )
    structure = pytree.structure((example_args, {}))
    hoisted = [
        v
        for v, value in graph.captured.items()
        if is_differentiable(aval_of(value).dtype) or isinstance(value, Tracer)
    ]
    values = [graph.captured[v] for v in hoisted]
    captured = {v: value for v, value in graph.captured.items() if v not in set(hoisted)}
    converted_graph = Graph((*hoisted, *graph.inputs), graph.equations, graph.outputs, captured, graph.name)

    @api_boundary
    def converted_fun(*args: Any) -> Any:
        if len(args) != len(example_args) + len(hoisted):
            raise StructureError(
                f"the converted function takes {len(example_args)} arguments and {len(hoisted)} "
                f"closed-over values, {len(args)} were given",
                hint="converted(*example_args, *hoisted)",
            )
        leaves, given = pytree.flatten((args[: len(example_args)], {}))
        if given != structure:
            raise StructureError(
                f"the converted function was staged for the structure {structure}, not {given}",
                hint="arguments of the containers of example_args, or closure_convert anew",
            )
        return pytree.unflatten(out_structure, converted_graph(*args[len(example_args) :], *leaves))

    return converted_fun, values
