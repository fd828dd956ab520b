"""Functions of functions, which apply a Python function to slices, entries or parts of arrays.

Outside of transforms, with plain arguments, these are NumPy's own. Otherwise `vmap` runs the function on all slices at
once; if it asks for values (`if x > 0`, `math.floor(x)`), it runs on groups of slices with equal answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy import fromfunction
from numpy import typing as npt

from .. import ops
from ..core import pytree
from ..core.aval import aval_of
from ..core.errors import ShapeError, StructureError
from ..core.interpreter import EVAL, acting_level, api_boundary
from ..core.typing import Array, ArrayLike
from ..transforms.vmap import vmap
from .composite import cast, dtype_of, is_beyond_numpy, normalize_axis, operand, operands
from .documentation import described
from .manipulation import entry_count, expand_dims, moveaxis


def is_numpy_call(*values: Any) -> bool:
    """Whether NumPy's own function is called: nothing is traced, and no transform is open, whose traced values a
    function might close over."""
    return acting_level() is EVAL.interpreter and not any(map(is_beyond_numpy, values))


def map_rows(function: Callable[..., Any], rows: list[Any], shape: tuple[int, ...]) -> Any:
    """Map a function over the entries along the leading axes, which have the given shape."""
    if not shape:
        return function(*rows)
    rank = len(shape)
    flat = [ops.reshape(x, shape=(entry_count(shape), *aval_of(x).shape[rank:])) for x in rows]
    results = vmap(function, control="split")(*flat)
    return pytree.map(lambda y: ops.reshape(y, shape=(*shape, *aval_of(y).shape[1:])), results)


# -- along axes ------------------------------------------
@described("numpy.apply_along_axis", "")
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """A function of one-dimensional arrays applied to all slices along an axis; the axes of its results take the
    place of that axis. It is differentiated as the function is.

    Raises:
        ValueError: another axis of `arr` has size 0, so that the shape of the result is unknown.

    >>> fx.grad(lambda x: fnp.sum(fnp.apply_along_axis(lambda v: v[0] * v[1], 1, x)))(fnp.ones((1, 3)))
    array([[1., 1., 0.]])
    """
    if is_numpy_call(arr, args, *kwargs.values()):
        return np.apply_along_axis(func1d, axis, np.asanyarray(arr), *args, **kwargs)
    arr = operand(arr)
    axis = normalize_axis(axis, arr.ndim)
    rows = moveaxis(arr, axis, -1)
    shape = rows.shape[:-1]
    if 0 in shape:
        raise ShapeError(
            "Cannot apply_along_axis when any iteration dimensions are 0",
            hint="look at arr.size first: of no rows the shape of a result is not known",
        )
    results = operand(map_rows(lambda row: operand(func1d(row, *args, **kwargs)), [rows], shape))
    count = results.ndim - len(shape)
    return moveaxis(results, range(len(shape), results.ndim), range(axis, axis + count))


@api_boundary
@described("numpy.apply_over_axes", "")
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: int | Sequence[int]) -> Array:
    """The result of `func(a, axis)` applied for one axis after another; the axes are kept with length one. It is
    differentiated as the function is.

    Raises:
        ValueError: `func` returns neither the axes of its operand nor one less.

    >>> fnp.apply_over_axes(fnp.sum, fnp.ones((2, 3, 4)), [0, 2])
    array([[[8.],
            [8.],
            [8.]]])
    """
    a = operand(a)
    for axis in [axes] if isinstance(axes, SupportsIndex) else axes:
        axis = normalize_axis(axis, a.ndim)
        result = operand(func(a, axis))
        if result.ndim not in (a.ndim, a.ndim - 1):
            raise ShapeError(
                f"apply_over_axes: func returns shape {result.shape} for an array of shape {a.shape} and axis {axis}",
                hint="func(a, axis) with keepdims=True, or without the axis",
            )
        a = result if result.ndim == a.ndim else expand_dims(result, axis)
    return a


# -- on parts ------------------------------------------
@described("numpy.piecewise", "")
def piecewise(x: ArrayLike, condlist: npt.ArrayLike, funclist: Any, *args: Any, **kw: Any) -> Array:
    """The values of functions (or constants) `funclist` at `x` where the conditions `condlist` are true. The last true
    condition decides; one further function serves the remaining entries, which are 0 otherwise. Traced functions
    receive all of x, and the derivative goes only to the chosen entries, even if that of another function is infinite
    there. Further arguments, `args` and `kw`, are passed to the functions.

    Raises:
        ValueError: neither as many functions as conditions, nor one more.

    >>> root = lambda x: fnp.piecewise(x, [x > 0], [fnp.sqrt, 0.0])
    >>> fx.vmap(fx.grad(root))(fnp.array([0.0, 4.0]))
    array([0.  , 0.25])
    """
    if is_numpy_call(x, condlist, funclist, *args, *kw.values()):
        return np.piecewise(np.asanyarray(x), condlist, funclist, *args, **kw)
    x = operand(x)
    conditions = ops.not_equal(operand(condlist), 0)
    if conditions.ndim == 0 or (conditions.ndim == 1 and x.ndim > 0):
        conditions = expand_dims(conditions, 0)
    functions = list(funclist)
    count = len(conditions)
    if len(functions) not in (count, count + 1):
        raise ShapeError(
            f"piecewise: {len(functions)} functions for {count} conditions",
            hint="a function for each condition, and one more for where none holds",
        )

    def evaluate_piece(function: Any) -> Any:
        with np.errstate(all="ignore"):  # of entries that are not chosen
            return cast(operand(function(x, *args, **kw) if callable(function) else function), dtype_of(x))

    result = ops.full_like(x, value=0)
    if len(functions) > count:
        result = ops.broadcast_to(evaluate_piece(functions.pop()), shape=x.shape)
    for condition, function in zip(conditions, functions):
        result = ops.where(condition, evaluate_piece(function), result)
    return result


# -- entry by entry ------------------------------------------
class vectorize:
    """A function of scalars (or, with `signature`, of small arrays) as a function of arrays that broadcast. The
    function runs once for every entry, and is differentiated in the same way:
    https://numpy.org/doc/stable/reference/generated/numpy.vectorize.html

    Args:
        pyfunc: the function. Without it, the result is a decorator.
        otypes: the dtypes of the results, as type codes or a list. By default they are those that the function gives.
        doc: the docstring. By default that of the function.
        excluded: positions and names of arguments that are passed on as they are.
        cache: whether the first result, from which NumPy takes the dtypes, is kept; no matter to traced calls.
        signature: the axes of the operands and results that belong to the function: "(m,n),(n)->(m)".

    Raises:
        ValueError: `signature` is none, or results have other axes than it says.
        TypeError: when called, another number of arguments than `signature` says.

    >>> hinge = fnp.vectorize(lambda x, slope: x if x > 0 else slope * x)
    >>> fx.grad(lambda x: fnp.sum(hinge(x, 0.1)))(fnp.array([-1.0, 2.0]))
    array([0.1, 1. ])
    """

    @api_boundary
    def __init__(
        self,
        pyfunc: Any = None,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: str | None = None,
    ):
        self.pyfunc: Any = pyfunc
        self.options: tuple[Any, ...] = (otypes, doc, excluded, cache, signature)
        self.excluded: set[int | str] = set(excluded or ())
        self.signature: str | None = signature
        self.plain: np.vectorize = np.vectorize(
            *(() if pyfunc is None else (pyfunc,)),
            otypes=otypes,
            doc=doc,
            excluded=excluded,
            cache=cache,
            signature=signature,
        )
        self.axes: tuple[list[Any], list[Any]] | None = None if signature is None else core_axes(signature)
        self.dtypes: list[np.dtype[Any]] | None = None if otypes is None else [np.dtype(t) for t in otypes]
        self.__doc__ = getattr(pyfunc, "__doc__", None) if doc is None else doc
        self.__name__ = getattr(pyfunc, "__name__", "vectorized")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is None:
            (function,) = args
            return vectorize(function, *self.options)
        if is_numpy_call(*args, *kwargs.values()):
            return self.plain(*args, **kwargs)
        full: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        mapped = [key for key in full if key not in self.excluded]

        def call_entry(*entries: Any) -> Any:
            given = full | dict(zip(mapped, entries))
            results = self.pyfunc(*[given.pop(i) for i in range(len(args))], **given)
            return tuple(map(operand, results)) if isinstance(results, tuple) else operand(results)

        inputs, outputs = self.axes or ([()] * len(mapped), None)
        if len(inputs) != len(mapped):
            raise StructureError(
                f"wrong number of positional arguments: expected {len(inputs)}, got {len(mapped)}",
                hint="an argument for each in the signature; excluded= names others",
            )
        values = operands([full[key] for key in mapped])
        sizes: dict[str, int] = {}
        shapes = [self.loop_shape(x.shape, names, sizes) for x, names in zip(values, inputs)]
        shape = np.broadcast_shapes(*shapes)
        rows = [ops.broadcast_to(x, shape=(*shape, *x.shape[len(own) :])) for x, own in zip(values, shapes)]
        results = map_rows(call_entry, rows, shape)
        several = isinstance(results, tuple)
        results = list(results) if several else [results]
        for wanted in (outputs, self.dtypes):
            if wanted is not None and len(wanted) != len(results):
                raise ShapeError(
                    f"wrong number of outputs from pyfunc: expected {len(wanted)}, got {len(results)}",
                    hint=f"return a tuple of {len(wanted)}",
                )
        for result, names in zip(results, outputs or [()] * len(results)):
            if self.loop_shape(result.shape, names, sizes) != shape:
                raise ShapeError(
                    f"{self.__name__}: a result of shape {result.shape[len(shape) :]} for each entry",
                    hint='give the axes of the results: signature="(n)->(m)"',
                )
        results = [cast(y, dtype) for y, dtype in zip(results, self.dtypes or [None] * len(results))]
        return tuple(results) if several else results[0]

    def loop_shape(
        self, shape: tuple[int, ...], names: tuple[str, ...], sizes: dict[str, int]
    ) -> tuple[int, ...]:
        """Return the shape before the axes that belong to the function, and note the sizes of these by
        name.

        Args:
            shape: that of an operand.
            names: those of its last axes, as the signature has them.
            sizes: the sizes by name, which this adds to.

        Raises:
            ShapeError: an axis has another size than one of the same name.
        """
        count = len(shape) - len(names)
        if count < 0:
            raise ShapeError(
                f"{len(shape)}-dimensional argument does not have enough dimensions for all core "
                f"dimensions {names!r}",
                hint="x[None] adds an axis in front; excluded= names arguments handed over as they are",
            )
        for name, n in zip(names, shape[count:]):
            if sizes.setdefault(name, n) != n:
                raise ShapeError(
                    f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]}",
                    hint="another name for this axis, where it may have another size",
                )
        return shape[:count]


def core_axes(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the names of the axes of every operand and every result: "(m,n),(n)->(m)"."""
    arguments = r"\((\w+(,\w+)*)?\)"
    compact = re.sub(r"\s+", "", signature)
    if not re.fullmatch(rf"({arguments}(,{arguments})*)?->{arguments}(,{arguments})*", compact):
        raise ShapeError(
            f"not a valid gufunc signature: {signature}",
            hint='"(n),(m,n)->(m)", say: the axes of each argument, and those of the results',
        )
    left, right = compact.split("->")
    inputs, outputs = (
        [tuple(filter(None, core.split(","))) for core in re.findall(r"\((.*?)\)", side)]
        for side in (left, right)
    )
    return inputs, outputs


@described("numpy.frompyfunc", "")
def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, **kwargs: Any) -> Callable[..., Any]:
    """A function of scalars as a function of arrays that broadcast. For plain arguments it returns arrays of objects,
    as in NumPy; traced ones are computed as by `vectorize`, and differentiated as the function is.

    >>> double = fnp.frompyfunc(lambda x: 2 * x, 1, 1)
    >>> fx.grad(lambda x: fnp.sum(double(x)))(fnp.ones(2))
    array([2., 2.])
    """
    plain, traced = np.frompyfunc(func, nin, nout, **kwargs), vectorize(func)
    return lambda *args: plain(*args) if is_numpy_call(*args) else traced(*args)


__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "frompyfunc", "piecewise", "vectorize"]
