"""grad, vjp, jvp, linearize, Jacobians: closed forms, identities, and whose memory the results are."""

import math

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

rng = np.random.default_rng(2)
V, W = rng.normal(size=3), rng.normal(size=3)
M = rng.normal(size=(2, 3))
TREE = {"w": M, "b": (V[:2], None), "s": 1.5}


def model(params, x):
    h = fnp.tanh(params["w"] @ x + params["b"][0])
    return {"h": h, "s": (fnp.sum(h) * params["s"], None)}


def loss(params, x):
    return model(params, x)["s"][0]


# ------------------------------------------------------------------------------------------------ closed forms


def test_gradients_in_closed_form():
    same(fx.grad(lambda x: fnp.sum(fnp.sin(x) ** 2))(V), np.sin(2 * V))
    same(fx.grad(lambda x, y: fnp.sum(x * y**2), argnums=(1, 0))(V, W), (2 * V * W, W**2))
    same(fx.grad(lambda m: fnp.sum(m @ V))(M), np.stack([V, V]))
    same(
        fx.value_and_grad(lambda x: (fnp.sum(x**2), {"x": x}), has_aux=True)(V),
        ((np.sum(V**2), {"x": V}), 2 * V),
    )
    same(fx.hessian(lambda x: fnp.sum(x**3))(V), np.diag(6 * V))
    same(fx.jacobian(lambda x: M @ x)(V), M)
    same(fx.hvp(lambda x: fnp.sum(x**3), (V,), (W,)), 6 * V * W)
    same(fx.hvp(lambda x, y: fnp.sum(x * y), (V, W), (W, V)), (V, W))
    same(fx.linear_transpose(lambda x: M @ x, V)(W[:2])[0], M.T @ W[:2])
    same(fx.grad(lambda z: fnp.sum(z**3), holomorphic=True)(V + 1j), 3 * (V + 1j) ** 2)


def test_gradients_of_trees_have_their_structure():
    value, gradient = fx.value_and_grad(loss)(TREE, V)
    assert fx.tree.structure(gradient) == fx.tree.structure(TREE)
    h = np.tanh(M @ V + V[:2])
    same(value, h.sum() * 1.5)
    same(gradient, {"w": np.outer(1.5 * (1 - h**2), V), "b": (1.5 * (1 - h**2), None), "s": h.sum()})


def test_the_modes_are_adjoint():
    """⟨J t, c⟩ = ⟨t, Jᵀ c⟩."""
    y, t = fx.jvp(model, (TREE, V), (TREE, W))
    _, push = fx.linearize(model, TREE, V)
    value, pull = fx.vjp(model, TREE, V)
    same(value, y)
    same(push(TREE, W), t)
    ct = fx.tree.map(np.cos, y)
    tangents, cotangents = fx.tree.leaves((TREE, W)), fx.tree.leaves(pull(ct))
    forward = sum(np.sum(a * b) for a, b in zip(fx.tree.leaves(t), fx.tree.leaves(ct)))
    same(forward, sum(np.sum(a * b) for a, b in zip(tangents, cotangents)))
    same(fx.linear_transpose(push, TREE, V)(ct), pull(ct))


def test_jacobians_of_trees():
    jacobians = [jac(model, argnums=(0, 1))(TREE, V) for jac in (fx.jacfwd, fx.jacrev, fx.jacobian)]
    for jacobian in jacobians:
        same(jacobian, jacobians[0])
        assert np.shape(jacobian["h"][0]["w"]) == (2, 2, 3) and np.shape(jacobian["s"][0][1]) == (3,)
    columns = [fx.jvp(lambda x: model(TREE, x)["h"], (V,), (e,))[1] for e in np.eye(3)]
    same(jacobians[0]["h"][1], np.stack(columns, axis=1))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7])
def test_chunked_jacobians(chunk_size):
    for jac in (fx.jacfwd, fx.jacrev, fx.hessian):
        same(jac(model, chunk_size=chunk_size)(TREE, V), jac(model)(TREE, V))
    for mode in ("auto", "fwd", "rev"):
        same(fx.jacobian(model, mode=mode, chunk_size=chunk_size)(TREE, V), fx.jacrev(model)(TREE, V))


# ------------------------------------------------------------------------------------------------ modes


@pytest.mark.parametrize(("size", "fewer"), [(5, True), (2, False)])
def test_auto_takes_the_smaller_side(size, fewer):
    """Observed by what the mapped derivative is given: one row for each entry of the smaller side."""
    x = rng.normal(size=3)
    matrix = rng.normal(size=(size, 3))
    widths = []

    @fx.custom_vjp
    def spy(y):
        return y

    spy.defvjp(lambda y: (y, None), lambda _, ct: (widths.append("pulled") or ct,))
    same(fx.jacobian(lambda x: matrix @ spy(x), mode="rev")(x), matrix)
    assert widths == ["pulled"]
    f_jvp = []
    watched = fx.custom_jvp(lambda y: y)
    watched.defjvp(lambda primals, tangents: (primals[0], f_jvp.append(tangents[0]) or tangents[0]))
    same(fx.jacobian(lambda x: matrix @ watched(x))(x), matrix)
    levels = {t.interpreter.name for t in f_jvp}
    assert levels == ({"linearize"} if fewer else {"custom_jvp"})


def test_auto_follows_python_control_flow_and_falls_back():
    same(fx.jacobian(lambda x: x * 2 if x[0] < 100 else x)(V), 2 * np.eye(3))
    same(fx.jacobian(lambda x: x[x > -100] * 2)(V), 2 * np.eye(3))
    same(fx.jacobian(lambda x: x * 1j)(V), 1j * np.eye(3))  # forward: reverse mode cannot
    same(fx.jacobian(lambda z: fnp.abs(z) ** 2)(V + 0j), np.diag(2 * V + 0j))  # reverse: forward mode cannot
    jacobian, integers = fx.jacobian(lambda x, n: x * n, argnums=(0, 1), allow_int=True)(V, np.arange(3))
    same(jacobian, np.diag(np.arange(3.0)))
    assert (integers.shape, integers.dtype) == ((3, 3), fx.float0)


# ------------------------------------------------------------------------------------------------ linear functions


def test_a_linearized_function_computes_the_value_once():
    runs = []

    def f(x):
        runs.append(1)
        return fnp.sin(x) * x

    _, push = fx.linearize(f, V)
    for t in (V, W, V):
        same(push(t), (np.cos(V) * V + np.sin(V)) * t)
    assert runs == [1]
    assert "sin" not in [e.primitive.name for e in push.graph.equations]


def test_a_pullback_may_be_called_again():
    _, pull = fx.vjp(lambda x, y: fnp.exp(x) * fnp.sin(y) / x, V, W)
    first = pull(np.ones(3))
    for _ in range(3):
        same(pull(np.ones(3)), first)
    same(pull(2 * np.ones(3)), fx.tree.map(lambda c: 2 * c, first))


def test_linear_transpose_of_integers():
    same(fx.linear_transpose(lambda x: 2 * x, 1)(3), (np.int64(6),))
    same(
        fx.linear_transpose(lambda x: fnp.sum(2 * x[1:]), np.zeros(3, np.int8))(3),
        (np.array([0, 6, 6], np.int8),),
    )
    for f, x in [(lambda x: 2.0 * x, 1), (lambda x: x.astype(int), 1.0), (lambda x: x, True)]:
        with pytest.raises(fx.DTypeError, match="integers to integers"):
            fx.linear_transpose(f, x)
    for x in (1, np.arange(2)):
        with pytest.raises(fx.DTypeError, match="cotangent has dtype float64, expected int64"):
            fx.linear_transpose(lambda x: 2 * x, x)(x * 0.5)


def test_tangents_of_python_numbers_are_of_their_kind():
    assert (
        fx.jvp(lambda x: 2 * x, (1.0,), (np.float32(3),))[1] == fx.jvp(lambda x: 2 * x, (1.0,), (3,))[1] == 6
    )
    for tangent in (1j, np.complex64(1), np.zeros((), fx.float0)):
        with pytest.raises(fx.DTypeError, match="expected float64"):
            fx.jvp(lambda x: 2 * x, (1.0,), (tangent,))


def test_linear_transpose_refuses_what_is_not_linear():
    for function in (fnp.sin, lambda x: x * x, lambda x: x + 1.0, lambda x: np.ones(3),
                     lambda x: fnp.concatenate([x, np.ones(1)]), lambda x: 1.0 / x):  # fmt: skip
        with pytest.raises(fx.NotLinearError):
            fx.linear_transpose(function, V)(fx.tree.map(np.zeros_like, function(V)))
    same(fx.linear_transpose(lambda x: fnp.concatenate([x, np.zeros(1)]), V)(np.ones(4))[0], np.ones(3))
    same(fx.linear_transpose(lambda x: (np.zeros(2), x), V)((V[:2], W))[0], W)


# ------------------------------------------------------------------------------------------------ memory


def test_what_the_user_writes_afterwards_changes_nothing():
    x, y, w = V.copy(), W.copy(), M.copy()

    def f(x, y):
        h = w @ (x * y)
        return h * fnp.exp(x[:2]), h

    value, pull, aux = fx.vjp(f, x, y, has_aux=True)
    _, push, again = fx.linearize(f, x, y, has_aux=True)
    expected = fx.vjp(lambda x, y: f(x, y)[0], V, W)[1](np.ones(2))
    pushed = fx.jvp(lambda x, y: f(x, y)[0], (V, W), (W, V))[1]
    for array in (x, y, w, value, aux, again):
        array[...] = np.nan
    for result in (pull(np.ones(2)), pull(np.ones(2))):
        same(result, expected)
        for array in result:
            array[...] = np.nan
    same(push(W, V), pushed)


def test_a_buffer_refilled_inside_the_function():
    def f(x):
        buffer, total = np.zeros(3), 0.0
        for scale in (1.0, 2.0, 3.0):
            buffer[:] = scale
            total = total + fnp.sum(x * buffer)
        return total

    same(fx.grad(f)(V), np.full(3, 6.0))
    same(fx.jit(fx.grad(f))(V), np.full(3, 6.0))
    same(fx.vjp(f, V)[1](1.0)[0], np.full(3, 6.0))
    same(fx.linearize(f, V)[1](V), 6.0 * V.sum())


FUNCTIONS = {
    "itself": lambda x: x,
    "twice": lambda x: (x, x),
    "a sum": lambda x: x + 0.0,
    "views": lambda x: (x[::-1], x.reshape(1, 3), x[1:]),
    "closed over": lambda x: (W, x),
    "broadcast": lambda x: fnp.broadcast_to(x, (2, 3)),
    "stacked": lambda x: {"a": fnp.stack([x, x]), "b": x},
}
CALLS = {
    "jvp": lambda f, x: fx.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: (lambda y, pull: (y, pull(y)))(*fx.vjp(f, x)),
    "linearize": lambda f, x: (lambda y, push: (y, push(x)))(*fx.linearize(f, x)),
    "jit": lambda f, x: fx.jit(f)(x),
    "vmap": lambda f, x: fx.vmap(f)(x[None]),
    "jacfwd": lambda f, x: fx.jacfwd(f)(x),
    "jacrev": lambda f, x: fx.jacrev(f)(x),
    "grad, aux": lambda f, x: fx.grad(lambda x: (fnp.sum(x), f(x)), has_aux=True)(x),
    "value_and_grad": lambda f, x: fx.value_and_grad(lambda d: fnp.sum(d[0] + d[1]))((x, x)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_results_are_the_callers_own(call, function):
    """Writable, sharing no memory with an argument, a closed-over array or one another."""
    x = V.copy()
    arrays = [r for r in fx.tree.leaves(call(function, x)) if isinstance(r, np.ndarray) and r.size]
    for index, array in enumerate(arrays):
        assert array.flags.writeable
        for other in (x, W, *arrays[:index]):
            assert not np.shares_memory(array, other)


# ------------------------------------------------------------------------------------------------ errors, levels


def test_errors_leave_no_level_behind():
    def fails(x):
        raise KeyboardInterrupt

    calls = [
        lambda: fx.grad(fails)(1.0),
        lambda: fx.jvp(fails, (1.0,), (1.0,)),
        lambda: fx.vjp(fails, 1.0),
        lambda: fx.linearize(fails, 1.0),
        lambda: fx.linear_transpose(fails, 1.0),
        lambda: fx.jit(fails)(1.0),
        lambda: fx.jacobian(fails)(1.0),
        lambda: fx.vmap(fails)(V),
        lambda: fx.vmap(fails, chunk_size=1)(V),
        lambda: fx.checkpoint(fails)(1.0),
        lambda: fx.make_graph(fails)(1.0),
    ]
    for call in calls:
        with pytest.raises(KeyboardInterrupt):
            call()
        assert fx.core.interpreter.CURRENT.get() is fx.core.interpreter.EVAL


def test_errors_of_arguments():
    with pytest.raises(fx.StructureError, match="names an argument twice"):
        fx.grad(lambda x: x, argnums=(0, -1))(1.0)
    with pytest.raises(fx.StructureError, match="names an argument twice"):
        fx.jacobian(lambda x: x, argnums=(0, 0))(1.0)
    with pytest.raises(fx.StructureError, match="argnums=2 for a call with 1"):
        fx.grad(lambda x: x, argnums=2)(1.0)
    with pytest.raises(fx.StructureError, match="no mode='forward'"):
        fx.jacobian(lambda x: x, mode="forward")
    with pytest.raises(fx.DTypeError, match=r"(?s)\['n'\].*astype\(float\)"):
        fx.grad(lambda d: d["x"] * d["n"])({"x": 1.0, "n": 3})
    with pytest.raises(fx.DTypeError, match=r"\['n'\]"):
        fx.jacobian(lambda d: d["x"] * d["n"])({"x": 1.0, "n": 3})
    with pytest.raises(fx.DTypeError, match=r"(?s)complex128.*holomorphic=True"):
        fx.grad(lambda z: z * z)(1j)
    with pytest.raises(fx.DTypeError, match=r"(?s)forward mode.*jacrev"):
        fx.jacfwd(fnp.abs)(V + 0j)
    with pytest.raises(fx.NonScalarError, match=r"shape \(3,\)"):
        fx.grad(fnp.sin)(V)
    with pytest.raises(fx.ShapeError, match=r"tangent \[0\]\['w'\] has shape \(3,\), expected \(2, 3\)"):
        fx.jvp(lambda d: d["w"], ({"w": M},), ({"w": V},))
    with pytest.raises(fx.DTypeError, match=r"cotangent .*has dtype complex128, expected float64"):
        fx.vjp(fnp.sin, V)[1](V * 1j)
    with pytest.raises(fx.StructureError, match="cotangents are a leaf, expected a tuple of length 2"):
        fx.vjp(lambda x: (x, x), V)[1](V)


def test_values_are_known_under_grad_and_jvp():
    def f(x):
        if x > 0 and x.item() < 10 and int(x) == 2 and f"{x:.1f}" == "2.5":
            return x**2
        return x

    same(fx.grad(f)(2.5), np.float64(5.0))
    same(fx.jvp(f, (2.5,), (1.0,)), (6.25, 5.0))


@pytest.mark.parametrize("convert", [float, complex, math.sin, lambda x: np.full(2, 0.0).fill(x)])
def test_a_number_would_lose_the_derivative(convert):
    for transform in (fx.grad, lambda f: lambda x: fx.jvp(f, (x,), (1.0,)), lambda f: fx.grad(fx.grad(f))):
        with pytest.raises(TypeError, match=r"(?s)derivative would be lost.*x\.item\(\)"):
            transform(lambda x: (convert(x), x)[1])(2.0)
    same(fx.grad(lambda x: x * float(fx.stop_gradient(x)))(3.0), np.float64(3.0))


def test_a_derivative_per_pullback_of_a_long_chain():
    def chain(x):
        for _ in range(20_000):
            x = fnp.sin(x) + 0.1
        return x

    value, pull = fx.vjp(chain, 0.3)
    same(pull(1.0)[0], fx.jvp(chain, (0.3,), (1.0,))[1])
    same(value, chain(0.3))
