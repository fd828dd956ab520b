"""Custom rules that are told which tangents and cotangents are zero, and rules that close over traced values."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)


def product_with_rule(seen):
    """x·y + z, of which the rule notes which tangents are symbolic zeros and leaves out their terms."""

    @fx.custom_jvp
    def f(x, y, z):
        return x * y, z

    def rule(primals, tangents):
        (x, y, z), zeros = primals, [type(t) is SymbolicZero for t in tangents]
        seen.append(zeros)
        for t, p in zip(tangents, primals):
            assert getattr(t, "shape", ()) == np.shape(p)
        tx, ty, tz = tangents
        terms = [] if zeros[0] else [tx * y]
        terms += [] if zeros[1] else [x * ty]
        total = sum(terms) if terms else zero_from_primal(x, symbolic_zeros=True)
        return (x * y, z), (total, tz)

    f.defjvp(rule, symbolic_zeros=True)
    return f


TRANSFORMS = {
    "plain": lambda f: f,
    "jit": fx.jit,
    "vmap": lambda f: lambda *args: fx.vmap(f)(*[fnp.stack([a, a]) for a in args])[1],
    "scan": lambda f: lambda *args: lax.scan(lambda c, _: (c, f(*args)), 0.0, None, length=2)[1][1],
    "checkpoint": fx.checkpoint,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_jvp_rule_knows_which_tangents_are_zero(name):
    seen = []
    f = product_with_rule(seen)
    g = TRANSFORMS[name](lambda x, y, z: fnp.sum(fnp.stack(f(x, y, z)) * np.array([1.0, 10.0])))
    assert fx.grad(g)(2.0, 3.0, 4.0) == 3.0
    assert seen[-1] == [False, True, True]
    assert fx.grad(g, 2)(2.0, 3.0, 4.0) == 10.0
    assert seen[-1] == [True, True, False]
    assert fx.jvp(lambda y: g(2.0, y, 4.0), (3.0,), (1.0,))[1] == 2.0
    assert seen[-1] == [True, False, True]


def test_a_jvp_rule_with_integers_and_trees():
    @fx.custom_jvp
    def f(x, n):
        return {"y": x["a"] * n}

    def rule(primals, tangents):
        x, n = primals
        assert type(tangents[1]) is SymbolicZero and tangents[1].dtype == fx.float0
        assert type(tangents[0]["b"]) is SymbolicZero and tangents[0]["b"].shape == (2,)
        return f(x, n), {"y": tangents[0]["a"] * n}

    f.defjvp(rule, symbolic_zeros=True)
    assert fx.grad(lambda a: f({"a": a, "b": np.ones(2)}, 3)["y"])(2.0) == 3.0


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_vjp_rule_knows_what_is_perturbed_and_which_cotangents_are_zero(name):
    perturbed, absent = [], []

    @fx.custom_vjp
    def f(x, y):
        return x * y, fnp.sin(y)

    def fwd(x, y):
        assert isinstance(x, CustomVJPPrimal)
        perturbed.append((x.perturbed, y.perturbed))
        x, y = custom_vjp_primal_tree_values((x, y))
        return (x * y, fnp.sin(y)), (x, y)

    def bwd(residuals, cts):
        x, y = residuals
        absent.append([type(ct) is SymbolicZero for ct in cts])
        first, second = cts
        terms = [] if absent[-1][0] else [first * x]
        terms += [] if absent[-1][1] else [second * fnp.cos(y)]
        return zero_from_primal(x, symbolic_zeros=True) if absent[-1][0] else first * y, sum(terms)

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    g = TRANSFORMS[name](lambda x, y: f(x, y)[0])
    assert fx.grad(g, 1)(2.0, 3.0) == 2.0
    assert perturbed[-1] == (False, True) and absent[-1] == [False, True]
    assert fx.grad(g, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert perturbed[-1] == (True, True)
    h = TRANSFORMS[name](lambda x, y: f(x, y)[1])
    np.testing.assert_allclose(fx.grad(h, (0, 1))(2.0, 3.0), (0.0, np.cos(3.0)))
    assert absent[-1] == [True, False]


def linear_in_its_argument(kind, x):
    """w ↦ x·w with a rule that closes over x."""
    if kind == "jvp":
        g = fx.custom_jvp(lambda w: x * w)
        g.defjvp(lambda primals, tangents: (x * primals[0], 10 * x * tangents[0]))
    else:
        g = fx.custom_vjp(lambda w: x * w)
        g.defvjp(lambda w: (x * w, "a text"), lambda _, ct: (10 * x * ct,))
    return g


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_functions_and_rules_close_over_traced_values(kind):
    def f(x, y):
        return linear_in_its_argument(kind, x)(y)

    xs, ys = np.arange(1.0, 4.0), np.arange(4.0, 7.0)
    np.testing.assert_array_equal(fx.jit(fx.vmap(f))(xs, ys), xs * ys)
    np.testing.assert_array_equal(fx.vmap(fx.jit(f))(xs, ys), xs * ys)
    np.testing.assert_array_equal(fx.vmap(fx.grad(f, 1))(xs, ys), 10 * xs)
    np.testing.assert_array_equal(fx.jit(fx.vmap(fx.grad(f, 1)))(xs, ys), 10 * xs)
    np.testing.assert_array_equal(fx.grad(lambda y: fnp.sum(fx.vmap(f)(xs, y)))(ys), 10 * xs)
    np.testing.assert_array_equal(fx.grad(lambda y: fnp.sum(fx.jit(fx.vmap(f))(xs, y)))(ys), 10 * xs)

    def power(y):
        return lax.scan(lambda carry, x: (f(x, carry), None), y, xs)[0]

    assert power(2.0) == 12.0
    assert fx.grad(power)(2.0) == 6000.0
    assert fx.jit(fx.grad(power))(2.0) == 6000.0
    np.testing.assert_array_equal(fx.vmap(power)(ys), 6 * ys)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_arguments_without_derivative_may_be_traced(kind):
    if kind == "jvp":
        f = fx.custom_jvp(lambda x, y: x * y, nondiff_argnums=(0,))
        f.defjvp(lambda x, primals, tangents: (x * primals[0], 10 * x * tangents[0]))
    else:
        f = fx.custom_vjp(lambda x, y: x * y, nondiff_argnums=(0,))
        f.defvjp(lambda x, y: (x * y, None), lambda x, _, ct: (10 * x * ct,))
    xs = np.arange(3.0)
    assert fx.jit(f)(2.0, 3.0) == 6.0
    np.testing.assert_array_equal(fx.vmap(f)(xs, xs), xs**2)
    np.testing.assert_array_equal(fx.jit(fx.vmap(fx.grad(f, 1)))(xs, xs), 10 * xs)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_a_derivative_that_a_rule_cannot_know_of_is_refused(kind):
    def f(x):
        return lax.scan(lambda carry, _: (linear_in_its_argument(kind, x)(carry), None), x, None, length=2)[0]

    with pytest.raises(fx.CustomRuleError, match="closes over a value with respect to which"):
        fx.grad(f)(2.0)
