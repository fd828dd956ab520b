"""Rprop: steps by the signs of gradients."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from ..errors import ArgumentValueError
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_to, count_step, state_entry


class Rprop(
    RuleOptimizer,
    options="lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False, "
    "differentiable=False",
):
    """Steps that grow where the gradient keeps its sign, and shrink, with a pause, where it changes. Source: Riedmiller
    and Braun, 1993, A Direct Adaptive Method for Faster Backpropagation Learning.

    Args:
        lr: the first step of each entry.
        etas: by what steps shrink, and by what they grow.
        step_sizes: the least and the greatest step.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.9000, -1.9000])
    """

    _fx_non_negative = "lr"
    _fx_order = "foreach maximize differentiable capturable"

    def _fx_check(self, options: dict[str, Any]) -> None:
        super()._fx_check(options)
        shrink, grow = options["etas"]
        if not 0 < shrink < 1 < grow:
            raise ArgumentValueError(
                f"Invalid eta values: {shrink}, {grow}",
                hint="etas=(0.5, 1.2): the first between 0 and 1, the second greater than 1",
            )

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        (shrink, grow), (least, most) = options["etas"], options["step_sizes"]
        count_step(state)
        before = state_entry(state, "prev", value)
        size = state.get("step_size")
        size = ops.full_like(gradient, value=options["lr"]) if size is None else size
        agreement = ops.sign(gradient * before)
        size = ops.where(agreement > 0, size * grow, ops.where(agreement < 0, size * shrink, size))
        size = ops.minimum(ops.maximum(size, least), most)
        gradient = ops.where(agreement < 0, ops.zeros_like(gradient), gradient)
        state["prev"], state["step_size"] = gradient, size
        step = ops.where(gradient > 0, -size, ops.where(gradient < 0, size, 0.0))  # NaN makes none
        return add_to(value, step)


rprop = functional_form(
    Rprop,
    "prevs=prev step_sizes=step_size state_steps=step",
    "foreach=None, capturable=False, maximize=False, differentiable=False, has_complex=False, *, "
    "step_size_min, step_size_max, etaminus, etaplus",
)
