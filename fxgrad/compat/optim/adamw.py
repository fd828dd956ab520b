"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from .adam import Adam
from .functional_forms import functional_form


class AdamW(
    Adam,
    options="lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, "
    "foreach=None, capturable=False, differentiable=False, fused=None",
    fixed={"decoupled_weight_decay": True},
):
    """Adam with decoupled weight decay: weights shrink by lr · weight_decay in each step. Source: Loshchilov and
    Hutter, 2017, arXiv:1711.05101.

    Args:
        weight_decay: by how much, times `lr`, the weights shrink.
        amsgrad: divide by the greatest mean square so far.

    >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.8990, -1.8980])
    """


adamw = functional_form(
    AdamW,
    "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq max_exp_avg_sqs=max_exp_avg_sq state_steps=step",
    "foreach=None, capturable=False, differentiable=False, fused=None, grad_scale=None, found_inf=None, "
    "has_complex=False, *, amsgrad, beta1, beta2, lr, weight_decay, eps, maximize",
    decoupled_weight_decay=True,
)
