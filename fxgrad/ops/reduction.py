"""Reductions and running reductions. `axes` are non-negative; reduced axes are dropped (no keepdims)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.costs import CUMULATED_ENTRIES, FUSED_ENTRIES
from ..core.key import params_key
from ..kernels.registry import native_function
from .kinds import general, linear, namespace_function
from .vocabulary import ops


def reduction_kernel(name: str, ufunc: str, function: str) -> Callable[[Any], Callable]:
    """Return the kernel factory of a reduction: the ufunc's method for NumPy, or machine code if there are many
    entries; the function elsewhere."""

    def make_kernel(xp: Any) -> Callable:
        if xp is np:
            reduce = getattr(np, ufunc).reduce

            def reduce_entries(x: Any, *, axes: tuple[int, ...]) -> Any:
                if type(x) is np.ndarray and x.size >= FUSED_ENTRIES:
                    y = native_function("totals.reduce_natively")(primitive_of(name), reduce, x, axes)
                    if y is not None:
                        return y
                return reduce(x, axis=axes)

            return reduce_entries
        reduce = getattr(xp, function)
        return lambda x, *, axes: reduce(x, axis=axes)

    return make_kernel


def primitive_of(name: str) -> Any:
    """Return the primitive of a name."""
    return getattr(ops, name).primitive


def reduced_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape without the reduced axes."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def restore_axes(y: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """Give a reduced value axes of length one in the place of the reduced ones."""
    return ops.reshape(y, shape=tuple(1 if i in axes else n for i, n in enumerate(shape)))


def shift_axes(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


def kernel_dtype(self: Any, *avals: Aval, **params: Any) -> Any:
    """Return the dtype that the kernel gives for vectors of one entry: sums of bool and small integers widen."""
    key = (*[a.dtype for a in avals], params_key(params))
    if key not in self.dtypes:
        self.dtypes[key] = np.asarray(self.kernel(*[np.ones(1, a.dtype) for a in avals], **params)).dtype
    return self.dtypes[key]


def reduction_aval(self: Any, x: Aval, *, axes: tuple[int, ...]) -> Aval:
    """The abstract rule of reductions."""
    return Aval(reduced_shape(x.shape, axes), kernel_dtype(self, x, axes=(0,) if axes else ()))


def accumulation_aval(self: Any, x: Aval, *, axis: int) -> Aval:
    """The abstract rule of running reductions."""
    return Aval(x.shape, kernel_dtype(self, x, axis=0))


def sum_transpose(ct: Any, x: Aval, *, axes: tuple[int, ...]) -> Any:
    whole = len(axes) == len(x.shape)  # a number, which broadcasts as it is
    return ops.broadcast_to(ct if whole else restore_axes(ct, x.shape, axes), shape=x.shape)


def reduction_reach(mask: Any, x: Aval, *, axes: tuple[int, ...]) -> Any:
    return ops.broadcast_to(restore_axes(mask, x.shape, axes), shape=x.shape)


def accumulation_reach(mask: Any, *avals: Aval, axis: int) -> Any:
    """A running result depends on the entries up to its own."""
    return ops.flip(cummax(ops.flip(mask, axes=(axis,)), axis=axis), axes=(axis,))


reduce_sum = linear(
    "reduce_sum",
    reduction_kernel("reduce_sum", "add", "sum"),
    abstract_rule=reduction_aval,
    transpose_rule=sum_transpose,
    batch_rule=lambda x, *, size, axes: reduce_sum(x, axes=shift_axes(axes)),
)


def reduction(name: str, make_kernel: Any, tangent_rule: Any = None) -> Any:
    """Declare a reduction along axes, without a derivative unless there is a tangent rule."""
    call = general(
        name,
        make_kernel,
        abstract_rule=reduction_aval,
        tangent_rule=tangent_rule,
        reach=None if tangent_rule is None else reduction_reach,
        batch_rule=lambda x, *, size, axes: call(x, axes=shift_axes(axes)),
    )
    return call


def extremum_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """Entries that tie for the extremum share the derivative; a NaN result leads to the NaN entries."""
    (x,), (t,) = primals, tangents
    axes = params["axes"]
    hit = ops.logical_or(ops.equal(x, restore_axes(y, x.shape, axes)), ops.isnan(x))
    count = reduce_sum(ops.convert(hit, dtype=aval_of(y).dtype), axes=axes)
    return ops.divide(reduce_sum(ops.where(hit, t, 0), axes=axes), count)


reduce_max = reduction("reduce_max", reduction_kernel("reduce_max", "maximum", "max"), extremum_tangent)
reduce_min = reduction("reduce_min", reduction_kernel("reduce_min", "minimum", "min"), extremum_tangent)


def product_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangent is Σ tᵢ·(product of the others), by exclusive products from both sides, so that zeros do no harm."""
    (x,), (t,) = primals, tangents
    axes = params["axes"]
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    count = Aval(tuple(x.shape[i] for i in axes), None).size
    shape = (*(x.shape[i] for i in rest), count)
    x, t = (ops.reshape(ops.permute(v, axes=(*rest, *axes)), shape=shape) for v in (x, t))
    axis = len(rest)
    before = shift_right(cumprod(x, axis=axis), axis, 1)
    after = shift_left(ops.flip(cumprod(ops.flip(x, axes=(axis,)), axis=axis), axes=(axis,)), axis, 1)
    return reduce_sum(t * (before * after), axes=(axis,))


reduce_prod = reduction("reduce_prod", reduction_kernel("reduce_prod", "multiply", "prod"), product_tangent)
reduce_any = reduction("reduce_any", reduction_kernel("reduce_any", "logical_or", "any"))
reduce_all = reduction("reduce_all", reduction_kernel("reduce_all", "logical_and", "all"))


def norm_kernel(xp: Any) -> Any:
    def norm2(x: Any, *, axes: tuple[int, ...]) -> Any:
        squares = x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x
        y = np.sqrt(squares.sum(axis=axes))
        limits = np.finfo(y.dtype)
        least = (limits.smallest_normal / limits.eps) ** 0.5  # the squares that matter beside it are normal
        fits = (y > least) & (y < np.inf)
        return y if (fits if y.ndim == 0 else fits.all()) else scaled_norm(x, axes)

    def scaled_norm(x: Any, axes: tuple[int, ...]) -> Any:
        """Compute m·‖x/m‖ with the greatest modulus m, so that no square overflows or underflows."""
        size = np.abs(x)
        unit = size.max(axis=axes, keepdims=True, initial=0)
        unit = np.where((unit == 0) | (unit == np.inf), 1, unit).astype(size.dtype)
        return np.sqrt(((size / unit) ** 2).sum(axis=axes)) * unit.reshape(reduced_shape(x.shape, axes))[()]

    def portable_norm(x: Any, *, axes: tuple[int, ...]) -> Any:
        magnitude = xp.abs(x)
        return xp.sqrt(xp.sum(magnitude * magnitude, axis=axes))

    return norm2 if xp is np else portable_norm


def norm_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """⟨x/‖x‖, t⟩, 0 at the origin by convention; the second derivative there does not exist and is NaN."""
    (x,), (t,) = primals, tangents
    direction = ops.unit_vector(x, restore_axes(y, x.shape, params["axes"]))
    if aval_of(x).dtype.kind != "c":
        return reduce_sum(t * direction, axes=params["axes"])
    return reduce_sum(ops.real(t * ops.conjugate(direction)), axes=params["axes"])


def norm_formula(x: Any, *, axes: tuple[int, ...]) -> list[Any] | None:
    """√Σx² without a branch, so that it joins the loop that computes x: squares of single precision are added in double
    precision; in double precision, large and small entries are scaled and added on their own as well (Blue, "A portable
    Fortran program to find the Euclidean norm of a vector", 1978). The others are 0 there: an underflow takes long."""
    dtype = aval_of(x).dtype
    if dtype == np.float32:
        wide = ops.convert(x, dtype=np.dtype(float))
        return [ops.convert(ops.sqrt(reduce_sum(wide * wide, axes=axes)), dtype=dtype)]
    if dtype != np.float64:
        return None

    def norm(entries: Any, unit: float) -> Any:
        multiples = ops.multiply(ops.where(entries, x, 0.0), unit)
        return ops.divide(ops.sqrt(reduce_sum(multiples * multiples, axes=axes)), unit)

    with np.errstate(all="ignore"):
        plain, size = ops.sqrt(reduce_sum(x * x, axes=axes)), ops.absolute(x)
        large = norm(ops.greater(size, 2.0**450), 2.0**-600)
        small = norm(ops.less(size, 2.0**-400), 2.0**600)
        return [
            ops.where(ops.less(plain, LEAST_NORM), small, ops.where(ops.equal(plain, np.inf), large, plain))
        ]


LEAST_NORM = 2.0**-485  # in double precision: of less, squares that matter may not be normal
norm2 = reduction("norm2", norm_kernel, norm_tangent)
norm2.primitive.formula = norm_formula


# -- positions ------------------------------------------
def arg_reduction(name: str) -> Any:
    """Declare argmax or argmin along one axis, which have no derivative."""

    def make_kernel(xp: Any) -> Any:
        function = getattr(xp, name)
        return lambda x, *, axis: function(x, axis=axis)

    call = general(
        name,
        make_kernel,
        abstract_rule=lambda self, x, *, axis: Aval(reduced_shape(x.shape, (axis,)), np.dtype(np.intp)),
        tangent_rule=None,
        batch_rule=lambda x, *, size, axis: call(x, axis=axis + 1),
    )
    return call


argmax = arg_reduction("argmax")
argmin = arg_reduction("argmin")


# -- running reductions ------------------------------------------
def shift_right(x: Any, axis: int, first: Any) -> Any:
    """Shift x by one entry along the axis: `first`, x₀, x₁, … without the last."""
    head = (slice(None),) * axis
    initial = ops.full_like(ops.getitem(x, index=(*head, slice(0, 1, None))), value=first)
    return ops.concatenate(initial, ops.getitem(x, index=(*head, slice(0, -1, None))), axis=axis)


def shift_left(x: Any, axis: int, last: Any) -> Any:
    """Shift x by one entry along the axis: x₁, x₂, …, `last`."""
    head = (slice(None),) * axis
    end = ops.full_like(ops.getitem(x, index=(*head, slice(0, 1, None))), value=last)
    return ops.concatenate(ops.getitem(x, index=(*head, slice(1, None, None))), end, axis=axis)


def accumulate_ufunc(combine: np.ufunc, x: Any, *, axis: int) -> Any:
    """Accumulate by a ufunc: wide rows row after row, in a quarter of the time of `ufunc.accumulate`, and narrow ones
    by machine code."""
    width = Aval(x.shape[axis + 1 :], None).size
    if x.dtype.kind != "f" or width < 256 or not x.size:
        y = None
        if x.size >= CUMULATED_ENTRIES:
            y = native_function("accumulation.accumulate_natively")(combine.__name__, x, axis=axis)
        return combine.accumulate(x, axis=axis) if y is None else y
    result = np.empty(x.shape, x.dtype)
    given, rows = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    rows[0] = given[0]
    for k in range(1, len(rows)):
        combine(rows[k - 1], given[k], out=rows[k])
    return result


def accumulation_kernel(name: str) -> Callable[[Any], Callable]:
    """Return the kernel factory of a cumulative ufunc along one axis."""
    functions = {"add": ("cumulative_sum", "cumsum"), "multiply": ("cumulative_prod", "cumprod")}

    def make_kernel(xp: Any) -> Callable:
        if xp is np:
            return partial(accumulate_ufunc, getattr(np, name))
        if name in functions:
            function = namespace_function(*functions[name])(xp)
            return lambda x, *, axis: function(x, axis=axis)
        combine, join = getattr(xp, name), namespace_function("concat", "concatenate")(xp)

        def scan_by_doubling(x: Any, *, axis: int) -> Any:
            """Scan by doubling: after k steps every entry has met the 2ᵏ entries before it."""
            head, step = (slice(None),) * axis, 1
            while step < x.shape[axis]:
                first, late, early = (
                    (*head, part, ...) for part in (slice(step), slice(step, None), slice(-step))
                )
                x = join([x[first], combine(x[late], x[early])], axis=axis)
                step *= 2
            return x

        return scan_by_doubling

    return make_kernel


cumsum = linear(
    "cumsum",
    accumulation_kernel("add"),
    abstract_rule=accumulation_aval,
    transpose_rule=lambda ct, x, *, axis: ops.flip(
        cumsum(ops.flip(ct, axes=(axis,)), axis=axis), axes=(axis,)
    ),
    batch_rule=lambda x, *, size, axis: cumsum(x, axis=axis + 1),
)


def cumprod_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """dyₖ = xₖ·dyₖ₋₁ + yₖ₋₁·tₖ: a recurrence, so that zeros do no harm."""
    (x,), (t,), axis = primals, tangents, params["axis"]
    return recurrence(x, t * shift_right(y, axis, 1), axis=axis)


cumprod = general(
    "cumprod",
    accumulation_kernel("multiply"),
    abstract_rule=accumulation_aval,
    tangent_rule=cumprod_tangent,
    reach=accumulation_reach,
    batch_rule=lambda x, *, size, axis: cumprod(x, axis=axis + 1),
)


def recurrence_kernel(xp: Any) -> Any:
    def recur_numbers(a: Any, b: Any) -> Any:
        """Compute the recurrence of vectors with Python's numbers: a step takes a twentieth of the time of one with
        arrays."""
        z, found = 0, []
        for x, y in zip(a.tolist(), b.tolist()):
            z = x * z + y
            found.append(z)
        return found

    def recurrence(a: Any, b: Any, *, axis: int) -> Any:
        if xp is np and b.size >= CUMULATED_ENTRIES:
            z = native_function("accumulation.accumulate_natively")("recurrence", a, b, axis=axis)
            if z is not None:
                return z
        out = xp.zeros(b.shape, dtype=xp.result_type(a, b))
        if xp is np and b.ndim == 1 and out.dtype in (np.float64, np.complex128):
            out[:] = recur_numbers(a, b)
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
    source = tb if ta is None else ta * shift_right(z, axis, 0)
    if ta is not None and tb is not None:
        source = source + tb
    return recurrence(a, source, axis=axis)


def recurrence_transpose(ct: Any, a: Any, b: Aval, *, axis: int) -> list[Any]:
    """The recurrence is linear in b, and its transpose runs backwards: wₖ = ctₖ + aₖ₊₁·wₖ₊₁."""
    backwards = shift_right(ops.flip(a, axes=(axis,)), axis, 0)
    return [None, ops.flip(recurrence(backwards, ops.flip(ct, axes=(axis,)), axis=axis), axes=(axis,))]


# zₖ = aₖ·zₖ₋₁ + bₖ along an axis, z₋₁ = 0.
recurrence = general(
    "recurrence",
    recurrence_kernel,
    abstract_rule=lambda self, a, b, *, axis: Aval(b.shape, np.result_type(a.dtype, b.dtype)),
    tangent_rule=recurrence_tangent,
    reach=accumulation_reach,
    transpose_rule=recurrence_transpose,
    batch_rule=lambda a, b, *, size, axis: recurrence(a, b, axis=axis + 1),
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
    accumulation_kernel("maximum"),
    abstract_rule=accumulation_aval,
    tangent_rule=running_extremum_tangent,
    reach=accumulation_reach,
    batch_rule=lambda x, *, size, axis: cummax(x, axis=axis + 1),
)
cummin = general(
    "cummin",
    accumulation_kernel("minimum"),
    abstract_rule=accumulation_aval,
    tangent_rule=running_extremum_tangent,
    reach=accumulation_reach,
    batch_rule=lambda x, *, size, axis: cummin(x, axis=axis + 1),
)
