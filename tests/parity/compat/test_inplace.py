"""What operations in place refuse, and what becomes of histories, under torch and fxgrad.compat."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import outcome


def silently(library, make):
    with library.no_grad():
        return make()


# Programs of a leaf x of six numbers, and y, which is computed from it.
PROGRAMS = {
    "leaf": lambda t, x, y: x.mul_(2),
    "view of leaf": lambda t, x, y: x[0].mul_(2),
    "leaf in no_grad": lambda t, x, y: silently(t, lambda: x.mul_(2)),
    "unbind": lambda t, x, y: y.unbind()[0].mul_(2),
    "split": lambda t, x, y: y.split(2)[1].mul_(2),
    "view of one of several": lambda t, x, y: y.split(2)[1].view(2).mul_(2),
    "unbind of constant": lambda t, x, y: t.zeros(3).unbind()[0].mul_(2),
    "unbind, then base": lambda t, x, y: (lambda p: (y.mul_(2), p[0] * 2))(y.unbind()),
    "unbind, then base in no_grad": lambda t, x, y: (lambda p: (silently(t, lambda: y.mul_(2)), p[0] * 2))(
        y.unbind()
    ),
    "view made in no_grad": lambda t, x, y: silently(t, lambda: y[:2]).mul_(2),
    "view of leaf made in no_grad": lambda t, x, y: silently(t, lambda: x[:2]).mul_(2),
    "constant view made in no_grad": lambda t, x, y: silently(t, lambda: t.zeros(3)[:2]).mul_(x[0]),
    "view of view made in no_grad": lambda t, x, y: silently(t, lambda: y[:3])[:2].mul_(2),
    "view made in no_grad, then base": lambda t, x, y: (lambda v: (y.mul_(2), v * 2))(
        silently(t, lambda: y[:2])
    ),
    "expanded": lambda t, x, y: y.expand(2, 6).mul_(2),
    "broadcast": lambda t, x, y: y.add_(t.ones(3, 6)),
    "category": lambda t, x, y: t.ones(3, dtype=t.int64).mul_(2.5),
    "complex": lambda t, x, y: t.ones(3).mul_(2.5j),
    "operand modified": lambda t, x, y: (lambda z: (y.add_(1), z.sum().backward()))(y * y),
    "result modified": lambda t, x, y: (lambda z: (z.add_(1), z.sum().backward()))(y.exp()),
    "modified through a view": lambda t, x, y: (lambda z: (y[0].add_(1), z.sum().backward()))(y * y),
    "modified through detach": lambda t, x, y: (lambda z: (y.detach().add_(1), z.sum().backward()))(y * y),
    "modified through data": lambda t, x, y: (lambda z: (y.data.add_(1), z.sum().backward()))(y * y),
    "index modified": lambda t, x, y: (lambda i: (lambda z: (i.add_(1), z.sum().backward()))(y[i]))(
        t.tensor([0, 1])
    ),
    "in place twice": lambda t, x, y: y.sin_().exp_().sum().backward(),
    "own part": lambda t, x, y: (y[:3].add_(y[3:]), y.sum().backward()),
    "copy_ of own part": lambda t, x, y: (y[1:].copy_(y[:-1].clone()), (y * y).sum().backward()),
    "overwritten": lambda t, x, y: (y.zero_(), y.sum().backward()),
    "overwritten by a leaf": lambda t, x, y: (y.copy_(x), (y * y).sum().backward()),
    "constant becomes a function": lambda t, x, y: (
        lambda z: (z.add_(x), z[0].mul_(3), (z * z).sum().backward())
    )(t.zeros(6)),
    "setitem": lambda t, x, y: (y.__setitem__(slice(0, 2), x[4:] * 2), (y * y).sum().backward()),
}


def state(library, program):
    x = library.from_numpy(np.linspace(0.5, 1.5, 6, dtype=np.float32)).requires_grad_()
    y = x * 1
    message = None
    try:
        PROGRAMS[program](library, x, y)
    except (RuntimeError, IndexError) as error:
        message = (str(error).partition("\n")[0].partition(" [")[0], isinstance(error, RuntimeError))
    y_state = outcome(lambda: (y._version, y.grad_fn.name(), y.tolist()))
    return message, x._version, y_state, x.tolist(), None if x.grad is None else x.grad.tolist()


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program):
    ours, theirs = state(fxt, program), state(torch, program)
    assert ours[:2] == theirs[:2]
    assert ours[2][0][:2] == theirs[2][0][:2]
    np.testing.assert_allclose(ours[2][0][2], theirs[2][0][2], rtol=1e-6)
    np.testing.assert_allclose(ours[3], theirs[3])
    assert (ours[4] is None) == (theirs[4] is None)
    if ours[4] is not None:
        np.testing.assert_allclose(ours[4], theirs[4], rtol=1e-5)


def test_error_names_operation_and_versions():
    x = fxt.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    message = str(caught.value)
    assert "version 1; expected version 0" in message and "add_" in message and "test_inplace.py" in message


def test_a_tensor_multiplied_by_itself_in_place():
    # torch keeps the operand itself, finds it modified, and refuses.
    x = fxt.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    y.mul_(y)
    y.sum().backward()
    assert x.grad.tolist() == [4, 6]


def test_diagonals_that_begin_again():
    for library in (torch, fxt):
        x = library.ones(7, 2, requires_grad=True)
        y = (x * 1).fill_diagonal_(5.0, wrap=True)
        y.sum().backward()
        places = [[5.0, 1.0], [1.0, 5.0], [1.0, 1.0]]
        assert y.tolist() == [*places, *places, [5.0, 1.0]]
        assert x.grad.tolist() == [[float(v == 1.0) for v in row] for row in y.tolist()]


def test_pieces_that_are_no_views():
    for library in (torch, fxt):
        x = library.arange(6.0).requires_grad_()
        y = x * 1
        first, second = y.unsafe_chunk(2)
        first.mul_(3)
        (first.sum() + second.sum()).backward()
        assert x.grad.tolist() == [3.0] * 3 + [1.0] * 3
        assert not first._is_view()
        assert y.tolist() == [0.0, 3.0, 6.0, 3.0, 4.0, 5.0]
