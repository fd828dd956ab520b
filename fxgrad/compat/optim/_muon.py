"""Muon: steps that are orthogonal matrices."""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from .._core.dtypes import as_numpy_dtype, from_name
from .._core.tensor import Tensor
from ..errors import ArgumentValueError
from .functional_forms import functional_form
from .optimizer import check_learning_rate, check_option, ensure_real
from .rule import RuleOptimizer, follow_mean

MOST_ROUNDS = 100


class Muon(
    RuleOptimizer,
    options="lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.7750, 2.0315), "
    "eps=1e-7, ns_steps=5, adjust_lr_fn=None",
):
    """Momentum whose steps are made orthogonal, for matrices: the hidden layers of a network. Source: Jordan et al.,
    2024, https://kellerjordan.github.io/posts/muon; `adjust_lr_fn`: Liu et al., 2025, arXiv:2502.16982.

    Args:
        momentum, nesterov: of the gradients, Nesterov's or not.
        ns_coefficients, ns_steps: the polynomial aX + b(XXᵀ)X + c(XXᵀ)²X that brings singular values near one, and how
            often; in bfloat16.
        eps: the least norm by which a step is divided.
        adjust_lr_fn: "original" (None): the learning rate grows with √max(1, rows/columns); "match_rms_adamw": with
            0.2 · √max(rows, columns).

    Raises:
        ValueError: a parameter that is no matrix, an option out of range.

    >>> x = torch.eye(2).requires_grad_()
    >>> optimizer = torch.optim.Muon([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.shape
    torch.Size([2, 2])
    """

    _fx_is_elementwise = False

    def _fx_check(self, options: dict[str, Any]) -> None:
        check_learning_rate(options["lr"])
        for name, words in (
            ("lr", "Learning rate"), ("momentum", "momentum"), ("weight_decay", "weight decay")
        ):  # fmt: skip
            check_option(options[name] >= 0, f"{words} should be >= 0 but is", options[name], None, "{}: {}")
        if options["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ArgumentValueError(
                f"Adjust learning rate function {options['adjust_lr_fn']} is not supported",
                hint='adjust_lr_fn="original", "match_rms_adamw" or None',
            )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """See `Optimizer`. Parameters are matrices."""
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.dim() != 2:
                raise ArgumentValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}",
                    hint="the others in an optimizer of their own: AdamW([p for p in parameters if p.dim() != 2])",
                )

    def _fx_update_parameter(self, p: Tensor, gradient: Tensor, options: dict[str, Any], site) -> None:
        """See `RuleOptimizer`; parameters are real."""
        ensure_real(p, "Muon")
        super()._fx_update_parameter(p, gradient, options, site)

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        lr, momentum = options["lr"], options["momentum"]
        velocity = follow_mean(state, "momentum_buffer", gradient, 1 - momentum)
        step = gradient + momentum * (velocity - gradient) if options["nesterov"] else velocity
        if options["ns_steps"] >= MOST_ROUNDS:
            raise ArgumentValueError(
                "Number of steps must be less than 100 for computational efficiency", hint="ns_steps=5"
            )
        step = orthogonalize(step, options["ns_coefficients"], options["ns_steps"], options["eps"])
        rows, columns = value.shape
        if options["adjust_lr_fn"] == "match_rms_adamw":
            scale = 0.2 * math.sqrt(max(rows, columns))
        else:
            scale = math.sqrt(max(1, rows / columns))
        value *= 1 - lr * options["weight_decay"]
        value -= lr * scale * step.astype(value.dtype)
        return value


def orthogonalize(matrix, coefficients, rounds: int, eps: float) -> Any:
    """The matrix with singular values near one, by rounds of a polynomial of fifth degree (Newton and Schulz): what
    is kept between operations is in bfloat16, sums are in single precision."""
    short = as_numpy_dtype(from_name("bfloat16"))

    def rounded(x) -> Any:
        return x.astype(short).astype("float32")

    a, b, c = coefficients
    wide = matrix.shape[0] <= matrix.shape[1]
    x = rounded(matrix if wide else matrix.T)
    norm = rounded(ops.sqrt((x * x).sum()))
    x = rounded(x / ops.maximum(norm, eps))
    for _ in range(rounds):
        gram = rounded(x @ x.T)
        inner = rounded(b * gram + c * (gram @ gram))
        x = rounded(a * x + inner @ x)
    return x if wide else x.T


muon = functional_form(
    Muon,
    "muon_momentum_bufs=momentum_buffer",
    "*, foreach=None, lr, weight_decay, momentum, nesterov, ns_coefficients, ns_steps, eps, adjust_lr_fn, "
    "has_complex",
)
