"""Adagrad: gradients divided by the root of the sum of their squares."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .._core.tensor import Tensor
from .._make.creation import full_like, tensor
from ..errors import TensorError
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_decay, add_to, count_step
from .sparse_rows import rows_and_values


class Adagrad(
    RuleOptimizer,
    options="lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, "
    "maximize=False, differentiable=False, fused=None",
):
    """Gradients divided by the root of the sum of all their squares so far. Source: Duchi et al., 2011.

    Args:
        lr_decay: the learning rate of the step t is lr / (1 + t · lr_decay).
        initial_accumulator_value: the sums at the start.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.9000, -1.9000])
    """

    _fx_non_negative = "lr lr_decay weight_decay initial_accumulator_value eps"
    _fx_order = "eps weight_decay initial_accumulator_value"

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """See `Optimizer`. The sums begin at once."""
        super().add_param_group(param_group)
        start = self.defaults["initial_accumulator_value"]
        for p in self.param_groups[-1]["params"]:
            total = full_like(p, complex(start, start) if p.is_complex() else start, requires_grad=False)
            self.state[p] = {"step": tensor(0.0), "sum": total}

    def share_memory(self) -> None:
        """Do nothing: threads share all memory, and processes none."""

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        step = count_step(state)
        gradient = add_decay(gradient, value, options)
        total = state["sum"] = add_to(state["sum"], gradient * gradient)
        lr = options["lr"] / (1 + (step - 1) * options["lr_decay"])
        return add_to(value, -lr * (gradient / (ops.sqrt(total) + options["eps"])))

    def _fx_update_sparse(self, p: Tensor, gradient: Tensor, options: dict[str, Any], site) -> None:
        """Move the entries that have a gradient."""
        if options["weight_decay"]:
            raise TensorError(
                "weight_decay option is not compatible with sparse gradients",
                hint="weight_decay=0, or sparse=False of the Embedding",
            )
        state = self.state[p]
        state["step"] += 1
        rows, values = rows_and_values(gradient.neg() if options["maximize"] else gradient)
        total = state["sum"]
        total.index_put_(rows, values * values, accumulate=True)
        lr = options["lr"] / (1 + (float(state["step"]) - 1) * options["lr_decay"])
        p.index_put_(rows, -lr * values / (total[rows].sqrt() + options["eps"]), accumulate=True)


adagrad = functional_form(
    Adagrad,
    "state_sums=sum state_steps=step",
    "fused=None, grad_scale=None, found_inf=None, has_sparse_grad=False, foreach=None, "
    "differentiable=False, has_complex=False, *, lr, weight_decay, lr_decay, eps, maximize",
)
