"""Anomaly mode blames the operation, and the operand, that torch blames."""

from __future__ import annotations

import warnings

import pytest
import torch

import fxgrad.compat as fxt

INF, NAN = float("inf"), float("nan")


def zeros(t, *shape):
    return t.zeros(shape, requires_grad=True)


def ones(t, *shape):
    return t.ones(shape, requires_grad=True)


def filled(t, value, *shape):
    return t.full(shape, value, requires_grad=True)


# Programs whose gradient has NaN somewhere.
PROGRAMS = {
    "sqrt": lambda t: t.sqrt(zeros(t, 2)) * 0,
    "rsqrt": lambda t: t.rsqrt(zeros(t, 2)) * 0,
    "log": lambda t: t.log(zeros(t, 2)) * 0,
    "log1p": lambda t: t.log1p(-ones(t, 2)) * 0,
    "acos": lambda t: t.acos(ones(t, 2)) * 0,
    "asin": lambda t: t.asin(ones(t, 2)) * 0,
    "atanh": lambda t: t.atanh(ones(t, 2)) * 0,
    "acosh": lambda t: t.acosh(ones(t, 2)) * 0,
    "reciprocal": lambda t: t.reciprocal(zeros(t, 2)) * 0,
    "digamma": lambda t: t.digamma(zeros(t, 2)) * 0,
    "erfinv": lambda t: t.erfinv(ones(t, 2)) * 0,
    "tan": lambda t: t.tan(filled(t, INF, 2)),
    "div": lambda t: ones(t, 2) / zeros(t, 2) * 0,
    "div by a denominator": lambda t: t.ones(2) / zeros(t, 2) * 0,
    "pow": lambda t: zeros(t, 2) ** 0.5 * 0,
    "mul": lambda t: t.full((2,), INF) * ones(t, 2) * 0,
    "where": lambda t: t.where(t.tensor([True, False]), t.sqrt(zeros(t, 2)) * 0, t.zeros(2)),
    "softmax": lambda t: t.softmax(filled(t, -INF, 2), 0),
    "log_softmax": lambda t: t.log_softmax(filled(t, -INF, 2), 0),
    "logsumexp": lambda t: t.logsumexp(filled(t, -INF, 2), 0),
    "stack": lambda t: t.stack([ones(t, 1) * 2, t.sqrt(zeros(t, 1))]) * 0,
    "cat": lambda t: t.cat([ones(t, 1), ones(t, 1)]) * NAN,
    "relu": lambda t: t.relu(ones(t, 2)) * NAN,
    "relu of a negative number": lambda t: t.relu(-ones(t, 2)) * NAN,
    "clamp": lambda t: t.clamp(ones(t, 2), 0, 2) * NAN,
    "max": lambda t: t.max(ones(t, 2)) * NAN,
    "index": lambda t: ones(t, 3)[1:] * NAN,
    "expand": lambda t: ones(t, 1).expand(3) * NAN,
    "sum": lambda t: ones(t, 2).sum() * NAN,
    "cross_entropy": lambda t: t.nn.functional.cross_entropy(filled(t, -INF, 1, 2), t.tensor([0])),
    "qr": lambda t: t.linalg.qr(zeros(t, 2, 2))[0] * 0,
}


def blamed(t, program) -> list[str]:
    """The words of the error, and the first words of the reports."""
    with (
        warnings.catch_warnings(record=True) as found,
        t.autograd.set_detect_anomaly(True),
        pytest.raises(RuntimeError) as error,
    ):
        warnings.simplefilter("always")
        program(t).sum().backward()
    return [str(error.value).partition("\n")[0], *(str(w.message).partition(".")[0] for w in found)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_operation_that_is_blamed(name):
    assert blamed(fxt, PROGRAMS[name]) == blamed(torch, PROGRAMS[name])
