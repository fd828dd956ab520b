"""ASGD: averages of gradient descent."""

from __future__ import annotations

from typing import Any

from .functional_forms import functional_form
from .rule import RuleOptimizer, add_decay, add_to, copy_array, count_step, number_entry, scale, state_entry


class ASGD(
    RuleOptimizer,
    options="lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, "
    "differentiable=False, capturable=False",
):
    """Gradient descent with falling steps, and the mean of the parameters. Source: Polyak and Juditsky, 1992,
    Acceleration of Stochastic Approximation by Averaging.

    Args:
        lambd, alpha: the step t is lr / (1 + lambd · lr · t)^alpha, and weights shrink by lambd times it.
        t0: from which step on the mean is taken; it is the entry "ax" of the state.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.8000, -1.6000])
    """

    _fx_non_negative = "lr weight_decay"

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        step, lr, lambd = count_step(state), options["lr"], options["lambd"]
        eta, rate = state.get("eta"), float(state.get("mu", 1.0))
        eta = number_entry(lr) if eta is None else eta
        gradient = add_decay(gradient, value, options)
        value = add_to(scale(value, 1 - lambd * float(eta)), -float(eta) * gradient)
        state["eta"] = number_entry(lr / (1 + lambd * lr * step) ** options["alpha"])
        state["mu"] = number_entry(1 / max(1, step - options["t0"]))
        average = state_entry(state, "ax", value)
        state["ax"] = copy_array(value) if rate == 1 else add_to(average, rate * (value - average))
        return value


asgd = functional_form(
    ASGD,
    "axs=ax mus=mu etas=eta state_steps=step",
    "foreach=None, maximize=False, differentiable=False, capturable=False, has_complex=False, *, lambd, "
    "lr, t0, alpha, weight_decay",
)
