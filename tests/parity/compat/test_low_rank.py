"""Factors of low rank and a few eigenvalues, whose vectors torch draws otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt

RNG = np.random.default_rng(0)
LOW = RNG.normal(size=(2, 8, 3)) @ RNG.normal(size=(2, 3, 6))
SYMMETRIC = np.cov(RNG.normal(size=(9, 20)))


@pytest.mark.parametrize("data", [LOW, LOW.swapaxes(-1, -2), LOW + 1j * LOW])
def test_svd_lowrank(data):
    u, s, v = fxt.svd_lowrank(fxt.from_numpy(data), 3)
    assert (u.shape[-1], v.shape[-1]) == (3, 3)
    np.testing.assert_allclose(s, np.linalg.svd(data)[1][..., :3])
    np.testing.assert_allclose((u * s[..., None, :]) @ v.conj().transpose(-1, -2), data, atol=1e-12)


def test_svd_lowrank_of_a_difference():
    mean = LOW.mean(-2, keepdims=True)
    ours = fxt.svd_lowrank(fxt.from_numpy(LOW), 3, M=fxt.from_numpy(mean))[1]
    np.testing.assert_allclose(ours, np.linalg.svd(LOW - mean)[1][..., :3], atol=1e-12)


def test_gradient_of_svd_lowrank():
    x = fxt.from_numpy(LOW[0]).requires_grad_()
    fxt.svd_lowrank(x, 3)[1].sum().backward()
    u, _, vh = np.linalg.svd(LOW[0], full_matrices=False)
    np.testing.assert_allclose(x.grad, u[:, :3] @ vh[:3], atol=1e-8)


@pytest.mark.parametrize("center", [True, False])
def test_pca_lowrank(center):
    ours, theirs = (t.pca_lowrank(t.from_numpy(LOW), 3, center)[1] for t in (fxt, torch))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"k": 3, "largest": False}, {"k": 2, "B": 0}])
def test_lobpcg(options):
    def found(t):
        given = options | ({"B": t.eye(9, dtype=t.float64) * 2} if "B" in options else {})
        return t.lobpcg(t.from_numpy(SYMMETRIC), niter=200, **given)

    (ours, vectors), (theirs, expected) = found(fxt), found(torch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_allclose(vectors**2, expected**2, atol=1e-4)


def test_lobpcg_refuses_small_matrices():
    with pytest.raises(ValueError, match="LOBPCG algorithm is not applicable when the number of A rows"):
        fxt.lobpcg(fxt.eye(5), k=2)
