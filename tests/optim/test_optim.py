"""fxgrad.optim: steps against their formulas written out in NumPy, composition, privacy, line search, transforms."""

import itertools
from functools import partial

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

optim = fx.optim
PARAMS = {"w": np.array([[0.5, -1.0], [2.0, 0.3]]), "b": np.array([0.7, -0.2], "float32")}
STEPS = 6


def loss(p):
    return fnp.sum(fnp.sin(p["w"]) ** 2) + fnp.sum(p["b"] ** 4)


def run(optimizer, jitted):
    """Parameters after some steps."""

    def step(p, state):
        updates, state = optimizer.update(fx.grad(loss)(p), state, p)
        return optim.apply_updates(p, updates), state

    step = fx.jit(step) if jitted else step
    p, state = PARAMS, optimizer.init(PARAMS)
    for _ in range(STEPS):
        p, state = step(p, state)
    return p


def by_formula(update):
    """The same for one array at a time; update(g, x, memory, k) returns the step, and writes into the memory."""
    found = {}
    slopes = {"w": lambda x: np.sin(2 * x), "b": lambda x: 4 * x**3}
    for name, x in PARAMS.items():
        memory = {"m": np.zeros_like(x), "v": np.zeros_like(x)}
        for k in range(STEPS):
            x = x + update(slopes[name](x), x, memory, k)
        found[name] = x
    return found


def momentum(nesterov):
    def update(g, x, memory, k):
        memory["m"] = 0.9 * memory["m"] + g
        return -0.1 * (g + 0.9 * memory["m"] if nesterov else memory["m"])

    return update


def adam(decay=0.0, nesterov=False):
    def update(g, x, memory, k):
        m = memory["m"] = 0.9 * memory["m"] + 0.1 * g
        v = memory["v"] = 0.999 * memory["v"] + 0.001 * g * g
        mean = m / (1 - 0.9 ** (k + 1))
        if nesterov:
            mean = 0.9 * m / (1 - 0.9 ** (k + 2)) + 0.1 * g / (1 - 0.9 ** (k + 1))
        return -0.1 * (mean / (np.sqrt(v / (1 - 0.999 ** (k + 1))) + 1e-8) + decay * x)

    return update


def rmsprop(g, x, memory, k):
    memory["v"] = 0.9 * memory["v"] + 0.1 * g * g
    memory["m"] = 0.8 * memory["m"] - 0.1 * g / np.sqrt(memory["v"] + 1e-8)
    return memory["m"]


def adagrad(g, x, memory, k):
    memory["v"] = (memory["v"] if k else 0.1) + g * g
    return -0.1 * g / np.sqrt(memory["v"] + 1e-7)


def lion(g, x, memory, k):
    direction = np.sign(0.9 * memory["m"] + 0.1 * g)
    memory["m"] = 0.99 * memory["m"] + 0.01 * g
    return -0.01 * (direction + 0.1 * x)


def falling(g, x, memory, k):
    return -0.1 * (1 + np.cos(np.pi * min(k / 4, 1))) / 2 * np.clip(g, -0.5, 0.5)


CASES = {
    "sgd": (optim.sgd(0.1), lambda g, x, memory, k: -0.1 * g),
    "momentum": (optim.momentum(0.1), momentum(False)),
    "nesterov": (optim.sgd(0.1, 0.9, nesterov=True), momentum(True)),
    "adam": (optim.adam(0.1), adam()),
    "nadam": (optim.adam(0.1, nesterov=True), adam(nesterov=True)),
    "adamw": (optim.adamw(0.1, weight_decay=0.3), adam(0.3)),
    "rmsprop": (optim.rmsprop(0.1, momentum=0.8), rmsprop),
    "adagrad": (optim.adagrad(0.1), adagrad),
    "lion": (optim.lion(0.01, weight_decay=0.1), lion),
    "chain": (optim.chain(optim.clip(0.5), optim.sgd(optim.cosine_decay_schedule(0.1, 4))), falling),
}


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jitted"])
@pytest.mark.parametrize("optimizer, formula", CASES.values(), ids=CASES)
def test_steps(optimizer, formula, jitted):
    found, expected = run(optimizer, jitted), by_formula(formula)
    for name in PARAMS:
        rtol = 1e-5 if name == "b" else 1e-12
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol)
        assert found[name].dtype == PARAMS[name].dtype


SCHEDULES = {
    "constant": (optim.constant_schedule(0.3), lambda k: 0.3),
    "linear": (optim.linear_schedule(1.0, 0.0, 4, 2), lambda k: 1 - min(max(k - 2, 0) / 4, 1)),
    "polynomial": (optim.polynomial_schedule(1.0, 0.5, 2, 4), lambda k: 0.5 * (1 - min(k / 4, 1)) ** 2 + 0.5),
    "exponential": (optim.exponential_decay(2.0, 3, 0.5), lambda k: 2 * 0.5 ** (k / 3)),
    "stairs": (optim.exponential_decay(2.0, 3, 0.5, 1, True), lambda k: 2 * 0.5 ** (max(k - 1, 0) // 3)),
    "bounded": (optim.exponential_decay(2.0, 3, 0.5, end_value=1.1), lambda k: max(2 * 0.5 ** (k / 3), 1.1)),
    "growing": (optim.exponential_decay(1.0, 1, 2.0, end_value=9.0), lambda k: min(2.0**k, 9)),
    "pieces": (
        optim.piecewise_constant_schedule(1.0, {5: 0.1, 2: 0.5}),
        lambda k: [1, 0.5, 0.05][(k >= 2) + (k >= 5)],
    ),
    "warm": (
        optim.warmup_cosine_decay_schedule(0.0, 1.0, 3, 7, 0.1),
        lambda k: k / 3 if k < 3 else 0.1 + 0.9 * (1 + np.cos(np.pi * min((k - 3) / 4, 1))) / 2,
    ),
    "no steps": (optim.linear_schedule(1.0, 0.0, 0), lambda k: 1.0),
}


@pytest.mark.parametrize("schedule, expected", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules(schedule, expected):
    counts = np.arange(10)
    values = [expected(k) for k in counts.tolist()]
    np.testing.assert_allclose([schedule(k) for k in counts], values, rtol=1e-14)
    np.testing.assert_allclose(fx.vmap(lambda k: schedule(k) + 0.0 * k)(counts), values, rtol=1e-14)


def test_norms_and_masks():
    g = {"a": np.array([3.0, 0.0]), "b": 4.0}
    assert optim.global_norm(g) == 5 and optim.global_norm({}) == 0
    shortened, _ = optim.clip_by_global_norm(1.0).update(g, optim.EmptyState())
    same(shortened, {"a": np.array([0.6, 0.0]), "b": 0.8})
    same(optim.clip_by_global_norm(10.0).update(g, optim.EmptyState())[0], g)
    params = {"a": np.array([1.0, 2.0]), "b": 3.0}
    for mask in ({"a": True, "b": False}, lambda p: {"a": True, "b": False}):
        decayed, _ = optim.add_decayed_weights(0.5, mask).update(g, optim.EmptyState(), params)
        same(decayed, {"a": np.array([3.5, 1.0]), "b": 4.0})
    assert optim.apply_updates({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 0.0}) == {"a": 1.5, "b": 2.0}
    with pytest.raises(fx.StructureError, match="needs the parameters"):
        optim.adamw(0.1).update(g, optim.adamw(0.1).init(params))
    with pytest.raises(fx.StructureError, match="state of 1 part"):
        optim.adamw(0.1).update(g, (optim.EmptyState(),), params)


def test_private_gradients():
    rng = np.random.default_rng(0)
    per_sample = {"w": rng.normal(size=(8, 3)), "b": 5 * rng.normal(size=8)}
    norms = optim.per_sample_global_norm(per_sample)
    factors = 1 / np.maximum(norms / 2.0, 1)
    silent = optim.differentially_private_aggregate(2.0, 0.0, fx.random.key(0))
    found, state = silent.update(per_sample, silent.init(None))
    same(found, {"w": factors @ per_sample["w"] / 8, "b": factors @ per_sample["b"] / 8})
    loud = optim.differentially_private_aggregate(2.0, 1.5, fx.random.key(0))
    draws, state = [], loud.init(None)
    for _ in range(400):
        noisy, state = loud.update(per_sample, state)
        draws.append(8 * (noisy["w"] - found["w"]))
    assert abs(np.std(draws) - 3.0) < 0.25 and abs(np.mean(draws)) < 0.4
    with pytest.raises(fx.StructureError, match="leading axis"):
        silent.update({"w": np.ones(3), "b": np.ones(())}, silent.init(None))


@pytest.mark.parametrize("dtype, size", [("f4", 1e25), ("f4", 1e-30), ("f8", 1e200), ("f8", 1e-200)])
@pytest.mark.parametrize("wrap", [lambda f: f, fx.jit], ids=["plain", "jit"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_squares_of_norms_that_overflow_or_underflow(dtype, size, wrap):
    unit = np.array(size, dtype)
    g = {"a": np.array([[3, 0], [0, 3]], dtype) * unit, "b": np.array([4, -4], dtype) * unit}
    close = partial(np.testing.assert_allclose, rtol=1e-6)
    close(wrap(optim.per_sample_global_norm)(g), np.full(2, 5 * size))
    close(wrap(optim.global_norm)(g["b"]), np.sqrt(32) * size)
    shorten = optim.clip_by_global_norm(1.0 if size > 1 else np.array(size, dtype))
    short = wrap(lambda g: shorten.update(g, optim.EmptyState())[0])(g)
    close(optim.global_norm(short), min(size, 1.0))
    whole = optim.clip_by_global_norm(np.inf).update(g, optim.EmptyState())[0]
    same(whole, g)


def test_a_key_is_looked_at_before_training():
    for key in (0, np.zeros(2, np.uint64)):
        with pytest.raises((TypeError, ValueError), match="key"):
            optim.differentially_private_aggregate(1.0, 1.0, key)


def rosenbrock(p):
    x = p["x"]
    return fnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jitted"])
def test_lbfgs(jitted):
    optimizer = optim.lbfgs(memory_size=5)

    def step(p, state):
        value, g = fx.value_and_grad(rosenbrock)(p)
        updates, state = optimizer.update(g, state, p, value_fn=rosenbrock, grad=g, value=value)
        return optim.apply_updates(p, updates), state

    step = fx.jit(step) if jitted else step
    p = {"x": np.zeros(5)}
    state, values = optimizer.init(p), [float(rosenbrock(p))]
    for _ in range(60 if jitted else 10):
        p, state = step(p, state)
        values.append(float(rosenbrock(p)))
    assert all(b <= a for a, b in itertools.pairwise(values))
    assert not jitted or np.allclose(p["x"], 1, atol=1e-7)


def test_the_inverse_hessian_of_a_quadratic_function_is_found():
    """After as many exact line searches as there are dimensions BFGS knows the Hessian (Nocedal & Wright, 6.4)."""
    a = np.diag([1.0, 3.0, 10.0]) + 0.2
    optimizer = optim.scale_by_lbfgs(memory_size=4)
    x, state = np.array([1.0, -2.0, 0.5]), optimizer.init(np.zeros(3))
    for _ in range(4):
        direction, state = optimizer.update(a @ x, state, x)
        x = x - direction * (direction @ a @ x) / (direction @ a @ direction + 1e-300)
    assert np.linalg.norm(x) < 1e-10


def test_a_step_never_rises():
    """Infinite values and kinks shorten a step; where nothing is lower there is none."""
    search = optim.scale_by_linesearch()
    steep = lambda x: fnp.where(x < 1.5, (x - 1) ** 2, fnp.inf)  # noqa: E731
    step, _ = search.update(
        np.array(4.0), search.init(0.0), np.array(0.0), value_fn=steep, grad=np.array(-2.0)
    )
    assert 0 < step < 1.5 and steep(step) < 1
    up, _ = search.update(
        np.array(1.0), search.init(0.0), np.array(0.0), value_fn=lambda x: x, grad=np.array(1.0)
    )
    assert up == 0
    with pytest.raises(fx.StructureError, match="value_fn=f"):
        optim.lbfgs().update(PARAMS, optim.lbfgs().init(PARAMS), PARAMS)


def test_steps_are_functions():
    """A training run is differentiable in its learning rate, and may be mapped over it."""

    def trained(rate):
        optimizer = optim.adam(rate, eps_root=1e-12)
        x, state = np.array([1.0, -2.0]), optimizer.init(np.zeros(2))
        for _ in range(3):
            updates, state = optimizer.update(2 * x, state, x)
            x = optim.apply_updates(x, updates)
        return fnp.sum(x**2)

    fx.testing.check_grads(trained, (0.1,), order=1)
    rates = np.array([0.01, 0.1])
    same(fx.vmap(trained)(rates), np.array([trained(r) for r in rates]))
