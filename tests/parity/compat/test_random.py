"""Random numbers: determinism by seed, states, randomness under vmap, torch's errors. The numbers: test_seeds.py."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (torch, fxt)


def test_determinism():
    def numbers():
        return [
            fxt.rand(2).tolist(),
            fxt.randn(2).tolist(),
            fxt.randperm(5).tolist(),
            fxt.poisson(fxt.ones(3)).tolist(),
        ]

    assert fxt.manual_seed(7) is fxt.default_generator
    first = numbers()
    assert numbers() != first
    fxt.manual_seed(7)
    assert numbers() == first
    assert fxt.initial_seed() == 7
    assert fxt.seed() == fxt.initial_seed() != 7


def test_states():
    fxt.manual_seed(1)
    fxt.randint(0, 2, (3,), dtype=fxt.int8)
    state = fxt.get_rng_state()
    a = fxt.rand(3).tolist()
    with fxt.random.fork_rng():
        fxt.rand(100)
    b = fxt.rand(3).tolist()
    fxt.set_rng_state(state)
    assert [fxt.rand(3).tolist(), fxt.rand(3).tolist()] == [a, b]
    assert str(state.dtype) == "torch.uint8"


def test_generators():
    g, h = fxt.Generator(), fxt.Generator(device="cpu")
    assert g.initial_seed() == torch.Generator().initial_seed() == 67280421310721
    assert str(g.device) == "cpu"
    g.manual_seed(3)
    assert h.set_state(g.get_state()) is h and h.initial_seed() == 3
    assert fxt.rand(3, generator=g).tolist() == fxt.rand(3, generator=h).tolist()
    assert fxt.rand(3, generator=g.clone_state()).tolist() == fxt.rand(3, generator=h).tolist()
    state = fxt.get_rng_state()
    fxt.randn(3, generator=g)
    assert fxt.equal(state, fxt.get_rng_state())
    assert fxt.manual_seed(-1).initial_seed() == torch.manual_seed(-1).initial_seed()


def test_threads_share_a_generator():
    fxt.manual_seed(0)
    found = []

    def work():
        for _ in range(50):
            found.append(fxt.rand(20).numpy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fxt.manual_seed(0)
    alone = np.concatenate([fxt.rand(20).numpy() for _ in range(200)])
    assert np.array_equal(np.sort(np.concatenate(found)), np.sort(alone))


def test_gradients():
    def run(T):
        p = T.full((3,), 0.5, requires_grad=True)
        made = [T.bernoulli(p), T.normal(p, 1.0), T.poisson(p)]
        x = p.clone().uniform_()
        names = [m.grad_fn.name().rstrip("0123456789") for m in [*made, x]]
        grads = [T.autograd.grad(m.sum(), p, retain_graph=True)[0].tolist() for m in [*made, x]]
        return names, grads, T.rand_like(p).requires_grad, T.multinomial(p, 2).requires_grad

    assert run(fxt) == run(torch)


def test_versions():
    def run(T):
        x = T.zeros(3)
        view = x[:2]
        view.normal_()
        x.uniform_(), x.bernoulli_(), x.random_()
        return x._version, view._version

    assert run(fxt) == run(torch)


# Random functions of a mapped x of shape (2,).
MAPPED = [
    "T.rand(2) + x",
    "T.randn_like(x)",
    "T.randint(0, 1000, (2,)) + x",
    "T.randperm(50) + x[0]",
    "T.bernoulli((x * 0 + 0.5).repeat(20), generator=None)",
    "T.normal(x, 1.0)",
    "T.poisson(x + 1000)",
    "T.multinomial(T.ones(50), 20) + x[0]",
    "x.clone().uniform_()",
    "T.nn.functional.dropout(T.ones(60) + x[0])",
]


@pytest.mark.parametrize("code", MAPPED)
def test_randomness_under_vmap(code):
    fxt.manual_seed(0)
    x = fxt.zeros(3, 2)
    f = eval(f"lambda x: {code}", {"T": fxt})
    same = fxt.func.vmap(f, randomness="same")(x)
    assert same[0].tolist() == same[1].tolist() == same[2].tolist()
    different = fxt.func.vmap(f, randomness="different")(x)
    assert different[0].tolist() != different[1].tolist() != different[2].tolist()
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        fxt.func.vmap(f)(x)


# Random functions of a mapped x that draw the same for all entries at once, with one seed.
WHOLE = [
    "T.binomial(x * 20, x)",
    "T.poisson(x * 9)",
    "T.bernoulli(x)",
    "T.normal(x, 1.0)",
    "T.rand_like(x)",
    "T.multinomial(x, 2)",
    "x.clone().exponential_()",
    "T.nn.functional.dropout(x)",
]


@pytest.mark.parametrize("code", WHOLE)
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
def test_different_numbers_under_vmap_are_those_of_the_batch(code, library):
    x = library.linspace(0.1, 0.9, 12).reshape(3, 4)
    f = eval(f"lambda x: {code}", {"T": library})
    library.manual_seed(0)
    mapped = library.vmap(f, randomness="different")(x)
    library.manual_seed(0)
    assert library.equal(mapped, f(x))


# Random functions of one entry x, of shape (2, 4), of a batch along any axis.
ENTRIES = {
    **{f"{name}_": lambda t, x, name=f"{name}_": getattr(x, name)() for name in
       ("bernoulli", "random", "uniform", "normal", "log_normal", "exponential", "cauchy")},
    "geometric_": lambda t, x: x.geometric_(0.3),
    "bernoulli_ of a number": lambda t, x: x.bernoulli_(0.3),
    "bernoulli_ of a Tensor": lambda t, x: x.bernoulli_(x.clone()),
    "random_ of an end": lambda t, x: x.random_(10),
    "random_ of both ends": lambda t, x: x.random_(5, 10),
    "uniform_ of a transpose": lambda t, x: x.t().uniform_(),
    "uniform_ of a copy": lambda t, x: x.clone().uniform_(),
    "uniform_ of zeros_like": lambda t, x: t.zeros_like(x).uniform_(),
    "uniform_ of new_zeros": lambda t, x: x.new_zeros(3, 5).uniform_(),
    "normal_ of a part": lambda t, x: (x[:, 1:3].normal_(), x)[1],
    "bernoulli": lambda t, x: t.bernoulli(x),
    "rand_like": lambda t, x: t.rand_like(x),
    "randn_like": lambda t, x: t.randn_like(x),
    "randint_like": lambda t, x: t.randint_like(x, 10),
    "rand_like a transpose": lambda t, x: t.rand_like(x.t()),
    "multinomial": lambda t, x: t.multinomial(x, 2),
    "multinomial with replacement": lambda t, x: t.multinomial(x, 5, replacement=True),
    "multinomial of a row": lambda t, x: t.multinomial(x[0], 2),
    "poisson": lambda t, x: t.poisson(x * 5),
    "normal": lambda t, x: t.normal(x, x),
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.4),
    "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x, dim=-1),
    "rand": lambda t, x: t.rand(2, 4) + 0 * x,
}  # fmt: skip


@pytest.mark.parametrize("size", [3, 20])  # torch draws more than 15 normal numbers in another way
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ENTRIES)
def test_different_numbers_are_drawn_where_the_batch_lies_in_memory(name, dim, size):
    def run(T):
        shape = [2, 4]
        shape.insert(dim % 3, size)
        x = T.linspace(0.05, 0.95, 8 * size, dtype=T.float64).reshape(shape)
        T.manual_seed(0)
        made = T.vmap(lambda x: ENTRIES[name](T, x), in_dims=dim, randomness="different")(x)
        return made.double().numpy(), x.numpy(), T.rand(()).item()

    for ours, theirs in zip(run(fxt), run(torch)):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-6)


# Tensors that are filled but differ not between the entries of a batch x, and what they are filled with.
UNBATCHED = [
    "T.zeros(2).uniform_()", "T.zeros(2).bernoulli_(0.5)", "T.zeros(2).bernoulli_(x)", "T.zeros(2).random_(7)",
    "T.zeros(2).normal_()", "T.zeros(2).exponential_()", "T.zeros(2).geometric_(0.5)", "T.zeros(2).cauchy_()",
    "T.zeros(2).log_normal_()", "outside.uniform_()", "outside.random_()", "outside[:1].normal_()",
]  # fmt: skip


@pytest.mark.parametrize("code", UNBATCHED)
def test_a_tensor_that_differs_not_cannot_be_filled_differently(code):
    errors = []
    for T in LIBRARIES:
        names = {"T": T, "outside": T.zeros(2)}
        with pytest.raises(RuntimeError) as caught:
            T.vmap(lambda x, names=names: eval(code, names | {"x": x}), randomness="different")(
                T.full((3, 2), 0.5)
            )
        errors.append(str(caught.value).split("\n")[0].split(" If ")[0])
    assert errors[0] == errors[1]


def test_randomness_of_nested_vmap():
    def run(outer, inner):
        f = fxt.func.vmap(lambda x: x + fxt.rand(()), randomness=inner)
        made = fxt.func.vmap(f, randomness=outer)(fxt.zeros(4, 3)).numpy()
        return len(np.unique(made))

    found = [run(o, i) for o in ("same", "different") for i in ("same", "different")]
    assert found == [1, 3, 4, 12]


MISUSE = [
    "T.manual_seed(2**65)",
    "T.Generator().set_state(T.ones(3))",
    "T.Generator().set_state(T.ones(3, dtype=T.uint8))",
    "T.bernoulli(T.tensor([2.0]))",
    "T.bernoulli(T.ones(2).int())",
    "T.ones(2).bernoulli_(1.5)",
    "T.multinomial(T.tensor([1.0, -1.0]), 2)",
    "T.multinomial(T.ones(2, 2, 2), 2)",
    "T.multinomial(T.ones(2), 3)",
    "T.multinomial(T.ones(2), 0)",
    "T.multinomial(T.ones(2).int(), 1)",
    "T.multinomial(T.zeros(2), 1)",
    "T.poisson(T.tensor([-1.0]))",
    "T.normal(0.0, -1.0, (2,))",
    "T.normal(T.ones(2), T.ones(3))",
    "T.normal(T.ones(2), -T.ones(2))",
    "T.ones(2).uniform_(2, 1)",
    "T.ones(2).int().uniform_()",
    "T.ones(2).int().normal_()",
    "T.ones(2).normal_(0, -1)",
    "T.ones(2).exponential_(-1)",
    "T.ones(2).int().exponential_()",
    "T.ones(2).geometric_(1.5)",
    "T.ones(2).cauchy_(0, -1)",
    "T.ones(2).log_normal_(0, -1)",
    "T.ones(2).random_(5, 2)",
    "T.ones(2, requires_grad=True).uniform_()",
    "T.rand(2, generator=3)",
    "T.randint(3)",
]


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = {}
    for T in LIBRARIES:
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T})
        errors[T] = caught.value
    assert isinstance(errors[fxt], built_in(errors[torch]))
    if "set_state" not in code and "generator" not in code:
        ours, theirs = (
            str(e).split("\n")[0].split("  ")[0].split(" arguments")[0] for e in (errors[fxt], errors[torch])
        )
        assert ours == theirs


def test_the_seed_of_devices():
    state = fxt.get_rng_state()
    try:
        assert fxt.cuda.manual_seed(3) is None and fxt.initial_seed() == 3
        assert fxt.cuda.manual_seed_all(4) is None and fxt.initial_seed() == 4
    finally:
        fxt.set_rng_state(state)
