"""Operations under an observer, such as a profile: each is reported as one step, and runs as usual."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from ...extend import CURRENT, EVAL, Cache, Context, observe_code
from .._core.modes import with_modes
from .._core.tensor import Tensor
from .composite import CompiledPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...extend import Observer
    from .operation import Operation


def node_number(found: Any) -> int | None:
    """The number of the node that an operation recorded: see `Operation.run_on_tape`."""
    return None if found[3] is None else found[3].order


def inplace_node_number(found: Any) -> int | None:
    """The same for an operation in place, whose node has another number once the result is written: it keeps this one
    beside it."""
    if found[3] is None:
        return None
    number = found[3].__dict__["forward_number"] = found[3].order
    return number


def run_observed(
    observer: Observer, op: Operation, operands: Sequence[Any], params: dict, target: Tensor | None
) -> Any:
    """Do what `Operation.run_on_tape` does, as one step of an observer."""
    name, number = (op.name, node_number) if target is None else (f"{op.name}_", inplace_node_number)
    run = partial(run_plainly, op, operands, params, target)
    return observer.observe("operation", name, (*operands, *params.values()), run, number)


def run_plainly(op: Operation, operands: Sequence[Any], params: dict, target: Tensor | None) -> Any:
    """Run an operation by its plan where it would have one without the observer."""
    context = CURRENT.get()
    if getattr(context.interpreter, "is_lowest", False):
        modes = context.modes
        token = CURRENT.set(EVAL if modes is None else with_modes(Context(EVAL.interpreter, None, modes)))
        try:
            twin = vars(op).get("twin") or make_twin(op)
            found = twin.run_plan(operands, params, target)
        finally:
            CURRENT.reset(token)
        if found is not None:
            if found[3] is not None:
                found[3].operation = op
            return found
    return op.run_on_tape(operands, params, target)


def make_twin(op: Operation) -> Operation:
    """Make an operation with plans of its own, in which compiled code shows its equations."""
    twin = vars(op)["twin"] = copy(op)
    vars(twin).update(plans=Cache(), make_plan=partial(make_observed_plan, op))
    return twin


def make_observed_plan(op: Operation, *given: Any) -> Any:
    """Make a plan whose code is observed."""
    from ...profiling.level import observe_equation  # a room that is loaded with the first profile

    plan = op.make_plan(*given)
    if isinstance(plan, CompiledPlan):
        wrapped: Any = plan.forward
        code = getattr(wrapped, "code", wrapped)
        observed = observe_code(code, observe_equation)
        plan.forward = observed if code is wrapped else wrapped.wrap(observed)
    return plan
