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


@pytest.mark.parametrize("transform", [lambda f: f, fx.jit, fx.grad, lambda f: fx.jit(fx.grad(f))])
@pytest.mark.parametrize("most", [None, 3, 20])
def test_a_while_loop_counts_its_steps(transform, most, capsys):
    """How many there are is known at the last one, or where that is the one that may be taken at most."""
    if transform not in (fx.jit, fx.grad) and most is None:
        most = 8  # without it there is no reverse mode under jit

    def grow(x, **options):
        return lax.while_loop(lambda v: v < 100.0, lambda v: v * 1.5, x, most, **options)

    seen = transform(lambda x: grow(x, progress="grow"))
    for _ in range(2):
        assert seen(2.0) == transform(grow)(2.0)
        shown = capsys.readouterr().err
        steps = min(10, most or 10)
        assert f"{steps}/{most}" in shown if most else f"grow: {steps}step" in shown
    assert seen(200.0) == transform(grow)(200.0)  # no step
