"""torch.utils.checkpoint: gradients, what is run again and when, random numbers, and how it fails."""

from __future__ import annotations

import contextlib

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def checkpoint_of(torch):
    if torch is fxt:
        return fxt.utils.checkpoint
    from torch.utils import checkpoint

    return checkpoint


def leaves(torch):
    return torch.tensor([0.5, 2.0], requires_grad=True), torch.tensor([1.0, -1.0], requires_grad=True)


def counted(w):
    """A function that closes over a leaf, and the list to which it adds an entry for every run."""
    runs: list[int] = []

    def function(x):
        runs.append(1)
        return (x * w).sin() * x.exp()

    return function, runs


@scenario
def gradients(torch):
    found = []
    for reentrant in (True, False):
        x, w = leaves(torch)
        function, runs = counted(w)
        y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=reentrant)
        found.append((y, len(runs)))
        y.sum().backward()
        found.append((x.grad, w.grad, len(runs)))
    return found


@scenario
def autograd_grad_and_second_derivatives(torch):
    x, w = leaves(torch)
    function, runs = counted(w)
    y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False)
    g, h = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
    return g, h, len(runs), torch.autograd.grad((g * h).sum(), (x, w))


@scenario
def the_graph_is_kept(torch):
    x, w = leaves(torch)
    y = checkpoint_of(torch).checkpoint(counted(w)[0], x, use_reentrant=False)
    return [torch.autograd.grad(y.sum(), (x, w), retain_graph=True) for _ in range(2)]


@scenario
def nested_results_and_arguments(torch):
    x, w = leaves(torch)

    def function(a, *, scale, pair):
        return a * scale, {"sum": pair[0] + pair[1]}

    y, d = checkpoint_of(torch).checkpoint(function, x, scale=3.0, pair=(x, w), use_reentrant=False)
    return y, d, torch.autograd.grad((y * d["sum"]).sum(), (x, w))


@scenario
def within_one_another(torch):
    checkpoint = checkpoint_of(torch).checkpoint
    x, w = leaves(torch)

    def outer(a):
        return checkpoint(lambda b: (b * w).sin().exp(), a.cos(), use_reentrant=False) * a

    y = checkpoint(outer, x, use_reentrant=False)
    return y, torch.autograd.grad(y.sum(), (x, w))


@scenario
def contexts(torch):
    seen = []

    @contextlib.contextmanager
    def entered(name):
        seen.append(name)
        try:
            yield
        finally:
            pass

    x, w = leaves(torch)
    checkpoint_of(torch).checkpoint(
        counted(w)[0], x, use_reentrant=False, context_fn=lambda: (entered("first"), entered("second"))
    ).sum().backward()
    return seen


@scenario
def random_numbers_are_the_same(torch):
    def drawn(preserve):
        x = torch.ones(4, requires_grad=True)
        function = lambda a: a * torch.rand(4)  # noqa: E731
        options = {"use_reentrant": False, "preserve_rng_state": preserve}
        y = checkpoint_of(torch).checkpoint(function, x, **options)
        (g,) = torch.autograd.grad(y.sum(), x)
        return bool((g == y.detach()).all())

    return drawn(True), drawn(False)


@scenario
def sequences(torch):
    x, _ = leaves(torch)
    functions = [torch.sin, torch.cos, torch.exp, torch.tanh, torch.sin]
    sequential = checkpoint_of(torch).checkpoint_sequential
    ys = [sequential(functions, n, x, use_reentrant=r) for n in (1, 2, 5) for r in (True, False)]
    return ys, [torch.autograd.grad(y.sum(), x) for y in ys[1::2]]


def longer_the_second_time(stop):
    """The gradient of a function that does more when it is run again, where it may stop early, or not."""

    def run(torch):
        def function(a):
            runs.append(1)
            return a.sin().exp() if len(runs) == 1 else a.sin().exp().cos()

        runs = []
        x, _ = leaves(torch)
        checkpoints = torch.utils.checkpoint
        with checkpoints.set_checkpoint_early_stop(stop), checkpoints.set_checkpoint_debug_enabled(False):
            y = checkpoints.checkpoint(function, x, use_reentrant=False)
        return torch.autograd.grad(y.sum(), x), len(runs)

    return run


@pytest.mark.parametrize("stop", [True, False])
def test_early_stop(stop):
    check(longer_the_second_time(stop))


@scenario
def without_gradients(torch):
    x, w = leaves(torch)
    checkpoint = checkpoint_of(torch).checkpoint
    with torch.no_grad():
        ys = [checkpoint(counted(w)[0], x, use_reentrant=r) for r in (True, False)]
    return ys, checkpoint(lambda a: a * 2, x.detach(), use_reentrant=False)


@scenario.each()
def test_alike(scenario):
    check(scenario)


def changed(before, after, **options):
    """A function of the library that is another one when it is run again."""

    def run(torch):
        x = leaves(torch)[0]
        runs = []

        def function(a):
            runs.append(1)
            return (before if len(runs) == 1 else after)(a)

        y = checkpoint_of(torch).checkpoint(function, x, use_reentrant=False, **options)
        return torch.autograd.grad(y.sum(), x)

    return run


def modified(torch):
    x, w = leaves(torch)
    y = x * 1
    z = checkpoint_of(torch).checkpoint(counted(w)[0], y, use_reentrant=False)
    y.add_(1)
    z.sum().backward()


MISUSES = {
    "fewer operations": changed(lambda a: a.sin().cos(), lambda a: a.sin()),
    "more operations": changed(lambda a: a.sin(), lambda a: a.sin().cos()),
    "another shape": changed(lambda a: a.sin(), lambda a: a[:1].sin()),
    "an argument is modified": modified,
    "keywords with reentrance": lambda t: checkpoint_of(t).checkpoint(
        t.sin, leaves(t)[0], k=1, use_reentrant=True
    ),
    "contexts with reentrance": lambda t: checkpoint_of(t).checkpoint(
        t.sin, leaves(t)[0], use_reentrant=True, context_fn=lambda: ()
    ),
    "an unknown check": lambda t: checkpoint_of(t).checkpoint(
        t.sin, leaves(t)[0], use_reentrant=False, determinism_check="some"
    ),
    "keywords of a sequence": lambda t: checkpoint_of(t).checkpoint_sequential([t.sin], 1, leaves(t)[0], k=1),
    "autograd.grad with reentrance": lambda t: t.autograd.grad(
        checkpoint_of(t).checkpoint(t.sin, leaves(t)[0], use_reentrant=True).sum(), leaves(t)[0]
    ),
    "backward twice": lambda t: [
        y.backward()
        for y in [checkpoint_of(t).checkpoint(t.sin, leaves(t)[0], use_reentrant=False).sum()] * 2
    ],
}
PARTS = {"an argument is modified": 76}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name):
    def run(torch):
        try:
            return MISUSES[name](torch)
        except (RuntimeError, ValueError) as error:
            return type(error).__mro__[-3].__name__, str(error).partition("\n")[0][: PARTS.get(name)]

    check(run)


def test_use_reentrant_is_to_be_given():
    with pytest.warns(UserWarning, match="use_reentrant"):
        fxt.utils.checkpoint.checkpoint(fxt.sin, leaves(fxt)[0])


def test_inside_transforms():
    x = leaves(fxt)[0].detach()

    def block(a):
        return (a.sin() * a).tanh()

    def checkpointed(a):
        return fxt.utils.checkpoint.checkpoint(block, a, use_reentrant=False)

    func = fxt.func
    for transform in (
        lambda f: func.vmap(func.grad(f)),
        lambda f: func.grad(lambda a: func.grad(lambda b: f(b).sum())(a).sum()),
        lambda f: func.jacrev(f),
        lambda f: func.jacfwd(f),
        lambda f: func.hessian(lambda a: f(a).sum()),
    ):
        assert fxt.allclose(transform(checkpointed)(x), transform(block)(x))
