"""Normalizations beside torch's, in all layouts and for every choice of what requires a gradient: the cotangents that
are written out, and those derived from them."""

from itertools import product

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

LAYOUTS = {
    "rows": (lambda F, x, w, b: F.layer_norm(x, (70,), w, b), (40, 70), 70),
    "rows of one": (lambda F, x, w, b: F.layer_norm(x, (1,), w, b, 0.1), (3, 1), 1),
    "channels": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (9, 40, 17), 40),
    "channels of a matrix": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (700, 30), 30),
    "groups": (lambda F, x, w, b: F.group_norm(x, 4, w, b), (3, 8, 7, 9), 8),
    "each channel": (lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b), (3, 4, 200), 4),
}


def results(library, function, arrays, wanted):
    """The result, the gradients of those wanted, and gradients of a sum of these."""
    tensors = [library.from_numpy(a.copy()).requires_grad_(w) for a, w in zip(arrays, wanted)]
    leaves = [x for x, w in zip(tensors, wanted) if w]
    y = function(library.nn.functional, *tensors)
    ct = library.from_numpy(np.cos(np.arange(y.numel(), dtype=arrays[0].dtype)).reshape(y.shape))
    first = library.autograd.grad(y, leaves, ct, create_graph=True)
    total = sum((g * g).sum() for g in first) + sum((x * 0).sum() for x in leaves)
    second = library.autograd.grad(total, leaves)
    return [v.detach().numpy() for v in (y, *first, *second)]


@pytest.mark.parametrize("wanted", [w for w in product([True, False], repeat=3) if any(w)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_derivatives(layout, wanted):
    function, shape, width = LAYOUTS[layout]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) + (1 if len(s) == 1 else 0) for s in (shape, (width,), (width,))]
    ours, theirs = (results(library, function, arrays, wanted) for library in (fxt, torch))
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * max(1, np.abs(b).max()))


def test_one_of_several_results_is_walked_through_plainly():
    x = np.random.default_rng(0).standard_normal((6, 5))
    found = []
    for library in (fxt, torch):
        a = library.from_numpy(x.copy()).requires_grad_()
        values, _ = library.sort(a, dim=1)
        low, high = library.aminmax(a, dim=0)
        (values.sum(1) @ values[:, 0] + (low * high).sum() + high[0]).backward()
        found.append(a.grad.numpy())
    np.testing.assert_allclose(*found)
