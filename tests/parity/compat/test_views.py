"""What a view shares and says of itself, under torch and fxgrad.compat; and views inside transforms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad as fx
import fxgrad.compat as fxt
import fxgrad.numpy as fnp

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def leaf(library):
    return library.from_numpy(np.arange(1.0, 7.0).reshape(2, 3) / 4).requires_grad_()


def same(program):
    ours, theirs = program(fxt), program(torch)
    assert ours == theirs
    return ours


def test_views_share_memory_versions_and_base():
    def program(library):
        y = leaf(library) * 1
        v, w = y[0], y[0][1:]
        w.mul_(2)
        detached, data = y.detach(), y.data
        detached.add_(1)
        data.add_(1)
        return [
            [t._version for t in (y, v, w, detached, data)],
            [t._is_view() for t in (y, v, w, detached, data)],
            [t._base is y for t in (v, w)],
            [t.tolist() for t in (y, v, w)],
            [t.grad_fn.name().partition("Backward")[0] for t in (y,)],
        ]

    same(program)


def test_history_follows_modifications_of_base_and_view():
    def program(library):
        x = leaf(library)
        y = x * 1
        v, w = y[0], y.t()
        v.mul_(3)
        y.sin_()
        w[0].exp_()
        total = (v * v).sum() + (w * w).sum() + y.sum()
        total.backward()
        return [round(g, 9) for g in x.grad.reshape(-1).tolist()]

    same(program)


def test_second_derivatives_through_modified_views():
    def program(library):
        x = leaf(library)
        y = x * x
        y[0].mul_(x[1])
        (g,) = library.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = library.autograd.grad((g * g).sum(), x)
        return [round(a, 6) for a in h.reshape(-1).tolist()]

    same(program)


# Tensors of another order in memory than their dimensions', or with gaps, and a view of each that is written into.
LAYOUTS = {
    "transposed": lambda t, x: (lambda y: (y, y.t().view(6)[1:3]))(x.t() * 1),
    "view of a transpose": lambda t, x: (lambda y: (y, y.t()[1]))(x * 1),
    "one entry": lambda t, x: (lambda y: (y, y[0, 0]))(x * 1),
    "gaps": lambda t, x: (lambda y: (y, y[:, 1]))(t.from_numpy(np.zeros((2, 6))[:, ::2]).copy_(x)),
    "strides over gaps": lambda t, x: (lambda y: (y, y.as_strided((2, 2), (6, 2), 2)))(
        t.from_numpy(np.zeros((2, 6))[:, ::2]).copy_(x)
    ),
    "diagonal of every second row": lambda t, x: (lambda y: (y, y.t().diagonal()))((x * 1).t()[::2]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_what_a_view_overwrites_in_any_layout(layout):
    def program(library):
        x = leaf(library)
        factor = library.arange(2.0, dtype=library.float64).add(0.5).requires_grad_()
        y, v = LAYOUTS[layout](library, x * x)
        v.mul_(factor if v.shape else factor[0])
        loss = (y * y * y).sum() + (v * v).sum()
        once = library.autograd.grad(loss, (x, factor), retain_graph=True)
        ones = library.ones(2, dtype=library.float64)
        batched = library.autograd.grad(loss, (x, factor), ones, retain_graph=True, is_grads_batched=True)
        first = library.autograd.grad(loss, (x, factor), create_graph=True)
        second = library.autograd.grad((first[0] * x).sum() + (first[1] * factor).sum(), (x, factor))
        return [g.tolist() for g in (*once, *batched, *first, *second)]

    for ours, theirs in zip(program(fxt), program(torch), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_a_view_looked_at_in_inference_mode_keeps_its_history():
    def program(library):
        x = leaf(library)
        y = x * 1
        v = y.view(6)
        y.mul_(2)
        with library.inference_mode():
            v.sum()
        v.sum().backward()
        return x.grad.tolist()

    same(program)


def test_a_view_whose_base_was_given_other_memory():
    def program(library):
        x = leaf(library)
        y = x * 1
        v = y.view(6)
        with library.no_grad():
            y.data = library.ones(2, 3, dtype=library.float64)
        w = y.view(6)
        y.mul_(x)
        w.sum().backward()
        return x.grad.tolist(), w.tolist(), len(v)

    same(program)


def test_real_and_imaginary_parts_are_views():
    def program(library):
        x = library.from_numpy(np.array([1.0 + 2j, -0.5j])).requires_grad_()
        y = x * 1
        y.real.mul_(3)
        y.imag = y.real * 2
        pairs = library.view_as_real(y)
        pairs[..., 1].mul_(-1)
        (y * y.conj()).real.sum().backward()
        return y.tolist(), x.grad.tolist()

    same(program)


def test_numpy_memory_is_shared_both_ways():
    def program(library):
        a = np.zeros(4)
        first, second = library.from_numpy(a), library.from_numpy(a[1:3])
        first[1] = 5
        a[2] = 7
        second.mul_(2)
        first.numpy()[3] = 1
        return a.tolist(), first.tolist(), second.tolist(), first._version, second._version

    same(program)


def test_shape_changed_in_place():
    def program(library):
        x = leaf(library)
        y = x * 1
        y.t_().unsqueeze_(0)
        y[0].transpose_(0, 1).mul_(library.arange(6.0, dtype=library.float64).view(2, 3))
        (y * y).sum().backward()
        return tuple(y.shape), y.stride(), y._version, x.grad.tolist()

    same(program)


def test_as_strided_scatter_keeps_the_gradient_of_the_rest():
    # torch hands the part's gradient to the first operand, which is replaced there.
    x, part = fxt.zeros(6, requires_grad=True), fxt.ones(2, requires_grad=True)
    fxt.as_strided_scatter(x, part, (2,), (2,), 1).mul(fxt.arange(6.0)).sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 0, 4, 5] and part.grad.tolist() == [1, 3]


def test_history_of_what_lies_outside_of_a_view():
    x = fxt.ones(4, requires_grad=True)
    (x * 1)[::3].as_strided((2,), (1,)).sum().backward()  # torch has [1, 0, 0, 0]
    assert x.grad.tolist() == [1, 1, 0, 0]


def test_a_view_of_a_tensor_whose_shape_was_changed_is_refused():
    y = fxt.ones(2, 3, requires_grad=True) * 1
    view = y[0]
    y.t_().mul_(2)
    with pytest.raises(NotImplementedError, match="own shape was changed in place"):
        view.sum()


# -- inside transforms -----------------------------------------------------------------------------------------------
BATCH = np.arange(6.0).reshape(2, 3) + 1


def check_mapped(function):
    """The function under vmap is the function of each row; its derivative is that of fxgrad's own `where`-free form."""
    mapped = fxt.func.vmap(function)(fxt.from_numpy(BATCH))
    rows = [function(fxt.from_numpy(row)) for row in BATCH]
    np.testing.assert_allclose(mapped.numpy(), np.stack([r.numpy() for r in rows]))
    x = fxt.from_numpy(BATCH.copy()).requires_grad_()
    fxt.func.vmap(function)(x).sum().backward()
    z = fxt.from_numpy(BATCH.copy()).requires_grad_()
    sum(function(row).sum() for row in z).backward()
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy())


def batched_into_unbatched(x):
    y = fxt.zeros(3, dtype=fxt.float64)
    y[0] = x.sum()
    y[1:].add_(x[1:] * 2)
    return y


def views_of_views(x):
    y = x.clone()
    y.view(3, 1).t()[0, 1:].mul_(y[0])
    return y


def base_after_view(x):
    y = fxt.zeros(3, dtype=fxt.float64)
    v = y[1:]
    d = y.detach()
    y.add_(x)
    v.mul_(x[0])
    return fxt.cat([v, d])


def chosen(x):
    y = fxt.ones(3, dtype=fxt.float64)
    y[[0, 2]] = x[:2]
    y.index_add_(0, fxt.tensor([1, 1]), x[1:])
    return y


def complex_parts(x):
    z = fxt.complex(x, x * 2)
    z.real.mul_(x[0])
    fxt.view_as_real(z)[..., 1].add_(1)
    return z.real * z.imag


@pytest.mark.parametrize(
    "function",
    [batched_into_unbatched, views_of_views, base_after_view, chosen, complex_parts],
    ids=lambda f: f.__name__,
)
def test_mapped(function):
    check_mapped(function)


def test_a_tensor_from_outside_is_not_given_a_traced_value():
    outside = fxt.zeros(3)
    with pytest.raises(
        RuntimeError, match=r"^vmap: inplace arithmetic\(self, \*extra_args\) is not possible"
    ):
        fxt.func.vmap(lambda x: outside[0].add_(x.sum()))(fxt.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"\(aten::add_\) that would mutate a captured Tensor"):
        fxt.func.grad(lambda x: outside[0].add_(x.sum()))(fxt.ones(3))
    assert outside.tolist() == [0, 0, 0]


def test_layout_of_traced_values():
    def function(x):
        assert x.t().stride() == (1, 3) and not x.t().is_contiguous() and x.t().contiguous().is_contiguous()
        y = x.clone()
        y.t().reshape(-1).zero_()  # a copy
        y.view(-1)[0] = 7
        return y

    assert fxt.func.vmap(function)(fxt.ones(2, 2, 3))[0].tolist() == [[7, 1, 1], [1, 1, 1]]


def test_gradient_against_fxgrad():
    def ours(x):
        y = x * 1
        y[0] = y[1].clone() * y[2].clone()
        y[1:].mul_(y[0].clone())
        return (y * y).sum()

    def reference(x):
        first = x[1] * x[2]
        return first**2 + fnp.sum((x[1:] * first) ** 2)

    x = np.array([0.3, -1.2, 0.7])
    np.testing.assert_allclose(fxt.func.grad(ours)(fxt.from_numpy(x)).numpy(), fx.grad(reference)(x))
