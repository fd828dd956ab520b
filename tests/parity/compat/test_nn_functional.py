"""What nn.functional does besides computing: running statistics, what it draws, and large arguments."""

import inspect
import math

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

LIBRARIES = (torch, fxt)


def array(t, *values):
    return t.tensor(values, dtype=t.float64)


def both(run):
    """The results of a program under both libraries, as arrays."""
    return [
        [np.asarray(r.detach().numpy()) for r in run(library, library.nn.functional)] for library in LIBRARIES
    ]


def same(run):
    theirs, ours = both(run)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("momentum", [0.1, 0.5])
def test_batch_norm_moves_the_running_statistics(momentum):
    def run(t, F):
        x = t.arange(24, dtype=t.float64).reshape(4, 2, 3).sin()
        mean, var = t.zeros(2, dtype=t.float64), t.ones(2, dtype=t.float64)
        F.batch_norm(x, mean, var, training=True, momentum=momentum)
        F.batch_norm(x, mean, var, training=False)
        return mean, var

    same(run)


def test_instance_norm_moves_them_to_the_mean_over_the_batch():
    def run(t, F):
        x = t.arange(24, dtype=t.float64).reshape(4, 2, 3).sin()
        mean, var = t.zeros(2, dtype=t.float64), t.ones(2, dtype=t.float64)
        return F.instance_norm(x, mean, var), mean, var

    same(run)


def test_embedding_shortens_rows_in_place():
    def run(t, F):
        table = t.arange(6, dtype=t.float64).reshape(3, 2).clone()
        return F.embedding(t.tensor([2, 2, 0]), table, max_norm=1.0), table

    same(run)


def dropped(name, **options):
    """The Tensor of ones after a dropout, and its gradient."""
    fxt.manual_seed(3)
    x = fxt.ones(50, 40, 5, requires_grad=True)
    y = getattr(fxt.nn.functional, name)(x, **options)
    y.sum().backward()
    return y.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_dropout_scales_what_it_keeps(p):
    y, gradient = dropped("dropout", p=p)
    np.testing.assert_array_equal(y, gradient)
    np.testing.assert_allclose(np.unique(y), [0, 1 / (1 - p)], rtol=1e-6)
    assert abs((y == 0).mean() - p) < 0.02
    again, _ = dropped("dropout", p=p)
    np.testing.assert_array_equal(y, again)


def test_dropout_of_channels_is_of_whole_ones():
    y, _ = dropped("dropout1d", p=0.5)
    assert np.array_equal(y.min(-1), y.max(-1)) and abs((y == 0).mean() - 0.5) < 0.05


def test_alpha_dropout_keeps_mean_and_variance():
    fxt.manual_seed(0)
    x = fxt.randn(200, 200)
    y = fxt.nn.functional.alpha_dropout(x, 0.3, training=True).numpy()
    assert abs(y.mean()) < 0.02 and abs(y.var() - 1) < 0.03


def test_dropout_without_training_is_the_operand_itself():
    for library in LIBRARIES:
        x = library.ones(3)
        assert library.nn.functional.dropout(x, training=False) is x
        assert not library.nn.functional.dropout(x, 1.0).numpy().any()


def test_attention_drops_weights():
    fxt.manual_seed(0)
    q = fxt.zeros(100, 4)
    y = fxt.nn.functional.scaled_dot_product_attention(q, q, fxt.ones(100, 1), dropout_p=0.5).numpy()
    assert 0 < y.std() < 0.3 and abs(y.mean() - 1) < 0.1


def test_rrelu_draws_slopes_in_its_bounds():
    fxt.manual_seed(0)
    y = fxt.nn.functional.rrelu(-fxt.ones(1000), 0.1, 0.4, training=True).numpy()
    assert -0.4 <= y.min() < -0.38 and -0.12 < y.max() <= -0.1


def test_gumbel_softmax_draws_by_the_probabilities():
    fxt.manual_seed(0)
    logits = fxt.log(fxt.tensor([0.7, 0.3])).expand(2000, 2).clone().requires_grad_()
    hard = fxt.nn.functional.gumbel_softmax(logits, hard=True)
    hard[:, 0].sum().backward()
    rows = hard.detach().numpy()
    assert set(np.unique(rows.round(6))) == {0.0, 1.0} and abs(rows[:, 0].mean() - 0.7) < 0.03
    assert np.abs(logits.grad.numpy()).max() > 0


def test_large_arguments_where_torch_overflows():
    F = fxt.nn.functional
    x = array(fxt, -900.0, 900.0).requires_grad_()
    y = F.soft_margin_loss(x, array(fxt, 1.0, 1.0), reduction="sum")
    y.backward()
    assert y.item() == 900.0 and x.grad.tolist() == [-1.0, -0.0]
    x = array(fxt, 800.0).requires_grad_()
    (slope,) = fxt.autograd.grad(F.mish(x).sum(), x, create_graph=True)
    assert fxt.autograd.grad(slope.sum(), x)[0].item() == 0.0
    x = array(fxt, 40.0).requires_grad_()
    F.logsigmoid(x).backward()
    assert math.isclose(x.grad.item(), math.exp(-40.0), rel_tol=1e-12)


BYTES = [
    "F.interpolate(x, size=(5, 7), mode='bilinear')",
    "F.interpolate(x, size=(5, 7), mode='bicubic')",
    "F.interpolate(x, size=(2, 2), mode='bilinear', antialias=True)",
    "F.interpolate(x, size=(2, 2), mode='bicubic', antialias=True)",
    "F.interpolate(x, scale_factor=1.5)",
]
SIZES = [
    "F.interpolate(x, size=2, mode='lanczos')",
    "F.interpolate(x[0], size=2, mode='bilinear')",
    "F.interpolate(x[0, 0], size=2)",
    "F.interpolate(x, size=2, mode='foo')",
    "F.interpolate(x)",
    "F.interpolate(x, size=(2,))",
    "F.interpolate(x, scale_factor=(2.0,))",
    "F.interpolate(x, size=2, recompute_scale_factor=True)",
    "F.interpolate(x, size=2, antialias=True)",
    "F.fractional_max_pool2d(x, 2)",
    "F.linear_cross_entropy(x[0, 0], x[0, 0, :, :2], x)",
]


@pytest.mark.parametrize("code", BYTES)
def test_images_of_bytes(code):
    results = [
        eval(code, {"F": T.nn.functional, "x": (T.arange(24).view(1, 2, 3, 4) * 11 % 256).to(T.uint8)})
        for T in LIBRARIES
    ]
    assert results[1].tolist() == results[0].tolist()


@pytest.mark.parametrize("code", SIZES)
def test_sizes_that_do_not_fit(code):
    errors = []
    for T in LIBRARIES:
        with pytest.raises((ValueError, RuntimeError, NotImplementedError)) as caught:
            eval(code, {"F": T.nn.functional, "x": T.arange(24.0).view(1, 2, 3, 4)})
        errors.append((caught.value, str(caught.value).partition("\n  at:")[0]))
    theirs, ours = errors[:: 1 if LIBRARIES[0] is torch else -1]
    assert ours[1] == theirs[1]
    assert isinstance(ours[0], type(theirs[0]))


def listed(function) -> list[tuple]:
    """The parameters of a function, in their order, with their defaults."""
    return [(p.name, p.default) for p in inspect.signature(function).parameters.values()]


# torch dispatches these, or leaves something out.
OTHER_SIGNATURES = {
    *(f"{kind}_pool{n}d" for kind in ("max", "adaptive_max") for n in (1, 2, 3)),
    *(f"adaptive_max_pool{n}d_with_indices" for n in (1, 2, 3)),
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "normalize",
}
IN_PYTHON = {name for name, found in vars(torch.nn.functional).items() if inspect.isfunction(found)}


@pytest.mark.parametrize("name", sorted(IN_PYTHON & {*dir(fxt.nn.functional)} - OTHER_SIGNATURES))
def test_parameters_have_their_order_and_defaults(name):
    theirs, ours = (getattr(library.nn.functional, name) for library in LIBRARIES)
    assert [p for p in listed(ours) if p[0] != "out"] == listed(theirs)


LOSSES = {
    "mse_loss": lambda t: (array(t, 1.0, 3.0), array(t, 0.5, -1.0)),
    "poisson_nll_loss": lambda t: (array(t, 1.0, 3.0), array(t, 2.0, 1.0)),
    "margin_ranking_loss": lambda t: (array(t, 1.0, 3.0), array(t, 2.0, 1.0), array(t, 1.0, 1.0)),
    "nll_loss": lambda t: (array(t, [-1.0, -2.0], [-3.0, -0.5]), t.tensor([1, 0])),
    "cross_entropy": lambda t: (array(t, [1.0, 2.0], [3.0, 0.5]), t.tensor([1, 0])),
    "multi_margin_loss": lambda t: (array(t, [1.0, 2.0], [3.0, 0.5]), t.tensor([1, 0])),
}


@pytest.mark.filterwarnings("ignore:size_average and reduce args will be deprecated")
@pytest.mark.parametrize("name", LOSSES)
def test_deprecated_arguments_ask_for_a_reduction(name):
    def run(t, F):
        given = [(None, False), (None, True), (False, None), (True, None), (False, True), (True, False)]
        options = [{"size_average": a, "reduce": b} for a, b in given]
        return [getattr(F, name)(*LOSSES[name](t), **option) for option in options]

    same(run)
