"""Backward through views that were modified in place: recorded, batched, and given gradients that are not to change,
under both libraries."""

from __future__ import annotations

import pytest

from tests.parity.compat.scenarios import check

pytestmark = pytest.mark.filterwarnings("ignore:Using backward:UserWarning")  # torch, of create_graph=True
WRITES = {
    "row": lambda y: y[0].mul_(3),
    "column": lambda y: y.t()[0].mul_(3),
    "zeros": lambda y: y[0].zero_(),
    "flat": lambda y: y.view(16)[1:].exp_(),
    "window": lambda y: y.unfold(0, 2, 1)[0, 0].sin_(),
    "copy": lambda y: y[0].copy_(y[1].detach()),
    "diagonal": lambda y: y.diagonal().mul_(2),
    "other diagonal": lambda y: y.t().diagonal(1).cos_(),
    "strides": lambda y: y.as_strided((2,), (2,), 1).cos_(),
    "expanded": lambda y: y.expand(1, 4, 4)[0].mul_(2),
    "halves": lambda y: y[:2].mul_(y[2:].clone()),
    "steps": lambda y: y.unsqueeze(1)[::2].sin_(),
    "moved": lambda y: y.movedim(0, 1)[1:].diagonal().cos_(),
    "twice": lambda y: (y[0].mul_(2), y[:, 1].sin_()),
    "then the whole": lambda y: (y[0].mul_(2), y.sin_()),
}
COMPLEX_WRITES = {
    "real": lambda y: y.real.mul_(3),
    "imag": lambda y: y.imag[0].zero_(),
    "pairs": lambda library, y: library.view_as_real(y)[0].mul_(2),
    "conj": lambda y: y.conj()[0].mul_(1j),
    "imag of conj": lambda y: y.conj().imag.mul_(2),
}


def square(library):
    return (library.arange(16.0, dtype=library.float64).reshape(4, 4) / 7).requires_grad_()


@pytest.mark.parametrize("write", WRITES)
def test_given_gradients_do_not_change(write):
    def program(library):
        x = square(library)
        given = library.ones(4, 4, dtype=library.float64, requires_grad=True)
        y = x.clone()
        WRITES[write](y)
        (y + 2 * x).backward(given, create_graph=True)
        (second,) = library.autograd.grad((x.grad * x.grad).sum(), given)
        return given, x.grad.detach(), second

    check(program)


@pytest.mark.parametrize("write", COMPLEX_WRITES)
def test_given_complex_gradients_do_not_change(write):
    def program(library):
        x = library.tensor([1 + 1j, 2 - 1j], dtype=library.complex128, requires_grad=True)
        given = library.tensor([2 + 1j, 1j], dtype=library.complex128, requires_grad=True)
        y = x.clone()
        change = COMPLEX_WRITES[write]
        change(library, y) if write == "pairs" else change(y)
        y.backward(given, create_graph=True)
        (second,) = library.autograd.grad((x.grad * x.grad.conj()).real.sum(), given)
        return given, x.grad.detach(), second

    check(program)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("transposed", [False, True])
def test_batches_of_gradients(write, transposed):
    def program(library):
        x = square(library)
        y = x.t().clone() if transposed else x.clone()
        WRITES[write](y)
        given = library.eye(16, dtype=library.float64).reshape(16, 4, 4)
        (batched,) = library.autograd.grad(y, x, given, is_grads_batched=True, retain_graph=True)
        each = [library.autograd.grad(y, x, g, retain_graph=True)[0] for g in given]
        given.requires_grad_()
        (recorded,) = library.autograd.grad(y, x, given, is_grads_batched=True, create_graph=True)
        (second,) = library.autograd.grad((recorded * recorded).sum(), given)
        return batched, each, second

    check(program)
