"""The optimizers. `foreach`, `fused` and `capturable` are torch's choices among ways to compute the same: they are
accepted, and change nothing here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import ops
from .._core.errors import ArgumentValueError
from .._make.creation import full_like, tensor
from ..ops.complex import view_as_real
from .optimizer import Optimizer, check_option

COMMON_OPTIONS = "foreach=None, maximize=False, differentiable=False"


def copy_array(x) -> Any:
    """Copy an array; traced values need no copy."""
    return x.copy() if isinstance(x, np.ndarray) else x


def state_entry(state: dict[str, Any], name: str, like) -> Any:
    """Return an entry of the state, which begins as zeros."""
    if name not in state:
        state[name] = np.zeros_like(like) if isinstance(like, np.ndarray) else ops.zeros_like(like)
    return state[name]


def add_decay(gradient, value, options: dict[str, Any]) -> Any:
    """Add the gradient of the penalty weight_decay · value²/2."""
    decay = options["weight_decay"]
    return gradient + decay * value if decay else gradient


def count_step(state: dict[str, Any]) -> float:
    """Count this step, and return its number."""
    step = state["step"] = np.asarray(state.get("step", 0) + 1, np.float32)
    return float(step)


class SGD(
    Optimizer,
    options=f"lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, {COMMON_OPTIONS}, fused=None",
):
    """Gradient descent, with momentum, Nesterov's or not.

    >>> import fxgrad.compat as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    non_negative = "lr momentum weight_decay"
    is_elementwise = True

    def check(self, options: dict[str, Any]) -> None:
        super().check(options)
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"]):
            raise ArgumentValueError("Nesterov momentum requires a momentum and zero dampening")

    def update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        momentum = options["momentum"]
        gradient = add_decay(gradient, value, options)
        if momentum:
            if "momentum_buffer" in state:
                velocity = state["momentum_buffer"]
                velocity *= momentum
                velocity += (1 - options["dampening"]) * gradient
            else:
                velocity = copy_array(gradient)
            state["momentum_buffer"] = velocity
            gradient = gradient + momentum * velocity if options["nesterov"] else velocity
        value -= options["lr"] * gradient
        return value


class Adam(
    Optimizer,
    options="lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, "
    f"{COMMON_OPTIONS}, capturable=False, fused=None, decoupled_weight_decay=False",
):
    """Steps of about the size of the learning rate, whatever that of the gradients. Source: Kingma and Ba, 2014,
    arXiv:1412.6980; `amsgrad`: Reddi et al., 2018; `decoupled_weight_decay`: see `AdamW`."""

    non_negative = "lr eps weight_decay"
    is_elementwise = True

    def check(self, options: dict[str, Any]) -> None:
        super().check(options)
        for i, beta in enumerate(options["betas"]):
            check_option(0 <= beta < 1, f"beta parameter at index {i}", beta)

    def update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        (beta1, beta2), lr = options["betas"], options["lr"]
        step = count_step(state)
        if options["decoupled_weight_decay"]:
            value *= 1 - lr * options["weight_decay"]
        else:
            gradient = add_decay(gradient, value, options)
        mean, square = state_entry(state, "exp_avg", value), state_entry(state, "exp_avg_sq", value)
        mean += (1 - beta1) * (gradient - mean)
        square *= beta2
        square += (1 - beta2) * (gradient * gradient)
        state["exp_avg"], state["exp_avg_sq"] = mean, square
        if options["amsgrad"]:
            square = state["max_exp_avg_sq"] = ops.maximum(
                state_entry(state, "max_exp_avg_sq", value), square
            )
        root = ops.sqrt(square) / math.sqrt(1 - beta2**step) + options["eps"]
        value -= lr / (1 - beta1**step) * (mean / root)
        return value


class AdamW(
    Adam,
    options=f"lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, {COMMON_OPTIONS}, "
    "capturable=False, fused=None",
    fixed={"decoupled_weight_decay": True},
):
    """Adam with decoupled weight decay: weights shrink by lr · weight_decay in each step. Source: Loshchilov and
    Hutter, 2017, arXiv:1711.05101."""


class RMSprop(
    Optimizer,
    options="lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, "
    f"{COMMON_OPTIONS}",
):
    """Gradients divided by the root of the running mean of their squares; `centered`: of their variance.
    Source: Hinton, 2012."""

    non_negative = "lr eps momentum weight_decay alpha"
    is_elementwise = True

    def update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        alpha = options["alpha"]
        count_step(state)
        gradient = add_decay(gradient, value, options)
        square = state_entry(state, "square_avg", value)
        square *= alpha
        square += (1 - alpha) * (gradient * gradient)
        state["square_avg"] = spread = square
        if options["centered"]:
            mean = state_entry(state, "grad_avg", value)
            mean += (1 - alpha) * (gradient - mean)
            state["grad_avg"] = mean
            spread = square - mean * mean
        gradient = gradient / (ops.sqrt(spread) + options["eps"])
        if options["momentum"]:
            velocity = state_entry(state, "momentum_buffer", value)
            velocity *= options["momentum"]
            velocity += gradient
            state["momentum_buffer"] = gradient = velocity
        value -= options["lr"] * gradient
        return value


class Adagrad(
    Optimizer,
    options="lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, "
    "maximize=False, differentiable=False, fused=None",
):
    """Gradients divided by the root of the sum of all their squares so far. Source: Duchi et al., 2011."""

    non_negative = "lr lr_decay weight_decay initial_accumulator_value eps"
    is_elementwise = True

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """See `Optimizer`. The sums begin at once."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in group["params"]:
            entries = view_as_real(p) if p.is_complex() else p
            total = full_like(entries, group["initial_accumulator_value"], requires_grad=False)
            self.state[p] = {"step": tensor(0.0), "sum": total}

    def update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        step = count_step(state)
        gradient = add_decay(gradient, value, options)
        total = state["sum"]
        total += gradient * gradient
        state["sum"] = total
        lr = options["lr"] / (1 + (step - 1) * options["lr_decay"])
        value -= lr * (gradient / (ops.sqrt(total) + options["eps"]))
        return value
