"""Adadelta: steps in the units of the parameters."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_decay, add_to, count_step, follow_square, state_entry


class Adadelta(
    RuleOptimizer,
    options="lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False, "
    "differentiable=False",
):
    """Gradients divided by the root of their running mean square, times that of the steps so far. Source: Zeiler, 2012,
    arXiv:1212.5701.

    Args:
        rho: how much of the mean squares remains in each step.
        eps: what is added to them.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.9997, -1.9997])
    """

    _fx_non_negative = "lr eps weight_decay"
    _fx_order = "maximize capturable foreach"
    _fx_fractions = "rho"

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        count_step(state)
        gradient = add_decay(gradient, value, options)
        rho, eps = options["rho"], options["eps"]
        square = follow_square(state, "square_avg", gradient, rho)
        change = ops.sqrt(state_entry(state, "acc_delta", value) + eps) / ops.sqrt(square + eps) * gradient
        follow_square(state, "acc_delta", change, rho)
        return add_to(value, -options["lr"] * change)


adadelta = functional_form(
    Adadelta,
    "square_avgs=square_avg acc_deltas=acc_delta state_steps=step",
    "capturable=False, foreach=None, differentiable=False, has_complex=False, *, lr, rho, eps, "
    "weight_decay, maximize",
)
