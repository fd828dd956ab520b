"""Transformations made of others, against what their definitions say, plainly and under jit."""

import numpy as np
import pytest

import fxgrad as fx

optim = fx.optim
PARAMS = {"w": np.array([1.0, -2.0]), "b": np.array(0.5)}
GRADIENTS = [{"w": np.array([i + 1.0, -i]), "b": np.array(0.1 * i)} for i in range(6)]
BAD = {"w": np.array([np.nan, 1.0]), "b": np.array(1.0)}


def run(optimizer, gradients=GRADIENTS, params=PARAMS, jit=False):
    """The parameters after every step, and the last state."""

    def step(params, state, g):
        updates, state = optimizer.update(g, state, params)
        return optim.apply_updates(params, updates), state

    step = fx.jit(step) if jit else step
    state, seen = optimizer.init(params), []
    for g in gradients:
        params, state = step(params, state, g)
        seen.append(params)
    return seen, state


def by_leaf(**optimizers):
    """The path of each parameter by an optimizer of its own."""
    paths = {k: run(o, [g[k] for g in GRADIENTS], PARAMS[k])[0] for k, o in optimizers.items()}
    return [{k: paths[k][i] for k in paths} for i in range(len(GRADIENTS))]


def multi_steps(k, mean):
    total, params, seen = np.zeros(2), PARAMS["w"], []
    for i, g in enumerate(GRADIENTS):
        total = total + g["w"]
        if i % k == k - 1:
            params, total = params - 0.1 * total / (k if mean else 1), np.zeros(2)
        seen.append(params)
    return seen


def averages(decay, debias):
    mean, seen, params = np.zeros(2), [], PARAMS["w"]
    for n, g in enumerate(GRADIENTS, 1):
        mean = decay * mean + (1 - decay) * g["w"]
        params = params + (mean / (1 - decay**n) if debias else mean)
        seen.append(params)
    return seen


def look_ahead(k, alpha):
    fast = slow = PARAMS["w"]
    seen = []
    for i, g in enumerate(GRADIENTS):
        fast = fast - 0.1 * g["w"]
        if i % k == k - 1:
            fast = slow = slow + alpha * (fast - slow)
        seen.append(optim.LookaheadParams(fast, slow))
    return seen


W = [g["w"] for g in GRADIENTS]
ADAM, SGD = optim.adam(0.1), optim.sgd(0.1)
HALF = optim.exponential_decay(0.1, 1, 0.5)
CASES = {
    "masked": (optim.masked(ADAM, {"w": True, "b": False}), by_leaf(w=ADAM, b=optim.identity())),
    "masked by a function": (
        optim.masked(optim.adamw(0.1), lambda p: fx.tree.map(lambda x: np.ndim(x) == 0, p)),
        by_leaf(w=optim.identity(), b=optim.adamw(0.1)),
    ),
    "multi_transform": (
        optim.multi_transform({0: ADAM, 1: SGD}, {"w": 0, "b": 1}),
        by_leaf(w=ADAM, b=SGD),
    ),
    "one label for all": (optim.multi_transform({"a": ADAM}, "a"), by_leaf(w=ADAM, b=ADAM)),
    "inject": (optim.inject_hyperparams(optim.adam)(0.1, b1=0.8), run(optim.adam(0.1, b1=0.8))[0]),
    "inject a schedule": (optim.inject_hyperparams(optim.sgd)(HALF), run(optim.sgd(HALF))[0]),
}
ONE_LEAF = {
    "MultiSteps": (optim.MultiSteps(SGD, 2).gradient_transformation(), multi_steps(2, True)),
    "MultiSteps of sums": (optim.MultiSteps(SGD, 3, use_grad_mean=False), multi_steps(3, False)),
    "ema": (optim.ema(0.9), averages(0.9, True)),
    "ema with its bias": (optim.ema(0.9, debias=False), averages(0.9, False)),
    "lookahead": (optim.lookahead(SGD, 2, 0.3), look_ahead(2, 0.3)),
    "finite": (optim.apply_if_finite(SGD, 2), run(SGD, W, PARAMS["w"])[0]),
}


def close(a, b):
    for x, y in zip(fx.tree.leaves(a), fx.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", [*CASES, *ONE_LEAF])
def test_steps_are_those_of_the_definition(name, jit):
    if name in CASES:
        optimizer, expected = CASES[name]
        close(run(optimizer, jit=jit)[0], expected)
    else:
        optimizer, expected = ONE_LEAF[name]
        start = optim.LookaheadParams.init_synced(PARAMS["w"]) if name == "lookahead" else PARAMS["w"]
        close(run(optimizer, W, start, jit=jit)[0], expected)


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_that_are_not_finite(jit):
    """Two in a row are ignored, state and all; the third is passed on."""
    optimizer = optim.apply_if_finite(ADAM, 2)
    good = GRADIENTS[1]
    skipped, state = run(optimizer, [good, BAD, BAD, good], jit=jit)
    close(skipped[-1], run(ADAM, [good, good])[0][-1])
    assert (int(state.notfinite_count), int(state.total_notfinite), bool(state.last_finite)) == (0, 2, True)
    passed, state = run(optimizer, [BAD] * 3, jit=jit)
    assert np.isnan(passed[-1]["w"][0]) and int(state.notfinite_count) == 3


def test_k_may_depend_on_the_number_of_steps():
    optimizer = optim.MultiSteps(SGD, lambda count: 1 + count)
    state, seen = optimizer.init(PARAMS), []
    for g in GRADIENTS:
        _, state = optimizer.update(g, state, PARAMS)
        seen.append(bool(optimizer.has_updated(state)))
    assert seen == [True, False, True, False, False, True]


def test_settings_can_be_changed_and_differentiated_by():
    optimizer = optim.inject_hyperparams(optim.adam)(0.1)
    state = optimizer.init(PARAMS)
    assert {"learning_rate", "b1", "b2", "eps", "eps_root"} == state.hyperparams.keys()

    def after(rate):
        changed = state._replace(hyperparams=state.hyperparams | {"learning_rate": rate})
        updates, _ = optimizer.update(GRADIENTS[1], changed, PARAMS)
        return updates["w"][0]

    np.testing.assert_allclose(fx.grad(after)(0.3), after(1.0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: optim.multi_transform({"a": SGD}, {"w": "a", "b": "c"}).init(PARAMS), "no transformation of the"),
        (lambda: optim.masked(SGD, {"w": True}).init(PARAMS), "masked: mask"),
        (lambda: optim.lookahead(SGD, 2, 0.5).init(PARAMS), "init_synced"),
        (lambda: optim.lookahead(SGD, 0, 0.5), "sync_period=0"),
        (lambda: ADAM.update({"w": PARAMS["w"]}, ADAM.init(PARAMS), PARAMS), "or optimizer.init"),
        (lambda: ADAM.update(ADAM.init(PARAMS), PARAMS), "in this order"),
        (lambda: ADAM.update(ADAM.init(PARAMS), GRADIENTS[0], PARAMS), "in this order"),
    ],
)  # fmt: skip
def test_messages(call, words):
    with pytest.raises(fx.StructureError, match=words):
        call()
