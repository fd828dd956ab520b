"""Optimizers as functions of lists of Tensors, `torch.optim.adam.adam(params, grads, …)`, by the rules of the
classes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import api_boundary, source_info
from .._core.inplace import ensure_modifiable
from .._core.tensor import Tensor
from ..autograd.grad_mode import is_grad_enabled, no_grad
from ..errors import NoGradientError, TensorError
from .rule import RuleOptimizer, read_option

# Options of rules that are several arguments of the functions.
JOINED = {
    "betas": ("beta1", "beta2"),
    "eps": ("eps1", "eps2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}
# Lists that are read where an option says so.
OPTIONAL = {"max_exp_avg_sq": "amsgrad", "grad_avg": "centered", "momentum_buffer": "momentum"}


def functional_form(
    optimizer: type[RuleOptimizer], lists: str, parameters: str, **fixed: Any
) -> Callable[..., None]:
    """Make the function of an optimizer, which has the name of the class in small letters.

    Args:
        optimizer: the class, whose rule it carries out.
        lists: the names of the lists after those of parameters and gradients, each with that of the entry of the state
            that is in it: "exp_avgs=exp_avg".
        parameters: the others as text, of which those after the star are the options of the rule.
        fixed: options of the rule that are no parameters.
    """
    entries = dict(pair.split("=") for pair in lists.split())
    namespace: dict[str, Any] = {}
    exec(f"def function(params, grads, {', '.join([*entries, parameters])}): pass", namespace)
    signature = inspect.signature(namespace["function"])

    def function(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        check_flags(given)
        options: dict[str, Any] = {"maximize": False, "lr": 0.0} | fixed | given
        for option, parts in JOINED.items():
            if parts[0] in given:
                options[option] = given[parts[0]], given[parts[1]]
        scale, overflow = given.get("grad_scale"), given.get("found_inf")
        if overflow is not None and overflow.item():
            return
        rule = optimizer.__new__(optimizer)
        for i, (p, gradient) in enumerate(zip(given["params"], given["grads"])):
            if scale is not None:
                gradient = gradient / scale
            state = {
                entry: given[name][i]
                for name, entry in entries.items()
                if options.get(OPTIONAL.get(entry, ""), True)
            }
            take_step(rule, p, gradient, {n: x for n, x in state.items() if x is not None}, options)
            for name, entry in entries.items():
                if entry in state and state[entry] is None:  # it has begun
                    given[name][i] = rule.state[p].get(entry)

    function.__name__ = function.__qualname__ = optimizer.__name__.lower()
    function.__doc__ = f"Step as `{optimizer.__name__}` does, whose state the lists are, in place."
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__module__ = optimizer.__module__
    return api_boundary(function)


def check_flags(given: dict[str, Any]) -> None:
    """Raise for what torch's functions refuse: steps that are no Tensors, and flags for devices that are not there."""
    for step in given.get("state_steps", ()):
        if not isinstance(step, Tensor):
            raise TensorError(
                "API has changed, `state_steps` argument must contain a list of singleton tensors",
                hint=f"torch.tensor(float({step!r}))",
            )
    if given.get("capturable"):
        raise NoGradientError(
            "If capturable=True, params and state_steps must be on supported devices: "
            "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla'].",
            hint="capturable=False",
        )
    if given.get("foreach") and given.get("differentiable"):
        raise NoGradientError("_foreach ops don't support autograd", hint="foreach=False")


def take_step(
    rule: RuleOptimizer, p: Tensor, gradient: Tensor, state: dict[str, Any], options: dict[str, Any]
) -> None:
    """Change one parameter and its state in place: recorded, where the parameter or its gradient has a history."""
    rule.state = {p: dict(state)}  # type: ignore[assignment]
    recorded = is_grad_enabled() and (p.requires_grad or gradient.requires_grad)
    if recorded:
        ensure_modifiable(p, (gradient,))
    rule_options = {name: read_option(x, recorded) for name, x in options.items()}
    with np.errstate(all="ignore"):
        if getattr(gradient, "is_sparse", False):
            rule._fx_update_sparse(p, gradient, rule_options, source_info.user_frame())
        elif not recorded:
            with no_grad():
                rule._fx_update_parameter(p, gradient, rule_options, source_info.user_frame())
        else:
            rule._fx_record_update(p, gradient, rule_options)
    for name, known in state.items():
        found = rule.state[p][name]
        if isinstance(known, Tensor) and found is not known:
            known.copy_(found)
