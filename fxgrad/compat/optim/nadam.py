"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_to, count_step, decay_weights, follow_mean, follow_square, number_entry

DECAY_OF_MOMENTUM = 0.96  # the number of the source: β₁ · (1 - 0.96^(t · momentum_decay) / 2)


class NAdam(
    RuleOptimizer,
    options="lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, "
    "decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False",
):
    """Adam with Nesterov's momentum, which grows from step to step. Source: Dozat, 2016, Incorporating Nesterov
    Momentum into Adam.

    Args:
        momentum_decay: how fast the momentum comes near to the first of the `betas`.
        decoupled_weight_decay: see `AdamW`; the other options are those of `Adam`.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.8944, -1.8944])
    """

    _fx_non_negative = "lr eps weight_decay momentum_decay"
    _fx_order = "maximize foreach"

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        (beta1, beta2), lr = options["betas"], options["lr"]
        step = count_step(state)
        value, gradient = decay_weights(value, gradient, options)

        def momentum(step: float) -> Any:
            return beta1 * (1 - 0.5 * DECAY_OF_MOMENTUM ** (step * options["momentum_decay"]))

        now, after = momentum(step), momentum(step + 1)
        state["mu_product"] = number_entry(state.get("mu_product", 1)) * number_entry(now)
        product = float(state["mu_product"])
        mean = follow_mean(state, "exp_avg", gradient, 1 - beta1)
        square = follow_square(state, "exp_avg_sq", gradient, beta2)
        root = ops.sqrt(square / (1 - beta2**step)) + options["eps"]
        value = add_to(value, -lr * (1 - now) / (1 - product) * (gradient / root))
        return add_to(value, -lr * after / (1 - product * after) * (mean / root))


nadam = functional_form(
    NAdam,
    "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq mu_products=mu_product state_steps=step",
    "decoupled_weight_decay=False, foreach=None, capturable=False, differentiable=False, "
    "has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay, momentum_decay, eps",
)
