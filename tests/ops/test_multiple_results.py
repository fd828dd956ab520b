"""Operations with several results: one node on the tape, rules for the cotangents that there are."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.ops.kinds import General


def polar_tangent(ys, primals, tangents, params):
    """Of r = √(x² + y²) and φ = arctan2(y, x)."""
    (r, _), (x, y) = ys, primals
    dx, dy = (0.0 if t is None else t for t in tangents)
    return [(x * dx + y * dy) / r, (x * dy - y * dx) / (r * r)]


polar = General(
    "polar",
    lambda xp: lambda x, y: (xp.hypot(x, y), xp.atan2(y, x)),
    abstract_rule=lambda self, x, y: [x, x],
    tangent_rule=polar_tangent,
    batch_rule=lambda x, y, *, size: polar(x, y),
    multiple=True,
).call

x, y = np.array([3.0, -1.0]), np.array([4.0, 2.0])


def written_out(x, y):
    return fnp.hypot(x, y), fnp.arctan2(y, x)


FUNCTIONS = {
    "both": lambda p: lambda x, y: fnp.sum(p(x, y)[0] * fnp.sin(p(x, y)[1])),
    "the first": lambda p: lambda x, y: fnp.sum(p(x, y)[0] ** 2 * y),
    "the second": lambda p: lambda x, y: fnp.sum(fnp.cos(p(x, y)[1]) * x),
    "neither": lambda p: lambda x, y: (p(x, y), fnp.sum(x * y))[1],
    "twice": lambda p: lambda x, y: fnp.sum(p(*p(x, y))[1]),
    "one operand a constant": lambda p: lambda x, y: fnp.sum(p(x, 2.0 + 0.0 * np.ones(2))[1] * y),
}
TRANSFORMS = {
    "value": lambda f: f(x, y),
    "grad": lambda f: fx.grad(f, (0, 1))(x, y),
    "jvp": lambda f: fx.jvp(f, (x, y), (y, x))[1],
    "hessian": lambda f: fx.hessian(f, (0, 1))(x, y),
    "jacrev of jacrev": lambda f: fx.jacrev(fx.jacrev(f))(x, y),
    "jacfwd of jacfwd": lambda f: fx.jacfwd(fx.jacfwd(f, 1))(x, y),
    "jit": lambda f: fx.jit(fx.grad(f))(x, y),
    "vmap": lambda f: fx.vmap(fx.grad(f), (0, None))(np.stack([x, 2 * x, y]), y),
    "grad of vmap": lambda f: fx.grad(lambda x: fnp.sum(fx.vmap(f, (0, None))(fnp.stack([x, 2 * x]), y)))(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_as_if_written_out(function, transform):
    actual, expected = (fx.tree.leaves(transform(function(p))) for p in (polar, written_out))
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-13, atol=1e-13)


def test_a_result_without_cotangent_has_no_say():
    """At the origin the angle has no derivative; the radius squared does not ask for it."""
    pole = np.zeros(1)
    _, pull = fx.vjp(lambda x: polar(x + 1.0, pole)[0], pole)
    np.testing.assert_array_equal(pull(np.ones(1))[0], [1.0])
    assert np.isnan(fx.grad(lambda x: fnp.sum(polar(x, pole)[1] * 0.0))(pole)).all()
