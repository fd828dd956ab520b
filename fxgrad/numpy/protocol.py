"""Plain NumPy on traced values (NEP 13, NEP 18, the Array API): with a traced argument, `np.sin`, `np.add.reduce` and
`np.linalg.norm` call the functions of fxgrad.numpy of the same names.

So programs that use only `numpy` can be differentiated. Arrays that NumPy creates from traced values can be written
into (see `boxes`); writing a traced value into a plain array raises an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence, ValuesView
from functools import lru_cache
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.arrays import as_value, holds_objects
from ..core.aval import WEAK_TYPES, aval_of
from ..core.errors import IndexingError, UnsupportedError
from ..core.interpreter import VALUES, Tracer, concretize
from .composite import cast, normalize_axis, operand, reduced_axes
from .missing import INPLACE_FUNCTIONS, MISSING_NAMES
from .writing import WRITERS, as_box, inplace_error, is_writable, take_out, write_at

# -- where NumPy's functions are found ------------------------------------------


# Modules of NumPy's whose functions are elsewhere here.
HOMES = {"lib.scimath.": "emath.", "lib._scimath_impl.": "emath.", "lib.stride_tricks.": "manipulation."}


def counterpart(path: str) -> Callable[..., Any]:
    """Return the function of fxgrad.numpy at a dotted path; raise for an unknown name."""
    for theirs, ours in HOMES.items() if path.startswith("lib.") else ():
        path = path.replace(theirs, ours)
    found: Any = fnp
    for name in path.split("."):
        found = getattr(found, name, None)
    if found is None:
        reason, hint = MISSING_NAMES.get(
            path,
            (
                "fxgrad.numpy has no function of this name",
                "functions of fxgrad.numpy; or fx.stop_gradient(x) where the result needs no derivative",
            ),
        )
        raise UnsupportedError(f"numpy.{path} of a traced value: {reason}", hint=hint)
    return found


@lru_cache(maxsize=256)
def ufunc_counterpart(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the function of fxgrad.numpy for a ufunc."""
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        if getattr(sys.modules.get("scipy.special"), name, None) is ufunc:
            return special_counterpart(name)
        if ufunc.types == ["O" * ufunc.nin + "->" + "O" * ufunc.nout]:  # made by np.frompyfunc, np.vectorize
            return lambda *inputs: ufunc(*map(as_objects, inputs))
        raise UnsupportedError(
            f"the ufunc {name!r} of a traced value: only NumPy's own ufuncs have derivatives",
            hint="fx.custom_jvp or fx.custom_vjp around it gives it a derivative",
        )
    return counterpart(name)


def special_counterpart(name: str) -> Callable[..., Any]:
    """Return the function of fxgrad.scipy.special for a ufunc of scipy.special."""
    from ..scipy import special  # loaded when first used

    if name not in dir(special):
        raise UnsupportedError(
            f"scipy.special.{name} of a traced value: no closed form of its derivatives is known",
            hint=f"fx.pure_callback(scipy.special.{name}, …) needs none; fx.custom_jvp around that gives it one",
        )
    return getattr(special, name)


# -- the methods of ufuncs ------------------------------------------
def ufunc_call(
    ufunc: np.ufunc,
    *inputs: Any,
    where: Any = True,
    dtype: Any = None,
    signature: Any = None,
    casting: Any = "same_kind",
    order: str = "K",
    subok: bool = True,
    **axes: Any,
) -> Any:
    """Implement `ufunc(*inputs, …)`. Entries that `where` leaves out are unspecified in NumPy; here they are
    zeros."""
    function = ufunc_counterpart(ufunc)
    loop = None
    if dtype is not None or signature is not None or casting != "same_kind":
        inputs = tuple(map(as_value, inputs))
        if dtype is not None:
            signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
        loop = ufunc.resolve_dtypes(
            (*map(promotion_type, inputs), *(None,) * ufunc.nout), signature=signature, casting=casting
        )
        inputs = tuple(cast(operand(x), d) for x, d in zip(inputs, loop))
    results = function(*inputs, **axes)
    if loop is None and where is True:
        return results

    def finish_result(y: Any, i: int) -> Any:
        y = y if loop is None else cast(y, loop[ufunc.nin + i])
        return y if where is True else ops.where(where, y, 0)

    return (
        finish_result(results, 0)
        if ufunc.nout == 1
        else tuple(finish_result(y, i) for i, y in enumerate(results))
    )


def promotion_type(value: Any) -> Any:
    """Return what stands for a value when NumPy resolves dtypes: the type of a Python scalar, or a dtype."""
    aval = aval_of(value)
    return WEAK_TYPES[aval.dtype.kind] if aval.weak else aval.dtype


REDUCTIONS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}


def ufunc_reduce(
    ufunc: np.ufunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Implement `ufunc.ufunc_reduce(x, …)`."""
    x = operand(x)
    if ufunc not in REDUCTIONS:
        return fold_pairwise(ufunc, x, axis, dtype, keepdims, initial, where)
    options = {"initial": initial} if initial is not None else {}
    if where is not True:
        options["where"] = where
    if ufunc in (np.add, np.multiply):
        options["dtype"] = dtype
    return counterpart(REDUCTIONS[ufunc])(cast(x, dtype), axis=axis, keepdims=keepdims, **options)


def fold_pairwise(
    ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """Reduce by the binary function itself: by halves where the order is free, else from first to last."""
    function, shape, axes = ufunc_counterpart(ufunc), x.shape, reduced_axes(axis, x.ndim)
    x = cast(x, ufunc.reduce(np.ones((1,) * x.ndim, x.dtype), axis=axis, dtype=dtype).dtype)
    free = is_reorderable(ufunc, x.dtype)
    if where is not True:
        neutral = initial if ufunc.identity is None else ufunc.identity
        if neutral is None or not free:
            raise UnsupportedError(
                f"np.{ufunc.__name__}.reduce of a traced value with where=",
                hint="give initial=, or reduce the selected entries only",
            )
        x = ops.where(where, x, x.dtype.type(neutral))
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    rows = ops.permute(x, axes=(*axes, *rest))
    rows = ops.reshape(rows, shape=(int(np.prod([shape[i] for i in axes])), *(shape[i] for i in rest)))
    if initial is None and not rows.shape[0]:
        return ufunc.reduce(np.empty(shape, x.dtype), axis=axis, keepdims=keepdims)
    if initial is not None:
        first = ops.broadcast_to(cast(operand(initial), x.dtype), shape=(1, *rows.shape[1:]))
        rows = ops.concatenate(first, rows, axis=0)
    if free:
        while rows.shape[0] > 1:
            half = rows.shape[0] // 2
            pairs = function(rows[:half], rows[half : 2 * half])
            rows = pairs if rows.shape[0] % 2 == 0 else ops.concatenate(pairs, rows[2 * half :], axis=0)
        y = rows[0]
    else:
        y, *others = rows
        for row in others:
            y = function(y, row)
    return ops.restore_axes(y, shape, axes) if keepdims else y


def is_reorderable(ufunc: np.ufunc, dtype: Any) -> bool:
    """Whether NumPy holds the ufunc to be associative and commutative, so that it reduces over several axes
    at once."""
    try:
        ufunc.reduce(np.ones((1, 1), dtype), axis=(0, 1))
    except ValueError:
        return False
    return True


def ufunc_accumulate(ufunc: np.ufunc, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Implement `ufunc.ufunc_accumulate(x, …)`."""
    x = operand(x)
    axis = normalize_axis(axis, x.ndim)
    if ufunc in (np.add, np.multiply):
        return counterpart("cumsum" if ufunc is np.add else "cumprod")(x, axis=axis, dtype=dtype)
    if ufunc in (np.maximum, np.minimum):
        return (ops.cummax if ufunc is np.maximum else ops.cummin)(cast(x, dtype), axis=axis)
    x = cast(x, ufunc.accumulate(np.ones((1,) * x.ndim, x.dtype), axis=axis, dtype=dtype).dtype)
    if not x.shape[axis]:
        return x
    function = ufunc_counterpart(ufunc)
    first, *others = ops.move_axis(x, axis, 0)
    rows = [first]
    for row in others:
        rows.append(function(rows[-1], row))
    return ops.stack(rows, axis)


def ufunc_reduceat(ufunc: np.ufunc, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Implement `ufunc.ufunc_reduceat(x, indices, …)`: reductions of slices that begin at the indices, which must
    be known."""
    x, starts = operand(x), np.asarray(concretize(as_value(indices), "indexing"))
    axis = normalize_axis(axis, x.ndim)
    size = x.shape[axis]
    for start in starts:
        if not 0 <= start < size:
            raise IndexingError(
                f"index {start} out-of-bounds in {ufunc.__name__}.reduceat [0, {size})",
                hint=f"indices from 0 to {size - 1}",
            )
    parts = []
    for start, stop in zip(starts, [*starts[1:], size]):
        part = x[(*(slice(None),) * axis, slice(start, max(start + 1, stop)))]
        parts.append(ufunc_reduce(ufunc, part, axis, dtype))
    return ops.stack(parts, axis)


def ufunc_outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    """Implement `ufunc.ufunc_outer(a, b, …)`."""
    a, b = as_value(a), as_value(b)
    shape = (*aval_of(a).shape, *(1,) * aval_of(b).ndim)
    return ufunc_call(ufunc, ops.reshape(operand(a), shape=shape) if len(shape) else a, b, **options)


def ufunc_at(ufunc: np.ufunc, x: Any, *operands: Any) -> None:
    """Implement `ufunc.at(x, indices, …)`, which writes into x."""
    if not is_writable(x):
        raise inplace_error(
            f"np.{ufunc.__name__}.at",
            "x = fnp.at(x)[indices].add(values)   (also .set, .multiply, .min, .max, .apply)",
        )
    write_at(ufunc_counterpart(ufunc), as_box(x), *operands)


UFUNC_METHODS = {
    "__call__": ufunc_call,
    "reduce": ufunc_reduce,
    "accumulate": ufunc_accumulate,
    "reduceat": ufunc_reduceat,
    "outer": ufunc_outer,
    "at": ufunc_at,
}


# -- the protocols ------------------------------------------
def should_defer(asked: Any, kinds: Any, protocol: str) -> bool:
    """Whether an operand is of another type than the one that is asked, and handles NumPy's operations itself."""
    usual = (None, *[getattr(kind, protocol) for kind in (np.ndarray, Tracer, type(asked))])
    return any(k not in VALUES and getattr(k, protocol, None) not in usual for k in kinds)


def as_objects(value: Any) -> Any:
    """Return an array of traced values as an array of objects."""
    return np.asarray(value, object) if is_writable(value) else value


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    """NEP 13: NumPy hands over a ufunc with a traced operand, or a box."""
    target = None if out is None else take_out(f"np.{ufunc.__name__}", out, inputs)
    for x in inputs:
        if x.dtype.hasobject if type(x) is np.ndarray else type(x) not in VALUES:
            if should_defer(self, map(type, inputs), "__array_ufunc__"):
                return NotImplemented
            inputs = tuple([as_value(x) if holds_objects(x) else x for x in inputs])
            break
    if target is not None:
        where = kwargs.pop("where", True) if method == "__call__" else True
        result = UFUNC_METHODS[method](ufunc, *inputs, **kwargs)
        return target.assign_result(result, f"np.{ufunc.__name__}", where)
    return UFUNC_METHODS[method](ufunc, *inputs, **kwargs)


def array_function(self: Any, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """NEP 18: NumPy hands over a function with a traced argument, or a box."""
    path = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    if path in INPLACE_FUNCTIONS:
        if not args or not is_writable(args[0]):
            raise inplace_error(f"np.{path}", INPLACE_FUNCTIONS[path])
        return WRITERS[path](as_box(args[0]), *args[1:], **kwargs)
    if path in ("real", "imag") and args:
        return getattr(args[0], path)
    if path == "nan_to_num" and not kwargs.get("copy", True):
        as_box(args[0])
    target = take_out(f"np.{path}", kwargs.pop("out", None), args)
    if should_defer(self, types, "__array_function__"):
        return NotImplemented
    result = counterpart(path)(*map(as_list_argument, args), **kwargs)
    return result if target is None else target.assign_result(result, f"np.{path}")


def as_list_argument(argument: Any) -> Any:
    """Return an argument, with sequences of other types (named tuples, deques, views of dicts) as lists."""
    if type(argument) in (list, tuple, str, bytes) or not isinstance(argument, Sequence | ValuesView):
        return argument
    return list(argument)


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The Array API: the namespace that computes with traced values."""
    return fnp


Tracer.attach(
    __array_ufunc__=array_ufunc,
    __array_function__=array_function,
    __array_namespace__=array_namespace,
)
