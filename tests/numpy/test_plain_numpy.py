"""User code that knows only `numpy` is differentiated and mapped."""

import array
import warnings
from collections import deque
from typing import NamedTuple

import numpy as np
import pytest
from numpy.lib import recfunctions

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.numpy.missing import INPLACE_FUNCTIONS, MISSING_NAMES
from fxgrad.numpy.protocol import counterpart, ufunc_counterpart
from tests.ways import agree, same

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.5, 2.0, (3, 4)), RNG.uniform(0.5, 2.0, (3, 4))
SQUARE = RNG.uniform(0.5, 2.0, (3, 3))
CUBE = RNG.uniform(0.5, 2.0, (2, 3, 4))
MASK = X > 1.2
UFUNCS = sorted({f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}.items())


# -- ufuncs ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, ufunc", UFUNCS, ids=[name for name, _ in UFUNCS])
def test_every_ufunc_is_handled_or_has_a_reason(name, ufunc):
    if name in MISSING_NAMES:
        with pytest.raises(fx.UnsupportedError, match=name):
            fx.grad(ufunc)(1.0)
    else:
        assert callable(ufunc_counterpart(ufunc))


def operands_of(ufunc):
    """Operands for an elementwise ufunc of floating point: away from kinks and poles."""
    if ufunc.__name__ in ("arccosh",):
        return (X + 1,)
    if ufunc.__name__ in ("arcsin", "arccos", "arctanh"):
        return (X / 3,)
    return (X, 0.3 + 0.7 * Y)[: ufunc.nin]


FLOATING = [
    (name, ufunc)
    for name, ufunc in UFUNCS
    if name not in MISSING_NAMES and ufunc.signature is None and "d" * ufunc.nin + "->d" in ufunc.types
]
STEPS = {"floor_divide", "heaviside", "nextafter", "spacing"}


@pytest.mark.parametrize("name, ufunc", FLOATING, ids=[name for name, _ in FLOATING])
def test_elementwise_ufuncs(name, ufunc):
    agree(ufunc, *operands_of(ufunc), derivatives=name not in STEPS)


def test_there_are_many():
    assert len(FLOATING) > 45


@pytest.mark.parametrize(
    "function, args",
    [
        (lambda x, y: np.divmod(x, y)[1], (X, Y)),
        (lambda x: np.modf(x)[0], (X,)),
        (lambda x: np.ldexp(x, 3), (X,)),
        (lambda x, y: np.matmul(x, y.T), (X, Y)),
        (lambda x, y: np.vecdot(x, y), (X, Y)),
        (lambda x, y: np.vecdot(x, y, axis=0), (X, Y)),
        (lambda x, y: np.matvec(x, y[0]), (X, Y)),
        (lambda x, y: np.vecmat(x[:, 0], y), (X, Y)),
        (lambda x: np.isfinite(x) & np.logical_not(x > 1), (X,)),
        (lambda x, y: np.add(x, y, where=MASK, out=None) * MASK, (X, Y)),
        (lambda x: np.log(x, where=True, casting="same_kind", order="C", subok=False), (X,)),
        (lambda x, y: np.multiply(x, y, dtype=np.float64), (X, Y)),
        (lambda x: np.add([[1.0], [2.0], [3.0]], x), (X,)),
        (lambda x: np.add(x, 2, dtype=np.float64), (X,)),
    ],
)
def test_calls(function, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `where` without `out`: NumPy warns of the entries left out
        agree(function, *args)


def dtype_of(function, x):
    """The dtype of the result, traced and plain."""
    notes = []
    fx.jvp(lambda x: notes.append(function(x).dtype), (x,), (np.ones_like(x),))
    fx.vmap(lambda x: notes.append(function(x).dtype))(x[None])
    assert notes == [function(x).dtype] * 2
    return notes[0]


def test_dtypes_of_calls():
    x = np.ones(3, np.float32)
    assert dtype_of(lambda x: np.add(x, 1, dtype="f8"), x) == np.float64
    assert dtype_of(lambda x: np.add(x, np.float64(1), dtype="f4"), x) == np.float32
    assert dtype_of(lambda x: np.add(x, 1.0), x) == np.float32
    assert dtype_of(lambda x: np.sin(x, signature="d->d"), x) == np.float64
    assert dtype_of(lambda x: np.add.reduce(x > 0), x) == np.int64
    assert dtype_of(lambda x: np.add.reduce(x, dtype="f8"), x) == np.float64
    assert dtype_of(lambda x: np.maximum.reduce(x, dtype="f8"), x) == np.float64
    assert dtype_of(lambda x: np.multiply.accumulate(x > 0), x) == np.int64
    assert dtype_of(lambda x: np.hypot.reduce(x), x) == np.float32
    with pytest.raises(TypeError, match="Cannot cast"):
        fx.grad(lambda x: np.add(x, x, dtype=int, casting="safe").sum())(X)
    with pytest.raises(TypeError, match="Cannot cast"):
        fx.grad(lambda x: np.sin(x, dtype="f4", casting="safe").sum())(X)


def test_entries_that_where_leaves_out_are_zeros():
    x = np.array([4.0, 0.0, 1.0])
    same(fx.vmap(lambda x, m: np.sqrt(x, where=m))(x, x > 0), np.array([2.0, 0.0, 1.0]))
    same(fx.grad(lambda x: np.sqrt(x, where=x > 0).sum())(x), np.array([0.25, 0.0, 0.5]))


# -- methods of ufuncs -----------------------------------------------------------------------------------------------
REDUCING = {
    "add": (np.add, X),
    "multiply": (np.multiply, X),
    "maximum": (np.maximum, X),
    "minimum": (np.minimum, X),
    "subtract": (np.subtract, X),
    "divide": (np.divide, X),
    "power": (np.power, X),
    "hypot": (np.hypot, X),
    "logaddexp": (np.logaddexp, X),
    "logaddexp2": (np.logaddexp2, X),
    "fmax": (np.fmax, X),
    "fmin": (np.fmin, X),
    "arctan2": (np.arctan2, X),
    "copysign": (np.copysign, X),
    "float_power": (np.float_power, X),
    "logical_and": (np.logical_and, X),
    "logical_or": (np.logical_or, X),
    "logical_xor": (np.logical_xor, X),
}

# NumPy 2.4's loops for AVX-512 reduce these wrongly along a contiguous axis: a**c instead of (a**b)**c.
NOT_ALONG_THE_LAST_AXIS = (np.power, np.arctan2)


@pytest.mark.parametrize("ufunc, x", REDUCING.values(), ids=list(REDUCING))
def test_reduce_accumulate_outer(ufunc, x):
    cube = np.stack([x, 1.1 * x, 0.8 * x])
    agree(lambda x: ufunc.reduce(x), cube)
    agree(lambda x: ufunc.reduce(x, axis=1, keepdims=True), cube)
    if ufunc not in NOT_ALONG_THE_LAST_AXIS:
        agree(lambda x: ufunc.reduce(x, 2, None, None, True), cube)
        agree(lambda x: ufunc.reduceat(x, [0, 2, 1], axis=1), x)
    agree(lambda x: ufunc.accumulate(x), cube)
    agree(lambda x: ufunc.accumulate(x, axis=2), cube)
    agree(lambda x: ufunc.outer(x, x[0]), x)
    agree(lambda x: ufunc.outer(x, [1.1, 2.1]), x)
    agree(lambda x: ufunc.outer(2.0, x[0]), x)
    agree(lambda x: ufunc.reduceat(x, [0, 2, 1, 1]), cube)
    if "logical" not in ufunc.__name__:
        agree(lambda x: ufunc.reduce(x, axis=1, initial=1.5), cube)
        agree(lambda x, start: ufunc.reduce(x, initial=start), x, np.array(1.5))


REORDERABLE = [np.add, np.multiply, np.maximum, np.minimum, np.hypot, np.fmax, np.fmin]


@pytest.mark.parametrize("ufunc", REORDERABLE, ids=lambda ufunc: ufunc.__name__)
def test_reductions_in_any_order(ufunc):
    mask = CUBE > 1
    agree(lambda x: ufunc.reduce(x, axis=None), CUBE)
    agree(lambda x: ufunc.reduce(x, axis=(0, 2), keepdims=True), CUBE)
    agree(lambda x: ufunc.reduce(x, axis=(0, -1), initial=0.5, where=mask), CUBE)


@pytest.mark.parametrize(
    "ufunc", [np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm, np.logical_xor]
)
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_reductions_of_integers(ufunc, method):
    x = np.array([[12, 18, 30], [7, 14, 49]])
    function = getattr(ufunc, method)
    same(fx.vmap(function)(x), np.stack([function(row) for row in x]))
    assert dtype_of(lambda x: function(x.astype("u1")), np.ones(3)) == function(x.astype("u1")).dtype


@pytest.mark.parametrize(
    "ufunc", [np.add, np.multiply, np.hypot, np.logaddexp, np.bitwise_and, np.logical_or]
)
def test_reductions_of_nothing(ufunc):
    empty = np.ones((2, 0), int if ufunc is np.bitwise_and else float)
    same(fx.vmap(ufunc.reduce)(empty), np.stack([ufunc.reduce(row) for row in empty]))
    same(fx.vmap(ufunc.accumulate)(empty), np.stack([ufunc.accumulate(row) for row in empty]))


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: np.subtract.reduce(x, axis=(0, 1)), "not reorderable"),
        (lambda x: np.subtract.reduce(x[:0]), "no identity"),
        (lambda x: np.sin.reduce(x), "only supported for binary"),
        (lambda x: np.add.reduceat(x, [0, 9]), "out-of-bounds"),
        (lambda x: np.fmax.reduce(x, where=MASK), "give initial="),
        (lambda x: np.subtract.reduce(x, where=MASK, initial=1.0), "reduce the selected"),
        (lambda x: np.add.reduce(x, axis=7), "out of bounds"),
        (lambda x: np.hypot.accumulate(x, axis=7), "out of bounds"),
    ],
)
def test_reductions_that_numpy_refuses(function, message):
    with pytest.raises((ValueError, IndexError, fx.UnsupportedError), match=message):
        fx.grad(function)(X)


# -- functions -------------------------------------------------------------------------------------------------------
FUNCTIONS = {
    "sum": lambda x: (np.sum(x), np.sum(x, axis=0), np.sum(x, 1, keepdims=True), np.sum(x, out=None)),
    "mean": lambda x: (np.mean(x), np.average(x, axis=0, weights=[1.0, 2.0, 3.0])),
    "var": lambda x: (np.var(x), np.std(x, axis=1, ddof=1)),
    "max": lambda x: (np.max(x, axis=0), np.min(x), np.amax(x), np.ptp(x, axis=1)),
    "prod": lambda x: (np.prod(x, axis=0), np.cumprod(x), np.cumsum(x, axis=1)),
    "concatenate": lambda x: np.concatenate([x, np.ones((1, 4)), x[:2]]),
    "concatenate into an array": lambda x: np.concatenate([Y, x], axis=1),
    "stack": lambda x: (
        np.stack([x, Y], axis=-1),
        np.vstack([x, x[0]]),
        np.hstack([x, Y]),
        np.column_stack([x, x[:, 0]]),
    ),
    "where": lambda x: (np.where(MASK, x, 0.0), np.where(x > 1, 1.0, x)),
    "einsum": lambda x: (np.einsum("ij,kj->ik", x, Y), np.einsum("ij->j", x)),
    "norm": lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x, 1, axis=0)),
    "reshape": lambda x: (
        np.reshape(x, (2, 6)),
        np.ravel(x),
        np.transpose(x),
        np.expand_dims(x, 1),
        np.squeeze(x[:1]),
    ),
    "dot": lambda x: (
        np.dot(x, Y.T),
        np.inner(Y, x),
        np.outer(x[0], x[1]),
        np.tensordot(x, Y, 2),
        np.vdot(Y, x),
    ),
    "clip": lambda x: (np.clip(x, 1.0, 1.5), np.clip(Y, x, None)),
    "broadcast": lambda x: (np.broadcast_to(x, (2, 3, 4)), np.tile(x, 2), np.repeat(x, 2, axis=0)),
    "order": lambda x: (
        np.flip(x),
        np.roll(x, 1, axis=0),
        np.rot90(x),
        np.moveaxis(x, 0, 1),
        np.swapaxes(x, 0, 1),
    ),
    "pick": lambda x: (
        np.take(x, [1, 2]),
        np.diagonal(x),
        np.diag(x[0]),
        np.trace(x),
        np.split(x, 2, axis=1),
    ),
    "differences": lambda x: (np.diff(x, axis=0), np.trapezoid(x, axis=1), np.pad(x, 1)),
    "selection": lambda x: np.select([MASK, x > 1], [x, 2 * x], -x),
    "numbers": lambda x: (np.nan_to_num(x), np.nansum(x), np.real(x), np.round(x, 2) + np.trunc(x)),
    "spaces": lambda x: (np.linspace(x[0, 0], 2.0, 5), np.linspace(0.0, x[0], 3)),
    "like": lambda x: (np.zeros_like(x) + x, np.ones_like(x) * x, np.full_like(x, x[0, 0])),
    "asked for like": lambda x: np.asarray([x[0], 2 * x[1]], like=x) + np.zeros(4, like=x),
    "tests": lambda x: (np.isclose(x, Y), np.array_equal(x, x), np.allclose(x, Y), np.iscomplexobj(x)),
    "sizes": lambda x: x * np.size(x) + np.ndim(x) + np.shape(x)[1],
    "types": lambda x: x.astype(np.result_type(x, np.float32)),
    "iteration": lambda x: sum(row[0] * row[1] for row in x) + max(x[0, 0], x[0, 1]),
    "multi-line": lambda x: np.log1p(np.exp(-np.abs(x @ Y.T))).mean() + np.linalg.norm(x - x.mean(axis=0)),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_functions(function):
    if function not in (FUNCTIONS["iteration"],):
        agree(function, X)
    else:
        same(fx.jvp(function, (X,), (X,))[0], function(X))


def test_user_code_that_knows_only_numpy():
    x = np.array([0.1, 0.2, 0.3])
    same(fx.grad(lambda x: np.sum(np.sin(x) ** 2))(x), np.sin(2 * x))
    same(fx.vmap(fx.grad(lambda x: np.tanh(x)))(x), 1 - np.tanh(x) ** 2)
    same(fx.grad(fx.grad(np.sin))(0.3), -np.sin(0.3))


def test_the_namespace_of_a_traced_value():
    def loss(x):
        xp = x.__array_namespace__(api_version="2024.12")
        return xp.sum(xp.sin(x))

    same(fx.grad(loss)(X), np.cos(X))
    same(fx.grad(lambda x: x.__array_namespace__().sum(x))(X), np.ones_like(X))


# -- mixed operands ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.float64(2) * x + np.float64(3),
        lambda x: np.float64(2) ** x - np.float64(2) / x,
        lambda x: x @ Y.T,
        lambda x: Y.T @ x,
        lambda x: Y + x - Y * x / Y,
        lambda x: Y**x + x**Y,
        lambda x: (np.equal(Y, x), x == Y, Y.__lt__(x), np.float64(1).__lt__(x), x != np.float64(1)),
        lambda x: divmod(Y, x)[1] + divmod(x, Y)[1],
        lambda x: (Y % x, x % Y),
        lambda x: Y.clip(x),
        lambda x: np.array(2.0) * x,
        lambda x: np.int64(2) * x + np.True_ * x,
        lambda x: np.float32(0.5) * x[0, 0],
    ],
)
def test_traced_values_win_over_arrays(function):
    agree(function, X)


def test_python_numbers_stay_weak():
    assert dtype_of(lambda x: np.multiply(x, 2.0) + 1, np.ones(2, np.float32)) == np.float32
    notes = []
    fx.grad(lambda w: (notes.append(np.multiply(np.ones(2, np.float32), w).dtype), w)[1])(2.0)
    assert notes == [np.multiply(np.ones(2, np.float32), 2.0).dtype]


class Foreign:
    """A type that takes NumPy's operations into its own hands."""

    def __array_ufunc__(self, *_, **__):
        return "mine"

    def __array_function__(self, *_, **__):
        return "mine"


def test_other_types_get_their_turn():
    assert seen(lambda x: np.add(x, Foreign())) == "mine"
    assert seen(lambda x: np.concatenate([x, Foreign()])) == "mine"


class Pair(NamedTuple):
    a: object
    b: object


@pytest.mark.parametrize("sequence", [Pair, lambda *xs: deque(xs), lambda *xs: dict(enumerate(xs)).values()])
def test_sequences_of_any_type(sequence):
    same(fx.grad(lambda x: np.concatenate(sequence(x, 2 * x)).sum())(X), np.full((3, 4), 3.0))


def seen(function, x=X):
    notes = []
    fx.grad(lambda x: (notes.append(function(x)), x.sum())[1])(x)
    return notes[0]


# -- what cannot be done ---------------------------------------------------------------------------------------------
def write_item(x):
    buffer = np.zeros(3)
    buffer[0] = x[0, 0]


def test_writing_into_an_entry_of_a_plain_array():
    """NumPy words an error of its own, with ours as the cause; the transforms let ours out."""
    with pytest.raises(fx.ArrayConversionError, match=r"fnp\.zeros\(shape\).*fnp\.at\(buffer\)"):
        fx.grad(write_item)(X)


def write_items(x):
    buffer = np.zeros(4)
    buffer[:] = x[0]


def write_with_python(x):
    array.array("d", [0.0])[0] = x[0, 0]


def add_in_place(x):
    buffer = np.zeros((3, 4))
    buffer += x


@pytest.mark.parametrize(
    "write, advice",
    [
        (write_items, r"fnp\.stack"),
        (add_in_place, r"a = a \+ b"),
        (lambda x: np.add(x, x, out=np.zeros((3, 4))), "use the result"),
        (lambda x: np.divide(x, Y, out=np.zeros_like(Y), where=MASK), r"fnp\.where\(mask, result, other\)"),
        (lambda x: np.sum(x, axis=0, out=np.zeros(4)), "use the result"),
        (lambda x: np.add.reduce(x, 0, None, np.zeros(4)), "use the result"),
        (lambda x: np.add.at(np.zeros(3), [0], x[0, 0]), r"fnp\.at\(x\)"),
        (lambda x: np.copyto(np.zeros((3, 4)), x), r"fnp\.where"),
        (lambda x: np.put(np.zeros(3), [0], x[0, 0]), r"fnp\.at"),
        (lambda x: np.place(np.zeros((3, 4)), MASK, x), r"fnp\.where"),
        (lambda x: np.putmask(np.zeros((3, 4)), MASK, x), r"fnp\.where"),
        (lambda x: np.put_along_axis(np.zeros((3, 4)), [[0]], x, 1), r"fnp\.at"),
        (lambda x: np.asarray(x, float), r"x\.astype\('float64'\).*fnp\.asarray"),
        (lambda x: np.float32(x), r"x\.astype\('float32'\)"),
        (lambda x: np.zeros(3).__setitem__(slice(2), np.float64(x[0, 0])), r"x\.astype"),
        (lambda x: np.zeros(3).put(0, x[0, 0]), r"fnp\.asarray"),
    ],
)
@pytest.mark.parametrize(
    "transform", [lambda f: fx.grad(f)(X), lambda f: fx.vmap(f)(X[None])], ids=["grad", "vmap"]
)
def test_writing_into_a_plain_array(write, advice, transform):
    with pytest.raises(
        (fx.ArrayConversionError, fx.ImmutableError), match=f"(?s)at: .*test_plain_numpy.*try: .*{advice}"
    ):
        transform(write)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.add(X, X, out=x),
        lambda x: np.add(x, X, out=x),
        lambda x: np.add.at(x, [0], 1.0),
        lambda x: np.copyto(x, X),
        lambda x: np.fill_diagonal(x, 0.0),
        lambda x: np.sum(X, axis=0, out=x[1]),
        lambda x: np.multiply(x, 2, where=x > 1, out=x),
    ],
)
@pytest.mark.parametrize("numpy", [np, fnp], ids=["numpy", "fxgrad.numpy"])
def test_writing_into_a_traced_value(write, numpy, monkeypatch):
    monkeypatch.setitem(globals(), "np", numpy)

    def f(x):
        write(x)
        return x

    wanted = f(X.copy())
    same(fx.jvp(f, (X,), (X,))[0], wanted)
    same(fx.jit(f)(X), wanted)
    fx.testing.check_grads(f, (X,), order=1)


def test_writing_into_an_array_of_python():
    with pytest.raises(fx.ArrayConversionError, match=r"(?s)derivative would be lost.*fnp\.at\(buffer\)"):
        fx.grad(write_with_python)(X)
    with pytest.raises(fx.ConcretizationError, match="differs from one batch entry"):
        fx.vmap(write_with_python)(X[None])


def test_a_number_for_a_dictionary_or_a_list_is_a_number():
    def loss(x):
        log, plain = {}, [0.0]
        log["x"], plain[0] = x.item(), x
        assert log == {"x": 2.0}
        return x * plain[0]

    same(fx.grad(loss)(2.0), 4.0)


@pytest.mark.parametrize("name", sorted(MISSING_NAMES))
def test_functions_without_a_counterpart(name):
    with pytest.raises(fx.UnsupportedError, match=rf"(?s)numpy\.{name} of a traced value.*try: "):
        counterpart(name)


def test_a_function_of_a_submodule_is_named_in_full():
    with pytest.raises(
        fx.UnsupportedError, match=r"numpy\.lib\.recfunctions\.structured_to_unstructured of a traced value"
    ):
        fx.grad(recfunctions.structured_to_unstructured)(X)


def test_functions_of_python_are_called_on_each_entry():
    double = np.frompyfunc(lambda x: 2 * x, 1, 1)
    same(fx.jacobian(lambda x: double(x[0]) * x[1])(X)[0, 1], np.diag(2 * X[0])[0])
    same(fx.vmap(double)(X), 2 * X)


def test_functions_that_write_are_those_of_numpy():
    assert set(INPLACE_FUNCTIONS) <= set(dir(np))


ESCAPED = {
    "ufunc": lambda x: np.sin(x),
    "ufunc with an array": lambda x: np.add(X, x),
    "operator": lambda x: X * x,
    "scalar operator": lambda x: np.float64(1) + x,
    "function": lambda x: np.sum(x),
    "sequence": lambda x: np.concatenate([x, X]),
    "method": lambda x: x.mean(),
    "reduce": lambda x: np.hypot.reduce(x),
    "namespace": lambda x: fnp.exp(x),
    "linalg": lambda x: np.linalg.norm(x),
    "index": lambda x: x.at[0].set(1.0),
    "matmul": lambda x: X.T @ x,
}


@pytest.mark.parametrize("use", ESCAPED.values(), ids=list(ESCAPED))
@pytest.mark.parametrize("inside", [False, True])
def test_an_escaped_value_is_named(use, inside):
    kept = []
    fx.grad(lambda x: (kept.append(x), x.sum())[1])(X)
    with pytest.raises(fx.EscapedTracerError):
        fx.vmap(lambda _: use(kept[0]))(X) if inside else use(kept[0])


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum", "nancumsum", "trace"])
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.float32])
def test_the_dtype_that_is_asked_for_is_that_of_the_result_traced_or_not(name, dtype):
    a = np.arange(6, dtype=np.int32).reshape(2, 3)

    def reduce(x):
        return getattr(fnp, name)(x, dtype=dtype)

    expected = getattr(np, name)(a, dtype=dtype)
    for found in (reduce(a), fx.jit(reduce)(a), fx.vmap(reduce)(a[None])[0]):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_what_reads_memory_by_steps_is_refused():
    steps = np.lib.stride_tricks.as_strided
    for make in (lambda x: x, np.zeros_like, lambda x: x.copy()[1:]):
        for transform in (fx.grad, fx.jit):
            with pytest.raises(fx.UnsupportedError, match="sliding_window_view"):
                transform(lambda x, make=make: steps(make(x), (2, 2), (-8, 8)).sum())(np.ones(4))
