"""Python functions called in the middle of a program, staged or not: `pure_callback` for their results, `io_callback`
for results and effects, and `debug.callback`, `debug.print`, `debug.breakpoint` for effects alone.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import pytree
from ..core.arrays import as_value, namespace_of
from ..core.aval import SCALARS, Aval, aval_of, check_dtype, is_differentiable, kind_of
from ..core.common_errors import not_a_function
from ..core.errors import DTypeError, NotDifferentiableError, ShapeError, StructureError, UnsupportedError
from ..core.interpreter import Tracer, api_boundary
from ..core.primitive import HigherOrder, bind
from ..core.surface import is_alike
from ..ops import kinds
from .arguments import LeafName, leaf_path


class FlatCallback:
    """A function of pytrees as a function of flat values. Leaves that are no arrays (strings, say) stay as
    they are."""

    __slots__ = ("fixed", "function", "structure")

    def __init__(self, function: Callable[..., Any], fixed: list[Any], structure: Any):
        self.function, self.fixed, self.structure = function, fixed, structure

    __name__ = property(lambda self: getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, *values: Any) -> Any:
        rest = iter(values)
        leaves = [next(rest) if leaf is VALUE_SLOT else leaf for leaf in self.fixed]
        # Arrays are the function's own: it may keep them, and write into them.
        leaves = [leaf.copy() if type(leaf) is np.ndarray else leaf for leaf in leaves]
        args, kwargs = pytree.unflatten(self.structure, leaves)
        return self.function(*args, **kwargs)


VALUE_SLOT = object()  # stands in `FlatCallback.fixed` for a value


def flatten_call(
    name: str, function: Callable[..., Any], args: tuple, kwargs: dict
) -> tuple[FlatCallback, list[Any]]:
    """Return the function of flat values, and the values among the leaves of the arguments."""
    if not callable(function):
        raise not_a_function(name, function)
    leaves, structure = pytree.flatten((args, kwargs))
    given = [is_value(leaf) for leaf in leaves]
    fixed = [VALUE_SLOT if g else leaf for leaf, g in zip(leaves, given)]
    return FlatCallback(function, fixed, structure), [leaf for leaf, g in zip(leaves, given) if g]


def is_value(leaf: Any) -> bool:
    """Whether a leaf is an array, a number or a traced value that fxgrad computes with."""
    if isinstance(leaf, type) or not (isinstance(leaf, Tracer) or namespace_of(leaf) is not None):
        return False
    return kind_of(aval_of(leaf).dtype) in "biufc"


class EntryLoop:
    """A function of flat values that is applied to one batch entry after the other, and returns the list of
    its results."""

    __slots__ = ("function", "is_batched", "size")

    def __init__(self, function: Callable[..., Any], is_batched: Sequence[bool], size: int):
        self.function, self.is_batched, self.size = function, tuple(is_batched), size

    __name__ = property(lambda self: self.function.__name__)

    def __call__(self, *values: Any) -> list[Any]:
        is_batched, function = self.is_batched, self.function
        return [function(*[v[i] if b else v for v, b in zip(values, is_batched)]) for i in range(self.size)]


# -- effects
class DebugCallback(HigherOrder):
    """The primitive callback(*values), which is called for its effect and has no result."""

    effectful = identity_params = True

    def __init__(self) -> None:
        super().__init__("debug_callback", lambda xp: call_and_forget)

    def make_call(self) -> Callable[..., Any]:
        """Return a call that always goes through the interpreter: a level that stages keeps the effect even
        where it concerns plain values."""
        return lambda *args, **params: bind(self, args, params)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return []

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        return self.call(*primals, **params), []

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        return apply(*values, **params), None, None

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        return self.call(*values, callback=EntryLoop(params["callback"], is_batched, size)), []


def call_and_forget(*values: Any, callback: Callable[..., Any]) -> list[Any]:
    callback(*values)
    return []


call_for_effect = DebugCallback().call


@api_boundary
def debug_callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call callback(*args, **kwargs) with NumPy arrays each time the program reaches this place, also under `jit`.

    Under `grad`, `jvp` and `vjp` it is called once, with the primal values; under `vmap` once for each batch entry;
    under `checkpoint` again when values are computed again. What it returns is ignored.

    Args:
        callback: a function of pytrees of arrays, which are its own. Other objects are handed through.
        ordered: accepted as by JAX; calls are made in the order of the program in any case.

    Raises:
        StructureError: `function` is no function.

    >>> seen = []
    >>> @fx.jit
    ... def f(x):
    ...     y = fnp.exp(x)
    ...     fx.debug.callback(seen.append, y)
    ...     return y
    >>> _ = f(0.0), f(1.0)
    >>> [f"{y:.3f}" for y in seen]
    ['1.000', '2.718']
    """
    call, values = flatten_call("debug.callback", callback, args, kwargs)
    call_for_effect(*values, callback=call)


@api_boundary
def debug_print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print fmt.format(*args, **kwargs) each time the program reaches this place: `debug.callback` of `print`.

    Args:
        fmt: a format string, no f-string, which would show the traced value.
        ordered: accepted as by JAX; lines come in the order of the program in any case.

    Raises:
        StructureError: an argument that the format does not use; IndexError, KeyError: one that it lacks.

    >>> @fx.jit
    ... def f(x):
    ...     fx.debug.print("x = {x:.2f}", x=x)
    ...     return x * x
    >>> _ = fx.vmap(fx.grad(f))(np.array([1.0, 2.0]))
    x = 1.00
    x = 2.00
    """
    checker = FormatChecker()
    checker.vformat(fmt, args, kwargs)
    if checker.unused:
        raise StructureError(
            f"debug.print: the format does not use the argument {', '.join(map(repr, checker.unused))}",
            hint='fx.debug.print("x = {x}", x=x), with a plain string: an f-string is filled in at once',
        )

    def print_formatted(*args: Any, **kwargs: Any) -> None:
        print(fmt.format(*args, **kwargs))

    call, values = flatten_call("debug.print", print_formatted, args, kwargs)
    call_for_effect(*values, callback=call)


class FormatChecker(string.Formatter):
    """A formatter that formats nothing: it finds the arguments that a format string lacks or does not use."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        self.unused = [key for key in (*range(len(args)), *kwargs) if key not in used_args]


@api_boundary
def debug_breakpoint(*args: Any, **kwargs: Any) -> None:
    """Stop in the debugger (`sys.breakpointhook`) each time the program reaches this place, also under `jit`, where
    Python's own `breakpoint()` would stop only while staging. In the debugger, `args` and `kwargs` are the values given
    here.

    Raises:
        StructureError: `function` is no function.

    >>> f = fx.jit(lambda x: (fx.debug.breakpoint(x=x), x * x)[1])
    """
    call, values = flatten_call("debug.breakpoint", stop, args, kwargs)
    call_for_effect(*values, callback=call)


def stop(*args: Any, **kwargs: Any) -> None:
    """Stop in the debugger, where `args` and `kwargs` are the values."""
    sys.breakpointhook()


# -- results
VMAP_METHODS = ("sequential", "expand_dims", "broadcast_all")


class DeclaredFunction:
    """A function of flat values whose result must have the declared structure, and is returned flat. Its name in
    messages tells the `operation` too."""

    __slots__ = ("call", "operation", "structure")

    def __init__(self, operation: str, call: FlatCallback, structure: Any):
        self.operation, self.call, self.structure = operation, call, structure

    __name__ = property(lambda self: f"{self.operation}: {self.call.__name__}")

    def __call__(self, *values: Any) -> list[Any]:
        results, structure = pytree.flatten(self.call(*values))
        if not is_alike(structure, self.structure):
            raise StructureError(
                f"{self.__name__} returned the structure {structure}, declared is {self.structure}",
                hint="return what is declared: the same containers, with an array for each of their leaves",
            )
        return results


class StackedEntryLoop(EntryLoop):
    """A function with flat results that is applied to one batch entry after the other; its results are
    stacked."""

    __slots__ = ("avals",)

    def __init__(self, function: Any, is_batched: Sequence[bool], size: int, avals: Sequence[Aval]):
        super().__init__(function, is_batched, size)
        self.avals = avals

    def __call__(self, *values: Any) -> list[Any]:
        entries = [as_declared(results, self.avals, self.__name__) for results in super().__call__(*values)]
        if not entries:
            return [np.empty((0, *a.shape), a.dtype) for a in self.avals]
        return [namespace_of(column[0]).stack(column) for column in zip(*entries)]


def as_declared(results: Sequence[Any], avals: Sequence[Aval], name: str) -> list[Any]:
    """Return the results as fresh arrays of the declared shapes and dtypes; raise if they do not match."""
    arrays = []
    for result, aval in zip(results, avals):
        result = as_value(result, f"{name}: the result (declared: {aval})")
        weak = type(result) in SCALARS and np.can_cast(aval_of(result).dtype, aval.dtype, "same_kind")
        if weak or namespace_of(result) is np:
            result = np.array(result, aval.dtype if weak else None)[()]
        have = aval_of(result)
        if have.shape != aval.shape:
            raise ShapeError(
                f"{name} returned shape {have.shape}, declared is {aval.shape}",
                hint="declare what is returned: fx.ShapeDtypeStruct(shape, dtype)",
            )
        if have.dtype != aval.dtype:
            raise DTypeError(
                f"{name} returned dtype {have.dtype}, declared is {aval.dtype}",
                hint=f"convert it, result.astype({aval.dtype.name!r}), or declare {have.dtype.name!r}",
            )
        arrays.append(result)
    return arrays


def refuse_derivative(callback: Any, avals: Sequence[Aval], active: Sequence[Any]) -> None:
    """Raise an error where a result would have a derivative."""
    if any(a is not None for a in active) and any(is_differentiable(a.dtype) for a in avals):
        raise NotDifferentiableError(
            f"{callback.__name__} has no derivative that fxgrad knows",
            hint="wrap it in fx.custom_jvp or fx.custom_vjp with a rule, or give it fx.stop_gradient(x)",
        )


class PureCallback(HigherOrder):
    """The primitive callback(*values) → flat results of the declared `avals`."""

    identity_params = True

    def __init__(self, name: str = "pure_callback") -> None:
        super().__init__(name, lambda xp: call_for_results)

    def acts(self, params: dict) -> bool:
        """Return True: one on plain values in a branch is called if the branch is taken."""
        return True

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return list(params["avals"])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        refuse_derivative(params["callback"], params["avals"], tangents)
        return self.call(*primals, **params), [None] * len(params["avals"])

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        refuse_derivative(params["callback"], params["avals"], needed)
        return apply(*values, **params), None, None

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        callback, avals, method = params["callback"], params["avals"], params["method"]
        if method is None:
            raise UnsupportedError(
                f"vmap of {callback.__name__}: it is not said how it takes a batch",
                hint=f"vmap_method={' or '.join(map(repr, VMAP_METHODS))}",
            )
        if method == "sequential":
            callback = StackedEntryLoop(callback, is_batched, size, avals)
        else:
            repeats = size if method == "broadcast_all" else 1
            values = [kinds.ensure_batched(v, b, repeats) for v, b in zip(values, is_batched)]
        mapped = tuple([Aval((size, *a.shape), a.dtype) for a in avals])
        return self.call(*values, callback=callback, avals=mapped, method=method), [True] * len(mapped)


def call_for_results(
    *values: Any, callback: Callable[..., Any], avals: Sequence[Aval], method: Any
) -> list[Any]:
    return as_declared(callback(*values), avals, callback.__name__)


class IOCallback(PureCallback):
    """The same for a callback with effects, which is called as often as the program says, and in its order."""

    effectful = True

    def __init__(self) -> None:
        super().__init__("io_callback")

    def make_call(self) -> Callable[..., Any]:
        """Return a call that always goes through the interpreter, as that of `DebugCallback`."""
        return lambda *args, **params: bind(self, args, params)

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        if params["method"] == "ordered":
            raise UnsupportedError(
                f"vmap of {params['callback'].__name__}: there is no order of calls for the entries of a batch",
                hint="ordered=False: one entry after the other",
            )
        return super().batch(values, is_batched, size, params)


pure_callback_call, io_callback_call = PureCallback().call, IOCallback().call


@api_boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call callback(*args, **kwargs), a Python function of NumPy arrays, in the middle of a program, also under `jit`.

    Args:
        callback: a function of pytrees of arrays without side effects: how often it is called is not said.
        result_shape_dtypes: what it returns: a pytree of `ShapeDtypeStruct`, or of anything with `shape` and `dtype`.
        args, kwargs: pytrees of arrays. Other objects are handed through.
        vmap_method: how it takes a batch: "sequential", called for one entry after the other; "expand_dims", called
            once, with a leading axis of all arguments, of size 1 for those that are not mapped, and of the results;
            "broadcast_all", likewise, with arguments that are not mapped repeated. None: not at all.

    Returns:
        The result, of the declared structure, shapes and dtypes.

    Raises:
        StructureError, ShapeError, DTypeError: the result is not as declared.
        UnsupportedError: under `vmap` without `vmap_method`.
        NotDifferentiableError: under `grad`, `jvp`, … of the arguments; write a rule (`custom_jvp`, `custom_vjp`).

    >>> import math
    >>> def gamma(x):
    ...     return fx.pure_callback(math.gamma, fx.ShapeDtypeStruct((), float), x, vmap_method="sequential")
    >>> float(fx.jit(gamma)(5.0))
    24.0
    """
    if vmap_method not in (None, *VMAP_METHODS):
        raise StructureError(
            f"pure_callback: there is no vmap_method {vmap_method!r}",
            hint=f"{', '.join(map(repr, VMAP_METHODS))} or None",
        )
    operands, structure, params = declare_call("pure_callback", callback, result_shape_dtypes, args, kwargs)
    return pytree.unflatten(structure, pure_callback_call(*operands, **params, method=vmap_method))


@api_boundary
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call callback(*args, **kwargs), a Python function with effects, each time the program reaches this place, also
    under `jit`, whether or not its result is used.

    Under `vmap` it is called for one entry after the other, under `checkpoint` again when values are computed again.

    Args:
        callback: a function of pytrees of arrays, which are its own.
        result_shape_dtypes: what it returns, as for `pure_callback`; None for nothing.
        args, kwargs: pytrees of arrays. Other objects are handed through.
        ordered: calls are made in the order of the program in any case; if they must be, `vmap` is refused.

    Returns:
        The result, of the declared structure, shapes and dtypes.

    Raises:
        StructureError, ShapeError, DTypeError: the result is not as declared.
        UnsupportedError: under `vmap` with `ordered`.
        NotDifferentiableError: under `grad`, `jvp`, … of the arguments.

    >>> numbers = iter([3.0, 4.0])
    >>> f = fx.jit(lambda x: x * fx.io_callback(lambda: next(numbers), fx.ShapeDtypeStruct((), float)))
    >>> float(f(2.0)), float(f(2.0))
    (6.0, 8.0)
    """
    operands, structure, params = declare_call("io_callback", callback, result_shape_dtypes, args, kwargs)
    method = "ordered" if ordered else "sequential"
    return pytree.unflatten(structure, io_callback_call(*operands, **params, method=method))


def declare_call(
    operation: str, callback: Callable[..., Any], declared: Any, args: tuple, kwargs: dict
) -> tuple[list[Any], Any, dict[str, Any]]:
    """Return the operands of a callback, the structure of its result and the params that say what it is."""
    leaves, structure = pytree.flatten(declared)
    avals = []
    for index, leaf in enumerate(leaves):
        aval = aval_of(leaf)
        check_dtype(aval.dtype, LeafName(f"{operation}: the declared result", leaf_path, structure, index))
        avals.append(Aval(aval.shape, aval.dtype))
    call, values = flatten_call(operation, callback, args, kwargs)
    function = DeclaredFunction(operation, call, structure)
    return values, structure, {"callback": function, "avals": tuple(avals)}
