"""Reductions and running reductions. `axes` are non-negative; reduced axes are dropped (no keepdims)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.key import params_key
from .kinds import general, linear, named
from .vocabulary import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def reducing(ufunc: str, function: str) -> Callable[[Any], Callable]:
    """The kernel factory of a reduction: the ufunc's method on NumPy, the function elsewhere."""

    def make_kernel(xp: Any) -> Callable:
        if xp is np:
            reduce = getattr(np, ufunc).reduce
            return lambda x, *, axes: reduce(x, axis=axes)
        reduce = getattr(xp, function)
        return lambda x, *, axes: reduce(x, axis=axes)

    return make_kernel


def kept(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without the reduced axes."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def expanded(y: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """A reduced value with axes of length one in the place of the reduced ones."""
    return ops.reshape(y, shape=tuple(1 if i in axes else n for i, n in enumerate(shape)))


def shifted(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


def kernel_dtype(self: Any, x: Aval, **params: Any) -> Any:
    """The dtype that the kernel gives: sums of bool and small integers widen."""
    key = (x.dtype, params_key(params))
    if key not in self.dtypes:
        self.dtypes[key] = np.asarray(self.kernel(np.ones(1, x.dtype), **params)).dtype
    return self.dtypes[key]


def reduced(self: Any, x: Aval, *, axes: tuple[int, ...]) -> Aval:
    """The abstract rule of reductions."""
    return Aval(kept(x.shape, axes), kernel_dtype(self, x, axes=(0,) if axes else ()))


def accumulated(self: Any, x: Aval, *, axis: int) -> Aval:
    """The abstract rule of running reductions."""
    return Aval(x.shape, kernel_dtype(self, x, axis=0))


def sum_transposed(ct: Any, x: Aval, *, axes: tuple[int, ...]) -> Any:
    whole = len(axes) == len(x.shape)  # a number, which broadcasts as it is
    return ops.broadcast_to(ct if whole else expanded(ct, x.shape, axes), shape=x.shape)


def reduced_reach(mask: Any, x: Aval, *, axes: tuple[int, ...]) -> Any:
    return ops.broadcast_to(expanded(mask, x.shape, axes), shape=x.shape)


def running_reach(mask: Any, *avals: Aval, axis: int) -> Any:
    """A running result depends on the entries up to its own."""
    return ops.flip(cummax(ops.flip(mask, axes=(axis,)), axis=axis), axes=(axis,))


reduce_sum = linear(
    "reduce_sum",
    reducing("add", "sum"),
    abstract=reduced,
    transposed=sum_transposed,
    batched=lambda x, *, size, axes: reduce_sum(x, axes=shifted(axes)),
)


def extremum_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """Entries that tie for the extremum share the derivative; a NaN result leads to the NaN entries."""
    (x,), (t,) = primals, tangents
    axes = params["axes"]
    hit = ops.logical_or(ops.equal(x, expanded(y, x.shape, axes)), ops.isnan(x))
    count = reduce_sum(ops.convert(hit, dtype=aval_of(y).dtype), axes=axes)
    return ops.divide(reduce_sum(ops.where(hit, t, 0), axes=axes), count)


reduce_max = general(
    "reduce_max",
    reducing("maximum", "max"),
    abstract=reduced,
    tangent=extremum_tangent,
    reach=reduced_reach,
    batched=lambda x, *, size, axes: reduce_max(x, axes=shifted(axes)),
)
reduce_min = general(
    "reduce_min",
    reducing("minimum", "min"),
    abstract=reduced,
    tangent=extremum_tangent,
    reach=reduced_reach,
    batched=lambda x, *, size, axes: reduce_min(x, axes=shifted(axes)),
)


def product_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """Σ tᵢ·(product of the others): exclusive products from both sides, so that zeros do no harm."""
    (x,), (t,) = primals, tangents
    axes = params["axes"]
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    count = Aval(tuple(x.shape[i] for i in axes), None).size
    shape = (*(x.shape[i] for i in rest), count)
    x, t = (ops.reshape(ops.permute(v, axes=(*rest, *axes)), shape=shape) for v in (x, t))
    axis = len(rest)
    before = delayed(cumprod(x, axis=axis), axis, 1)
    after = ops.flip(delayed(cumprod(ops.flip(x, axes=(axis,)), axis=axis), axis, 1), axes=(axis,))
    return reduce_sum(t * (before * after), axes=(axis,))


reduce_prod = general(
    "reduce_prod",
    reducing("multiply", "prod"),
    abstract=reduced,
    tangent=product_tangent,
    reach=reduced_reach,
    batched=lambda x, *, size, axes: reduce_prod(x, axes=shifted(axes)),
)
reduce_any = general(
    "reduce_any",
    reducing("logical_or", "any"),
    abstract=reduced,
    tangent=None,
    batched=lambda x, *, size, axes: reduce_any(x, axes=shifted(axes)),
)
reduce_all = general(
    "reduce_all",
    reducing("logical_and", "all"),
    abstract=reduced,
    tangent=None,
    batched=lambda x, *, size, axes: reduce_all(x, axes=shifted(axes)),
)


def norm_kernel(xp: Any) -> Any:
    def norm2(x: Any, *, axes: tuple[int, ...]) -> Any:
        squares = x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x
        y = np.sqrt(squares.sum(axis=axes))
        limits = np.finfo(y.dtype)
        least = (limits.smallest_normal / limits.eps) ** 0.5  # the squares that matter beside it are normal
        fits = (y > least) & (y < np.inf)
        return y if (fits if y.ndim == 0 else fits.all()) else scaled(x, axes)

    def scaled(x: Any, axes: tuple[int, ...]) -> Any:
        """m·‖x/m‖ with the greatest modulus m, whose squares neither overflow nor underflow."""
        size = np.abs(x)
        unit = size.max(axis=axes, keepdims=True, initial=0)
        unit = np.where((unit == 0) | (unit == np.inf), 1, unit).astype(size.dtype)
        return np.sqrt(((size / unit) ** 2).sum(axis=axes)) * unit.reshape(kept(x.shape, axes))[()]

    def standard(x: Any, *, axes: tuple[int, ...]) -> Any:
        magnitude = xp.abs(x)
        return xp.sqrt(xp.sum(magnitude * magnitude, axis=axes))

    return norm2 if xp is np else standard


def norm_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """⟨x/‖x‖, t⟩, 0 at the origin by convention; the second derivative there does not exist and is NaN."""
    (x,), (t,) = primals, tangents
    direction = ops.unit(x, expanded(y, x.shape, params["axes"]))
    if aval_of(x).dtype.kind != "c":
        return reduce_sum(t * direction, axes=params["axes"])
    return reduce_sum(ops.real(t * ops.conjugate(direction)), axes=params["axes"])


norm2 = general(
    "norm2",
    norm_kernel,
    abstract=reduced,
    tangent=norm_tangent,
    reach=reduced_reach,
    batched=lambda x, *, size, axes: norm2(x, axes=shifted(axes)),
)


# -- positions ------------------------------------------
def position(name: str) -> Any:
    """argmax or argmin along one axis: no derivative."""

    def make_kernel(xp: Any) -> Any:
        function = getattr(xp, name)
        return lambda x, *, axis: function(x, axis=axis)

    call = general(
        name,
        make_kernel,
        abstract=lambda self, x, *, axis: Aval(kept(x.shape, (axis,)), np.dtype(np.intp)),
        tangent=None,
        batched=lambda x, *, size, axis: call(x, axis=axis + 1),
    )
    return call


argmax = position("argmax")
argmin = position("argmin")


# -- running reductions ------------------------------------------
def delayed(x: Any, axis: int, first: Any) -> Any:
    """x moved on by one entry along the axis: `first`, x₀, x₁, … without the last."""
    head = (slice(None),) * axis
    initial = ops.full_like(ops.getitem(x, index=(*head, slice(0, 1, None))), value=first)
    return ops.concatenate(initial, ops.getitem(x, index=(*head, slice(0, -1, None))), axis=axis)


def accumulated_by(combine: np.ufunc, x: Any, *, axis: int) -> Any:
    """combine.accumulate; of wide rows, row after row, a quarter of the time."""
    width = Aval(x.shape[axis + 1 :], None).size
    if x.dtype.kind != "f" or width < 256 or not x.size:
        return combine.accumulate(x, axis=axis)
    result = np.empty(x.shape, x.dtype)
    given, rows = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    rows[0] = given[0]
    for k in range(1, len(rows)):
        combine(rows[k - 1], given[k], out=rows[k])
    return result


def running(name: str) -> Callable[[Any], Callable]:
    """The kernel factory of a cumulative ufunc along one axis."""
    functions = {"add": ("cumulative_sum", "cumsum"), "multiply": ("cumulative_prod", "cumprod")}

    def make_kernel(xp: Any) -> Callable:
        if xp is np:
            return partial(accumulated_by, getattr(np, name))
        if name in functions:
            function = named(*functions[name])(xp)
            return lambda x, *, axis: function(x, axis=axis)
        combine, join = getattr(xp, name), named("concat", "concatenate")(xp)

        def doubling(x: Any, *, axis: int) -> Any:
            """After k steps every entry has met the 2ᵏ entries before it."""
            head, step = (slice(None),) * axis, 1
            while step < x.shape[axis]:
                first, late, early = (
                    (*head, part, ...) for part in (slice(step), slice(step, None), slice(-step))
                )
                x = join([x[first], combine(x[late], x[early])], axis=axis)
                step *= 2
            return x

        return doubling

    return make_kernel


cumsum = linear(
    "cumsum",
    running("add"),
    abstract=accumulated,
    transposed=lambda ct, x, *, axis: ops.flip(cumsum(ops.flip(ct, axes=(axis,)), axis=axis), axes=(axis,)),
    batched=lambda x, *, size, axis: cumsum(x, axis=axis + 1),
)


def cumprod_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """dyₖ = xₖ·dyₖ₋₁ + yₖ₋₁·tₖ: a recurrence, so that zeros do no harm."""
    (x,), (t,), axis = primals, tangents, params["axis"]
    return recurrence(x, t * delayed(y, axis, 1), axis=axis)


cumprod = general(
    "cumprod",
    running("multiply"),
    abstract=accumulated,
    tangent=cumprod_tangent,
    reach=running_reach,
    batched=lambda x, *, size, axis: cumprod(x, axis=axis + 1),
)


def recurrence_kernel(xp: Any) -> Any:
    def by_numbers(a: Any, b: Any) -> Any:
        """Of vectors, with Python's numbers: a step takes a twentieth of the time of one with arrays."""
        z, found = 0, []
        for x, y in zip(a.tolist(), b.tolist()):
            z = x * z + y
            found.append(z)
        return found

    def recurrence(a: Any, b: Any, *, axis: int) -> Any:
        out = xp.zeros(b.shape, dtype=xp.result_type(a, b))
        if xp is np and b.ndim == 1 and out.dtype in (np.float64, np.complex128):
            out[:] = by_numbers(a, b)
            return out
        head = (slice(None),) * axis
        z = 0
        for k in range(b.shape[axis]):
            at = (*head, k, ...)
            z = out[at] = a[at] * z + b[at]
        return out

    return recurrence


def recurrence_tangent(z: Any, primals: Any, tangents: Any, params: dict) -> Any:
    (a, _), (ta, tb), axis = primals, tangents, params["axis"]
    source = tb if ta is None else ta * delayed(z, axis, 0)
    if ta is not None and tb is not None:
        source = source + tb
    return recurrence(a, source, axis=axis)


def recurrence_transposed(ct: Any, a: Any, b: Aval, *, axis: int) -> list[Any]:
    """Linear in b: wₖ = ctₖ + aₖ₊₁·wₖ₊₁, the recurrence backwards."""
    backwards = delayed(ops.flip(a, axes=(axis,)), axis, 0)
    return [None, ops.flip(recurrence(backwards, ops.flip(ct, axes=(axis,)), axis=axis), axes=(axis,))]


# zₖ = aₖ·zₖ₋₁ + bₖ along an axis, z₋₁ = 0.
recurrence = general(
    "recurrence",
    recurrence_kernel,
    abstract=lambda self, a, b, *, axis: Aval(b.shape, np.result_type(a.dtype, b.dtype)),
    tangent=recurrence_tangent,
    reach=running_reach,
    transposed=recurrence_transposed,
    batched=lambda a, b, *, size, axis: recurrence(a, b, axis=axis + 1),
)


def running_extremum_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangent of the entry that set the record last."""
    (x,), (t,), axis = primals, tangents, params["axis"]
    count = x.shape[axis]
    steps = np.arange(count).reshape((count,) + (1,) * (x.ndim - axis - 1))
    record = ops.where(ops.logical_or(ops.equal(x, y), ops.isnan(x)), steps, 0)
    return ops.take_along(t, cummax(record, axis=axis), axis)


cummax = general(
    "cummax",
    running("maximum"),
    abstract=accumulated,
    tangent=running_extremum_tangent,
    reach=running_reach,
    batched=lambda x, *, size, axis: cummax(x, axis=axis + 1),
)
cummin = general(
    "cummin",
    running("minimum"),
    abstract=accumulated,
    tangent=running_extremum_tangent,
    reach=running_reach,
    batched=lambda x, *, size, axis: cummin(x, axis=axis + 1),
)
