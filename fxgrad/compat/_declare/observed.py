"""Operations under an observer, such as a profile: each is reported as one step, and runs as usual."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from ...extend import CURRENT, EVAL, Cache, Context, observe_code
from .._core.modes import with_modes
from .._core.tensor import Tensor
from .composite import CompiledPlan

if TYPE_CHECKING:
    from ...extend import Observer
    from .operation import Operation, Outcome


def node_number(outcome: Outcome) -> int | None:
    """The number of the node that an operation recorded."""
    return None if outcome.node is None else outcome.node.order


def inplace_node_number(outcome: Outcome) -> int | None:
    """The same for an operation in place, whose node has another number once the result is written: it keeps this one
    beside it."""
    if outcome.node is None:
        return None
    number = outcome.node.__dict__["forward_number"] = outcome.node.order
    return number


def run_observed(
    observer: Observer, op: Operation, operands: Sequence[Any], params: dict, target: Tensor | None
) -> Outcome:
    """Do what `Operation.run_on_tape` does, as one step of an observer."""
    name, number = (op.name, node_number) if target is None else (f"{op.name}_", inplace_node_number)
    run = partial(run_plainly, op, operands, params, target)
    return observer.observe("operation", name, (*operands, *params.values()), run, number)


def run_plainly(op: Operation, operands: Sequence[Any], params: dict, target: Tensor | None) -> Outcome:
    """Run an operation by its plan where it would have one without the observer."""
    context = CURRENT.get()
    if getattr(context.interpreter, "is_lowest", False):
        modes = context.modes
        token = CURRENT.set(EVAL if modes is None else with_modes(Context(EVAL.interpreter, None, modes)))
        try:
            twin = vars(op).get("twin") or make_twin(op)
            outcome = twin.run_plan(operands, params, target)
        finally:
            CURRENT.reset(token)
        if outcome is not None:
            if outcome.node is not None:
                outcome.node.operation = op
            return outcome
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
