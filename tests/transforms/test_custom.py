"""custom_jvp, custom_vjp, stop_gradient, checkpoint: rules of one's own, by closed forms."""

from functools import partial

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

V = np.array([0.3, -1.2, 2.0])
M = np.stack([V, 2 * V])


@fx.custom_jvp
def tripled(x):
    """The sine, with a rule of three times its derivative, to tell the rule from the function."""
    return fnp.sin(x)


tripled.defjvps(lambda t, y, x: 3.0 * t * fnp.cos(x))


@fx.custom_vjp
def doubled(x, y):
    return x * y


doubled.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, ct: (2.0 * ct * kept[1], 2.0 * ct * kept[0]))


def test_the_rule_is_used_in_every_mode():
    expected = 3 * np.cos(V)
    same(tripled(V), np.sin(V))
    same(fx.jvp(tripled, (V,), (np.ones(3),)), (np.sin(V), expected))
    same(fx.vjp(tripled, V)[1](np.ones(3))[0], expected)
    same(fx.grad(lambda x: fnp.sum(tripled(x)))(V), expected)
    same(fx.linearize(tripled, V)[1](np.ones(3)), expected)
    same(fx.vmap(fx.grad(tripled))(V), expected)
    same(fx.jit(fx.vmap(fx.grad(tripled)))(V), expected)
    same(fx.jacfwd(tripled)(V), np.diag(expected))
    same(fx.jacrev(tripled)(V), np.diag(expected))
    same(fx.vmap(fx.grad(fx.grad(tripled)))(V), -3 * np.sin(V))


def test_the_vjp_rule_serves_both_modes():
    """Forward mode comes from the transpose of the backward rule."""
    w = np.cos(V)
    expected = 2 * (V * w + w * V)
    same(fx.vjp(doubled, V, w)[1](np.ones(3)), (2 * w, 2 * V))
    same(fx.jvp(doubled, (V, w), (V, w)), (V * w, expected))
    same(fx.linearize(doubled, V, w)[1](V, w), expected)
    same(fx.vmap(fx.jacfwd(doubled, argnums=(0, 1)))(V, w), (2 * w, 2 * V))
    same(fx.jvp(lambda x: doubled(x, w), (V,), (V,))[1], 2 * V * w)
    same(fx.vmap(lambda x, y: fx.jvp(doubled, (x, y), (x, y))[1])(V, w), expected)
    same(fx.hessian(lambda x: fnp.sum(doubled(x, w) ** 2))(V), np.diag(4 * w * w))


def test_symbolic_structure_of_arguments_and_results():
    @fx.custom_vjp
    def f(d, pair):
        return {"y": d["a"] * pair[0], "n": None, "z": [pair[1]]}

    kinds = []

    def forward(d, pair):
        return f(d, pair), {"d": d, "first": pair[0]}

    def backward(kept, ct):
        kinds.append(fx.tree.map(np.shape, ct))
        return {"a": ct["y"] * kept["first"], "b": None}, (ct["y"] * kept["d"]["a"], ct["z"][0])

    f.defvjp(forward, backward)
    gradients = fx.grad(lambda d, p: fnp.sum(f(d, p)["y"]), argnums=(0, 1))(
        {"a": V, "b": (1.0, 2.0)}, (V, 3.0)
    )
    same(gradients, ({"a": V, "b": (np.float64(0), np.float64(0))}, (V, np.float64(0))))
    assert kinds == [{"y": (3,), "n": None, "z": [()]}]  # zeros stand for results without a cotangent


def test_nondiff_argnums():
    @partial(fx.custom_jvp, nondiff_argnums=(0, 2))
    def power(g, x, n):
        return g(x) ** n

    @power.defjvp
    def rule(g, n, primals, tangents):
        return power(g, primals[0], n), 100.0 * n * tangents[0]

    same(power(fnp.sin, V, 2), np.sin(V) ** 2)
    same(fx.vmap(fx.grad(lambda x: power(fnp.sin, x, 2)))(V), np.full(3, 200.0))

    @partial(fx.custom_vjp, nondiff_argnums=(1,))
    def scaled(x, k):
        return x * k

    scaled.defvjp(lambda x, k: (x * k, None), lambda k, _, ct: (ct * k * 10.0,))
    same(fx.grad(scaled)(2.0, 3.0), np.float64(30.0))
    same(fx.grad(lambda x: scaled(k=3.0, x=x))(2.0), np.float64(30.0))


def test_defjvps_takes_none_for_no_derivative():
    f = fx.custom_jvp(lambda x, y: x * y)
    f.defjvps(None, lambda t, ans, x, y: t * x)
    same(fx.grad(f, argnums=(0, 1))(2.0, 3.0), (np.float64(0.0), np.float64(2.0)))
    f.defjvps(None, None)
    same(fx.jvp(f, (2.0, 3.0), (1.0, 1.0)), (6.0, 0.0))
    with pytest.raises(fx.CustomRuleError, match="nondiff_argnums"):
        fx.custom_jvp(f, nondiff_argnums=(0,)).defjvps(None)


class Model:
    """Decorated methods."""

    scale = 3.0

    @partial(fx.custom_jvp, nondiff_argnums=(0,))
    def forward(self, x):
        return self.scale * x

    @forward.defjvp
    def forward_rule(self, primals, tangents):
        return self.forward(*primals), 10.0 * self.scale * tangents[0]

    @partial(fx.custom_vjp, nondiff_argnums=(0,))
    def backward(self, x):
        return self.scale * x

    backward.defvjp(lambda self, x: (self.scale * x, None), lambda self, _, ct: (20.0 * self.scale * ct,))


def test_methods():
    model = Model()
    same(fx.value_and_grad(model.forward)(2.0), (np.float64(6.0), np.float64(30.0)))
    same(fx.value_and_grad(model.backward)(2.0), (np.float64(6.0), np.float64(60.0)))
    same(fx.vmap(fx.grad(model.forward))(V), np.full(3, 30.0))


def test_integer_arguments():
    f = fx.custom_jvp(lambda x, n: x**n)

    @f.defjvp
    def rule(primals, tangents):
        (x, n), (t, tn) = primals, tangents
        assert tn.dtype == fx.float0
        return f(x, n), 7.0 * t

    for n in (3, np.array(3)):
        same(fx.grad(f)(2.0, n), np.float64(7.0))
        ct, zero = fx.vjp(f, 2.0, n)[1](1.0)
        assert (ct, zero.shape, zero.dtype) == (7.0, (), fx.float0)
        same(fx.jvp(f, (2.0, n), (1.0, np.zeros((), fx.float0)))[1], 7.0)

    g = fx.custom_vjp(lambda x, n: x * n)
    g.defvjp(lambda x, n: (x * n, n), lambda n, ct: (ct * n * 2.0, np.zeros(np.shape(n), fx.float0)))
    ct, zero = fx.vjp(g, 2.0, 3)[1](1.0)
    assert (ct, zero.shape, zero.dtype) == (6.0, (), fx.float0)


def test_missing_rules_and_wrong_results_are_named():
    with pytest.raises(fx.CustomRuleError, match=r"(?s)f has no rule.*defjvp"):

        @fx.custom_jvp
        def f(x):
            return x

        f(1.0)
    with pytest.raises(fx.CustomRuleError, match=r"(?s)g has no rule.*defvjp"):

        @fx.custom_vjp
        def g(x):
            return x

        fx.grad(g)(1.0)
    f.defjvp(lambda primals, tangents: primals[0])
    with pytest.raises(fx.CustomRuleError, match=r"jvp rule of f must return a pair \(result, tangent\)"):
        fx.grad(f)(1.0)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0][:1]))
    with pytest.raises(
        fx.CustomRuleError, match=r"jvp rule of f: the tangent has shape \(1,\), expected \(3,\)"
    ):
        fx.jvp(f, (V,), (V,))
    g.defvjp(lambda x: x, lambda kept, ct: (ct,))
    with pytest.raises(fx.CustomRuleError, match=r"fwd rule of g must return a pair"):
        fx.grad(g)(1.0)
    g.defvjp(lambda x: (x, None), lambda kept, ct: (ct, ct))
    with pytest.raises(
        fx.CustomRuleError, match=r"bwd rule of g must return a tuple of 1 cotangents, .* not a tuple of 2"
    ):
        fx.grad(g)(1.0)
    g.defvjp(lambda x: (x, None), lambda kept, ct: (ct[:2],))
    with pytest.raises(
        fx.CustomRuleError, match=r"cotangent of argument 0 has shape \(2,\), expected \(3,\)"
    ):
        fx.vjp(g, V)[1](V)
    with pytest.raises(fx.StructureError, match="takes a function"):
        fx.custom_jvp(3.0)
    with pytest.raises(fx.CustomRuleError, match="keyword-only"):
        fx.grad(fx_with_keyword_only())(1.0)


def fx_with_keyword_only():
    f = fx.custom_jvp(lambda x, *, k: x * k)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    return lambda x: f(x, k=2.0)


def test_backward_rules_that_are_not_linear_have_no_forward_mode():
    f = fx.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (fnp.clip(ct, -1.0, 1.0),))
    same(fx.grad(lambda x: 5.0 * f(x))(2.0), np.float64(1.0))
    with pytest.raises(fx.NotDifferentiableError, match=r"(?s)forward mode through a custom_vjp.*custom_jvp"):
        fx.jvp(f, (2.0,), (1.0,))


@pytest.mark.parametrize(
    "applied",
    [
        lambda f, x: fx.lax.scan(lambda c, _: (2.0 * f(c), None), x, None, length=3)[0],
        lambda f, x: fx.lax.fori_loop(0, 3, lambda i, c: 2.0 * f(c), x),
        lambda f, x: fx.lax.map(lambda row: fx.lax.map(f, row), x[None])[0],
        lambda f, x: fx.lax.cond(fnp.sum(x) > -9.0, f, lambda x: x, x),
        lambda f, x: fx.lax.while_loop(lambda c: c[0] < 1.0, lambda c: 2.0 * f(c), x, max_steps=5),
        lambda f, x: fx.checkpoint(f)(x),
    ],
    ids=["scan", "fori_loop", "map", "cond", "while_loop", "checkpoint"],
)
def test_backward_rules_apply_as_they_are_in_staged_bodies(applied):
    """They need not be linear: a clipped gradient is that at every step, however the body came to be staged."""
    clipped = fx.custom_vjp(lambda x: 1.0 * x)
    clipped.defvjp(lambda x: (1.0 * x, None), lambda _, ct: (fnp.clip(ct, -1.0, 1.0),))
    gradient = fx.grad(lambda x: 5.0 * fnp.sum(applied(clipped, x)))
    same(gradient(V), np.ones(3))
    same(fx.jit(gradient)(V), np.ones(3))
    same(fx.vmap(gradient)(M), np.ones((2, 3)))
    same(fx.jit(fx.vmap(gradient))(M), np.ones((2, 3)))
    mapped = fx.grad(lambda m: 5.0 * fnp.sum(fx.vmap(lambda x: applied(clipped, x))(m)))
    same(mapped(M), np.ones((2, 3)))
    shared = fx.grad(lambda x: fnp.sum(fx.vmap(lambda w: 5.0 * applied(clipped, x) * w[0] ** 0)(M)))
    assert np.all(np.isfinite(shared(V)))


def test_a_mistake_in_a_backward_rule_is_named_in_staged_bodies():
    f = fx.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, y), lambda y, ct: (ct * y, np.ones(7)))
    looped = fx.grad(lambda x: fx.lax.fori_loop(0, 2, lambda i, c: f(c, x), x))
    with pytest.raises(fx.CustomRuleError, match=r"cotangent of argument 1 has shape \(7,\), expected \(\)"):
        looped(1.0)


def test_residuals_that_are_no_arrays_in_staged_bodies():
    f = fx.custom_vjp(lambda x: 3.0 * x)
    f.defvjp(
        lambda x: (3.0 * x, (x.shape, x)), lambda kept, ct: (3.0 * ct * fnp.ones(kept[0]) * kept[1] ** 0,)
    )

    def looped(x):
        return fx.lax.fori_loop(0, 2, lambda i, c: f(c), x)

    for transform in (lambda g: g, fx.jit):
        same(transform(fx.jacrev(looped))(V), 9.0 * np.eye(3))
        same(transform(fx.jacfwd(looped))(V), 9.0 * np.eye(3))
        same(transform(fx.hessian(lambda x: fnp.sum(looped(x) ** 2)))(V), 162.0 * np.eye(3))


def test_residuals_are_safe_from_the_user():
    buffer = V.copy()
    f = fx.custom_vjp(lambda x: x * buffer)
    f.defvjp(lambda x: (x * buffer, buffer), lambda kept, ct: (ct * kept,))
    _, pullback = fx.vjp(f, V)
    buffer[:] = 0.0
    same(pullback(np.ones(3))[0], V)


def test_stop_gradient():
    tree = {"a": V, "b": (2.0, None), "n": np.arange(3)}
    same(fx.stop_gradient(tree), tree)
    same(fx.grad(lambda x: fnp.sum(x * fx.stop_gradient(x)))(V), V)
    same(fx.grad(lambda x: fnp.sum(fnp.sin(fx.stop_gradient(x))))(V), np.zeros(3))
    same(fx.hessian(lambda x: fnp.sum(x**2 * fx.stop_gradient(x)))(V), np.diag(2 * V))
    # What is stopped first must not change what is known of the operation: a rule is cached for both.
    same(fx.grad(lambda x: fnp.sum(fnp.cosh(fx.stop_gradient(x)) + x))(V), np.ones(3))
    same(fx.grad(lambda x: fnp.sum(fnp.cosh(x)))(V), np.sinh(V))


# ------------------------------------------------------------------------------------------------ checkpoint


def test_checkpoint_computes_again():
    counts = {"forward": 0}

    @fx.custom_vjp
    def counted(x):
        return fnp.sin(x)

    def forward(x):
        counts["forward"] += 1
        return fnp.sin(x), x

    counted.defvjp(forward, lambda x, ct: (ct * fnp.cos(x),))
    value, pullback = fx.vjp(fx.checkpoint(lambda x: counted(counted(x))), V)
    same(value, np.sin(np.sin(V)))
    assert counts["forward"] == 0  # nothing is kept …
    same(pullback(np.ones(3))[0], np.cos(np.sin(V)) * np.cos(V))
    assert counts["forward"] == 2  # … and both are computed again
    pullback(np.ones(3))
    assert counts["forward"] == 4


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: fx.grad(lambda x: fnp.sum(f(x))),
        lambda f: lambda x: fx.jvp(f, (x,), (x,)),
        lambda f: lambda x: fx.linearize(f, x)[1](x),
        lambda f: lambda x: fx.linear_transpose(lambda t: fx.jvp(f, (x,), (t,))[1], x)(x),
        fx.vmap,
        fx.jit,
        fx.jacfwd,
        fx.jacrev,
        fx.hessian,
        lambda f: fx.jacrev(fx.jacfwd(f)),
        lambda f: fx.vmap(fx.grad(f)),
        lambda f: fx.checkpoint(fx.vmap(fx.grad(f))),
    ],
)
def test_checkpoint_changes_no_number(transform):
    def f(x):
        return fnp.tanh(fnp.sin(x) * x)

    same(transform(fx.checkpoint(f))(V), transform(f)(V))


# -- what a rule returns is like what the function returns ------------------------------------------
MISTAKEN = {
    "structure": (lambda x: (x, x), "PyTreeSpec"),
    "shape": (lambda x: x[None], r"\[f64\[1,3\]\], the function's is \[f64\[3\]\]"),
    "dtype": (lambda x: x.astype(np.float32), r"\[f32\[3\]\], the function's is \[f64\[3\]\]"),
}
WAYS = [
    lambda f: fx.jvp(f, (V,), (V,)),
    lambda f: fx.grad(lambda x: fnp.sum(f(x)))(V),
    lambda f: fx.jit(fx.grad(lambda x: fnp.sum(f(x))))(V),
    lambda f: fx.vmap(fx.grad(lambda x: fnp.sum(f(x))))(np.stack([V, V])),
    lambda f: fx.linearize(lambda x: fx.lax.fori_loop(0, 2, lambda i, x: f(x), x), V),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mistake, words", MISTAKEN.values(), ids=MISTAKEN)
def test_the_result_of_a_rule_must_be_like_the_functions(mistake, words, way):
    f = fx.custom_jvp(lambda x: x * 1.0)
    f.defjvp(lambda primals, tangents: (mistake(*primals), mistake(*tangents)))
    with pytest.raises(fx.CustomRuleError, match=f"the jvp rule of <lambda>: its result is {words}"):
        way(f)
    g = fx.custom_vjp(lambda x: x * 1.0)
    g.defvjp(lambda x: (mistake(x), None), lambda _, ct: (V,))
    with pytest.raises(fx.CustomRuleError, match=f"the fwd rule of <lambda>: its result is {words}"):
        way(g)


def test_results_may_change_with_what_the_function_closes_over():
    """What is remembered of a function only saves staging it again."""
    extra = []
    f = fx.custom_jvp(lambda x: [x, *extra])
    f.defjvp(lambda primals, tangents: ([*primals, *extra], [*tangents, *extra]))
    for count in (1, 2, 1):
        extra[:] = [V] * (count - 1)
        assert len(fx.jvp(f, (V,), (V,))[0]) == count


def test_functions_that_ask_for_values_keep_their_rules():
    f = fx.custom_jvp(lambda x: x if float(x) > 0 else -x)
    f.defjvp(lambda primals, tangents: (abs(*primals), *tangents))
    assert fx.grad(f)(2.0) == 1.0


def test_partial_functions_have_rules():
    f = fx.custom_jvp(partial(lambda a, x: a * x, 3.0))
    f.defjvp(lambda primals, tangents: (3.0 * primals[0], 3.0 * tangents[0]))
    g = fx.custom_vjp(partial(lambda a, x: a * x, 3.0))
    g.defvjp(lambda x: (3.0 * x, None), lambda _, ct: (3.0 * ct,))
    for rules in (f, g, fx.jit(f), fx.custom(partial(lambda a, x: a * x, 3.0))):
        same(fx.grad(rules)(2.0), np.float64(3.0))


def test_functions_below_staticmethod():
    class Model:
        @fx.jit
        @staticmethod
        def compiled(x):
            return 2 * x

        @fx.custom_jvp
        @staticmethod
        def ruled(x):
            return 2 * x

    Model.ruled.defjvp(lambda primals, tangents: (2 * primals[0], 2 * tangents[0]))
    for owner in (Model, Model()):
        assert owner.compiled(1) == owner.ruled(1) == 2
        assert fx.grad(owner.ruled)(1.0) == fx.grad(owner.compiled)(1.0) == 2.0


def test_a_function_that_closes_over_a_traced_value_hands_none_out():
    def f(x):
        g = fx.custom_jvp(lambda w: x)
        g.defjvp(lambda primals, tangents: (x, tangents[0]))
        return g(x)

    assert fx.jit(f)(2.0) == fx.vmap(f)(np.array([2.0])) == 2.0
    for transform in (fx.grad, lambda f: fx.jit(fx.grad(f))):
        with pytest.raises(fx.CustomRuleError, match="closes over a value with respect to which"):
            transform(f)(2.0)


def test_checkpoint_with_static_and_closed_over_arguments():
    same(fx.grad(lambda w: fnp.sum(fx.checkpoint(lambda x: fnp.sin(x * w))(V)))(V), V * np.cos(V * V))
    f = fx.checkpoint(lambda x, n: x**n if n > 1 else x, static_argnums=1)
    same([fx.grad(f)(2.0, n) for n in (1, 2, 3)], [np.float64(1.0), np.float64(4.0), np.float64(12.0)])


# -- custom_gradient, names, linear functions ------------------------------------------
@fx.custom_gradient
def squared(x):
    """The square, with 1.5 times its derivative."""
    return x * x, lambda ct: 3 * ct * x


@fx.custom_gradient
def product(x, d):
    n = fnp.argmax(d["a"])  # the pullback closes over an integer
    return x * fnp.sum(d["a"]), lambda ct: (ct * fnp.take(d["a"], n), {"a": ct * x * fnp.ones(3)})


def test_custom_gradient():
    for g in (fx.grad(squared), fx.jit(fx.grad(squared)), fx.grad(fx.jit(squared))):
        assert g(2.0) == 6.0
    assert fx.grad(fx.grad(squared))(2.0) == 3.0 and fx.jvp(squared, (2.0,), (1.0,)) == (4.0, 6.0)
    same(fx.vmap(fx.grad(squared))(V), 3 * V)
    expected = V.max(), {"a": 2.0 * np.ones(3)}
    same(fx.grad(product, argnums=(0, 1))(2.0, {"a": V}), expected)
    same(fx.jit(fx.grad(product, argnums=(0, 1)))(2.0, {"a": V}), expected)
    rows = fx.vmap(fx.grad(product), (None, 0))(2.0, {"a": np.stack([V, -V])})
    same(rows, np.array([V.max(), -V.min()]))
    with pytest.raises(fx.CustomRuleError, match="pair"):
        fx.custom_gradient(lambda x: x)(1.0)


def test_arguments_that_are_not_differentiated_by_name():
    power = fx.custom_jvp(lambda x, n: x**n, nondiff_argnames=("n",))
    power.defjvp(lambda n, p, t: (p[0] ** n, 10 * n * t[0]))
    assert fx.grad(power)(2.0, 3) == 30 and fx.grad(lambda x: power(x, n=3))(2.0) == 30
    with pytest.raises(fx.StructureError, match="no parameter 'm'"):
        fx.custom_vjp(lambda x, n: x, nondiff_argnames="m")
    kept = fx.custom_vjp(lambda x, n: x**n, nondiff_argnums=1)
    kept.defvjp(lambda x, n: (x**n, x), lambda n, x, ct: (ct * n,), optimize_remat=True)
    assert fx.grad(kept)(2.0, 3) == 3


def test_a_rule_that_calls_its_linear_function_is_transposed():
    @fx.custom_jvp
    def turn(x):
        return fnp.cumsum(-x)

    turn.defjvp(lambda p, t: (turn(*p), turn(*t)))
    same(fx.grad(lambda x: turn(x) @ V)(V), fx.grad(lambda x: fnp.cumsum(-x) @ V)(V))
    same(fx.vmap(fx.grad(lambda x: turn(x)[1]))(M), np.array([[-1.0, -1.0, 0.0]] * 2))


def test_checkpoint_is_a_decorator_factory():
    @fx.remat(static_argnums=1)
    def f(x, n):
        return fnp.sin(x) ** n

    assert fx.grad(f)(1.0, 2) == pytest.approx(np.sin(2.0))
