"""The same kernels over another array library: array-api-strict, which has the standard and nothing else. CuPy's are
tested in tests/gpu."""

import numpy as np
import pytest

import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.core.errors import DTypeError, UnsupportedError
from fxgrad.core.primitive import REGISTRY
from fxgrad.transforms.jacobian import hessian, jacfwd, jacrev
from fxgrad.transforms.jvp import jvp
from fxgrad.transforms.vjp import grad
from fxgrad.transforms.vmap import vmap
from tests.sample import close, drawn
from tests.samples import SAMPLES
from tests.together import together

strict = pytest.importorskip("array_api_strict", reason="the third backend needs array-api-strict")

# Primitives for which the Array API standard has no function.
NOT_IN_THE_STANDARD = {
    "fmod", "exp2", "cbrt", "logaddexp2", "degrees", "radians", "fmax", "fmin", "heaviside", "ldexp",
    "gcd", "lcm", "bitcast", "reduce_precision", "deposit",
}  # fmt: skip
# Operands that the standard leaves out, for primitives that it has.
LEFT_OUT = {
    "divide": (lambda kinds, s: "i" in kinds, "true division of integers"),
    "floor_divide": (lambda kinds, s: kinds == "fi", "promotion of integers with floats"),
    "imag": (lambda kinds, s: kinds == "f", "imaginary parts of real arrays"),
    "angle": (lambda kinds, s: kinds == "f", "imaginary parts of real arrays"),
    "logical_not": (lambda kinds, s: kinds != "b", "logic of numbers"),
    "logical_and": (lambda kinds, s: kinds != "bb", "logic of numbers"),
    "logical_or": (lambda kinds, s: kinds != "bb", "logic of numbers"),
    "logical_xor": (lambda kinds, s: kinds != "bb", "logic of numbers"),
    "reduce_sum": (lambda kinds, s: kinds == "b", "sums of truth values"),
    "getitem": (lambda kinds, s: len(kinds) > 1 and any(isinstance(e, slice) for e in s.params["index"]),
                "index arrays beside slices"),
    **dict.fromkeys(["maximum", "minimum"], (lambda kinds, s: "c" in kinds, "order of complex numbers")),
    **dict.fromkeys(["sort", "argsort"], (lambda kinds, s: kinds in "bc", "order of complex numbers and truth values")),
    "scatter_add": (lambda kinds, s: len(kinds) > 1 or None in s.params["index"], "scattered or reshaping assignment"),
    **dict.fromkeys(["multiply_others", "scatter_max", "scatter_min", "scatter_mul"],
                    (lambda kinds, s: len(kinds) > 2 or None in s.params["index"],
                     "scattered or reshaping assignment")),
    "update": (lambda kinds, s: len(kinds) > 2 or None in s.params["index"], "scattered or reshaping assignment"),
}  # fmt: skip

# Primitives that LAPACK or SciPy compute, for NumPy's arrays, or that add at places.
ON_NUMPY = {
    "column_order", "fractional_power", "fractional_power_slope", "hessenberg", "ldl", "matrix_log", "matrix_log_slope",
    "operator_product", "reflected_form", "riccati", "schur", "sparse_matmul", "sparse_solve",
}  # fmt: skip
READ_BY_NUMPY_ONLY = {"factorization"}  # other libraries solve by themselves


def covered(sample):
    """Whether the standard has the operation on such operands."""
    if sample.name in NOT_IN_THE_STANDARD | ON_NUMPY | READ_BY_NUMPY_ONLY:
        return False
    kinds = "".join(x.dtype.kind for x in drawn(sample)[1])
    return sample.name not in LEFT_OUT or not LEFT_OUT[sample.name][0](kinds, sample)


def numpy_of(value):
    return np.asarray(value)


def to(xp, values):
    return [xp.asarray(np.array(v)) for v in values]


# -- array-api-strict ---------------------------------------------------------------------------------------
COVERED = [s for s in SAMPLES if covered(s)]


@together(sample=lambda sample: sample.name)
@pytest.mark.parametrize("sample", COVERED, ids=str)
def test_kernels_over_the_standard_equal_those_over_numpy(sample):
    _, operands = drawn(sample)
    kernel = sample.primitive.make_kernel(strict)
    expected = sample.primitive.kernel(*operands, **sample.params)
    results = kernel(*to(strict, operands), **sample.params)
    for y, e in zip(results, expected) if sample.primitive.multiple_results else [(results, expected)]:
        if sample.name != "weaken":
            assert type(y) is type(strict.zeros(1))
            assert str(y.dtype).endswith("." + numpy_of(e).dtype.name)
        close(numpy_of(y), numpy_of(e), 1e-13)


@pytest.mark.parametrize("name", sorted(NOT_IN_THE_STANDARD | ON_NUMPY))
def test_what_the_standard_lacks_is_refused_by_name(name):
    sample = next(s for s in SAMPLES if s.name == name)
    with pytest.raises(UnsupportedError, match=f"{name} has no kernel for array_api_strict"):
        sample.primitive.call(*to(strict, drawn(sample)[1]), **sample.params)


def test_the_exceptions_are_exceptions():
    """Every entry of LEFT_OUT leaves some sample in and some out."""
    for name in LEFT_OUT:
        assert len({covered(s) for s in SAMPLES if s.name == name}) == 2, name
    assert REGISTRY.keys() - NOT_IN_THE_STANDARD - ON_NUMPY - READ_BY_NUMPY_ONLY == {
        s.name for s in COVERED if s.of is None
    }


SUMS = {
    "sin": lambda x: ops.reduce_sum(ops.sin(x) * x, axes=(0, 1)),
    "log": lambda x: ops.reduce_sum(ops.log(x * x + 1.0), axes=(0, 1)),
    "divide": lambda x: ops.reduce_sum(x / (2.0 + ops.cos(x)), axes=(0, 1)),
    "power": lambda x: ops.reduce_sum((x * x + 0.5) ** 1.5, axes=(0, 1)),
    "max": lambda x: ops.reduce_sum(ops.reduce_max(x, axes=(0,)), axes=(0,)),
    "prod": lambda x: ops.reduce_prod(x, axes=(0, 1)),
    "norm": lambda x: ops.norm2(x, axes=(0, 1)),
    "matmul": lambda x: ops.reduce_sum(ops.contract(x, ops.tanh(x), spec="ij,kj->ik"), axes=(0, 1)),
    "where": lambda x: ops.reduce_sum(ops.where(ops.less(x, 0.3), x, ops.sqrt(ops.absolute(x))), axes=(0, 1)),
    "slice": lambda x: ops.reduce_sum(ops.exp(x[:, 1:]) - x[:, :-1] ** 2, axes=(0, 1)),
    "maximum": lambda x: ops.reduce_sum(ops.maximum(x, ops.flip(x, axes=(1,))), axes=(0, 1)),
    "concatenate": lambda x: ops.reduce_sum(ops.concatenate(x, x * 2.0, axis=0) ** 3, axes=(0, 1)),
    "reshape": lambda x: ops.reduce_sum(ops.reshape(x, shape=(6,)) * ops.reshape(x, shape=(6,)), axes=(0,)),
    "broadcast": lambda x: ops.reduce_sum(ops.broadcast_to(x, shape=(2, 2, 3)) ** 2, axes=(0, 1, 2)),
    "cumsum": lambda x: ops.reduce_sum(ops.cumsum(x, axis=1) ** 2, axes=(0, 1)),
    "cumprod": lambda x: ops.reduce_sum(ops.cumprod(x, axis=1), axes=(0, 1)),
    "convert": lambda x: ops.reduce_sum(ops.convert(x, dtype=np.dtype("float32")) * 2, axes=(0, 1)),
    "pad": lambda x: ops.reduce_sum(ops.pad(x, widths=((0, 1), (1, 0))) ** 2, axes=(0, 1)),
}


def agree_with_numpy(fun, xp):
    """Value, grad, jvp, Hessian-vector product and per-sample gradients of a function on arrays of `xp`."""
    rng = np.random.default_rng(0)
    x, t = rng.uniform(0.2, 0.9, (2, 3)), rng.normal(size=(2, 3))
    xs = rng.uniform(0.2, 0.9, (4, 2, 3))

    def hvp(x, t):
        return jvp(grad(fun), (x,), (t,))[1]

    for transformed, arguments in [
        (fun, (x,)),
        (grad(fun), (x,)),
        (lambda x, t: jvp(fun, (x,), (t,))[1], (x, t)),
        (hvp, (x, t)),
        (vmap(grad(fun)), (xs,)),
        (vmap(grad(fun), 1, 2), (np.moveaxis(xs, 0, 1),)),
    ]:
        result = transformed(*to(xp, arguments))
        assert type(result) is type(xp.zeros(1))
        close(numpy_of(result), transformed(*arguments), 1e-6)


@pytest.mark.parametrize("name", SUMS)
def test_transforms_over_the_standard(name):
    agree_with_numpy(SUMS[name], strict)


def test_jacobians_over_the_standard():
    def fun(x):
        return ops.multiply(ops.sin(x), x[::-1])

    x = np.array([0.5, -1.0, 2.0])
    for jacobian in (jacfwd, jacrev, hessian):
        result = jacobian(fun)(strict.asarray(x))
        assert type(result) is type(strict.zeros(1))
        close(numpy_of(result), jacobian(fun)(x), 1e-15)


def test_positions_of_entries_over_the_standard():
    x = strict.asarray([1.0, 2.0, 3.0])
    for positions in (np.array([-1, 0]), strict.asarray([-1, 0])):
        assert numpy_of(fnp.take(x, positions)).tolist() == [3, 1]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis with size 3"):
        fnp.take(x, strict.asarray([[0, 3]]))


def test_arrays_of_two_libraries_do_not_mix():
    with pytest.raises(DTypeError, match="different array libraries: array_api_strict, numpy"):
        ops.add(strict.ones(3), np.ones(3))
