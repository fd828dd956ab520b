"""`checkpoint` with policies: the same derivatives, and what is kept is what the policy says."""

import tracemalloc

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

POLICIES = fx.checkpoint_policies
W = np.random.default_rng(0).standard_normal((6, 6))
X = np.random.default_rng(1).standard_normal((4, 6))


def network(w, x):
    hidden = fx.checkpoint_name(fnp.tanh(x @ w), "hidden")
    return fnp.sum(fnp.sin(fnp.exp(-hidden @ w)) ** 2)


def count_kept(remat, *args):
    """The number of intermediate values that go from the forward to the backward pass."""
    graph = fx.make_graph(fx.value_and_grad(remat))(*args)
    (forward,) = [e for e in graph.equations if e.primitive.name == "checkpoint"]
    return len(forward.outputs) - 1


# Policy → how many values the backward pass of `network` gets beside the arguments.
KEPT = {
    "nothing": (POLICIES.nothing_saveable, 0),
    "dots": (POLICIES.dots_saveable, 2),
    "dots without batch": (POLICIES.dots_with_no_batch_dims_saveable, 2),
    "names": (POLICIES.save_only_these_names("hidden"), 1),
    "other names": (POLICIES.save_any_names_but_these("hidden"), 0),
    "no names": (POLICIES.save_only_these_names("other"), 0),
    "all but names": (POLICIES.save_anything_except_these_names("hidden"), 4),
    "everything": (POLICIES.everything_saveable, 4),
    "both": (
        POLICIES.save_from_both_policies(POLICIES.dots_saveable, POLICIES.save_only_these_names("hidden")),
        3,
    ),
    "own": (lambda primitive, *avals, **params: primitive.name == "exp", 1),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_policy_says_what_is_kept(name):
    policy, count = KEPT[name]
    assert count_kept(fx.checkpoint(network, policy=policy), W, X) == count


@pytest.mark.parametrize("name", KEPT)
def test_derivatives_do_not_depend_on_the_policy(name):
    remat = fx.checkpoint(network, policy=KEPT[name][0])
    expected = fx.grad(network, argnums=(0, 1))(W, X)
    for transform in (fx.grad(remat, argnums=(0, 1)), fx.jit(fx.grad(remat, argnums=(0, 1)))):
        for got, want in zip(transform(W, X), expected):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    hessian = fx.hessian(network)(W, X)
    for second in (fx.hessian(remat), fx.jacrev(fx.grad(remat)), fx.jacfwd(fx.jacfwd(remat))):
        np.testing.assert_allclose(second(W, X), hessian, rtol=1e-10, atol=1e-12)
    ws = np.stack([W, 2 * W])
    each = np.stack([fx.grad(network)(w, X) for w in ws])
    np.testing.assert_allclose(fx.vmap(fx.grad(remat), in_axes=(0, None))(ws, X), each, rtol=1e-12)
    summed = fx.grad(lambda ws: fx.vmap(remat, in_axes=(0, None))(ws, X).sum())
    np.testing.assert_allclose(summed(ws), each, rtol=1e-12)


def test_batches_of_products_are_no_products_of_weights():
    def attention(q, k):
        return fnp.sum(fnp.exp(fnp.sin(q @ fnp.swapaxes(k, 1, 2))))

    q = np.ones((2, 3, 4))
    for policy, count in ((POLICIES.dots_saveable, 1), (POLICIES.dots_with_no_batch_dims_saveable, 0)):
        assert count_kept(fx.checkpoint(attention, policy=policy), q, q) == count


def test_several_results_of_which_some_have_no_cotangent():
    def pair(x):
        y = fnp.exp(x)
        return fnp.sin(y), fnp.cos(y), fnp.argmax(x)

    remat = fx.checkpoint(pair, policy=POLICIES.everything_saveable)
    x = np.array([0.1, 0.7])
    for pick in range(2):
        np.testing.assert_allclose(
            fx.grad(lambda x, pick=pick: remat(x)[pick].sum())(x),
            fx.grad(lambda x, pick=pick: pair(x)[pick].sum())(x),
        )


@pytest.mark.parametrize(("policy", "arrays"), [("nothing_saveable", 0), ("everything_saveable", 10)])
def test_memory_held_between_forward_and_backward(policy, arrays):
    def chain(x):
        for _ in range(10):
            x = fnp.sin(x)
        return fnp.sum(x)

    x = np.linspace(0.0, 1.0, 100_000)
    remat = fx.checkpoint(chain, policy=getattr(POLICIES, policy))
    fx.vjp(remat, x)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        _, pull = fx.vjp(remat, x)
        held = (tracemalloc.get_traced_memory()[0] - before) / x.nbytes
    finally:
        tracemalloc.stop()
    assert arrays - 0.5 <= held <= arrays + 1.5  # the argument's copy beside them
    np.testing.assert_allclose(pull(1.0)[0], fx.grad(chain)(x))


def test_a_policy_is_a_function():
    with pytest.raises(fx.StructureError, match=r"(?s)policy is a str, not a function.*checkpoint_policies"):
        fx.checkpoint(network, policy="dots_saveable")


def test_saved_residuals_say_where_they_come_from(capsys):
    def kinds(function):
        return [origin.partition(" from tests")[0] for _, origin in fx.saved_residuals(function, W, x=X)]

    inputs = ["from the argument w", "from the argument x"]
    assert sorted(kinds(fx.checkpoint(network))) == inputs
    policy = POLICIES.save_only_these_names("hidden")
    (kept,) = set(kinds(fx.checkpoint(network, policy=policy))) - set(inputs)
    assert kept.startswith("named 'hidden'")
    fx.print_saved_residuals(network, W, X)
    printed = capsys.readouterr().out
    assert "f64[4,6] output of tanh from " in printed and " in network\n" in printed
    assert "f64[6,6] from the argument w\n" in printed
