"""Initial values: shapes, fixed values and errors, beside torch. The random numbers: test_seeds.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in


def test_orthogonal_rows_and_columns():
    for shape in ((3, 5), (5, 3), (4, 2, 2)):
        w = fxt.nn.init.orthogonal_(fxt.empty(*shape), gain=2.0).reshape(shape[0], -1).numpy()
        gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
        np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-5)


def test_a_generator_repeats_its_numbers():
    for name in ("uniform_", "normal_", "trunc_normal_", "xavier_normal_", "kaiming_uniform_", "orthogonal_"):
        drawn = [
            getattr(fxt.nn.init, name)(fxt.empty(4, 3), generator=fxt.Generator().manual_seed(7)).tolist()
            for _ in range(2)
        ]
        assert drawn[0] == drawn[1]
    sparse = [
        fxt.nn.init.sparse_(fxt.empty(9, 3), 0.4, generator=fxt.Generator().manual_seed(7)) for _ in range(2)
    ]
    assert sparse[0].tolist() == sparse[1].tolist()


FIXED = [
    "init.constant_(T.empty(2, 3), 0.5)",
    "init.ones_(T.empty(2))",
    "init.zeros_(T.empty(2))",
    "init.eye_(T.empty(3, 2))",
    "init.dirac_(T.empty(4, 2, 3))",
    "init.dirac_(T.empty(4, 2, 3, 3), groups=2)",
    "init.dirac_(T.empty(2, 2, 3, 3, 2))",
    "init._calculate_fan_in_and_fan_out(T.empty(2, 3, 4, 5))",
    *(
        f"init.calculate_gain({name!r})"
        for name in ("linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu")
    ),
    *(f"init.calculate_gain('leaky_relu', {slope})" for slope in ("None", "0.2", "1")),
    "init.calculate_gain('selu')",
]


@pytest.mark.parametrize("code", FIXED)
def test_fixed_values(code):
    ours, theirs = (eval(code, {"T": T, "init": T.nn.init}) for T in (fxt, torch))
    if isinstance(theirs, torch.Tensor):
        assert ours.tolist() == theirs.tolist()
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)


MISUSE = [
    "init.kaiming_uniform_(T.ones(3))",
    "init.kaiming_uniform_(T.ones(3, 3), mode='x')",
    "init.dirac_(T.ones(3, 3))",
    "init.dirac_(T.ones(3, 3, 3), groups=2)",
    "init.eye_(T.ones(3))",
    "init.sparse_(T.ones(3), 0.1)",
    "init.orthogonal_(T.ones(3))",
    "init.calculate_gain('x')",
    "init.calculate_gain('leaky_relu', True)",
    "init.calculate_gain('leaky_relu', 'a')",
]


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = []
    for T in (fxt, torch):
        with pytest.raises(ValueError) as caught:
            eval(code, {"T": T, "init": T.nn.init})
        errors.append(caught.value)
    assert isinstance(errors[0], built_in(errors[1]))
    assert str(errors[0]).split("\n")[0] == str(errors[1]).split("\n")[0]


def test_warnings():
    for T in (fxt, torch):
        with pytest.warns(
            FutureWarning, match=r"`nn.init.constant` is now deprecated in favor of `nn.init.constant_`"
        ):
            assert T.nn.init.constant(T.empty(2), 3.0).tolist() == [3.0, 3.0]
        with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
            T.nn.init.kaiming_normal_(T.empty(0, 3))
        with pytest.warns(UserWarning, match="mean is more than 2 std from"):
            T.nn.init.trunc_normal_(T.empty(3), mean=10.0)


def test_nothing_is_recorded():
    w = fxt.ones(3, 3, requires_grad=True)
    assert fxt.nn.init.xavier_uniform_(w) is w
    assert w.is_leaf and w.grad_fn is None and math.isfinite(w.sum().item())
