"""Groups as CUDA C++: NVIDIA's compiler takes them, and what they say is right. CuPy's stand-in carries them out here,
by a C++ compiler."""

import ml_dtypes
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import nn, ops
from fxgrad.core.errors import DeviceError
from fxgrad.core.graph import Graph
from fxgrad.core.primitive import REGISTRY
from fxgrad.kernels.cuda import functions, nvrtc
from fxgrad.kernels.cuda.group import CudaGroup
from fxgrad.kernels.row_space import uses_reductions
from fxgrad.ops import activation, special
from tests.cupy_stand_in import recording

from .carry_out import (
    ARCHITECTURES,
    compile_everywhere,
    fuse_groups,
    needs_compiler,
    needs_nvrtc,
    run_on_stand_in,
    source_of,
)

REAL = ["float64", "float32", "float16", "bfloat16"]
WHOLE = ["int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"]
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.5,
    0.3,
    2.5,
    -7.0,
    60.0,
    -60.0,
    1e-5,
    0.999,
    1e300,
    -1e-300,
]
pytestmark = pytest.mark.filterwarnings("error:.*no kernel:RuntimeWarning")  # of groups that do not compile


def as_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def evaluate(graph, args):
    """The results of a Graph, operation by operation."""
    with np.errstate(all="ignore"):
        results = graph(*args)
    return [np.asarray(r) for r in (results if isinstance(results, tuple | list) else [results])]


def compare(got, want, rtol):
    """Compare results, to `rtol` of the largest number of theirs where they are sums."""
    for x, y in zip(got, want, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        if x.dtype.kind in "biu":
            np.testing.assert_array_equal(x, y)
        else:
            np.testing.assert_allclose(x.astype("f8"), y.astype("f8"), rtol=rtol, atol=rtol)


def check(library, f, *args, rtol=1e-13, by_rows=False):
    """Compare the results of groups with those of their equations. The stand-in has NVRTC compile them, where it is."""
    graph = fx.make_graph(f)(*args)
    fused, groups = fuse_groups(graph)
    assert any(map(uses_reductions, groups)) if by_rows else groups
    compare(run_on_stand_in(fused, library, args), evaluate(graph, args), rtol)


def each_function(dtype):
    """A Graph of an equation for every primitive that is known on operands of a dtype, and its outputs."""

    def everything(x, y):
        found = []
        for name, kind in functions.EXPRESSIONS:
            if kind != functions.kind_of(dtype) or name == "weaken":  # which says something of the dtype only
                continue
            call = getattr(special, name, None) or getattr(activation, name, None) or REGISTRY[name].call
            text = functions.EXPRESSIONS[name, kind]
            found.append(call(x > y, x, y) if name == "where" else call(x, y) if "{1}" in text else call(x))
        if dtype.kind != "b":
            found += [x**p for p in (2, 3)]
        if functions.kind_of(dtype) == "f":
            found += [x**p for p in (0.5, -1, 1.7)]
        kinds = ["bool", *REAL] if functions.kind_of(dtype) == "f" else ["bool", *REAL, *WHOLE]
        return [*found, *(fnp.asarray(x).astype(as_dtype(to)) for to in kinds)]

    x = np.ones(len(SPECIAL) ** 2, dtype)
    graph = fx.make_graph(everything)(x, x)
    known = [e for e in graph.equations if functions.covers(e)]
    return Graph(graph.inputs, known, [e.outputs[0] for e in known])


def numbers_of(dtype):
    """All pairs of numbers of a dtype, special ones among them."""
    with np.errstate(all="ignore"):
        if functions.kind_of(dtype) == "f":
            few = np.array(SPECIAL).astype(dtype)
        elif dtype.kind == "b":
            few = np.arange(len(SPECIAL)) % 3 == 0
        else:
            limits = np.iinfo(dtype)
            values = [
                0,
                1,
                2,
                3,
                7,
                8,
                31,
                63,
                64,
                100,
                limits.max,
                limits.max - 1,
                limits.min,
                limits.min + 1,
            ]
            few = np.array([*values, limits.max // 2, 5 if limits.min == 0 else -5], dtype)
    return np.repeat(few, len(few)), np.tile(few, len(few))


@needs_compiler
@pytest.mark.parametrize("dtype", [*REAL, *WHOLE, "bool"])
def test_every_function_gives_what_numpy_gives(stand_in, dtype):
    """Of special numbers as well, and of integers beyond the ends."""
    dtype = as_dtype(dtype)
    graph, operands = each_function(dtype), numbers_of(dtype)
    assert len(graph.outputs) > 15
    got = [x.get() for x in CudaGroup(graph)(stand_in, *map(stand_in.asarray, operands))]
    eps = {8: 1e-13, 4: 1e-5}.get(dtype.itemsize, 8e-3 if dtype.name == "bfloat16" else 1e-3)
    for e, x, y in zip(graph.equations, got, evaluate(graph, operands), strict=True):
        assert x.dtype == y.dtype
        a, b = x.astype("f8"), y.astype("f8")
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= eps * np.maximum(np.abs(b), 1))
        left, right = operands
        if e.primitive.name in ("left_shift", "right_shift"):
            same |= (right < 0) | (right >= 8 * dtype.itemsize)  # which the processor's own shift decides
        assert same.all(), (e.primitive.name, left[~same][:4], right[~same][:4], x[~same][:4], y[~same][:4])


@needs_compiler
@pytest.mark.parametrize("dtype", [*REAL, "int64", "int32", "uint8", "bool"])
def test_every_reduction_of_every_dtype(stand_in, dtype):
    """With entries that are not numbers, which maxima and minima give as well."""
    x = np.array(np.arange(3 * 40).reshape(3, 40) % 7 - (dtype[0] != "u")).astype(as_dtype(dtype))
    kinds = [fnp.sum, fnp.prod, fnp.max, fnp.min, fnp.any, fnp.all]

    def f(x):
        y = fnp.where(x == x, x, x)
        return [reduce(y, axis=axis) for reduce in kinds for axis in (None, 0, 1)]

    if functions.kind_of(x.dtype) == "f":
        x[1, 5] = np.nan
    check(stand_in, f, x, rtol=2e-2 if x.itemsize == 2 else 1e-5)


@needs_compiler
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        *[((3, 7), dtype) for dtype in REAL],
        *[(shape, "float32") for shape in [(5, 2), (2, 3, 300), (260, 33), (2, 1, 4, 3)]],
    ],
    ids=str,
)
def test_rows_are_reduced_by_threads_that_wait_for_one_another(stand_in, shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(as_dtype(dtype))
    row, column = x[..., :1, :] * 2, np.abs(x[..., :1]) + 1

    def f(x, row, column):
        z = fnp.exp(x - fnp.max(x, axis=-1, keepdims=True)) * fnp.exp(row)
        total = fnp.sum(z, axis=-1, keepdims=True)
        y = z / (total + column)
        return y, fnp.log(fnp.abs(total)), y - fnp.sum(y * x, axis=-1, keepdims=True), column * 2 + total

    check(stand_in, f, x, row, column, rtol=6e-2 if x.itemsize == 2 else 1e-4 if x.itemsize == 4 else 1e-12,
          by_rows=True)  # fmt: skip


@needs_compiler
def test_rows_over_several_axes(stand_in):
    x = np.random.default_rng(0).standard_normal((4, 5, 6))
    check(stand_in, lambda x: x - fnp.mean(x * x, axis=(1, 2), keepdims=True), x, by_rows=True)


@needs_compiler
def test_gradients_of_rows(stand_in):
    x = np.random.default_rng(0).standard_normal((6, 10))

    def loss(x):
        return fnp.sum(nn.log_softmax(x, axis=1)[:, 0]) + fnp.sum(nn.softmax(x, axis=1) ** 2)

    jitted = fx.jit(fx.value_and_grad(loss))
    value, gradient = jitted(stand_in.asarray(x))
    want, slope = fx.value_and_grad(loss)(x)
    np.testing.assert_allclose(value.get(), want, rtol=1e-13)
    np.testing.assert_allclose(gradient.get(), slope, rtol=1e-11, atol=1e-14)


@needs_compiler
def test_numbers_of_python_stay_on_the_host(stand_in):
    jitted = fx.jit(lambda x, s, n: fnp.exp(x * s) + n * x)
    x = np.linspace(-1, 1, 50).astype("f4")
    there = stand_in.asarray(x)
    jitted(there, 2.0, 3)
    with recording() as record:
        got = jitted(there, 2.5, 4)
        other = jitted(there, stand_in.asarray(2.5), 4)
    assert got.dtype == np.float32 and len(record.to_device) == 1  # the one above
    np.testing.assert_allclose(got.get(), np.exp(x * np.float32(2.5)) + 4 * x, rtol=1e-5)
    np.testing.assert_allclose(other.get(), got.get(), rtol=1e-5)


@needs_compiler
def test_nothing_is_launched_for_no_entries(stand_in):
    jitted = fx.jit(lambda x: (fnp.exp(-x * x), fnp.sum(x * x, axis=0)))
    a, b = jitted(stand_in.zeros((0, 3)))
    assert a.shape == (0, 3) and b.get().tolist() == [0, 0, 0]


@needs_compiler
def test_operands_of_any_layout(stand_in):
    x = np.random.default_rng(0).standard_normal((30, 40))
    jitted = fx.jit(lambda x: fnp.exp(-x * x) + 1)
    for part in (np.s_[::2, ::3], np.s_[::-1], np.s_[5:6]):
        there = stand_in.asarray(x)
        np.testing.assert_allclose(jitted(there[part]).get(), np.exp(-(x[part] ** 2)) + 1, rtol=1e-14)
        np.testing.assert_allclose(jitted(there[part].T).get(), np.exp(-(x[part].T ** 2)) + 1, rtol=1e-14)


@needs_compiler
def test_kernels_run_where_the_operands_are(stand_in):
    x = np.linspace(0, 1, 20)
    jitted = fx.jit(lambda x, y: fnp.exp(-x * x) * y)
    with stand_in.cuda.Device(1):
        there = stand_in.asarray(x)
    assert stand_in.cuda.get_device_id() == 0
    got = jitted(there, there)
    assert got.device.id == 1
    np.testing.assert_allclose(got.get(), np.exp(-x * x) * x, rtol=1e-14)
    with pytest.raises(DeviceError, match="cuda:0 and cuda:1"):
        jitted(stand_in.asarray(x), there)


def test_large_arrays_have_long_positions():
    """Of which there is a text only: no machine here has the memory."""
    x = fx.ShapeDtypeStruct((1 << 17, 1 << 15), np.float32)
    for f in (
        lambda x: fnp.exp(x) * x[:1],
        lambda x: fnp.sum(x * x, axis=0),
        lambda x: x - x.max(1, keepdims=True),
    ):
        _, groups = fuse_groups(fx.make_graph(f)(x))
        text = source_of(groups[0])
        body = text[text.index("__global__") :]
        assert "blockIdx.x * (long long)" in body and "unsigned int i " not in body
        compile_everywhere(groups[:1], ARCHITECTURES[:1])


X = np.linspace(-2, 2, 6 * 50).reshape(6, 50)
ROW, COLUMN = np.linspace(1, 3, 50), np.linspace(-1, 1, 6)[:, None]


@needs_compiler
@pytest.mark.parametrize(
    "f",
    [
        lambda x, r, c: fnp.exp(-x * x) * r + c,
        lambda x, r, c: (fnp.where(x > r - 2, fnp.sin(x), c), x < 0),
        lambda x, r, c: fnp.sum(x * r + c),
        lambda x, r, c: fnp.sum(x * r + c, axis=0),
        lambda x, r, c: fnp.max(x * c + r, axis=1),
        lambda x, r, c: (
            fnp.sum(fnp.tanh(x * r)),
            fnp.prod(x + r + c, axis=1),
            fnp.min(x - c, axis=0),
            x / r,
        ),
        lambda x, r, c: (fnp.any(x > r), fnp.all(x + c < 9, axis=0)),
        lambda x, r, c: fnp.logaddexp(x, r) ** 3 + fnp.maximum(x, c) ** 1.5 * fnp.heaviside(x, 0.5),
        lambda x, r, c: x % r + x // r + fnp.sign(x) + fnp.hypot(x, c) + fnp.arctan2(x, r),
    ],
)
def test_a_group_gives_what_its_equations_give(stand_in, f):
    check(stand_in, f, X, ROW, COLUMN)


@needs_compiler
def test_long_reductions_are_taken_by_many_threads(stand_in):
    x = np.random.default_rng(0).standard_normal(200_003)
    check(stand_in, lambda x: (fnp.sum(x * x), fnp.max(x + 1)), x)
    check(stand_in, lambda x: (fnp.sum(x * x, axis=0), x + 1), x[:200_000].reshape(-1, 4))
    check(stand_in, lambda x: fnp.sum(x * x + 1, axis=1), x[:200_000].reshape(4, -1))


@needs_compiler
def test_what_cuda_does_not_know_is_computed_step_by_step(stand_in):
    x = np.linspace(0.1, 1, 30)
    graph = fx.make_graph(lambda x: ops.polygamma(x, n=0) * x)(x)
    assert not all(map(functions.covers, graph.equations))
    np.testing.assert_allclose(
        CudaGroup(graph)(stand_in, stand_in.asarray(x))[0].get(), np.squeeze(graph(x)), rtol=1e-13
    )


@needs_compiler
def test_a_source_that_does_not_compile_is_computed_step_by_step(stand_in, monkeypatch):
    monkeypatch.setitem(functions.EXPRESSIONS, ("exp", "f"), "no_such_function({0})")
    x = np.linspace(0.1, 1, 30)
    jitted = fx.jit(lambda x: fnp.exp(x) * x)
    with pytest.warns(RuntimeWarning, match="2 operations are no kernel"):
        got = jitted(stand_in.asarray(x))
    np.testing.assert_allclose(got.get(), np.exp(x) * x, rtol=1e-14)


@needs_nvrtc
class TestNVRTC:
    @pytest.mark.parametrize("dtype", [*REAL, *WHOLE, "bool"])
    def test_every_function_compiles(self, dtype):
        """All functions of a dtype in one kernel; those of half and single precision use no doubles."""
        graph = each_function(as_dtype(dtype))
        assert all(".visible .entry run0" in text for text in compile_everywhere([graph]))

    def test_single_precision_uses_no_doubles(self):
        def f(x, y):
            z = (
                fnp.exp(-x) * nn.sigmoid(y)
                - fnp.maximum(fnp.where(fnp.isfinite(x), x, y), np.inf)
                + 0.1 * fnp.tanh(y)
            )
            return z, fnp.sum(z), fnp.isinf(x), fnp.signbit(y), fnp.logaddexp(x, y)

        x = np.ones((40, 30), "f4")
        _, groups = fuse_groups(fx.make_graph(f)(x, x))
        for text in compile_everywhere(groups):
            assert ".f64" not in text

    def test_the_log_tells_what_is_wrong(self):
        with pytest.raises(nvrtc.CompilationError, match="undefined"):
            nvrtc.compile_source("__device__ int f() { return nothing; }")


def test_expressions_are_named_after_primitives():
    assert {name for name, _ in functions.EXPRESSIONS} <= {*REGISTRY}
