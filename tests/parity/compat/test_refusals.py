"""What torch refuses, warns of, or answers at the edges of single operations; what is refused changes nothing."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import check_same

BOTH = pytest.mark.parametrize("t", [fxt, torch])
ONE = {"requires_grad": True}

REFUSED = {
    "full of what has a history": lambda t: t.full((2,), t.ones((), **ONE)),
    "new_full of what has a history": lambda t: t.ones(2).new_full((2,), t.ones((), **ONE)),
    "full_like of what has a history": lambda t: t.full_like(t.ones(2), t.ones((), **ONE)),
    "full of a vector": lambda t: t.full((2,), t.ones(1)),
    "fill_ with a vector": lambda t: t.ones(2).fill_(t.ones(1)),
    "renorm of a vector": lambda t: t.renorm(t.ones(3), 2, 0, 1),
    "renorm_ of a number": lambda t: t.tensor(1.0).renorm_(2, 0, 1),
    "renorm of integers": lambda t: t.renorm(t.ones(2, 2, dtype=t.int64), 2, 0, 1),
    "normal of a vector and a size": lambda t: t.normal(t.zeros(1), 1.0, size=(2,)),
    "normal of numbers alone": lambda t: t.normal(0.0, 1.0),
    "normal of a size that is none": lambda t: t.normal(0.0, 1.0, 2),
    "no samples": lambda t: t.distributions.Categorical(t.ones(3)).sample((0,)),
    "a target out of range": lambda t: t.nn.functional.multi_margin_loss(t.ones(2), t.tensor(2)),
    "a target for each of two": lambda t: t.nn.functional.multi_margin_loss(t.ones(3), t.tensor([0, 1])),
    "targets of another size": lambda t: t.nn.functional.multilabel_margin_loss(t.ones(3), t.tensor([0, 1])),
    "no classes": lambda t: t.nn.functional.multi_margin_loss(t.ones(2, 0), t.tensor([0, 0])),
    "sum_to_size of nothing": lambda t: t.ones(2).sum_to_size(),
    "momentum that is no number": lambda t: t.nn.functional.batch_norm(
        t.ones(3, 2), t.zeros(2), t.ones(2), training=True, momentum=None
    ),
}  # fmt: skip
UNPOOLED = {
    "places that are no integers": lambda f, x, i: f(x, i.float(), 2),
    "places of int32": lambda f, x, i: f(x, i.int(), 2),
    "places outside": lambda f, x, i: f(x, i + 1000, 2),
    "negative places": lambda f, x, i: f(x, i - 1000, 2),
    "fewer places": lambda f, x, i: f(x, i[..., :1], 2),
    "a size too large": lambda f, x, i: f(x, i, 2, output_size=[9] * (x.ndim - 2)),
    "a size of other rank": lambda f, x, i: f(x, i, 2, output_size=[5] * (x.ndim - 1)),
    "no channels": lambda f, x, i: f(x[:, :0], i[:, :0], 2),
    "integers": lambda f, x, i: f(x.int(), i, 2),
    "an image without channels": lambda f, x, i: f(x[0, 0], i[0, 0], 2),
}


def error_class(act) -> type[BaseException]:
    with pytest.raises(Exception) as caught:
        act()
    return type(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    assert issubclass(error_class(lambda: REFUSED[name](fxt)), error_class(lambda: REFUSED[name](torch)))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_what_cannot_be_unpooled(rank):
    for name, act in UNPOOLED.items():
        classes = []
        for t in (fxt, torch):
            x, places = pooled(t, rank)
            unpool = getattr(t.nn.functional, f"max_unpool{rank}d")
            classes.append(
                error_class(lambda act=act, unpool=unpool, x=x, places=places: act(unpool, x, places))
            )
        assert issubclass(*classes), name


def pooled(t, rank: int):
    x = t.arange(4.0**rank).reshape(1, 1, *[4] * rank)
    return getattr(t.nn.functional, f"max_pool{rank}d")(x, 2, return_indices=True)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_gradients_of_maxima_that_windows_share(rank):
    found = []
    for t in (fxt, torch):
        x = t.arange(4.0**rank, dtype=t.float64).flip(0).reshape(1, 1, *[4] * rank)
        x, places = getattr(t.nn.functional, f"max_pool{rank}d")(x, 3, 1, 1, return_indices=True)
        x = x.detach().requires_grad_()
        y = getattr(t.nn.functional, f"max_unpool{rank}d")(x, places, 3, 1, 1)
        weights = t.arange(1.0, 1.0 + 4**rank, dtype=t.float64).reshape(y.shape)
        (grad,) = t.autograd.grad((y * y * weights).sum(), x, create_graph=True)
        (second,) = t.autograd.grad(grad.sum(), x)
        found.append([y, grad, second])
    check_same(*found, 1e-12)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3)])
def test_margins_of_few_scores(name, reduction, shape):
    found = []
    for t in (fxt, torch):
        x = t.full(shape, 0.5, dtype=t.float64, requires_grad=True)
        target = t.zeros(
            shape[:1] if name == "multi_margin_loss" and len(shape) > 1 else shape, dtype=t.int64
        )
        loss = getattr(t.nn.functional, name)(x, target, reduction=reduction)
        loss.sum().backward()
        found.append([loss, x.grad])
    if shape != (0, 3) or reduction == "none":
        check_same(*found, 1e-12)
    else:  # of nothing torch returns what is in the memory of its result
        np.testing.assert_equal(found[0][0].item(), 0.0 if reduction == "sum" else np.nan)


@BOTH
def test_sums_to_no_dimensions(t):
    for dtype in (t.int32, t.bool, t.int64, t.float32):
        found = t.ones((), dtype=dtype).sum_to_size(())
        assert found.dtype is (t.float32 if dtype is t.float32 else t.int64)


@pytest.mark.parametrize("momentum", [-1e39, 1e39, 1e308, float("inf"), float("nan"), -0.5, 2])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_of_any_momentum(name, momentum):
    found = []
    for t in (fxt, torch):
        mean, variance = t.zeros(2), t.ones(2)
        shape = (2, 2, 3) if name == "instance_norm" else (6, 2)
        training = {"use_input_stats": True} if name == "instance_norm" else {"training": True}
        x = t.arange(12.0).reshape(shape)
        getattr(t.nn.functional, name)(x, mean, variance, momentum=momentum, **training)
        found.append([mean, variance])
    check_same(*found, 1e-5)


def test_both_running_statistics_change_or_none():
    mean, variance = fxt.zeros(2), fxt.ones(2, dtype=fxt.int64)
    with pytest.raises(RuntimeError, match="expect parameter to have scalar type of Float"):
        fxt.nn.functional.batch_norm(fxt.arange(6.0).reshape(3, 2), mean, variance, training=True)
    assert (mean.tolist(), variance.tolist()) == ([0, 0], [1, 1])


@BOTH
def test_normalization_keeps_half_precision_beside_single(t):
    x, w = t.arange(12.0).reshape(3, 4).to(t.bfloat16).requires_grad_(), t.ones(4, requires_grad=True)
    functional = t.nn.functional
    for y in (
        functional.layer_norm(x, (4,), w, w),
        functional.batch_norm(x, t.zeros(4), t.ones(4), w, w, training=True),
        functional.batch_norm(x, t.zeros(4), t.ones(4), w, w),
        functional.group_norm(x, 2, w, w),
    ):
        assert y.dtype is t.bfloat16
        x.grad = w.grad = None
        y.sum().backward()
        assert (x.grad.dtype, w.grad.dtype) == (t.bfloat16, t.float32)


@BOTH
@pytest.mark.parametrize("pre", [False, True])
def test_hooks_of_modules_whose_inputs_have_no_gradient_warn(t, pre):
    module = t.nn.Linear(2, 2)
    getattr(module, f"register_full_backward{'_pre' * pre}_hook")(lambda *args: None)
    with pytest.warns(UserWarning, match="Full backward hook is firing when gradients are computed") as found:
        module(t.ones(1, 2)).sum().backward()
    assert found[0].filename == __file__
    module(t.ones(1, 2, requires_grad=True)).sum().backward()  # without one


def test_polynomials_of_huge_degree_end(monkeypatch):
    monkeypatch.setattr("fxgrad.kernels.orthogonal_polynomials.MOST_STEPS", 1000)
    x = fxt.tensor([0.0, 0.5, 2.0])
    assert fxt.special.hermite_polynomial_h(x, fxt.tensor(3e9)).isnan().all()
    with pytest.raises(RuntimeError, match="its recurrence has a step for each degree"):
        fxt.special.legendre_polynomial_p(x, 3e9)


@BOTH
def test_gradients_of_convolutions(t):
    x, g = t.ones(1, 2, 4, 4), t.ones(1, 3, 2, 2)
    w = t.ones(3, 2, 2, 2, requires_grad=True)
    found = t.nn.grad.conv2d_input(x.shape, w, g, stride=2)
    assert (tuple(found.shape), found.sum().item(), found.requires_grad) == ((1, 2, 4, 4), 96.0, True)
    found = t.nn.grad.conv2d_weight(x, w.shape, g, stride=2)
    assert (tuple(found.shape), found.sum().item()) == ((3, 2, 2, 2), 96.0)


@BOTH
def test_passes_of_loaders_have_torchs_names(t):
    names = import_module(f"{t.__name__}.utils.data.{'dataloader' if t is torch else 'iteration'}")
    found = iter(t.utils.data.DataLoader([1, 2, 3]))
    assert isinstance(found, names._SingleProcessDataLoaderIter)
    assert isinstance(found, names._BaseDataLoaderIter)
    assert issubclass(names._MultiProcessingDataLoaderIter, names._BaseDataLoaderIter)
