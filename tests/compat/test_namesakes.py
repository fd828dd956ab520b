"""Primitives of torch's that say that they compute what one of the library's computes: machine code takes either."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
from fxgrad.core.primitive import REGISTRY

torch.nn.functional.gelu(torch.zeros(1))  # all are declared
from fxgrad.compat._core.primitives import PRIMITIVES  # noqa: E402

X = np.concatenate([np.linspace(-4, 4, 101), [0.0, -0.0, np.inf, -np.inf, np.nan]])
OPTIONS = {"round": {"decimals": 1}}
ALIKE = {name: p.computes for name, p in PRIMITIVES.items() if p.computes}


@pytest.mark.parametrize("name", sorted(ALIKE))
def test_values_are_the_same(name):
    ours, alike = REGISTRY[ALIKE[name]], PRIMITIVES[name]
    operands = [X, X[::-1].copy()][: len(ours.partials)]
    with np.errstate(all="ignore"):
        values = [p.kernel(*operands, **OPTIONS.get(name, {})) for p in (ours, alike)]
    np.testing.assert_allclose(*values, rtol=1e-14)
    assert values[0].dtype == values[1].dtype


def test_namesakes_say_so():
    """Otherwise a reader of Graphs would take one for the other."""
    assert {name for name in PRIMITIVES.keys() & REGISTRY.keys() if ALIKE.get(name) != name} == set()


def test_the_library_computes_what_its_names_say():
    assert all(p.computes == name for name, p in REGISTRY.items())


def test_what_has_only_a_name_in_common_is_not_taken_for_another():
    from fxgrad.compat._core.primitives import declare_primitive
    from fxgrad.kernels.native import lanes
    from fxgrad.ops.kinds import Elementwise

    call = declare_primitive(Elementwise, "exp", lambda xp: lambda x: xp.exp(x) + 1, (None,))
    try:
        (equation,) = fx.make_graph(call)(X).equations
        assert not lanes.covers(equation)
    finally:
        del PRIMITIVES["exp"]
