"""RMSprop: gradients divided by the root of their mean square."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_decay, add_to, count_step, follow_mean, follow_square, scale, state_entry


class RMSprop(
    RuleOptimizer,
    options="lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, "
    "foreach=None, maximize=False, differentiable=False",
):
    """Gradients divided by the root of the running mean of their squares; `centered`: of their variance.
    Source: Hinton, 2012.

    Args:
        alpha: how much of the mean squares remains in each step.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 5.9605e-08, -1.0000e+00])
    """

    _fx_non_negative = "lr eps momentum weight_decay alpha"
    _fx_order = "momentum alpha eps centered weight_decay"

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        alpha = options["alpha"]
        count_step(state)
        gradient = add_decay(gradient, value, options)
        spread = follow_square(state, "square_avg", gradient, alpha)
        if options["centered"]:
            mean = follow_mean(state, "grad_avg", gradient, 1 - alpha)
            spread = spread - mean * mean
        gradient = gradient / (ops.sqrt(spread) + options["eps"])
        if options["momentum"]:
            velocity = scale(state_entry(state, "momentum_buffer", value), options["momentum"])
            gradient = state["momentum_buffer"] = add_to(velocity, gradient)
        return add_to(value, -options["lr"] * gradient)


rmsprop = functional_form(
    RMSprop,
    "square_avgs=square_avg grad_avgs=grad_avg momentum_buffer_list=momentum_buffer state_steps=step",
    "foreach=None, maximize=False, differentiable=False, capturable=False, has_complex=False, *, lr, "
    "alpha, eps, weight_decay, momentum, centered",
)
