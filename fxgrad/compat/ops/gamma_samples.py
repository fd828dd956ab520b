"""Samples of the gamma and Dirichlet distributions, with gradients to the parameters.

They are computed from the logarithms of gamma variables in double precision. The logarithms are finite for arbitrarily
small shapes, for which the variables themselves underflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Elementwise, aval_of, kind_of, ops, real_kernel
from ...extend import beta_kernels as beta
from .._core.error_messages import not_implemented_error
from .._core.primitives import declare_primitive
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.operation import operation
from .._make.generators import draw_for_each
from .._make.rejection import log_gamma
from .._make.sampling import draw_keys

FLOAT = np.dtype(float)


def draw_log_gamma(input: Tensor, generator) -> Tensor:
    """Draw the logarithms of gamma variables of these shapes."""
    value = refresh(input)._fx_value
    drawn = draw_for_each(log_gamma, (value,), generator)
    if drawn is None:
        keys = draw_keys(input.shape, generator)
        a = ops.stop_gradient(ops.convert(input.detach()._fx_value, dtype=FLOAT))
        drawn = make_tensor(current_tape(), ops.random_log_gamma(keys, a))
    return drawn


def samples_for(name: str) -> Any:
    """Make the function that checks concentrations and draws for each."""

    def arguments(input, generator=None) -> Any:
        dtype = aval_of(refresh(input)._fx_value).dtype
        if kind_of(dtype) != "f":
            raise not_implemented_error(name, dtype)
        return (input, draw_log_gamma(input, generator)), {}

    return arguments


# The samples as a function of the shapes: implicit reparameterization (Figurnov, Mohamed and Mnih, 2018) moves them so
# that their ranks stay.
follow_shape = declare_primitive(
    Elementwise,
    "follow_shape",
    lambda xp: lambda a, logs: xp.where(a == a, logs, a),
    (lambda t, y, a, logs: t * ops.gamma_shift(a, y), lambda t, y, a, logs: t),
)


def moving_samples(input, logs) -> Any:
    """The logarithms, in double precision, which move with the shapes."""
    return follow_shape(ops.convert(input, dtype=FLOAT), logs)


@operation("input logs", arguments=samples_for("gamma"), name="_standard_gamma", spaces="function", out=False)
def standard_gamma(input, logs) -> Any:
    """Gamma variables of these shapes and of scale 1."""
    return ops.convert(ops.exp(moving_samples(input, logs)), dtype=aval_of(input).dtype)


# -- parts of a whole ------------------------------------------
beta_moment = declare_primitive(
    Elementwise,
    "beta_moment",
    real_kernel(beta.beta_moment, "beta_moment"),
    ops.beta_moment_partials(lambda *operands, **params: beta_moment(*operands, **params)),
    static=("m", "n"),
)


def beta_shift(a, b, x) -> Any:
    """du/da at a fixed rank of a beta variable x = sigmoid(u), by implicit reparameterization: −(∂F/∂a)/q(u). With
    ∂q/∂a = (log x − ψ(a) + ψ(a + b))·q that is an integral over the shorter tail, as for the gamma distribution."""
    limits = np.finfo(np.float64)
    x = ops.minimum(ops.maximum(x, limits.tiny), 1 - limits.eps)
    u = ops.log(x) - ops.log1p(-x)
    upper = ops.greater(x * (a + b), a)
    centred = ops.log(x) - ops.polygamma(a, n=0) + ops.polygamma(a + b, n=0)
    tail = beta_moment(a, b, u, upper, m=1, n=0) + centred * beta_moment(a, b, u, upper, m=0, n=0)
    return ops.where(upper, 1.0, -1.0) * tail


@operation("x alpha total", name="_dirichlet_grad", spaces="function", out=False)
def dirichlet_grad(x, alpha, total) -> Any:
    """(∂x/∂alpha)/(1 - x) at a fixed rank of x, a beta variable of the concentrations alpha and total - alpha."""
    values = [ops.convert(v, dtype=FLOAT) for v in (x, alpha, total)]
    moved = values[0] * beta_shift(values[1], values[2] - values[1], values[0])
    return ops.convert(moved, dtype=aval_of(x).dtype)


@operation("self output", name="_standard_gamma_grad", spaces="function", out=False)
def standard_gamma_grad(self, output) -> Any:
    """∂x/∂a at a fixed rank of x, a gamma variable of the shape a; `output` is x."""
    a, x = (ops.convert(v, dtype=FLOAT) for v in (self, output))
    return ops.convert(x * ops.gamma_shift(a, ops.log(x)), dtype=aval_of(output).dtype)


def dirichlet_tangent(y, primals, tangents, params: dict) -> Any:
    """The tangent under which a part keeps its rank among beta variables and the other parts keep their proportions, as
    its concentration grows. For a given sample this is the mean of the tangents of the underlying gamma variables, so
    that gradients vary less."""
    x, a = (ops.convert(v, dtype=FLOAT) for v in (y, primals[0]))
    rest = fnp.sum(a, axis=-1, keepdims=True) - a
    moved = ops.convert(tangents[0], dtype=FLOAT) * x * beta_shift(a, rest, x)
    return ops.convert(moved - x * fnp.sum(moved, axis=-1, keepdims=True), dtype=aval_of(y).dtype)


@operation(
    "input logs",
    arguments=samples_for("dirichlet"),
    name="_sample_dirichlet",
    spaces="function",
    out=False,
    tangent=dirichlet_tangent,
)
def sample_dirichlet(input, logs) -> Any:
    """Dirichlet variables along the last dimension: gamma variables over their sum."""
    shares = ops.exp(logs - fnp.max(logs, axis=-1, keepdims=True))
    return ops.convert(shares / fnp.sum(shares, axis=-1, keepdims=True), dtype=aval_of(input).dtype)
