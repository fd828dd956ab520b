"""torch.func.vmap: dimensions, structures, randomness, chunks, writing in place, and how it fails."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),  # torch's own
    pytest.mark.usefixtures("double"),
]


def matrix(torch):
    return torch.arange(6.0).reshape(2, 3) / 4 - 1


@scenario
def dimensions(torch):
    x, vmap = matrix(torch), torch.vmap
    return (
        vmap(torch.sin)(x),
        vmap(torch.sum, in_dims=1)(x),
        vmap(lambda a: a * 2, in_dims=-1, out_dims=-1)(x),
        vmap(lambda a: a * 2, out_dims=(1,))(x),
        vmap(lambda a, b: a * b, in_dims=(0, None))(x, torch.ones(3)),
        vmap(lambda a, b: a @ b, in_dims=(0, 1))(x, x.t() * 2),
        vmap(lambda a: (a.sum(), a), out_dims=(0, 1))(x),
        vmap(lambda a: (a, [a, a + 1]), out_dims=(1, 0))(x),
    )


@scenario
def structures(torch):
    x, vmap = matrix(torch), torch.vmap
    return (
        vmap(
            lambda d: {"a": d["x"], "b": d["y"]}, in_dims=({"x": 0, "y": None},), out_dims={"a": 0, "b": None}
        )({"x": x, "y": torch.ones(3)}),
        vmap(lambda p, q: p[0] * p[1] + q, in_dims=((0, None), None))((x, torch.ones(3)), 2.0),
        vmap(lambda a: (a, None), out_dims=(0, None))(x),
        vmap(lambda a, k: a * k)(x, k=torch.ones(4, 3)),
    )


@scenario
def results_that_are_not_mapped(torch):
    x = matrix(torch)
    return torch.vmap(lambda a: torch.ones(3))(x), torch.vmap(
        lambda a: (a, torch.ones(3)), out_dims=(0, None)
    )(x)


@scenario
def within_itself(torch):
    x, vmap = matrix(torch), torch.vmap
    outer = vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))
    return outer(x[0], x[1]), vmap(vmap(lambda a: a.exp()), in_dims=1)(x)


@scenario
def chunks(torch):
    x = torch.arange(10.0).reshape(5, 2)
    return [torch.vmap(lambda a: (a * a, a.sum()), out_dims=(1, 0), chunk_size=n)(x) for n in (1, 2, 5, 9)]


@scenario
def no_entries(torch):
    return torch.vmap(torch.sin)(torch.ones(0, 2))


@scenario
def history_outside(torch):
    x = matrix(torch).requires_grad_()
    y = torch.vmap(lambda a: (a * a.sum()).sin())(x)
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def history_outside_of_what_is_closed_over(torch):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.vmap(lambda a: (a * w).sum())(matrix(torch))
    return y, torch.autograd.grad(y.exp().sum(), w)


@scenario
def no_grad_inside_holds_outside(torch):
    x = matrix(torch).requires_grad_()

    def function(a):
        with torch.no_grad():
            constant = a * 2
        return constant, a * constant, a.detach(), a.requires_grad

    *results, inside = torch.vmap(function, out_dims=(0, 0, 0, None))(x)
    return results, inside, torch.autograd.grad(results[1].sum(), x)


@scenario
def no_grad_outside_holds_inside(torch):
    x = matrix(torch).requires_grad_()
    with torch.no_grad():
        y = torch.vmap(lambda a: a * 2)(x)
    return y


@scenario
def rows_of_a_jacobian(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x.sum()
    return torch.vmap(lambda v: torch.autograd.grad(y, x, v, retain_graph=True))(torch.eye(3))


@scenario
def arguments_are_modified(torch):
    x, y = matrix(torch), matrix(torch)
    result = torch.vmap(lambda a: a.mul_(2).sum())(x)
    torch.vmap(lambda a: a[1:].add_(1), in_dims=1)(y)
    return result, x, y


@scenario
def an_argument_that_is_not_mapped_is_modified(torch):
    total = torch.zeros(3)
    torch.vmap(lambda a, b: (b.add_(1), a)[1], in_dims=(0, None))(matrix(torch), total)
    return total


@scenario
def ends_of_sequences(torch):
    low, high, vmap = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]), torch.vmap
    return (
        [vmap(lambda a, b, n=n: torch.linspace(a, b, n))(low, high) for n in (1, 2, 5)],
        vmap(lambda a: torch.linspace(a, 3, 4, dtype=torch.int64))(low),
        vmap(lambda a: torch.linspace(a, 3, 3))(low + 1j),
        vmap(lambda a, b: torch.logspace(a, b, 3, base=2.0))(low, high),
        vmap(lambda a: vmap(lambda b: torch.linspace(a, b, 3))(high))(low),
        vmap(torch.func.grad(lambda a: (a * torch.linspace(a, 3, 3)).sum()))(low),
    )


@scenario
def repeats(torch):
    x, counts = matrix(torch), torch.tensor([[1, 2, 3], [3, 2, 1]])
    return (
        torch.vmap(lambda a, n: a.repeat_interleave(n, output_size=6))(x, counts),
        torch.vmap(lambda a, n: a.repeat_interleave(n))(x, counts),
        torch.vmap(lambda n: torch.repeat_interleave(n))(counts),
        torch.vmap(lambda n: x.repeat_interleave(n, 1))(counts),
    )


@scenario
def counts(torch):
    x, vmap = matrix(torch), torch.vmap
    places = torch.tensor([[1, 2, 1], [0, 0, 2]])
    return (
        vmap(lambda a: torch.histc(a, 3))(x),
        vmap(lambda a: torch.histc(a, 3, -1, 1), in_dims=1)(x),
        list(vmap(lambda a: tuple(torch.histogram(a, 2)))(x)),
        vmap(lambda n: torch.bincount(n, minlength=3))(places),
        vmap(lambda n, w: torch.bincount(n, w, minlength=3))(places, x),
        vmap(lambda a: vmap(lambda n: torch.bincount(n, a, minlength=3))(places))(x),
        vmap(torch.func.grad(lambda a: (a * torch.histc(a, 3)).sum()))(x),
    )


@scenario
def counts_of_different_sizes(torch):
    return torch.vmap(torch.bincount)(torch.tensor([[1, 3], [0, 0]]))


@scenario
def repeats_of_different_sums(torch):
    return torch.vmap(torch.repeat_interleave)(matrix(torch), torch.tensor([[1, 2, 3], [1, 1, 1]]))


@scenario.each()
def test_alike(scenario):
    check(scenario)


def first(torch):
    return matrix(torch)[0]


MISUSES = {
    "a number": lambda t, x: t.vmap(lambda a: a)(3),
    "sizes": lambda t, x: t.vmap(lambda a, b: a)(x, t.ones(4)),
    "a list of dimensions": lambda t, x: t.vmap(lambda a: a, in_dims=[0])(x),
    "a name of a dimension": lambda t, x: t.vmap(lambda a: a, in_dims="x")(x),
    "no dimension at all": lambda t, x: t.vmap(lambda a: a, in_dims=None)(x),
    "a dimension that is not there": lambda t, x: t.vmap(lambda a: a, in_dims=2)(x),
    "a number without axes": lambda t, x: t.vmap(lambda a: a)(t.ones(())),
    "too many dimensions": lambda t, x: t.vmap(lambda a: a, in_dims=(0, 0))(x),
    "another structure": lambda t, x: t.vmap(lambda a: a, in_dims=({"a": 0},))({"a": x, "b": x}),
    "no inputs": lambda t, x: t.vmap(lambda: 1)(),
    "a result that is no Tensor": lambda t, x: t.vmap(lambda a: 3)(x),
    "None for a mapped result": lambda t, x: t.vmap(lambda a: a, out_dims=None)(x),
    "more out_dims than results": lambda t, x: t.vmap(lambda a: a, out_dims=(0, 0))(x),
    "fewer out_dims than results": lambda t, x: t.vmap(lambda a: (a, a), out_dims=(0,))(x),
    "a name of an out_dim": lambda t, x: t.vmap(lambda a: a, out_dims="x")(x),
    "an out_dim that is not there": lambda t, x: t.vmap(lambda a: a, out_dims=3)(x),
    "unknown randomness": lambda t, x: t.vmap(lambda a: a, randomness="some")(x),
    "chunks of nothing": lambda t, x: t.vmap(lambda a: a, chunk_size=0)(x),
    "random numbers": lambda t, x: t.vmap(lambda a: t.rand(2))(x),
    "an item": lambda t, x: t.vmap(lambda a: a.sum().item())(x),
    "a float": lambda t, x: t.vmap(lambda a: float(a.sum()))(x),
    "a condition": lambda t, x: t.vmap(lambda a: a if a.sum() > 0 else -a)(x),
    "a batched value for what is not mapped": lambda t, x: t.vmap(lambda a, b: b.add_(a), in_dims=(0, None))(
        x, x[0]
    ),
}
BEGINNINGS = {  # of messages that go on with torch's description of structures, or with a request to report
    "too many dimensions": 40,
    "another structure": 40,
    "more out_dims than results": 40,
    "fewer out_dims than results": 40,
    "an item": 100,
    "a float": 100,
    "a condition": 100,
    "a batched value for what is not mapped": 0,
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name):
    def run(torch):
        try:
            return MISUSES[name](torch, matrix(torch))
        except Exception as error:
            line = str(error).partition("\n")[0].strip()
            kind = next(c.__name__ for c in (RuntimeError, ValueError, IndexError) if isinstance(error, c))
            return kind, line[: BEGINNINGS.get(name)]

    check(run)


def test_same_and_different_random_numbers():
    x = fxt.ones(4, 2)
    same = fxt.vmap(lambda a: (fxt.randn(3), a), randomness="same")(x)[0].numpy()
    different = fxt.vmap(lambda a: fxt.randn(3), randomness="different")(x).numpy()
    assert same.shape == different.shape == (4, 3)
    assert (same == same[0]).all()
    assert len(np.unique(different)) == different.size
    nested = fxt.vmap(fxt.vmap(lambda a: fxt.randn(3), randomness="different"), randomness="same")(x).numpy()
    assert nested.shape == (4, 2, 3)
    assert (nested == nested[0]).all()
    assert len(np.unique(nested[0])) == 6


def test_chunks_share_random_numbers_that_are_to_be_the_same():
    drawn = fxt.vmap(lambda a: fxt.randn(3), randomness="same", chunk_size=2)(fxt.ones(5)).numpy()
    assert (drawn == drawn[0]).all()


def test_a_tensor_that_escapes_cannot_be_used():
    found = []
    fxt.vmap(lambda a: found.append(a * 2) or a)(fxt.ones(3))
    with pytest.raises(RuntimeError, match="outside that transform"):
        found[0] + 1


# Functions of a library and a mapped x, and how torch refuses them.
OF_UNKNOWN_SHAPE = {
    "nonzero": (
        lambda t, x: x.nonzero(),
        "We do not support batching operators that can output dynamic shape",
    ),
    "where": (
        lambda t, x: t.where(x > 0),
        "We do not support batching operators that can output dynamic shape",
    ),
    "unique": (
        lambda t, x: t.unique(x),
        "We do not support batching operators that can output dynamic shape",
    ),
    "unique_consecutive": (lambda t, x: x.unique_consecutive(), "operators that can output dynamic shape"),
    "a mask as index": (lambda t, x: x[x > 0], "Attempting to batch over indexing with a boolean mask"),
    "masked_select": (
        lambda t, x: x.masked_select(x > 0),
        "Attempted to vmap over `mask` in torch.masked_select",
    ),
    "one_hot": (
        lambda t, x: t.nn.functional.one_hot(x.long()),
        "please provide an explicit positive num_classes",
    ),
    "item": (lambda t, x: x.sum().item(), r"It looks like you're calling .item\(\) on a Tensor"),
    "if": (
        lambda t, x: x if x.sum() > 0 else -x,
        "attempting to use a Tensor in some data-dependent control flow",
    ),
}


@pytest.mark.parametrize("library", ["torch", "fxgrad.compat"])
@pytest.mark.parametrize("name", OF_UNKNOWN_SHAPE)
def test_what_differs_between_entries_is_refused(name, library):
    library = pytest.importorskip(library)
    function, words = OF_UNKNOWN_SHAPE[name]
    with pytest.raises(RuntimeError, match=words):
        library.vmap(lambda x: function(library, x))(matrix(library).abs())


def test_batch_norm_without_statistics_is_mapped():
    tracking = fxt.nn.InstanceNorm1d(2, track_running_stats=True)
    model = fxt.nn.Sequential(fxt.nn.Linear(3, 2), fxt.nn.BatchNorm1d(2), tracking)
    with pytest.raises(RuntimeError):
        fxt.vmap(lambda x: model[:2](x))(fxt.rand(4, 5, 3))
    assert fxt.func.replace_all_batch_norm_modules_(model) is model
    assert fxt.vmap(lambda x: model[:2](x))(fxt.rand(4, 5, 3)).shape == (4, 5, 2)
    norm = model[1]
    assert norm.running_mean is norm.running_var is norm.num_batches_tracked is None
    assert not norm.track_running_stats
    assert tracking.running_mean is not None


def test_the_places_of_a_condition_differ_from_entry_to_entry():
    with pytest.raises(RuntimeError, match="aten::where"):
        fxt.vmap(fxt.where)(fxt.tensor([[True, False], [False, True]]))
