"""Operations under an observer, such as a profile: each is reported as one step, and runs as usual."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.cache import Cache
from ...core.interpreter import CURRENT, EVAL, Context
from ...kernels.codegen.observed import observe_code
from .._core.modes import with_modes
from .._core.tensor import Tensor
from .composite import CompiledPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.observer import Observer
    from .operation import Operation

# Functions that are no operations to torch: they ask, print, set, or lead to others.
SILENT = {
    "allclose", "as_tensor", "asarray", "backward", "backward_from", "broadcast_shapes", "data_ptr",
    "deepcopy_tensor", "dim", "dlpack_device", "element_size", "equal", "format_with_spec",
    "from_dlpack", "from_numpy", "frombuffer", "get_default_device", "get_device",
    "get_num_interop_threads", "get_num_threads", "get_printoptions", "get_rng_state", "getitem",
    "initial_seed", "is_complex", "is_conj", "is_contiguous", "is_floating_point",
    "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_nonzero", "is_same_size",
    "is_set_to", "is_shared", "is_signed", "is_tensor", "iterate_entries_along_0", "manual_seed",
    "ndimension", "nelement", "new", "numel", "numpy", "reduce_tensor", "register_hook",
    "register_post_accumulate_grad_hook", "representation", "requires_grad_", "result_type",
    "retain_grad", "seed", "set_default_device", "set_printoptions", "set_rng_state", "setitem",
    "share_memory_", "size", "storage", "storage_offset", "stride", "tensor", "to_dlpack",
    "to_numpy_array", "tolist", "untyped_storage", "vmap", "wrap_array"
}  # fmt: skip


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


def run_function(observer: Observer, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run a function on Tensors as one step of an observer."""
    if function.__name__ in SILENT or function.__name__.startswith("__"):
        return function(*args, **kwargs)
    run = partial(function, *args, **kwargs)
    return observer.observe("operation", function.__name__, (*args, *kwargs.values()), run)
