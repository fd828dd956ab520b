"""SGD: gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from ..errors import ArgumentValueError
from .functional_forms import functional_form
from .rule import RuleOptimizer, add_decay, add_to, copy_array, scale
from .sparse_rows import rows_and_values


class SGD(
    RuleOptimizer,
    options="lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None, "
    "differentiable=False, fused=None",
):
    """Gradient descent, with momentum, Nesterov's or not. Source: Sutskever et al., 2013.

    Args:
        dampening: by how much of itself a gradient adds less to it.
        nesterov: whether the step looks ahead along the velocity.

    Raises:
        ValueError: an option out of range.
        RuntimeError: options that exclude each other.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _fx_non_negative = "lr momentum weight_decay"

    def _fx_check(self, options: dict[str, Any]) -> None:
        super()._fx_check(options)
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"]):
            raise ArgumentValueError(
                "Nesterov momentum requires a momentum and zero dampening", hint="momentum=0.9, dampening=0"
            )

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        momentum = options["momentum"]
        gradient = add_decay(gradient, value, options)
        if momentum:
            velocity = state.get("momentum_buffer")
            if velocity is None:
                velocity = copy_array(gradient)
            else:
                velocity = add_to(scale(velocity, momentum), (1 - options["dampening"]) * gradient)
            state["momentum_buffer"] = velocity
            gradient = gradient + momentum * velocity if options["nesterov"] else velocity
        return add_to(value, -options["lr"] * gradient)

    def _fx_update_sparse(self, p: Tensor, gradient: Tensor, options: dict[str, Any], site) -> None:
        """Move the entries that have a gradient, unless momentum moves the others as well."""
        if options["momentum"] or options["weight_decay"]:
            self._fx_update_parameter(p, gradient.to_dense(), options, site)
            return
        rows, values = rows_and_values(gradient)
        p.index_put_(rows, (1 if options["maximize"] else -1) * options["lr"] * values, accumulate=True)


sgd = functional_form(
    SGD,
    "momentum_buffer_list=momentum_buffer",
    "has_sparse_grad=False, foreach=None, fused=None, grad_scale=None, found_inf=None, *, weight_decay, "
    "momentum, lr, dampening, nesterov, maximize",
)
