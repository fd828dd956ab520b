"""Groups as CUDA C++: NVIDIA's compiler takes them, and what they say is right. A C++ compiler carries them out here,
one thread after the other, since no kernel has threads that wait for one another."""

import ctypes
import shutil
import subprocess
from itertools import count
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.graph import Literal
from fxgrad.core.primitive import REGISTRY
from fxgrad.kernels.cuda import functions, nvrtc
from fxgrad.kernels.cuda.group import CudaGroup
from fxgrad.kernels.cuda.source import write_group
from fxgrad.kernels.native import engine
from fxgrad.kernels.space import Space
from fxgrad.ops import activation, special
from fxgrad.passes import fusion
from fxgrad.passes.fused import FUSED

COMPILER = shutil.which("g++") or shutil.which("clang++")

# CUDA's words in C++, and the functions of its library that C++ has not.
SHIM = """
#include <cmath>
#include <cstring>
using namespace std;
#define __global__
#define __device__
struct Place { unsigned x; };
static thread_local Place blockIdx, blockDim, threadIdx;
static double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
static float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
static unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
static double erfcx(double x) { return exp(x * x) * erfc(x); }
static double normcdf(double x) { return erfc(-x * sqrt(0.5)) / 2; }
static double normcdfinv(double) { return 0; }
static double erfinv(double) { return 0; }
"""
# Half precision, which CUDA converts in its own assembly.
CONVERSIONS = """
static float from_float16(unsigned short bits) { _Float16 x; memcpy(&x, &bits, 2); return x; }
static unsigned short to_float16(double y) { _Float16 x = y; unsigned short bits; memcpy(&bits, &x, 2); return bits; }
static unsigned short to_float16(float y) { _Float16 x = y; unsigned short bits; memcpy(&bits, &x, 2); return bits; }
"""
SERIAL = count()  # a library of one name is loaded once


class Library:
    """The part of CuPy that groups use, on arrays of NumPy."""

    empty, ascontiguousarray = staticmethod(np.empty), staticmethod(np.ascontiguousarray)
    asarray = staticmethod(np.asarray)
    sum, prod, max, min = map(staticmethod, (np.sum, np.prod, np.max, np.min))
    any, all, reshape = map(staticmethod, (np.any, np.all, np.reshape))

    def __init__(self, folder):
        self.folder = folder

    def RawModule(self, code, options):
        assert "--fmad=false" in options
        start, end = (
            code.find("__device__ inline float from_float16"),
            code.find("__device__ inline float from_bfloat16"),
        )
        if start >= 0:
            code = code[:start] + CONVERSIONS + code[end:]
        names = [word.split("(")[0] for word in code.split("__global__ void ")[1:]]
        source = self.folder / f"group{next(SERIAL)}.cpp"
        drivers = "".join(
            f'extern "C" void drive_{name}(unsigned blocks, unsigned threads, void** a) {{ blockDim.x = threads;'
            "for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)"
            "for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)"
            f" {name}({', '.join(f'({kind})a[{k}]' for k, kind in enumerate(parameter_types(code, name)))}); }}\n"
            for name in names
        )
        source.write_text(SHIM + code + drivers)
        target = source.with_suffix(".so")
        flags = ["-std=c++17", "-O0", "-ffp-contract=off", "-shared", "-fPIC"]
        run = subprocess.run(
            [COMPILER, *flags, source, "-o", target], capture_output=True, text=True, timeout=120
        )
        assert run.returncode == 0, run.stderr
        self.library = ctypes.CDLL(str(target))
        return self

    def get_function(self, name):
        function = getattr(self.library, f"drive_{name}")

        def launch(blocks, threads, arrays):
            for a in arrays:
                assert a.flags.c_contiguous
            function(blocks[0], threads[0], (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays)))

        return launch


def parameter_types(code, name):
    text = code.split(f"void {name}(")[1].split(")")[0]
    return [part.rsplit(" ", 1)[0] for part in text.split(", ")]


@pytest.fixture(autouse=True)
def group_all(monkeypatch):
    """Whatever CUDA C++ is known for makes groups, however small."""
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(fusion, "LARGE", 1)
    monkeypatch.setattr(fusion, "is_native", functions.covers)


def groups_of(f, *args):
    """The Graph of a function with its groups, of which there is one at least."""
    graph = fusion.fuse(fx.make_graph(f)(*args))
    assert not graph.captured
    groups = [e for e in graph.equations if e.primitive is FUSED]
    assert groups
    return graph, [e.params["graph"] for e in groups]


def run_there(graph, library, args):
    """Carry out a Graph, with its groups by the stand-in for CuPy."""
    known = dict(zip(graph.inputs, args))
    for e in graph.equations:
        operands = [a.value if type(a) is Literal else known[a] for a in e.inputs]
        if e.primitive is FUSED:
            results = CudaGroup(e.params["graph"])(library, *operands)
        else:
            results = [e.primitive.kernel(*operands, **e.params)]
        known.update(zip(e.outputs, results))
    return [known[v] for v in graph.outputs]


def check(folder, f, *args, rtol=1e-13):
    """Compare the results of groups with those of their equations; have NVRTC compile them, where it is."""
    graph, groups = groups_of(f, *args)
    if nvrtc.library() is not None:
        for group in groups:
            assert "run0" in nvrtc.compile_source(write_group(Space(group))[0])
    with np.errstate(all="ignore"):
        want = fx.make_graph(f)(*args)(*args)
    got = run_there(graph, Library(folder), args)
    for x, y in zip(got, want if isinstance(want, tuple | list) else [want], strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x.astype("f8"), y.astype("f8"), rtol=rtol, atol=rtol)


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler that could stand for CUDA's")
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
def test_a_group_gives_what_its_equations_give(tmp_path, f):
    check(tmp_path, f, X, ROW, COLUMN)


@needs_compiler
def test_long_reductions_are_taken_by_many_threads(tmp_path):
    x = np.random.default_rng(0).standard_normal(200_003)
    check(tmp_path, lambda x: (fnp.sum(x * x), fnp.max(x + 1)), x)
    check(tmp_path, lambda x: (fnp.sum(x * x, axis=0), x + 1), x[:200_000].reshape(-1, 4))
    check(tmp_path, lambda x: fnp.sum(x * x + 1, axis=1), x[:200_000].reshape(4, -1))


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "int64"])
def test_every_dtype(tmp_path, dtype):
    x = (np.arange(60).reshape(3, 20) % 11).astype(getattr(ml_dtypes, dtype, dtype))

    def f(x):
        y = x * x + x
        mixed = x.astype(np.float64) * 0.1 + (x > 2)
        return y, fnp.where(x > 3, x, -x), fnp.maximum(x, 2), mixed, fnp.sum(y, axis=1), fnp.max(x - 1)

    check(tmp_path, f, x, rtol=1e-2 if x.itemsize == 2 else 1e-6)


@needs_compiler
def test_special_values(tmp_path):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.5])

    def f(x):
        found = fnp.maximum(x, 0.0), fnp.minimum(x, 1.0), fnp.sign(x), fnp.isfinite(x), x * np.inf
        return *found, fnp.max(x * 2.0), fnp.min(x + 1.0)

    with np.errstate(all="ignore"):
        want = f(x)
    for a, b in zip(run_there(groups_of(f, x)[0], Library(tmp_path), [x]), want):
        np.testing.assert_array_equal(a, b)


@needs_compiler
def test_what_cuda_does_not_know_is_computed_step_by_step(tmp_path):
    x = np.linspace(0.1, 1, 30)
    graph = fx.make_graph(lambda x: fnp.nextafter(x, 2.0) * x)(x)
    assert not all(map(functions.covers, graph.equations))
    np.testing.assert_array_equal(CudaGroup(graph)(Library(tmp_path), x)[0], np.nextafter(x, 2.0) * x)


@needs_compiler
def test_jit_launches_kernels_for_arrays_of_a_library_that_compiles_cuda(tmp_path, monkeypatch):
    """Arrays of the standard's strict library, to which what groups use of CuPy is given."""
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    modules = []

    def make_module(**source):
        module = Library(tmp_path).RawModule(**source)
        modules.append(module)

        def get_function(name):
            launch = module.get_function(name)
            return lambda blocks, threads, arrays: launch(blocks, threads, [a._array for a in arrays])

        return SimpleNamespace(get_function=get_function)

    def read(x, dtype=None):
        return strict.astype(x, getattr(strict, dtype.name)) if type(x) is kind else as_array(x)

    kind, as_array, make = type(strict.zeros(1)), strict.asarray, strict.empty
    monkeypatch.setattr(strict, "RawModule", make_module, raising=False)
    monkeypatch.setattr(strict, "ascontiguousarray", lambda x: x, raising=False)
    monkeypatch.setattr(strict, "asarray", read)
    monkeypatch.setattr(strict, "empty", lambda shape, dtype: make(shape, dtype=getattr(strict, dtype.name)))

    def f(x, y):
        z = fnp.exp(-x * x) * y
        return z, fnp.sum(z, axis=0)

    x, y = np.linspace(-1, 1, 60).reshape(20, 3), np.arange(3.0)
    jitted = fx.jit(f)
    for _ in range(2):
        got = jitted(as_array(x), as_array(y))
        for a, b in zip(got, f(x, y), strict=True):
            assert type(a) is kind
            np.testing.assert_allclose(np.asarray(a._array), b, rtol=1e-14)
    assert len(modules) == 1
    gradient = fx.jit(fx.grad(lambda x: fnp.sum(f(x, as_array(y))[0])))(as_array(x))
    np.testing.assert_allclose(gradient._array, -2 * x * np.exp(-x * x) * y, rtol=1e-14, atol=1e-15)


@pytest.mark.skipif(
    nvrtc.library() is None, reason="NVRTC is not installed: pip install 'fxgrad[cuda-build]'"
)
class TestNVRTC:
    @pytest.mark.parametrize(
        "dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]
    )
    def test_every_function_compiles(self, dtype):
        """All functions of a dtype in one kernel."""
        dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
        x = np.ones(7, dtype)

        def everything(x):
            found = []
            for name, kind in functions.EXPRESSIONS:
                primitive = (
                    getattr(special, name, None) or getattr(activation, name, None) or REGISTRY[name].call
                )
                if kind == functions.kind_of(dtype):
                    arity = 3 if name == "where" else 1 + ("{1}" in functions.EXPRESSIONS[name, kind])
                    found.append(primitive(*([x > 0, x, x] if arity == 3 else [x] * arity)))
            return found

        text, _ = write_group(Space(groups_of(everything, x)[1][0]))
        assert ".visible .entry run0" in nvrtc.compile_source(text)

    def test_the_log_tells_what_is_wrong(self):
        with pytest.raises(nvrtc.CompilationError, match="undefined"):
            nvrtc.compile_source("__device__ int f() { return nothing; }")


def test_expressions_are_named_after_primitives():
    assert {name for name, _ in functions.EXPRESSIONS} <= {*REGISTRY}
