"""Every operation on CuPy's arrays: values, derivatives, batches and compiled functions are those of NumPy's, on the
device and in the stream that are in use, and nothing moves to the host and back."""

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.core.errors import UnsupportedError
from fxgrad.kernels.cuda import group
from fxgrad.testing import random_like
from fxgrad.transforms.jvp import jvp
from fxgrad.transforms.vjp import vjp
from tests.sample import active, close, drawn, function_of
from tests.samples import SAMPLES

# What LAPACK and SciPy compute and no library for devices does: the host has it.
HOST_ONLY = {
    "column_order", "fractional_power", "fractional_power_slope", "hessenberg", "ldl", "matrix_log", "matrix_log_slope",
    "operator_product", "reflected_form", "riccati", "schur",
}  # fmt: skip
# What is Python's number, wherever it came from; and factors, of which CuPy's solvers read nothing.
NOT_COMPARED = {"weaken", "factorization"}
# What the host has to know to go on, and how it asks.
ASKED = {
    **dict.fromkeys(
        ["random_log_gamma", "random_poisson", "random_binomial"], "bool"
    ),  # whether all are accepted
    **dict.fromkeys(["matrix_exp", "matrix_exp_slope"], "int"),  # how often to square
    **dict.fromkeys(["matrix_sign", "matrix_sign_slope", "matrix_sqrt"], "bool"),  # whether it has converged
    **dict.fromkeys(["scan", "switch"], "int"),  # how many steps, which branch
    "while_loop": "bool",  # whether to go on
    **dict.fromkeys(["scatter_mul", "multiply_others"], "get"),  # which places occur again
}
MOVED = (
    "host→device",
    "array",
)  # positions and masks, which stay there from then on; the matrix of a transform
OPERATIONS = sorted({s.name for s in SAMPLES} - HOST_ONLY - NOT_COMPARED)


@pytest.fixture(autouse=True)
def equations_of_groups_one_by_one(monkeypatch):
    """Kernels are compiled in tests/kernels/cuda."""
    monkeypatch.setattr(group, "covers", lambda equation: False)


def ways_through(sample):
    """(name, function of (operands, cotangent, tangents), operands) for every way through an operation."""
    rng, operands = drawn(sample)
    result = sample.call(*operands)
    yield "value", lambda xs, ct, ts: sample.call(*xs), operands, None, []
    yield "jit", lambda xs, ct, ts: fx.jit(lambda *xs: sample.call(*xs))(*xs), operands, None, []
    if active(sample) and np.asarray(result).dtype.kind in "fc":
        [ct] = random_like(rng, result)
        tangents = [random_like(rng, operands[i])[0] for i in active(sample)]

        def pull(xs, ct, ts):
            f, values = function_of(sample, xs)
            return vjp(f, *values)[1](ct)

        def push(xs, ct, ts):
            f, values = function_of(sample, xs)
            return jvp(f, values, ts)[1]

        yield "vjp", pull, operands, ct, tangents
        yield "jvp", push, operands, ct, tangents
    stacked = [np.stack(both) for both in zip(operands, sample.draw(rng))]
    yield "vmap", lambda xs, ct, ts: fx.vmap(lambda *xs: sample.call(*xs))(*xs), stacked, None, []


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_on_a_device_what_it_gives_on_the_host(cupy, stays, name):
    unless = {MOVED, ("device→host", ASKED.get(name))}
    for sample in [s for s in SAMPLES if s.name == name]:
        for way, f, operands, ct, tangents in ways_through(sample):
            expected = f(operands, ct, tangents)
            there = [cupy.asarray(x) for x in operands]
            ct, tangents = None if ct is None else cupy.asarray(ct), [cupy.asarray(t) for t in tangents]
            stream = cupy.cuda.Stream(non_blocking=True)
            with stays(unless), stream:
                results = f(there, ct, tangents)
                stream.synchronize()
            if type(expected) not in (tuple, list):
                results, expected = [results], [expected]
            for y, e in zip(results, expected, strict=True):
                assert type(y) is cupy.ndarray and y.device.id == 0, (way, sample)
                assert y.dtype == np.asarray(e).dtype, (way, sample)
                close(cupy.asnumpy(y), e, 1e-9)


@pytest.mark.parametrize("name", sorted(HOST_ONLY))
def test_what_only_the_host_computes_is_refused_by_name(cupy, name):
    sample = next(s for s in SAMPLES if s.name == name)
    with pytest.raises(UnsupportedError, match=rf"{name} has no kernel for cupy(.|\n)*fx.device_get"):
        sample.primitive.call(*map(cupy.asarray, drawn(sample)[1]), **sample.params)


def test_python_numbers_stay_on_the_host(cupy, stays):
    x = cupy.asarray(np.linspace(0.1, 1, 6))

    def f(x, a):
        return fx.numpy.where(x > a, x**2 + a, 2 / x) * a

    with stays():
        y = f(x, 0.5)
        z = fx.jit(f)(x.astype("f4"), 0.5)
    assert y.dtype == np.float64 and z.dtype == np.float32


def test_work_goes_to_the_device_of_the_operands(cupy, stays):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one device")
    with cupy.cuda.Device(1):
        x = cupy.asarray(np.linspace(0.1, 1, 6))
    g = fx.grad(lambda x: fx.numpy.sum(fx.numpy.sort(fx.numpy.sin(x)) ** 2))
    with stays({MOVED}):
        y = g(x)
        z = fx.vmap(g)(x.reshape(2, 3))
    assert y.device.id == z.device.id == 1 and cupy.cuda.Device().id == 0


def test_the_last_of_several_updates_of_one_entry_stays(cupy):
    x, u = cupy.zeros(3), cupy.asarray(np.arange(5.0))
    y = fx.ops.update(x, u, np.array([2, 0, 2, 0, 2]), index=(fx.ops.ARRAY,))
    assert cupy.asnumpy(y).tolist() == [3, 0, 4]
