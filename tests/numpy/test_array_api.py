"""The Array API standard, as array-api-strict has it: every function of the main namespace and of the extensions linalg
and fft is there, takes the standard's parameters and gives the standard's results, on plain arrays and on traced ones.

A line of a table is a call, `xp` the namespace; the other names are the operands of OPERANDS, in every dtype for which
array-api-strict does not refuse the call.
"""

import ast
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

import fxgrad as fx
import fxgrad.numpy as fnp

strict = pytest.importorskip("array_api_strict", reason="the standard's own namespace needs array-api-strict")

DTYPES = ("bool", "int8", "int64", "uint16", "float32", "float64", "complex64", "complex128")
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5}


def made(rng, shape, dtype):
    """Values that every dtype of a kind can hold, away from 0: small integers, and fractions of them."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    values = rng.integers(1, 6, shape)
    if kind in "fc":
        values = values / 7 * rng.choice([-1, 1], shape)
    if kind == "c":
        values = values + 1j * rng.integers(1, 6, shape) / 5
    return np.asarray(values, dtype)


SHAPES = {"a": (2, 3, 4), "b": (2, 3, 4), "m": (4, 4), "n": (4, 4), "v": (3,), "w": (3,), "s": ()}
FIXED = {
    "i": np.array([2, 0, 2]),
    "j": np.array([[[1], [0], [1]], [[0], [1], [0]]]) * np.ones((1, 1, 4), int),
    "q": np.arange(24).reshape(2, 3, 4) % 3 == 0,
}


# -- the tables ------------------------------------------
def words(text):
    return text.split()


UNARY = words("""
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf
    isnan log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square
    sqrt tan tanh trunc
""")
BINARY = words("""
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor
    maximum minimum multiply nextafter not_equal pow remainder subtract
""")
REDUCTIONS = words("all any count_nonzero max mean min prod std sum var")

CREATION = """
    xp.asarray([[1, 2], [3, 4]]) | xp.asarray([1.5, 2], dtype=xp.float32) | xp.asarray(True)
    xp.asarray([1j], copy=True) | xp.arange(5) | xp.arange(1, 7, 2) | xp.arange(1.0, 2.0, 0.25)
    xp.arange(3, dtype=xp.float32) | xp.arange(5, 0, step=-2) | xp.zeros(3) | xp.zeros((2, 0), dtype=xp.int8)
    xp.ones((2, 3)) | xp.ones(2, dtype=xp.complex64) | xp.full((2,), 3) | xp.full(2, 1.5, dtype=xp.float32)
    xp.full((), True) | xp.eye(3) | xp.eye(2, 3, k=1, dtype=xp.int64) | xp.eye(3, 2, k=-1)
    xp.linspace(0, 1, 5) | xp.linspace(1.0, 2.0, num=4, endpoint=False, dtype=xp.float32)
    xp.linspace(0, 1j, 3) | xp.empty((2, 3)).shape | xp.empty(2, dtype=xp.int8).shape
    xp.broadcast_shapes((2, 1), (3,), (1, 1, 3)) | xp.isdtype(xp.float32, "real floating")
    xp.isdtype(xp.int8, ("bool", xp.int8)) | xp.isdtype(xp.complex64, "numeric")
    xp.isdtype(xp.bool, "integral") | xp.can_cast(xp.int8, xp.int16) | xp.can_cast(xp.float64, xp.float32)
    xp.finfo(xp.float32).bits | float(xp.finfo(xp.float64).eps) | xp.iinfo(xp.int8).max
    xp.iinfo(xp.uint16).min | xp.e + xp.pi + xp.inf | xp.nan | xp.newaxis is None
"""
ARRAYS = """
    xp.astype(a, xp.float32) | xp.astype(a, xp.bool) | xp.astype(a, xp.int64, copy=False)
    xp.astype(a, xp.complex128) | xp.empty_like(a).shape | xp.zeros_like(a) | xp.ones_like(a, dtype=xp.int8)
    xp.full_like(a, 1) | xp.full_like(a, True) | xp.tril(m) | xp.triu(a, k=1) | xp.tril(m, k=-1)
    xp.meshgrid(v, w) | xp.meshgrid(v, w, s, indexing="ij") | xp.broadcast_arrays(a, v[:, None])
    xp.broadcast_to(v, (2, 3)) | xp.broadcast_to(s, (2, 2)) | xp.can_cast(a, a.dtype)
    xp.result_type(a, xp.float32) | xp.result_type(a, 1) | xp.result_type(a, 2, b.dtype) | xp.take(v, i)
    xp.take(a, i, axis=1) | xp.take_along_axis(a, j, axis=0) | xp.concat([v, w]) | xp.concat((a, b), axis=-1)
    xp.concat([a, v], axis=None) | xp.expand_dims(a, axis=0) | xp.expand_dims(v, axis=-1) | xp.flip(a)
    xp.flip(a, axis=(0, 2)) | xp.moveaxis(a, 0, -1) | xp.moveaxis(a, (0, 1), (2, 0))
    xp.permute_dims(a, (2, 0, 1)) | xp.repeat(v, 2) | xp.repeat(a, 3, axis=1) | xp.repeat(v, i)
    xp.reshape(a, (4, -1)) | xp.reshape(a, (24,), copy=True) | xp.roll(a, 2) | xp.roll(a, (1, -1), axis=(0, 2))
    xp.squeeze(xp.expand_dims(a, axis=1), 1) | xp.squeeze(v[None, :, None], axis=(0, 2)) | xp.stack([v, w])
    xp.stack((v, w), axis=-1) | xp.tile(v, (2,)) | xp.tile(a, (2, 1, 1, 2)) | xp.unstack(v)
    xp.unstack(a, axis=1) | xp.argmax(a) | xp.argmax(a, axis=1, keepdims=True) | xp.argmin(a, axis=-1)
    xp.where(q, a, b) | xp.where(q, a, 1) | xp.where(q, 0, v[:, None]) | xp.clip(a, 2, 4) | xp.clip(a, max=3)
    xp.clip(a, min=v[:, None]) | xp.clip(a, b, b) | xp.cumulative_sum(v)
    xp.cumulative_sum(a, axis=1, include_initial=True) | xp.cumulative_sum(v, dtype=xp.float64)
    xp.cumulative_prod(v) | xp.cumulative_prod(a, axis=-1, include_initial=True) | xp.diff(v)
    xp.diff(a, axis=1, n=2) | xp.diff(v, prepend=w, append=v[:1]) | xp.matmul(m, n) | xp.matmul(a, m)
    xp.matmul(v, w) | xp.matmul(v, a) | xp.tensordot(m, n) | xp.tensordot(a, m, axes=1)
    xp.tensordot(a, b, axes=((0, 2), (0, 2))) | xp.matrix_transpose(a) | xp.vecdot(v, w)
    xp.vecdot(a, b, axis=-2) | xp.sum(a, dtype=xp.float64) | xp.prod(v, dtype=xp.complex128)
    xp.std(a, axis=1, correction=1) | xp.var(a, correction=0.5) | xp.isin(v, w) | xp.isin(v, w, invert=False)
    xp.sort(a) | xp.sort(a, axis=0, descending=True) | xp.argsort(a, stable=True)
    xp.argsort(a, axis=1, descending=True) | xp.searchsorted(xp.sort(v), w)
    xp.searchsorted(xp.sort(v), w, side="right") | xp.add(a, 1) | xp.multiply(2, a) | xp.logical_and(True, a)
    xp.from_dlpack(a) | a + b | a - 1 | 2 * a | a / b | a // b | a % b | a**2 | -a | +a | abs(a) | a @ m | a < b
    a <= 1 | a > b | a >= 2 | a == b | a != 1 | ~a | a & b | a | b | a ^ 1 | a << 1 | a >> 1 | 3 - a | 2**a
    2 / a | a[0, ...] | a[..., 1] | a[:, ::-1, 1:3] | a[None, 0, :, -1] | a.mT | m.T | a.shape | a.ndim | a.size
    a.to_device(a.device)
"""
# Results whose shapes depend on values: on plain arrays, and on traced ones whose values are known.
BY_VALUE = """
    xp.nonzero(a) | a[q] | xp.unique_all(v) | xp.unique_counts(a) | xp.unique_inverse(a) | xp.unique_values(a)
"""
LINALG = """
    cholesky(m @ m.mT + 9 * xp.eye(4, dtype=m.dtype)) | cross(v, w)
    cross(xp.stack([v, w], axis=1), xp.stack([w, v], axis=1), axis=-2) | det(m) | diagonal(a)
    diagonal(m, offset=1) | eigh(m + m.mT) | eigvalsh(m + m.mT) | inv(m) | matmul(m, n) | matrix_norm(a)
    matrix_norm(m, ord=1, keepdims=True) | matrix_norm(m, ord="nuc") | matrix_power(m, 3) | matrix_power(m, -1)
    matrix_rank(m) | matrix_transpose(a) | outer(v, w) | pinv(m) | qr(m) | qr(a, mode="complete") | slogdet(m)
    solve(m, n) | solve(m, n[:, 0]) | svd(m) | svd(a, full_matrices=False) | svdvals(a)
    tensordot(a, m, axes=1) | trace(a) | trace(m, offset=-1) | vecdot(a, b, axis=-3) | vector_norm(a)
    vector_norm(a, axis=(0, 2), ord=1) | vector_norm(v, ord=xp.inf, keepdims=True)
"""
FFT = """
    fft(a) | fft(a, n=3, axis=1, norm="ortho") | ifft(a) | fftn(a) | fftn(a, axes=(0, 2), norm="forward")
    ifftn(a, s=(2, 2), axes=(0, 1)) | rfft(a) | rfft(a, n=6, axis=0) | irfft(a) | irfft(a, n=5) | rfftn(a)
    irfftn(a) | hfft(a) | ihfft(a) | fftshift(a) | fftshift(a, axes=1) | ifftshift(a, axes=(0, 2)) | fftfreq(5)
    fftfreq(4, d=0.5) | rfftfreq(5, d=2.0)
"""


def lines(table, prefix=""):
    rows = [line.strip() for line in table.strip().splitlines()]
    calls = [call.strip() for row in rows for call in row.split(" | ")]
    return [prefix + call for call in calls if call not in ("a", "b")]


def names_in(call):
    return {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}


EXTENSIONS = {"linalg": LINALG, "fft": FFT}
TABLE = [*lines(CREATION), *lines(ARRAYS), "a | b", *lines(BY_VALUE)]
TABLE += [call for name, table in EXTENSIONS.items() for call in lines(table, f"xp.{name}.")]


# -- names and parameters ------------------------------------------
def public(space):
    return [
        n for n in space.__all__ if callable(getattr(space, n)) and "array_api_strict_flags" not in n.lower()
    ]


PLACES = [(strict, fnp, name) for name in public(strict) if not inspect.isclass(getattr(strict, name))]
PLACES += [
    (getattr(strict, ext), getattr(fnp, ext), name)
    for ext in EXTENSIONS
    for name in getattr(strict, ext).__all__
]


# Parameters of the standard that NumPy, whose functions these are, does not have.
NOT_IN_NUMPY = {("fftfreq", "dtype"), ("rfftfreq", "dtype")}


@pytest.mark.parametrize("theirs, ours, name", PLACES, ids=[f"{p[0].__name__}.{p[2]}" for p in PLACES])
def test_every_function_takes_the_parameters_of_the_standard(theirs, ours, name):
    function = getattr(ours, name)
    parameters = inspect.signature(getattr(theirs, name)).parameters.values()
    try:
        signature = inspect.signature(function)
    except ValueError:  # one of NumPy's written in C: the calls below are its test
        return
    args = [object() for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    options = {
        p.name: None for p in parameters if p.kind is p.KEYWORD_ONLY and (name, p.name) not in NOT_IN_NUMPY
    }
    signature.bind(*args, **options)
    named = {p.name: None for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD}
    signature.bind(*args[: len(args) - len(named)], **named, **options)


def test_dtypes_and_constants_have_the_names_of_the_standard():
    for name in strict.__all__:
        value = getattr(strict, name)
        if isinstance(value, float):
            assert getattr(fnp, name) == value or value != value
    for name in strict.__array_namespace_info__().dtypes():
        assert np.dtype(getattr(fnp, name)).name == name


def test_every_function_has_a_call():
    called = {n.attr for call in TABLE for n in ast.walk(ast.parse(call)) if isinstance(n, ast.Attribute)}
    called |= {*UNARY, *BINARY, *REDUCTIONS}
    assert {name for _, _, name in PLACES} - called == {"__array_namespace_info__"}


def test_inspection():
    info = fnp.__array_namespace_info__()
    assert set(info.dtypes()) == set(strict.__array_namespace_info__().dtypes())
    assert info.default_dtypes()["real floating"] == np.float64 and list(info.devices()) == ["cpu"]
    assert info.capabilities().keys() >= {"boolean indexing", "data-dependent shapes"}
    assert fnp.__array_api_version__ >= "2023.12"


# -- results ------------------------------------------
def flat(result):
    """Arrays, dtypes and Python values of a result, in order: what is compared."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def dtype_name(value):
    return str(value).rpartition(".")[2].rstrip("'>")


def is_dtype(value):
    return isinstance(value, np.dtype | type | type(strict.float32))


def same(actual, expected):
    actual, expected = flat(actual), flat(expected)
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected):
        if is_dtype(theirs):
            assert dtype_name(ours) == dtype_name(theirs)
            continue
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        tolerance = TOLERANCE.get(theirs.dtype.name, 1e-12)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def outcome(function, *args):
    """What array-api-strict gives, or None where it refuses."""
    try:
        with np.errstate(all="ignore"):
            return function(strict, *map(strict.asarray, args))
    except (TypeError, ValueError, AttributeError, OverflowError, Warning):
        return None


def traced(function, args):
    """The result by jit and by vmap; results that are no arrays come from within."""

    def run(transform, *operands):
        kept = []

        def call(*xs):
            result = function(fnp, *xs)
            kept[:] = [
                [isinstance(leaf, np.generic | np.ndarray | fx.Tracer) for leaf in flat(result)],
                flat(result),
            ]
            return [leaf for leaf, is_array in zip(kept[1], kept[0]) if is_array]

        arrays = iter(transform(call)(*operands))
        return [next(arrays) if is_array else leaf for is_array, leaf in zip(*kept)], kept[0]

    with np.errstate(all="ignore"):
        yield run(fx.jit, *args)[0]
        results, arrays = run(fx.vmap, *[np.stack([x, x]) for x in args])
    for entry in (0, 1):
        yield [leaf[entry] if is_array else leaf for leaf, is_array in zip(results, arrays)]


def conforms(function, args, staged=True):
    """Whether the standard has the call; if so, ours gives the same plain and traced."""
    expected = outcome(function, *args)
    if expected is None:
        return False
    with np.errstate(all="ignore"):
        same(function(fnp, *args), expected)
    if args and staged:
        for result in traced(function, args):
            same(result, flat(expected))
    return True


def function_of(call):
    """(the call as a function of namespace and operands, the names of these)."""
    names = sorted(names_in(call) & SHAPES.keys())
    code = compile(call, call, "eval")

    def function(xp, *args):
        fixed = {n: xp.asarray(x) if xp is strict else x for n, x in FIXED.items()}
        return eval(code, {"xp": xp, **fixed, **dict(zip(names, args))})

    return function, names


@pytest.mark.parametrize("call", TABLE)
def test_calls(call):
    function, names = function_of(call)
    rng = np.random.default_rng(3)
    staged = call not in lines(BY_VALUE) and "from_dlpack" not in call
    done = [
        conforms(function, [made(rng, SHAPES[n], dtype) for n in names], staged)
        for dtype in (DTYPES if names else ("float64",))
    ]
    assert any(done), "array-api-strict refuses the call in every dtype"


@pytest.mark.parametrize("call", lines(BY_VALUE))
def test_calls_that_depend_on_values(call):
    function, names = function_of(call)
    args = [made(np.random.default_rng(3), SHAPES[n], "float64") for n in names]
    kept = []
    fx.vjp(lambda *xs: (kept.append([leaf.tolist() for leaf in flat(function(fnp, *xs))]), xs[0])[1], *args)
    same(kept[0], [np.asarray(x).tolist() for x in flat(outcome(function, *args))])


few = settings(max_examples=6)


@pytest.mark.parametrize("name", UNARY)
@few
@given(shape=array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), seed=st.integers(0, 99))
def test_unary(name, shape, seed):
    rng = np.random.default_rng(seed)
    call = lambda xp, x: getattr(xp, name)(x)  # noqa: E731
    assert any([conforms(call, [made(rng, shape, dtype)]) for dtype in DTYPES])


@pytest.mark.parametrize("name", BINARY)
@few
@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), seed=st.integers(0, 99))
def test_binary(name, shapes, seed):
    rng = np.random.default_rng(seed)
    call = lambda xp, x, y: getattr(xp, name)(x, y)  # noqa: E731
    assert any([conforms(call, [made(rng, s, dtype) for s in shapes.input_shapes]) for dtype in DTYPES])


@pytest.mark.parametrize("name", REDUCTIONS)
@few
@given(
    shape=array_shapes(min_dims=1, max_dims=3, max_side=3),
    seed=st.integers(0, 99),
    keepdims=st.booleans(),
    data=st.data(),
)
def test_reductions(name, shape, seed, keepdims, data):
    rng = np.random.default_rng(seed)
    axes = st.integers(-len(shape), len(shape) - 1)
    axis = data.draw(st.none() | axes | st.sets(st.integers(0, len(shape) - 1)).map(tuple))
    call = lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=keepdims)  # noqa: E731
    assert any([conforms(call, [made(rng, shape, dtype)]) for dtype in DTYPES])


# -- the array object ------------------------------------------
def seen(function, x):
    """What a function of an array sees in a traced one."""
    kept = []
    fx.grad(lambda x: (kept.append(function(x)), fnp.sum(x))[1])(x)
    fx.jit(lambda x: kept.append(function(x)) or x)(x)
    fx.vmap(lambda x: kept.append(function(x)) or x)(x[None])
    return kept


@pytest.mark.parametrize(
    "name", [n for n in dir(type(strict.ones(1))) if n == n.strip("_") or n.startswith("__array_n")]
)
def test_traced_values_have_the_attributes_of_the_standard(name):
    assert seen(lambda x: hasattr(x, name), np.ones((2, 2))) == [True] * 3


def test_the_namespace_and_the_device_of_traced_values():
    assert seen(lambda x: x.__array_namespace__(api_version="2024.12") is fnp, np.ones(2)) == [True] * 3
    assert seen(lambda x: (x.device, x.to_device("cpu").shape), np.ones(2)) == [("cpu", (2,))] * 3
    with pytest.raises(fx.DeviceError, match="no device 'tpu'"):
        fx.grad(lambda x: x.to_device("tpu"))(1.0)


def test_traced_values_are_not_handed_to_other_libraries():
    for attempt in (lambda x: x.__dlpack__(), lambda x: fnp.from_dlpack(x), np.from_dlpack):
        with pytest.raises(fx.UnsupportedError, match="memory"):
            fx.vmap(attempt)(np.ones(3))


def test_code_for_the_standard_is_differentiated():
    """A function written for any array library, by way of `__array_namespace__`."""

    def loss(x):
        xp = x.__array_namespace__()
        scores = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        p = scores / xp.sum(scores, axis=-1, keepdims=True)
        return -xp.sum(xp.log(xp.take(p, xp.asarray([0]), axis=-1)))

    x = np.array([[1.0, 2.0, 0.5]])
    expected = np.exp(x) / np.exp(x).sum() - [[1, 0, 0]]
    np.testing.assert_allclose(fx.grad(loss)(x), expected, atol=1e-15)
    np.testing.assert_allclose(fx.jit(fx.grad(loss))(x), expected, atol=1e-15)
