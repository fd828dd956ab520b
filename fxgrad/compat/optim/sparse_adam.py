"""SparseAdam: Adam for sparse gradients."""

from __future__ import annotations

import math
from typing import Any

from .._core.tensor import Tensor
from .._declare.generated import entry_point
from .._make.creation import zeros_like
from ..errors import TensorError
from .optimizer import check_option
from .rule import RuleOptimizer
from .sparse_rows import rows_and_values


class SparseAdam(RuleOptimizer, options="lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False"):
    """Adam that moves only the entries that a sparse gradient names, and counts only their moments.

    Source: D. P. Kingma, J. Ba, Adam: a method for stochastic optimization, ICLR 2015.

    Raises:
        ValueError: an option out of range.
        RuntimeError: in `step`, a gradient that is not sparse.

    >>> table = torch.nn.Embedding(3, 1, sparse=True)
    >>> before = table.weight.detach().clone()
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> (before - table.weight.detach()).view(-1).round(decimals=4)
    tensor([0.0000, 0.1000, 0.0000])
    """

    _fx_non_negative = "lr eps"

    def _fx_check(self, options: dict[str, Any]) -> None:
        for name, words in (("lr", "learning rate"), ("eps", "epsilon value")):
            check_option(options[name] > 0, words, options[name], "more than 0")
        super()._fx_check(options)

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        raise TensorError(
            "SparseAdam does not support dense gradients, please consider Adam instead",
            hint="torch.nn.Embedding(…, sparse=True) has gradients with few rows",
        )

    def _fx_update_sparse(self, p: Tensor, gradient: Tensor, options: dict[str, Any], site) -> None:
        """Move the entries that have a gradient."""
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        state["step"] += 1
        (beta1, beta2), step = options["betas"], state["step"]
        rows, values = rows_and_values(gradient.neg() if options["maximize"] else gradient)
        moments = []
        for name, beta, x in (("exp_avg", beta1, values), ("exp_avg_sq", beta2, values * values)):
            old = state[name][rows]
            moments.append(old + (1 - beta) * (x - old))
            state[name].index_put_(rows, moments[-1])
        mean, square = moments
        size = options["lr"] * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p.index_put_(rows, -size * mean / (square.sqrt() + options["eps"]), accumulate=True)


@entry_point
def sparse_adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    maximize: bool,
) -> None:
    """Step as `SparseAdam` does, where `state_steps` count this step already: see the class."""
    rule = SparseAdam.__new__(SparseAdam)
    options = {"eps": eps, "betas": (beta1, beta2), "lr": lr, "maximize": maximize}
    for p, gradient, mean, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps):
        rule.state = {p: {"step": step - 1, "exp_avg": mean, "exp_avg_sq": square}}  # type: ignore[assignment]
        rule._fx_update_sparse(p, gradient, options, None)
