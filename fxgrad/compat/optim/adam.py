"""Adam: steps of about the size of the learning rate."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .._core.tensor import Tensor
from .._make.creation import scalar_tensor, zeros_like
from ..errors import ArgumentValueError
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_to, count_step, decay_weights, follow_mean, follow_square, state_entry


class Adam(
    RuleOptimizer,
    options="lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False, "
    "capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False",
):
    """Steps of about the size of the learning rate, whatever that of the gradients. Source: Kingma and Ba, 2014,
    arXiv:1412.6980; `amsgrad`: Reddi et al., 2018; `decoupled_weight_decay`: see `AdamW`.

    Args:
        eps: what is added to the root of the mean square.
        amsgrad: whether the greatest mean square so far is used.

    Raises:
        ValueError: an option out of range.
        RuntimeError: options that exclude each other.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _fx_non_negative = "lr eps weight_decay"
    _fx_order = "amsgrad maximize foreach"

    def _fx_check(self, options: dict[str, Any]) -> None:
        super()._fx_check(options)
        uncaptured = options["foreach"] and not options["capturable"]
        if isinstance(options["lr"], Tensor) and uncaptured:
            raise ArgumentValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True",
                hint="foreach=False, or lr as a number: lr.item()",
            )
        kinds = [isinstance(beta, Tensor) for beta in options["betas"]]
        if any(kinds) and not all(kinds):
            raise ArgumentValueError(
                "betas must be either both floats or both Tensors",
                hint="both as floats, betas=(0.9, 0.999), or both as Tensors",
            )
        for i, beta in enumerate(options["betas"]):
            if kinds[i] and uncaptured:
                raise ArgumentValueError(
                    f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True",
                    hint="foreach=False, or betas as numbers",
                )
            if kinds[i] and beta.numel() != 1:
                raise ArgumentValueError(
                    f"Tensor betas[{i}] must be 1-element",
                    hint=f"betas[{i}].mean(), or one optimizer for each",
                )

    def _init_group(
        self,
        group: dict[str, Any],
        params_with_grad: list[Tensor],
        grads: list[Tensor],
        exp_avgs: list[Tensor],
        exp_avg_sqs: list[Tensor],
        max_exp_avg_sqs: list[Tensor],
        state_steps: list[Tensor],
    ) -> bool:
        """Append the parameters of a group that have gradients to lists, with their states, which are made if they are
        not there. Optimizers that derive from this one compute steps of these.

        Returns:
            Whether a parameter is complex.
        """
        names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
        lists = [exp_avgs, exp_avg_sqs, max_exp_avg_sqs]
        for p in [p for p in group["params"] if p.grad is not None]:
            state = self.state[p]
            if not state:
                state["step"] = scalar_tensor(0.0)
                state.update({name: zeros_like(p) for name in names})
            params_with_grad.append(p)
            grads.append(p.grad)
            state_steps.append(state["step"])
            for name, found in zip(names, lists):
                found.append(state[name])
        return any(p.is_complex() for p in params_with_grad)

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        (beta1, beta2), lr = options["betas"], options["lr"]
        step = count_step(state)
        value, gradient = decay_weights(value, gradient, options)
        mean = follow_mean(state, "exp_avg", gradient, 1 - beta1)
        square = follow_square(state, "exp_avg_sq", gradient, beta2)
        if options["amsgrad"]:
            square = state["max_exp_avg_sq"] = ops.maximum(
                state_entry(state, "max_exp_avg_sq", value), square
            )
        root = ops.sqrt(square) / (1 - beta2**step) ** 0.5 + options["eps"]
        return add_to(value, -lr / (1 - beta1**step) * (mean / root))


adam = functional_form(
    Adam,
    "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq max_exp_avg_sqs=max_exp_avg_sq state_steps=step",
    "foreach=None, capturable=False, differentiable=False, fused=None, grad_scale=None, found_inf=None, "
    "has_complex=False, decoupled_weight_decay=False, *, amsgrad, beta1, beta2, lr, weight_decay, eps, "
    "maximize",
)
