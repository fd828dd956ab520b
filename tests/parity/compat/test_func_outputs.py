"""What the functions given to transforms may return, and what arguments may be, against torch."""

from __future__ import annotations

import warnings

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]

OUTPUTS = {
    "nothing": lambda t, x: (),
    "None": lambda t, x: None,
    "an empty list": lambda t, x: [],
    "an empty dict": lambda t, x: {},
    "empty containers": lambda t, x: ((), []),
    "None in a dict": lambda t, x: {"a": None},
    "None twice": lambda t, x: (None, None),
    "beside None": lambda t, x: (x, None),
    "a number": lambda t, x: 1.0,
    "beside a number": lambda t, x: (x, 1.0),
    "integers": lambda t, x: x.long(),
    "beside booleans": lambda t, x: (x, x > 0),
    "complex": lambda t, x: x * 1j,
    "beside complex": lambda t, x: (x, x * 1j),
    "a dict": lambda t, x: {"a": x, "b": x * 2},
}
TRANSFORMS = {
    "vjp": lambda t, f, x: t.func.vjp(f, x)[0],
    "vjp, aux": lambda t, f, x: t.func.vjp(lambda x: (f(x), x), x, has_aux=True)[::2],
    "jvp": lambda t, f, x: t.func.jvp(f, (x,), (x,)),
    "jvp, aux": lambda t, f, x: t.func.jvp(lambda x: (f(x), x), (x,), (x,), has_aux=True),
    "jacrev": lambda t, f, x: t.func.jacrev(f)(x),
    "jacrev, aux": lambda t, f, x: t.func.jacrev(lambda x: (f(x), x), has_aux=True)(x),
    "jacrev, row by row": lambda t, f, x: t.func.jacrev(f, chunk_size=1)(x),
    "jacfwd": lambda t, f, x: t.func.jacfwd(f)(x),
    "jacfwd, aux": lambda t, f, x: t.func.jacfwd(lambda x: (f(x), x), has_aux=True)(x),
    "hessian": lambda t, f, x: t.func.hessian(f)(x),
    "grad": lambda t, f, x: t.func.grad(f)(x),
    "grad, aux": lambda t, f, x: t.func.grad(lambda x: (f(x), x), has_aux=True)(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_outputs(output, transform):
    check(lambda t: TRANSFORMS[transform](t, lambda x: OUTPUTS[output](t, x), t.tensor([1.0, 2.0])))


COMPLEX = {
    "abs": lambda t, z, x: z.abs(),
    "conj": lambda t, z, x: z.conj(),
    "beside real": lambda t, z, x: z.abs() * x,
    "of the real one": lambda t, z, x: x * 2,
}


@pytest.mark.parametrize("argnums", [0, (0, 1)], ids=str)
@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "hessian"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_arguments(name, transform, argnums):
    def run(t):
        z, x = t.tensor([3 + 4j, 1j]), t.tensor([1.0, 2.0])
        return getattr(t.func, transform)(lambda z, x: COMPLEX[name](t, z, x), argnums=argnums)(z, x)

    check(run)


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd"])
def test_a_complex_argument_that_is_not_differentiated(transform):
    """torch refuses it as well."""
    z, x = fxt.tensor([3 + 4j, 1j]), fxt.tensor([1.0, 2.0])
    jacobian = getattr(fxt.func, transform)(lambda z, x: z.abs() * x, argnums=1)(z, x)
    assert jacobian.tolist() == [[5.0, 0.0], [0.0, 1.0]]


PRODUCTS = {
    "mm": [((2, 3), (2, 3, 3)), ((2, 3, 3), (2, 3)), ((2, 2, 3, 3), (2, 3, 3))],
    "mv": [((2, 3), (2, 3)), ((2, 3, 3), (2, 3, 3))],
    "dot": [((2, 3, 3), (2, 3)), ((2, 3), (2, 3, 3))],
    "bmm": [((2, 3, 3), (2, 3, 3, 3)), ((2, 2, 3, 3), (2, 3, 3))],
}


@pytest.mark.parametrize(
    ("name", "shapes"), [(name, shapes) for name in PRODUCTS for shapes in PRODUCTS[name]], ids=str
)
@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)], ids=str)
def test_samples_of_other_ranks(name, shapes, in_dims):
    """torch's text, but for the spaces that it forgets."""

    def run(t):
        given = [t.ones(shape[d is None :]) for shape, d in zip(shapes, in_dims)]
        try:
            t.vmap(getattr(t, name), in_dims=in_dims)(*given)
        except RuntimeError as error:
            return str(error).partition("\n")[0].partition("(a, b)")[0]
        return "nothing"

    check(run)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.vmap(lambda x, y: x, in_dims=(None, None))(t.ones(2), t.ones(2)),
        lambda t: t.vmap(lambda x: x, in_dims=(None,))(t.ones(2)),
        lambda t: t.vmap(lambda x: x)({}),
        lambda t: t.vmap(lambda x: x, in_dims=([],))([]),
        lambda t: t.vmap(lambda: 1)(),
    ],
    ids=["two", "one", "a dict", "a list", "no argument"],
)
def test_nothing_to_map_over(call):
    check(call)


@scenario
def products_of_wrong_ranks(t):
    told = []
    for name, *shapes in (
        ("addmm", 3, 3, (3, 3)),
        ("addr", 3, (3, 3), 3),
        ("addr", 3, 3, (3, 3)),
        ("mv", (3, 3), (3, 3)),
    ):
        try:
            getattr(t, name)(*map(t.ones, shapes))
        except RuntimeError as error:
            told.append(str(error).partition("\n")[0])
    return told


@scenario
def saved_variables(t):
    class Doubled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                (x,) = ctx.saved_variables
            told.append([(w.category.__name__, str(w.message)) for w in caught])
            return g * x

    told = []
    x = t.ones(2, requires_grad=True)
    Doubled.apply(x).sum().backward()
    return told, x.grad


@scenario
def volatile(t):
    x = t.ones(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x.volatile = True
        was = x.volatile
    return was, [(w.category.__name__, str(w.message)) for w in caught]


@scenario.each()
def test_alike(scenario):
    check(scenario)
