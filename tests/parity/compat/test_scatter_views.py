"""Writing by indices through views, and from what shares memory with the target."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

# Of a matrix `x`, places `i` of its shape, a permutation `r` of its rows.
PROGRAMS = {
    "transposed": lambda x, i, r: x.t().scatter_add_(1, i.t(), x.t().clone()),
    "rows between": lambda x, i, r: x[::2].scatter_add_(0, i[:1000] % 1000, x[1::2]),
    "index_add_ between": lambda x, i, r: x[1::2].index_add_(0, r[:1000] % 1000, x[::2]),
    "columns between": lambda x, i, r: x[:, ::2].index_copy_(0, r, x[:, 1::2]),
    "a column": lambda x, i, r: x[:, 3].scatter_reduce_(0, r, x[:, 4], "amax"),
    "flipped": lambda x, i, r: x.scatter_(0, r[:, None].expand(2000, 10), x.flip(0)),
    "gather of a transposed one": lambda x, i, r: x.t().gather(1, i.t()),
    "gather of an expanded one": lambda x, i, r: x.expand(2, 2000, 10).gather(1, i.expand(2, 2000, 10)),
    "topk of columns": lambda x, i, r: x.t().topk(5, dim=1).values,
    "topk of some rows": lambda x, i, r: x[::3].topk(5, dim=0).values,
}


def operands(T):
    rng = np.random.default_rng(0)
    given = rng.standard_normal((2000, 10)), rng.integers(0, 2000, (2000, 10)), rng.permutation(2000)
    return [T.tensor(v.astype("f4") if v.dtype.kind == "f" else v) for v in given]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_what_was_written_are_torchs(name):
    found = []
    for T in (torch, fxt):
        x, i, r = operands(T)
        y = PROGRAMS[name](x, i, r)
        found.append((np.asarray(y), np.asarray(x)))
    for theirs, ours in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["scatter_add_", "scatter_", "index_add_"])
def test_a_tensor_that_is_written_into_itself_is_read_first(name):
    """torch refuses it."""
    x, i, r = operands(fxt)
    places = r if name == "index_add_" else i
    y = getattr(x.clone(), name)(0, places, x)
    getattr(x, name)(0, places, x)
    np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
