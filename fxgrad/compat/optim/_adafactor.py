"""Adafactor: mean squares of gradients as products of rows and columns."""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from .._core.dtypes import finfo, from_numpy_dtype
from .._core.tensor import Tensor
from .functional_forms import functional_form
from .optimizer import check_learning_rate, check_option, ensure_real
from .rule import RuleOptimizer, count_step, state_entry


class Adafactor(
    RuleOptimizer,
    options="lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False",
):
    """Adam without a mean, whose mean squares of a matrix are kept as one row and one column, and whose steps are in
    proportion to the size of the parameters. Source: Shazeer and Stern, 2018, arXiv:1804.04235.

    Args:
        lr: the greatest relative step.
        beta2_decay: the exponent c of the rate 1 - t^c at which mean squares decay.
        eps: the least mean square (None: that of the dtype), and the least size of a parameter.
        d: the greatest root mean square of a step, in units of the learning rate.
        weight_decay: by how much, times `lr`, parameters shrink.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.8419, -1.8419])
    """

    _fx_is_elementwise = False

    def _fx_check(self, options: dict[str, Any]) -> None:
        check_learning_rate(options["lr"])
        least, smallest = options["eps"]
        for holds, name, bound, value in (
            (options["lr"] >= 0, "Learning rate", ">= 0", options["lr"]),
            (options["beta2_decay"] <= 0, "beta2_decay", "<= 0", options["beta2_decay"]),
            (least is None or least >= 0, "epsilon1", ">= 0", least),
            (smallest >= 0, "epsilon2", ">= 0", smallest),
            (options["d"] >= 1, "Clipping threshold d", ">= 1", options["d"]),
            (options["weight_decay"] >= 0, "weight_decay", ">= 0", options["weight_decay"]),
        ):
            check_option(holds, f"{name} should be {bound} but is", value, None, "{}: {}")

    def _fx_update_parameter(self, p: Tensor, gradient: Tensor, options: dict[str, Any], site) -> None:
        """See `RuleOptimizer`; parameters are real."""
        ensure_real(p, "Adafactor")
        super()._fx_update_parameter(p, gradient, options, site)

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        step, lr = count_step(state), options["lr"]
        least, smallest = options["eps"]
        least = finfo(from_numpy_dtype(value.dtype)).eps if least is None else least
        rate = step ** options["beta2_decay"]
        length = ops.maximum(root_mean_square(value), smallest) * min(lr, 1 / step**0.5)
        if options["weight_decay"]:
            value *= 1 - lr * options["weight_decay"]
        if len(gradient.shape) > 1:
            square = gradient * gradient
            rows = follow(state, "row_var", mean_along(square, -1), rate)
            columns = follow(state, "col_var", mean_along(square, -2), rate)
            estimate = rows * columns / ops.maximum(mean_along(rows, -2), least)
        else:
            estimate = follow(state, "variance", gradient * gradient, rate)
        change = gradient / ops.sqrt(ops.maximum(estimate, least * least))
        value -= length / ops.maximum(root_mean_square(change) / options["d"], 1.0) * change
        return value


def root_mean_square(x) -> Any:
    """The root of the mean of all squares."""
    return ops.sqrt((x * x).sum() / max(1, math.prod(x.shape)))


def mean_along(x, axis: int) -> Any:
    """The mean along an axis, which is kept; zero if there are no entries."""
    return x.sum(axis=axis, keepdims=True) / max(1, x.shape[axis])


def follow(state: dict[str, Any], name: str, x, rate: float) -> Any:
    """Move an entry of the state towards `x` by a fraction; return it."""
    mean = state_entry(state, name, x)
    state[name] = mean + rate * (x - mean)
    return state[name]


adafactor = functional_form(
    Adafactor,
    "row_vars=row_var col_vars=col_var variances=variance state_steps=step",
    "foreach=None, grad_scale=None, found_inf=None, has_complex=False, *, d, lr, beta2_decay, "
    "weight_decay, eps1, eps2, maximize",
)
