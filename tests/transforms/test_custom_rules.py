"""fx.custom: any of the rules jvp, vjp, transpose, vmap; what is derived from them; functions that cannot be traced."""

import math
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.testing import check_grads
from tests.ways import agree, same

V = np.array([0.3, -1.2, 2.0])
M = np.stack([V, 2 * V])
SCALAR = fx.ShapeDtypeStruct((), float)


def entries(x):
    """sin by Python's math, entry by entry: it needs plain numbers."""
    return np.array([math.sin(v) for v in np.ravel(x)]).reshape(np.shape(x))


def as_it_is(x):
    return x


def jvp_rule(primals, tangents):
    return entries_of_plain(primals[0]), tangents[0] * fnp.cos(primals[0])


entries_of_plain = fx.custom(entries, out=as_it_is, jvp=jvp_rule)
OPAQUE = {
    "jvp": entries_of_plain,
    "vjp": fx.custom(entries, out=as_it_is, vjp=lambda ct, y, x: (ct * fnp.cos(x),)),
    "fwd and bwd": fx.custom(
        entries,
        out=as_it_is,
        vjp=(lambda x: (entries_of_plain(x), fnp.cos(x)), lambda kept, ct: (ct * kept,)),
    ),
}
each_rule = pytest.mark.parametrize("f", OPAQUE.values(), ids=OPAQUE)
loops = pytest.mark.filterwarnings("ignore:.*cannot be traced:RuntimeWarning")


# -- what is derived ------------------------------------------
@loops
@each_rule
def test_an_opaque_function_in_every_way(f):
    agree(f, V)
    check_grads(f, (V,), order=3)
    cos = np.cos(V)
    same(fx.grad(lambda x: fnp.sum(f(x)))(V), cos)
    same(fx.hessian(lambda x: fnp.sum(f(x)))(V), np.diag(-np.sin(V)))
    same(fx.jit(fx.hessian(lambda x: fnp.sum(f(x))))(V), np.diag(-np.sin(V)))
    same(fx.linearize(f, V)[1](V), V * cos)
    same(fx.jacfwd(f)(V), np.diag(cos))
    same(fx.jacrev(f)(V), np.diag(cos))
    same(fx.vmap(fx.vmap(fx.grad(f)))(M), np.cos(M))
    same(fx.grad(lambda m: fnp.sum(fx.vmap(f)(m)))(M), np.cos(M))
    same(fx.vmap(fx.jit(f))(M), np.sin(M))
    same(fx.jit(fx.vmap(f))(M), np.sin(M))
    same(fx.jit(fx.vmap(fx.vmap(fx.grad(f))))(M), np.cos(M))
    same(fx.vmap(fx.grad(fx.checkpoint(f)))(V), cos)


MATRIX = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])


def times(x):
    """A matrix times a vector, in a way that cannot be traced."""
    return np.array([sum(a * float(v) for a, v in zip(row, x)) for row in MATRIX])


def transposed_times(ct, x):
    assert (x.shape, x.dtype) == ((3,), np.dtype(float))
    return (np.array([sum(a * float(c) for a, c in zip(column, ct)) for column in MATRIX.T]),)


linear = fx.custom(times, transpose=transposed_times, out=fx.ShapeDtypeStruct((2,), float))


@loops
def test_a_transpose_serves_all_derivatives_of_an_opaque_linear_function():
    """Function and transpose are both opaque: each is the derivative of the other, to any order."""
    u = np.array([1.0, -2.0])
    same(fx.vjp(linear, V)[1](u)[0], u @ MATRIX)
    same(fx.jvp(linear, (V,), (V,)), (MATRIX @ V, MATRIX @ V))
    same(fx.linear_transpose(linear, V)(u)[0], u @ MATRIX)
    same(fx.hessian(lambda x: fnp.sum(linear(x) ** 2))(V), 2 * MATRIX.T @ MATRIX)
    same(fx.jit(fx.grad(lambda x: fnp.sum(linear(x) ** 3)))(V), 3 * (MATRIX @ V) ** 2 @ MATRIX)
    same(fx.jacobian(lambda ct: fx.vjp(linear, V)[1](ct)[0])(u), MATRIX.T)
    same(fx.linear_transpose(lambda ct: fx.linear_transpose(linear, V)(ct)[0], u)(V)[0], MATRIX @ V)
    same(fx.vmap(fx.grad(lambda x: fnp.sum(linear(x))))(M), np.ones((2, 2)) @ MATRIX)
    same(fx.linear_transpose(lambda x: fx.vmap(linear)(x), M)(np.stack([u, u]))[0], np.stack([u, u]) @ MATRIX)
    check_grads(lambda x: linear(fnp.sin(x)), (V,), order=3)
    agree(linear, V)


def test_a_linear_function_of_several_arguments():
    f = fx.custom(lambda d, y: {"s": 2 * d["x"] - y, "n": 3 * y})

    @f.transpose
    def rule(ct, d, y):
        return {"x": 2 * ct["s"], "unused": None}, 3 * ct["n"] - ct["s"]

    d = {"x": V, "unused": V}
    same(fx.vjp(f, d, V)[1]({"s": V, "n": M[0]}), ({"x": 2 * V, "unused": 0 * V}, 2 * V))
    same(fx.vjp(lambda y: f(d, y)["s"], V)[1](V)[0], -V)
    same(fx.vmap(lambda y: fx.grad(lambda d: fnp.sum(f(d, y)["s"] ** 2))(d)["x"])(M).shape, (2, 3))
    with pytest.raises(
        fx.CustomRuleError, match=r"(?s)transpose, and an argument that is no floating.*static="
    ):
        fx.grad(lambda x: f({"x": x, "unused": x}, 3)["s"])(1.0)


def test_vmap_rules():
    shapes = []
    f = fx.custom(lambda d, y: d["x"] * y)

    @f.vmap
    def rule(size, batched, d, y):
        shapes.append((size, batched, np.shape(d["x"]), np.shape(y)))
        return d["x"] * y, True

    same(fx.vmap(f, in_axes=(0, None))({"x": V}, 2.0), 2 * V)
    assert shapes[-1] == (3, [{"x": True}, False], (3,), ())
    same(fx.vmap(lambda y: f({"x": 3.0}, y))(V), 3 * V)
    same(fx.vmap(fx.vmap(lambda y: f({"x": y}, y)))(M), M**2)
    same(fx.grad(lambda m: fnp.sum(fx.vmap(lambda y: f({"x": y}, y))(m)))(V), 2 * V)  # through the rule
    same(fx.vmap(fx.grad(lambda y: f({"x": y}, y)))(V), 2 * V)
    same(fx.jit(fx.vmap(lambda y: f({"x": y}, y)))(V), V**2)
    same(f({"x": V}, 2.0), 2 * V)

    constant = fx.custom(lambda x: 7.0, vmap=lambda size, batched, x: (7.0, False))
    same(fx.vmap(constant)(V), np.full(3, 7.0))
    for out, message in [((V[:2], True), r"shape \(2,\), expected \(3, …\)"), (V, r"must return a pair")]:
        wrong = fx.custom(lambda x: 7.0, vmap=lambda size, batched, x, out=out: out)
        with pytest.raises(fx.CustomRuleError, match=f"the vmap rule of .*{message}"):
            fx.vmap(wrong)(V)


def test_a_vmap_rule_saves_an_opaque_function_from_the_loop():
    calls = []

    def opaque(x):
        calls.append(np.shape(x))
        return math.exp(x)

    f = fx.custom(opaque, vmap=lambda size, batched, x: (np.exp(x), True), vjp=lambda ct, y, x: (ct * y,))
    fx.vmap(f)(V)  # the check calls it for two entries
    calls.clear()
    same(fx.vmap(f)(V), np.exp(V))
    same(fx.vmap(fx.grad(f))(V), np.exp(V))
    same(fx.vmap(fx.grad(fx.grad(f)))(V), np.exp(V))
    assert set(calls) == {()} and len(calls) < 10  # to check the vjp rule at one entry
    calls.clear()
    same(fx.vmap(fx.grad(fx.grad(f)))(V), np.exp(V))
    assert not calls


def test_all_rules_together():
    """Each mode takes the rule that is made for it."""
    used = []

    def noted(name, result):
        used.append(name)
        return result

    f = fx.custom(fnp.sin)
    f.jvp(lambda p, t: noted("jvp", (f(*p), t[0] * fnp.cos(*p))))
    f.vjp(lambda ct, y, x: noted("vjp", (ct * fnp.cos(x),)))
    f.vmap(lambda size, batched, x: noted("vmap", (fnp.sin(x), True)))
    fx.jvp(f, (1.0,), (1.0,)), fx.grad(f)(1.0), fx.vmap(f)(V)
    used.clear()
    same(fx.jvp(f, (1.0,), (1.0,)), (np.sin(1.0), np.cos(1.0)))
    assert used == ["jvp"]
    same(fx.grad(f)(1.0), np.cos(1.0))
    assert used == ["jvp", "vjp"]
    same(fx.vmap(f)(V), np.sin(V))
    assert used == ["jvp", "vjp", "vmap"]


def test_no_rule_at_all():
    f = fx.custom(lambda x: fnp.sin(x) * x)
    agree(f, V)
    with pytest.raises(fx.ArrayConversionError):
        fx.grad(fx.custom(math.sin))(1.0)


# -- arguments ------------------------------------------
class Solver:
    """Decorated methods, static arguments."""

    factor = 3.0

    @partial(fx.custom, static=(0, 2))
    def power(self, x, n, shift=0.0):
        return self.factor * x**n + shift

    @power.vjp
    def power_vjp(ct, y, self, x, n, shift):
        return ct * self.factor * n * x ** (n - 1), ct

    @partial(fx.custom, static=0)
    def scaled(self, x):
        return self.factor * x

    @scaled.jvp
    def scaled_jvp(self, primals, tangents):
        return self.scaled(*primals), self.factor * tangents[0]

    @scaled.vmap
    def scaled_vmap(size, batched, self, x):
        assert batched == [False, True]
        return self.factor * x, True


def test_methods_and_static_arguments():
    solver = Solver()
    same(fx.grad(solver.power)(2.0, 3), np.float64(36.0))
    same(fx.grad(lambda s: solver.power(n=2, x=1.0, shift=s))(0.0), np.float64(1.0))
    same(fx.vmap(fx.grad(solver.power), in_axes=(0, None))(V, 2), 6 * V)
    same(fx.vmap(fx.grad(solver.scaled))(V), np.full(3, 3.0))
    same(fx.vmap(solver.scaled)(V), 3 * V)


def test_integer_arguments_and_results():
    f = fx.custom(lambda x, n: {"y": x * n, "n": n + 1}, vjp=lambda ct, y, x, n: (ct["y"] * n, None))
    ct, zero = fx.vjp(f, V, 3)[1]({"y": V, "n": np.zeros((), fx.float0)})
    same(ct, 3 * V)
    assert zero.dtype == fx.float0
    same(fx.jvp(lambda x: f(x, 3)["y"], (V,), (V,))[1], 3 * V)
    same(fx.vmap(lambda x, n: fx.grad(lambda x: f(x, n)["y"])(x))(V, np.arange(3)), np.arange(3.0))


@given(st.sampled_from([np.float32, np.float64, np.complex64, np.complex128]), st.integers(0, 3))
def test_dtypes_and_empty_arrays(dtype, size):
    f = fx.custom(lambda x: x * x, vjp=lambda ct, y, x: (2 * ct * x,))
    x = np.arange(1, size + 1).astype(dtype)
    y, pullback = fx.vjp(f, x)
    same(pullback(np.ones_like(y))[0], 2 * x)
    same(fx.jvp(f, (x,), (x,))[1], 2 * x * x)
    same(fx.vmap(f)(x), x * x)


# -- jit and the declaration of results ------------------------------------------
def test_staging_needs_a_declaration():
    f = fx.custom(math.sin, vjp=lambda ct, y, x: (ct * fnp.cos(x),))
    same(fx.grad(f)(1.0), np.cos(1.0))
    with pytest.raises(
        fx.ConcretizationError, match=r"(?s)custom function sin cannot be staged.*out=fx\.Shape"
    ):
        fx.jit(f)(1.0)
    f = fx.custom(math.sin, vjp=lambda ct, y, x: (ct * fnp.cos(x),), out=SCALAR)
    same(fx.jit(fx.grad(f))(1.0), np.cos(1.0))
    assert fx.eval_shape(f, 1.0) == SCALAR
    tree = fx.custom(lambda x: {"a": (float(x), entries(x))}, out=lambda x: {"a": (SCALAR, x)})
    same(fx.jit(tree)(np.float64(1.0)), {"a": (np.float64(1.0), np.sin(1.0))})


def test_a_wrong_declaration_is_found():
    f = fx.custom(entries, out=fx.ShapeDtypeStruct((2,), float))
    with pytest.raises(
        fx.CustomRuleError, match=r"entries: the result has .*\(3,\).*declared with out= .*\(2,\)"
    ):
        fx.jit(f)(V)
    f = fx.custom(entries, out=lambda x: {"y": x})
    with pytest.raises(fx.CustomRuleError, match=r"declared with out="):
        fx.jit(f)(V)
    same(fx.jit(fx.custom(entries, out=fx.ShapeDtypeStruct((3,), "f4")))(V), np.sin(V).astype("f4"))


# -- the loop ------------------------------------------
def test_the_loop_is_announced_once():
    f = fx.custom(math.sin, vjp=lambda ct, y, x: (ct * fnp.cos(x),))
    with pytest.warns(
        RuntimeWarning, match=r"rules.py:\d+: sin or one of its rules cannot be traced"
    ) as seen:
        same(fx.vmap(f)(V), np.sin(V))
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(fx.vmap(fx.vmap(fx.grad(f)))(M), np.cos(M))


def test_errors_of_the_user_are_not_taken_for_opacity():
    def failing(x):
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        fx.vmap(fx.custom(failing))(V)


# -- the check of rules ------------------------------------------
WRONG = {
    "jvp": dict(jvp=lambda p, t: (fnp.sin(*p), t[0] * 1.01 * fnp.cos(*p))),
    "vjp": dict(vjp=lambda ct, y, x: (ct * 1.01 * fnp.cos(x),)),
    "vjp ": dict(vjp=(lambda x: (fnp.sin(x), x), lambda x, ct: (ct * 1.01 * fnp.cos(x),))),
    "vmap": dict(vmap=lambda size, batched, x: (1.01 * fnp.sin(x), True)),
    "transpose": dict(transpose=lambda ct, x: (ct,)),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_is_found_at_its_first_use(rule):
    transforms = {
        "jvp": [
            fx.grad,
            lambda f: lambda x: fx.jvp(f, (x,), (x,)),
            lambda f: lambda x: fx.vmap(fx.grad(f))(x * V),
        ],
        "vmap": [lambda f: lambda x: fx.vmap(f)(x * V), lambda f: lambda x: fx.vmap(fx.vmap(f))(x * M)],
    }
    transforms["vjp"] = [
        *transforms["jvp"],
        lambda f: lambda x: fx.grad(lambda x: fnp.sum(fx.vmap(f)(x * V)))(x),
    ]
    transforms["transpose"] = transforms["jvp"][::2]
    for transform in transforms[rule.strip()]:
        f = fx.custom(fnp.sin, **WRONG[rule])
        for _ in range(2):  # until it is mended
            with pytest.raises(fx.CheckError, match=f"the {rule.strip()} rule of sin"):
                transform(f)(0.7)
        transform(fx.custom(fnp.sin, check=False, **WRONG[rule]))(0.7)


def test_a_transpose_that_is_none():
    f = fx.custom(lambda x: 2 * x, transpose=lambda ct, x: (3 * ct,))
    with pytest.raises(fx.CheckError, match=r"the transpose rule of .*args\[0\]"):
        fx.grad(f)(1.0)


def test_a_rule_is_checked_once_and_when_it_can_be():
    calls = []

    def noted(x):
        calls.append(x)
        return fnp.sin(x)

    f = fx.custom(noted, vjp=lambda ct, y, x: (ct * fnp.cos(x),))
    fx.jit(fx.grad(f))(1.0)  # staged: nothing is known
    assert f.unchecked_rules == {"vjp"}
    fx.grad(f)(1.0)
    assert not f.unchecked_rules
    calls.clear()
    fx.grad(f)(1.0)
    assert len(calls) == 1
    f.vjp(lambda ct, y, x: (ct,))  # a new rule is checked anew
    with pytest.raises(fx.CheckError):
        fx.grad(f)(1.0)


def test_at_a_kink_the_check_waits():
    f = fx.custom(lambda x: fnp.maximum(x, 0.0), vjp=lambda ct, y, x: (fnp.where(x > 0, ct, 0.0),))
    same(fx.grad(f)(0.0), np.float64(0.0))
    assert f.unchecked_rules == {"vjp"}
    fx.grad(f)(1.0)
    assert not f.unchecked_rules


def test_what_rules_return_is_checked():
    cases = {
        "tuple of 1 cotangents": dict(vjp=lambda ct, y, x: ct),
        r"cotangent of argument 0 has shape \(2,\)": dict(vjp=lambda ct, y, x: (ct[:2],)),
        "must return a pair": dict(jvp=lambda p, t: t[0]),
        "transpose rule of .* tuple of 1": dict(transpose=lambda ct, x: ct),
    }
    for message, rules in cases.items():
        with pytest.raises(fx.CustomRuleError, match=message):
            fx.vjp(fx.custom(lambda x: 2 * x, **rules), V)[1](V)
    with pytest.raises(fx.StructureError, match="custom takes a function"):
        fx.custom(3.0)


# -- collectives ------------------------------------------
def test_collectives_inside_rules():
    f = fx.custom(
        lambda x: x - fx.lax.pmean(x, "i"), vjp=lambda ct, y, x: (ct - fx.lax.pmean(ct, "i"),), check=False
    )
    centred = V - V.mean()
    same(fx.vmap(f, axis_name="i")(V), centred)
    same(fx.grad(lambda x: fnp.sum(fx.vmap(f, axis_name="i")(x) ** 2))(V), 2 * centred)


# -- JAX's names ------------------------------------------
def test_custom_vmap():
    seen = []

    @fx.custom_batching.custom_vmap
    def f(x, d):
        return {"y": x * d["w"]}

    @f.def_vmap
    def rule(size, batched, x, d):
        seen.append((size, batched))
        return {"y": x * d["w"] + 100}, {"y": True}

    x, w = np.arange(3.0), np.float64(2.0)
    same(fx.vmap(f, (0, None))(x, {"w": w})["y"], 2 * x + 100)
    assert seen == [(3, [True, {"w": False}])]
    same(f(x, {"w": w})["y"], 2 * x)
    same(fx.grad(lambda x: fnp.sum(f(x, {"w": w})["y"]))(x), np.full(3, 2.0))
    same(fx.jit(fx.vmap(f, (0, None)))(x, {"w": w})["y"], 2 * x + 100)


def test_custom_vmap_over_a_function_with_rules():
    @fx.custom_batching.custom_vmap
    @fx.custom_jvp
    def f(x):
        return x * x

    f.defjvp(lambda p, t: (f(*p), 5.0 * t[0]))
    f.def_vmap(lambda size, batched, x: (f(x), True))
    assert fx.grad(f)(3.0) == 5.0
    same(fx.vmap(f)(np.arange(3.0)), np.arange(3.0) ** 2)
    with pytest.raises(AttributeError):
        f.missing  # noqa: B018


def test_sequential_vmap():
    shapes = []

    @fx.custom_batching.sequential_vmap
    def f(x, c):
        shapes.append(x.shape)
        return x @ c, c

    xs, c = np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0])
    y, kept = fx.vmap(f, (0, None))(xs, c)
    same(y, xs @ c)
    same(kept, np.stack([c] * 3))
    assert set(shapes) == {(2,)}
    same(fx.grad(lambda c: fnp.sum(fx.vmap(f, (0, None))(xs, c)[0] ** 2))(c), 2 * xs.T @ (xs @ c))
