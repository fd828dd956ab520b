"""Checkpoints that compute only some operations again: a policy decides for each operation whether its result is kept.

Both runs are handlers of operations (`_declare.handlers`): the first keeps results by the number of the call, the
second finds them there and only asks for the rules.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from ...extend import CURRENT, Tracer, use_context
from .._core.memory import VERSIONS, is_array
from .._core.modes import current_modes, with_modes
from .._core.tape import next_serial
from .._core.tensor import make_tensor
from .._declare.handlers import OperationHandler
from ..errors import ArgumentError, ArgumentValueError, TensorError
from ..ops.overloads import AtenOperation, called_operation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._declare.handlers import OperationCall, Recorded

    Policy = Callable[..., "CheckpointPolicy | bool"]


class CheckpointPolicy(Enum):
    """The treatment of the result of an operation: it is kept, recomputed, or kept in CPU memory. MUST
    and PREFER are the same here.

    >>> torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE.name
    'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5

    @property
    def saves(self) -> bool:
        """Whether the result is kept."""
        return self not in (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)

    @property
    def offloads(self) -> bool:
        """Whether the result is kept in the memory of the CPU."""
        return self in (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """The information that a policy gets besides the operands of an operation: `op_output`, its result. `is_recompute`
    is always False: policies are asked in the first run only.

    >>> torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None):
        self.is_recompute, self.op_output = is_recompute, op_output


class KeptResult(NamedTuple):
    """The kept result of one call: the operation, its values, their original device if they were moved, and the
    time."""

    operation: AtenOperation
    values: list[Any]
    devices: list[Any] | None
    order: int


class ResultKeeper(OperationHandler):
    """The first run: keeps the results that the policy wants kept, by the number of the call."""

    def __init__(self, policy: Policy, kept: dict[int, KeptResult]):
        self.policy, self.kept, self.count = policy, kept, 0

    def handle(self, call: OperationCall, proceed: Callable[[], Recorded]) -> Recorded:
        """Ask the policy about an operation."""
        number, self.count = self.count, self.count + 1
        operation = called_operation(call.operation.name, call.operands, call.is_inplace)
        y, node = proceed()
        values = list(y) if call.primitive.multiple_results else [y]
        results = [make_tensor(call.tape, v) for v in values]
        context = SelectiveCheckpointContext(
            is_recompute=False, op_output=tuple(results) if call.primitive.multiple_results else results[0]
        )
        policy = as_policy(self.policy(context, operation, *call.operands, **call.params))
        # A view belongs to its base, what is done in place to memory that was there, a traced value to levels that
        # record how it was computed.
        is_own = not (call.operation.view or call.is_inplace or any(isinstance(v, Tracer) for v in values))
        if policy.saves and is_own:
            devices = [r.device for r in results] if policy.offloads else None
            if policy.offloads:
                values = [r.cpu()._fx_value for r in results]
            self.kept[number] = KeptResult(operation, values, devices, next_serial())
        return y, node


class ResultFinder(OperationHandler):
    """The second run: finds the results that were kept."""

    def __init__(self, kept: dict[int, KeptResult], checks_mutation: bool):
        self.kept, self.checks_mutation, self.count = kept, checks_mutation, 0

    def handle(self, call: OperationCall, proceed: Callable[[], Recorded]) -> Recorded:
        """Return the kept result of an operation."""
        number, self.count = self.count, self.count + 1
        kept = self.kept.get(number)
        operation = called_operation(call.operation.name, call.operands, call.is_inplace)
        if kept is not None and kept.operation is operation:
            if self.checks_mutation and any(is_changed(v, kept.order) for v in kept.values):
                raise TensorError(
                    "Tensor cached during selective activation checkpoint has been mutated",
                    hint="have this operation computed again, or pass allow_cache_entry_mutation=True where the change "
                    "does not matter",
                )
            values = kept.values
            if kept.devices is not None:
                values = [make_tensor(call.tape, v).to(d)._fx_value for v, d in zip(values, kept.devices)]
            call.known = values if call.primitive.multiple_results else values[0]
        return proceed()


def is_changed(value: Any, order: int) -> bool:
    """Whether an array was modified in place after a serial number."""
    memory = VERSIONS.find(value) if is_array(value) else None
    return memory is not None and memory.change_after(order) is not None


def as_policy(answer: Any) -> CheckpointPolicy:
    """Convert the answer of a policy: True means MUST_SAVE, False PREFER_RECOMPUTE."""
    if isinstance(answer, CheckpointPolicy):
        return answer
    return CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE


class handled_by:
    """A context manager in which a new handler receives every operation."""

    def __init__(self, make_handler: Callable[[], OperationHandler]):
        self.make_handler = make_handler
        self.entered: list[use_context] = []

    def __enter__(self) -> None:
        handlers = (*current_modes().handlers, self.make_handler())
        self.entered.append(use_context(with_modes(CURRENT.get(), handlers=handlers)))
        self.entered[-1].__enter__()

    def __exit__(self, *exc: object) -> None:
        self.entered.pop().__exit__(*exc)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[AtenOperation], allow_cache_entry_mutation: bool = False
) -> tuple[handled_by, handled_by]:
    """Make the context managers of a checkpoint that keeps the results of some operations.

    Views, what is done in place, and what is traced by a transform is computed again whatever the policy says.

    Args:
        policy_fn_or_list: `policy(context, operation, *operands, **params)` → a `CheckpointPolicy`, called for every
            operation of the first run; `operation` is `torch.ops.aten.mm.default` or the like, `context` a
            `SelectiveCheckpointContext`. Or a list of operations, whose results are to be kept, and no others.
        allow_cache_entry_mutation: whether a result that was kept may have been modified in place when it is used.

    Returns:
        Two context managers, for `checkpoint(…, context_fn=…)`.

    Raises:
        TypeError: `policy_fn_or_list` is neither.
        ValueError: something in the list is no such operation.
        RuntimeError: in backward, a result that was kept has been modified.

    >>> from functools import partial
    >>> from fxgrad.compat.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.eye(2, requires_grad=True)
    >>> keep_products = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> y = checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=keep_products)
    >>> y.sum().backward()
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, AtenOperation):
                raise ArgumentValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}.",
                    hint="name it as torch.ops.aten.mm.default",
                )
        saved = set(policy_fn_or_list)
        policy: Policy = lambda context, op, *operands, **params: op in saved  # noqa: E731
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise ArgumentError(
            "policy_fn_or_list must be either a function or a list of ops.",
            hint="[torch.ops.aten.mm.default], or a function (ctx, op, *args, **kwargs) that returns a "
            "CheckpointPolicy",
        )
    kept: dict[int, KeptResult] = {}
    return (
        handled_by(lambda: ResultKeeper(policy, kept)),
        handled_by(lambda: ResultFinder(kept, not allow_cache_entry_mutation)),
    )
