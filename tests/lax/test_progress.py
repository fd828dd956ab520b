"""Bars of loops: the number of steps they show, and that results are as without them."""

import numpy as np
import pytest

import fxgrad as fx
from fxgrad import lax

LOOPS = {
    "scan": lambda x, n, **o: lax.scan(lambda c, _: (c * 1.01, c), x, None, n, **o)[0],
    "scan rows": lambda x, n, **o: lax.scan(lambda c, r: (c + r, c), x, np.ones(n), reverse=True, **o)[
        1
    ].sum(),
    "fori_loop": lambda x, n, **o: lax.fori_loop(2, n + 2, lambda i, c: c + i, x, **o),
}


@pytest.mark.parametrize("n", [1, 7, 350])
@pytest.mark.parametrize("name", LOOPS)
def test_a_bar_shows_all_steps(name, n, capsys):
    run = LOOPS[name]
    transforms = [lambda f: f, fx.jit, fx.grad, lambda f: fx.jit(fx.grad(f))]
    for transform in transforms:
        seen = transform(lambda x: run(x, n, progress="walk"))
        for _ in range(2):
            assert seen(2.0) == transform(lambda x: run(x, n))(2.0)
            shown = capsys.readouterr().err
            assert "walk: 100%" in shown and f"{n}/{n}" in shown


def test_bounds_that_are_not_known(capsys):
    total = fx.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0, progress=True))
    assert total(5) == 10
    assert "fori_loop: 100%" in capsys.readouterr().err


def test_mistakes_are_told_as_without_a_bar():
    with pytest.raises(fx.StructureError, match="scan: f must return a pair"):
        lax.scan(lambda c, x: c, 0.0, np.ones(3), progress=True)
