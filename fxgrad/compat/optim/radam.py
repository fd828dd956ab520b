"""RAdam: Adam whose first steps are rectified."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_to, count_step, decay_weights, follow_mean, follow_square

FEWEST_FREEDOMS = 5  # of the mean square, below which its root is not trusted


class RAdam(
    RuleOptimizer,
    options="lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None, "
    "maximize=False, capturable=False, differentiable=False",
):
    """Adam with steps that are the shorter the less is known of the mean square: the first are those of momentum
    alone. Source: Liu et al., 2019, arXiv:1908.03265. The options are those of `Adam`.

    Args:
        decoupled_weight_decay: shrink the weights themselves, as `AdamW` does.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.8000, -1.6000])
    """

    _fx_non_negative = "lr eps weight_decay"
    _fx_order = "maximize foreach capturable decoupled_weight_decay"

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        (beta1, beta2), lr = options["betas"], options["lr"]
        step = count_step(state)
        value, gradient = decay_weights(value, gradient, options)
        mean = follow_mean(state, "exp_avg", gradient, 1 - beta1)
        square = follow_square(state, "exp_avg_sq", gradient, beta2)
        known = 1 - beta2**step
        limit = 2 / (1 - beta2) - 1
        freedoms = limit - 2 * step * beta2**step / known
        lr = lr / (1 - beta1**step)
        if not freedoms > FEWEST_FREEDOMS:
            return add_to(value, -lr * mean)
        rectified = (freedoms - 4) * (freedoms - 2) * limit / ((limit - 4) * (limit - 2) * freedoms)
        length = -lr * (rectified * known) ** 0.5
        return add_to(value, length * (mean / (ops.sqrt(square) + options["eps"])))


radam = functional_form(
    RAdam,
    "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq state_steps=step",
    "decoupled_weight_decay=False, foreach=None, differentiable=False, capturable=False, "
    "has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay, eps",
)
