"""Complex numbers by JAX's convention, and the dtypes of results, against JAX."""

import ml_dtypes
import numpy
import pytest

from tests.parity.oracle import agree

Z = numpy.array([0.3 + 0.5j, -1.2 + 0.1j, 2.0 - 0.7j])
U = numpy.array([1.0 - 0.4j, 0.6 + 2.0j, -0.3 + 0.2j])
V = numpy.array([0.3, -1.2, 2.0])

COMPLEX = {
    "abs": lambda np: np.abs,
    "real": lambda np: np.real,
    "imag": lambda np: np.imag,
    "conj": lambda np: np.conj,
    "angle": lambda np: np.angle,
    "abs squared": lambda np: lambda z: np.abs(z) ** 2,
    "z conj(z)": lambda np: lambda z: z * np.conj(z),
    "real · imag": lambda np: lambda z: z.real * z.imag,
    "exp": lambda np: np.exp,
    "log": lambda np: np.log,
    "sqrt": lambda np: np.sqrt,
    "sin": lambda np: np.sin,
    "tanh": lambda np: np.tanh,
    "square": lambda np: np.square,
    "cube": lambda np: lambda z: z**3,
    "complex power": lambda np: lambda z: z ** (0.5 + 1j),
    "quotient": lambda np: lambda z: (1.0 + z) / (2.0 - 1j * z),
    "quotient by a conjugate": lambda np: lambda z: z / np.conj(z),
    "matmul": lambda np: lambda z: np.outer(z, U) @ np.conj(z),
    "sum": lambda np: np.sum,
    "prod": lambda np: np.prod,
    "mean": lambda np: np.mean,
    "cumsum": lambda np: np.cumsum,
    "vdot": lambda np: lambda z: np.vdot(z, U * z),
    "where": lambda np: lambda z: np.where(z.real > 0, z, np.conj(z)),
    "indexing": lambda np: lambda z: z[::-1][:2] * 1j,
    "from a real one": lambda np: lambda z: np.real(z) * (1.0 + 2j),
    "real part in a complex product": lambda np: lambda z: np.imag(z) * z,
    "reciprocal": lambda np: np.reciprocal,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives(name):
    """Both modes, at an arbitrary tangent and cotangent: also where the function is not holomorphic."""

    def program(fx, np):
        f = COMPLEX[name](np)
        y, t = fx.jvp(f, (Z,), (U,))
        value, pull = fx.vjp(f, Z)
        ct = numpy.asarray(numpy.cos(numpy.asarray(y)), numpy.asarray(y).dtype)
        return y, t, value, pull(ct), fx.linearize(f, Z)[1](U)

    agree(program)


PROGRAMS = {
    "holomorphic gradient": lambda fx, np: fx.grad(lambda z: np.sum(np.sin(z) * z), holomorphic=True)(Z),
    "real function of complex numbers": lambda fx, np: fx.grad(lambda z: np.sum(np.abs(z) ** 2 * z.imag))(Z),
    "imag squared at 2j": lambda fx, np: fx.grad(lambda z: np.imag(z) ** 2)(2j),
    "real function by way of complex ones": lambda fx, np: fx.grad(
        lambda x: np.sum(np.abs(np.exp(1j * x) + x) ** 2)
    )(V),
    "its hessian": lambda fx, np: fx.hessian(lambda x: np.sum(np.abs(np.exp(1j * x) + x) ** 2))(V),
    "jacfwd, holomorphic": lambda fx, np: fx.jacfwd(lambda z: z * z[::-1], holomorphic=True)(Z),
    "jacrev, holomorphic": lambda fx, np: fx.jacrev(lambda z: z * z[::-1], holomorphic=True)(Z),
    "jacrev, real result": lambda fx, np: fx.jacrev(lambda z: np.abs(z) ** 2)(Z),
    "hessian, holomorphic": lambda fx, np: fx.hessian(lambda z: np.sum(z**3), holomorphic=True)(Z),
    "vmap of a holomorphic gradient": lambda fx, np: fx.vmap(fx.grad(np.sin, holomorphic=True))(Z),
    "complex and real arguments": lambda fx, np: fx.vjp(lambda x, z: x * z, V, Z)[1](U),
    "real broadcast against complex": lambda fx, np: fx.vjp(lambda x, z: x * z, 2.0, Z)[1](U),
    "linear_transpose": lambda fx, np: fx.linear_transpose(lambda z: U * z, Z)(Z),
    "linear_transpose of real": lambda fx, np: fx.linear_transpose(lambda z: np.real(z), Z)(V),
    "second order of abs": lambda fx, np: fx.jvp(lambda z: fx.vjp(np.abs, z)[1](V)[0], (Z,), (U,)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program):
    agree(program)


DTYPES = [numpy.float16, numpy.float32, numpy.float64, ml_dtypes.bfloat16, numpy.complex64, numpy.complex128]

FUNCTIONS = {
    "elementwise": lambda np: lambda x: np.sin(x) * x + 2.0,
    "python scalars": lambda np: lambda x: (2 * x - 1.5) / 3 + x**2,
    "sum": lambda np: lambda x: np.sum(x * x),
    "mean": lambda np: np.mean,
    "matmul": lambda np: lambda x: np.outer(x, x) @ x,
    "where": lambda np: lambda x: np.where(x.real > 0, x, 2.0),
    "indexing": lambda np: lambda x: x[1:] * x[0],
    "concatenate": lambda np: lambda x: np.concatenate([x, x * 0.5]),
    "cumsum": lambda np: np.cumsum,
    "square root": lambda np: lambda x: np.sqrt(x * x + 1.0),
}


# NumPy gives bfloat16 and a Python number another dtype than JAX does.
WITHOUT_NUMBERS = ("sum", "mean", "matmul", "indexing", "cumsum")
CASES = [(name, dtype) for name in FUNCTIONS for dtype in DTYPES
         if dtype is not ml_dtypes.bfloat16 or name in WITHOUT_NUMBERS]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"), CASES, ids=[f"{name}, {numpy.dtype(dtype)}" for name, dtype in CASES]
)
def test_what_comes_in_goes_out(name, dtype):
    """Values, tangents, cotangents, batches: all in the dtype of the argument."""
    x = numpy.array([0.5, -1.25, 1.5]).astype(dtype)

    def program(fx, np):
        f = FUNCTIONS[name](np)
        y, pull = fx.vjp(f, x)
        seed = numpy.ones(numpy.shape(y), numpy.asarray(y).dtype)
        return y, pull(seed), fx.jvp(f, (x,), (x,)), fx.vmap(f)(numpy.stack([x, x])), fx.jit(f)(x)

    agree(program)


MIXED = {
    "float32 and float64": lambda fx, np: fx.vjp(lambda x, y: x * y, V.astype("float32"), V)[1](V),
    "float32 in a float64 constant": lambda fx, np: fx.jvp(
        lambda x: x * V, (V.astype("float32"),), (V.astype("float32"),)
    ),
    "float32 and a Python number": lambda fx, np: fx.grad(lambda x: np.sum(x * 2.5) ** 2)(
        V.astype("float32")
    ),
    "float32 and a Python integer": lambda fx, np: fx.grad(lambda x: np.sum((x * 3) ** 2))(
        V.astype("float32")
    ),
    "two gradients": lambda fx, np: fx.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(
        V.astype("float32"), V
    ),
    "float32 and complex128": lambda fx, np: fx.vjp(lambda x, z: x * z, V.astype("float32"), Z)[1](U),
    "conversion": lambda fx, np: fx.vjp(lambda x: x.astype("float32"), V)[1](V.astype("float32")),
    "conversion to integers and back": lambda fx, np: fx.grad(lambda x: np.sum(x * x.astype(int)))(V),
    "a Python float": lambda fx, np: fx.value_and_grad(lambda x: x * x)(2.0),
    "integer constants": lambda fx, np: fx.jacfwd(lambda x: x * numpy.arange(3))(V),
}


@pytest.mark.parametrize("program", MIXED.values(), ids=MIXED)
def test_mixed_dtypes(program):
    agree(program)
