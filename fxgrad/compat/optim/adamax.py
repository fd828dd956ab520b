"""Adamax: Adam with the maximum norm."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_decay, add_to, count_step, follow_mean, state_entry


class Adamax(
    RuleOptimizer,
    options="lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, "
    "differentiable=False, capturable=False",
):
    """Adam with a decaying maximum of the gradients in place of the root of their mean square. Source: Kingma and Ba,
    2014, arXiv:1412.6980, algorithm 2.

    Args:
        betas: how much of the mean, and of the maximum, of the gradients remains in each step.
        eps: what is added to the size of gradients.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.9000, -1.9000])
    """

    _fx_non_negative = "lr eps weight_decay"

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        beta1, beta2 = options["betas"]
        step = count_step(state)
        gradient = add_decay(gradient, value, options)
        mean = follow_mean(state, "exp_avg", gradient, 1 - beta1)
        largest = ops.maximum(
            beta2 * state_entry(state, "exp_inf", value), ops.absolute(gradient) + options["eps"]
        )
        state["exp_inf"] = largest
        return add_to(value, -options["lr"] / (1 - beta1**step) * (mean / largest))


adamax = functional_form(
    Adamax,
    "exp_avgs=exp_avg exp_infs=exp_inf state_steps=step",
    "foreach=None, maximize=False, differentiable=False, capturable=False, has_complex=False, *, eps, "
    "beta1, beta2, lr, weight_decay",
)
