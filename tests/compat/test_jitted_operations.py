"""Operations of torch under jit: they are parts of the compiled program, not calls of programs of their own."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
from fxgrad.compat._declare.composite import Composite
from fxgrad.kernels.native import engine

F = torch.nn.functional
PROGRAMS = {
    "gelu": lambda x: F.gelu(x),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[2:]),
    "group_norm": lambda x: F.group_norm(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "instance_norm": lambda x: F.instance_norm(x),
    "after one another": lambda x: F.gelu(F.layer_norm(torch.softmax(x, -1), x.shape[-1:])),
}


@pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")
@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 8, 16)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_parts_of_the_program(name, shape):
    program = PROGRAMS[name]
    x = np.random.default_rng(0).standard_normal(shape)
    weights = np.random.default_rng(1).standard_normal(shape)
    pull = fx.value_and_grad(lambda x: torch.sum(program(torch.as_tensor(x)) * torch.as_tensor(weights)))
    compiled = fx.jit(pull)
    for equation in compiled.lower(x).passes["formulas"].equations:
        assert not isinstance(equation.primitive, Composite), equation.primitive.name
    for got, want in zip(compiled(x), pull(x)):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-9, atol=1e-12)
    pair = fx.jit(fx.vmap(pull))(np.stack([x, 2 * x]))[1]
    np.testing.assert_allclose(np.asarray(pair[0]), np.asarray(pull(x)[1]), rtol=1e-9, atol=1e-12)
