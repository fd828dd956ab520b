"""check=True: right derivatives pass, wrong ones are caught, kinks and noise are called by their names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.ways import same

V = np.array([0.3, -1.2, 2.0])
TRANSFORMS = {
    "grad": lambda f, **options: fx.grad(lambda x: fnp.sum(f(x)), **options),
    "value_and_grad": lambda f, **options: fx.value_and_grad(lambda x: fnp.sum(f(x)), **options),
    "vjp": lambda f, **options: lambda x: fx.vjp(f, x, **options)[1](np.ones_like(x)),
    "jvp": lambda f, **options: lambda x: fx.jvp(f, (x,), (x,), **options),
    "jacobian": fx.jacobian,
    "jacfwd": fx.jacfwd,
    "jacrev": fx.jacrev,
    "hessian": lambda f, **options: fx.hessian(lambda x: fnp.sum(f(x)), **options),
}
each = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)


def wrong(factor):
    """sin, with its derivative times a factor."""
    f = fx.custom_jvp(fnp.sin)
    f.defjvps(lambda t, y, x: t * factor * fnp.cos(x))
    return f


@each
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_are_unchanged(transform, dtype):
    x = V.astype(dtype)
    same(transform(fnp.sin, check=True)(x), transform(fnp.sin)(x))


@each
def test_a_wrong_derivative_is_caught(transform):
    with pytest.raises(
        fx.CheckError, match=r"(?s)the derivative.*computed as .*, measured as .*relative error"
    ):
        transform(wrong(1.001), check=True)(V)


def test_an_error_of_the_second_derivative_is_caught_by_hessian():
    f = fx.custom_jvp(fnp.sin)
    f.defjvps(lambda t, y, x: t * fx.stop_gradient(fnp.cos(x)))
    fx.grad(lambda x: fnp.sum(f(x)), check=True)(V)
    with pytest.raises(fx.CheckError, match=r"jacobian of .*at entry \("):
        fx.hessian(lambda x: fnp.sum(f(x)), check=True)(V)


def test_single_precision_has_its_own_tolerance():
    """Five per cent are more than rounding explains."""
    with pytest.raises(fx.CheckError):
        fx.grad(lambda x: fnp.sum(wrong(1.05)(x)), check=True)(V.astype("f"))


def test_the_argument_with_the_largest_discrepancy_is_named():
    f = wrong(2.0)

    def loss(params, n, x):
        return fnp.sum(params["w"] * x) + f(params["b"]) + n

    with pytest.raises(
        fx.CheckError, match=r"grad of loss: .*args\[0\]\['b'\] \(\S+ and \S+ along it alone\)"
    ) as e:
        fx.grad(loss, check=True)({"w": V, "b": 0.4}, 3, V)
    assert "fx.testing.check_grads" in str(e.value)
    with pytest.raises(fx.CheckError, match=r"args\[2\]\[1\]"):
        fx.grad(lambda n, w, pair: fnp.sum(w * pair[0]) + f(pair[1]), argnums=(1, 2), check=True)(
            3, V, (V, 0.4)
        )


def test_complex_and_integer_arguments_and_auxiliary_results():
    same(fx.grad(lambda z: z.imag**2, check=True)(1 + 2j), np.complex128(-4j))
    same(fx.grad(lambda z: z**2, holomorphic=True, check=True)(1 + 2j), np.complex128(2 + 4j))
    gradient, aux = fx.grad(lambda x, n: (x**n, n), has_aux=True, check=True)(2.0, 3)
    assert (gradient, aux) == (12.0, 3)
    fx.vjp(lambda x, n: {"y": x * n, "n": n, "z": 1j * x}, V, 3, check=True)
    fx.jvp(lambda x, n: (x * n, n), (V, 3), (V, np.zeros((), fx.float0)), check=True)
    fx.grad(lambda x, n: x**n, argnums=(0, 1), allow_int=True, check=True)(2.0, 3)
    fx.jacrev(lambda z: fnp.real(z) ** 2, check=True)(V + 1j)
    fx.jacfwd(lambda x: fnp.exp(1j * x), check=True)(V)
    fx.jacobian(lambda z: z**2, holomorphic=True, check=True)(V + 1j)


def test_tangents_of_any_size():
    for size in (1e-12, 1e12):
        same(fx.jvp(fnp.sin, (V,), (size * V,), check=True)[1], size * V * np.cos(V))
        with pytest.raises(fx.CheckError):
            fx.jvp(wrong(1.001), (V,), (size * V,), check=True)


KINKS = {
    "one-sided": lambda x: fnp.where(x > 0, x, 0.0),
    "a jump": lambda x: fnp.where(x > 0, x + 1, x),
    "random numbers": lambda x: x + np.random.default_rng().normal(),
    "lost digits": lambda x: fnp.sin(x) + 1e12,
    "a pole": lambda x: 1 / (x + 1e-9),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", KINKS.values(), ids=KINKS)
def test_what_cannot_be_measured_is_said_to_be_so(f):
    with pytest.raises(fx.CheckError, match=r"grad of .*not checkable: kink or noise at this point"):
        fx.grad(f, check=True)(0.0)


def test_conventions_in_the_middle_pass():
    """|x|′ = 0 at 0 and the shared derivative of ties are what a central difference gives."""
    fx.grad(fnp.abs, check=True)(0.0)
    fx.grad(lambda x: fnp.maximum(x, 0.0), check=True)(0.0)


def test_a_kink_nearby_does_not_matter():
    for distance in (1e-2, 1e-3, 1e-4, 1e-5):
        fx.grad(lambda x: fnp.where(x > 0, x, 3 * x), check=True)(distance)


@given(
    st.sampled_from(["sin", "exp", "log", "sqrt", "tanh", "log1p", "arctan", "cbrt"]),
    st.floats(1e-4, 3),
    st.floats(-12, 12),
)
def test_no_false_alarm_and_no_miss(name, x, magnitude):
    """Derivatives of any magnitude are told from those one per cent larger."""
    scale = 10.0**magnitude
    fx.grad(lambda x: scale * getattr(fnp, name)(x), check=True)(x)
    f = fx.custom_jvp(lambda x: scale * getattr(fnp, name)(x))
    f.defjvps(
        lambda t, y, x: 1.01 * t * fx.stop_gradient(fx.grad(lambda x: scale * getattr(fnp, name)(x))(x))
    )
    with pytest.raises(fx.CheckError):
        fx.grad(f, check=True)(x)


@pytest.mark.parametrize("transform", [fx.jit, fx.vmap, lambda f: fx.vmap(fx.grad(f)), fx.jacfwd])
def test_traced_values_cannot_be_checked(transform):
    with pytest.raises(
        fx.ConcretizationError, match=r"(?s)check compares numbers, and a value is traced by .*outside"
    ):
        transform(lambda x: fx.grad(fnp.sum, check=True)(fnp.sin(x)))(V)


def test_methods_of_traced_values():
    same(fx.grad(lambda x: x.at[0].set(1.0).sum(), check=True)(V), np.array([0.0, 1.0, 1.0]))


# -- matrices of which one triangle is read ------------------------------------------
S = np.array([[3.0, 2.0, 0.5], [2.0, 5.0, 1.0], [0.5, 1.0, 4.0]])
HERMITIAN = {"real": S, "complex": S + 0.2j * np.array([[0, 1, 2], [-1, 0, 0.3], [-2, -0.3, 0]])}


READERS = {
    "cholesky": fnp.linalg.cholesky,
    "upper": lambda a: fnp.linalg.cholesky(a, upper=True),
    "eigh": lambda a: fnp.abs(fnp.linalg.eigh(a, "U")[1]) ** 2,
    "eigvalsh": fnp.linalg.eigvalsh,
    "svd": lambda a: fnp.linalg.svd(a, hermitian=True)[1],
    "pinv": lambda a: fnp.linalg.pinv(a, hermitian=True),
    "numpy": np.linalg.cholesky,
    "numpy, a stack": lambda a: np.linalg.eigvalsh(np.stack([a, 2 * a, a @ a])),
    "composed": lambda a: (
        fnp.linalg.cholesky(a @ a) @ fnp.sin(a) + fnp.linalg.inv(fnp.linalg.cholesky(2 * a))
    ),
    "jit": fx.jit(fnp.linalg.cholesky),
    "vmap": lambda a: fx.vmap(fnp.linalg.cholesky)(fnp.stack([a, 2 * a])),
    "checkpoint": fx.checkpoint(fnp.linalg.cholesky),
    "scan": lambda a: lax.fori_loop(
        0, 2, lambda i, b: fnp.linalg.cholesky(fnp.matmul(b, fnp.conj(b).T) + a), a
    ),
    "map": lambda a: lax.map(fnp.linalg.cholesky, fnp.stack([a, 2 * a])),
    "cond": lambda a: lax.cond(fnp.real(a[0, 0]) > 0, fnp.linalg.cholesky, lambda a: a, a),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", HERMITIAN)
def test_hermitian_matrices_are_moved_hermitianly(name, kind):
    """The value is of one triangle, the gradient that of a function of Hermitian matrices: they are not of one function
    of the entries, and a check along any direction of the argument knows it."""
    f, a = READERS[name], HERMITIAN[kind]
    fx.testing.check_grads(f, (a,))
    fx.vjp(f, a, check=True)
    direction = np.triu(a) * (1 + 0j if kind == "complex" else 1)
    fx.jvp(f, (a,), (direction,), check=True)
    np.testing.assert_allclose(
        fx.testing.measured_jvp(f, (a,), (direction,)), fx.jvp(f, (a,), (direction,))[1], 1e-7, 1e-8
    )


def test_every_transform_moves_hermitianly():
    def f(a):
        return fnp.linalg.eigvalsh(a)[1] + fnp.sum(fnp.linalg.cholesky(a))

    for transform in (fx.grad, fx.value_and_grad, fx.jacfwd, fx.jacrev, fx.hessian):
        same(transform(f, check=True)(S), transform(f)(S))
    same(fx.grad(lambda a: np.linalg.eigvalsh(a)[1], check=True)(np.array([[1.0, 2], [2, 3]])),
         fx.grad(lambda a: np.linalg.eigvalsh(a)[1])(np.array([[1.0, 2], [2, 3]])))  # fmt: skip


def test_what_is_wrong_is_still_found_behind_a_triangle():
    """Neither a wrong rule beside such a function nor inside it is excused, and no matrix that is not Hermitian."""
    f = fx.custom_jvp(lambda a: fnp.linalg.cholesky(a))
    f.defjvp(lambda primals, ts: (lambda y, t: (y, 1.01 * t))(*fx.jvp(fnp.linalg.cholesky, primals, ts)))
    for g in (
        f,
        lambda a: wrong(1.01)(fnp.linalg.cholesky(a)),
        lambda a: fnp.linalg.cholesky(fx.stop_gradient(a) + a),
    ):
        with pytest.raises(fx.CheckError, match="computed as"):
            fx.testing.check_grads(g, (S,), order=1)
    with pytest.raises(fx.CheckError, match="taken for Hermitian must be so"):
        fx.grad(lambda a: fnp.linalg.eigvalsh(a)[1], check=True)(np.array([[1.0, 5], [2, 3]]))


def test_functions_that_cannot_be_traced_are_measured():
    np.testing.assert_allclose(
        fx.testing.measured_jvp(lambda x: np.sin(np.asarray(x)), (S,), (S,)), S * np.cos(S)
    )


def test_the_same_direction_in_every_run():
    messages = set()
    for _ in range(2):
        with pytest.raises(fx.CheckError) as caught:
            fx.grad(wrong(2.0), check=True)(0.5)
        messages.add(str(caught.value))
    assert len(messages) == 1
