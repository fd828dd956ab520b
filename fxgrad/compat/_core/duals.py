"""Forward mode on Tensors: duals, which carry a tangent, and what operations and backward do with it.

The tangent of a result is computed by the operation's own forward rule while the tape records, so it has a history:
reverse over forward. Backward meets duals in what nodes have kept: while a level is open it runs inside a
`DualInterpreter`, and the rule of a node with duals hands over pairs of a value and its tangent: forward over reverse.
A plain node is not concerned, and plain operations neither: duals are told by their aspect.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ... import ops
from ...core.aval import aval_of, is_differentiable
from ...core.fp_errors import SILENT, STATE
from ...core.interpreter import Context, levels, within
from ...core.pullback import PullbackRule
from ...transforms.jvp import JVPInterpreter, JVPTracer
from . import views
from .errors import TensorError
from .memory import is_array, root
from .modes import current_modes
from .tape import Edge, TapeTracer, current_tape
from .tensor import Tensor, lower, make, parent_of, tracer_of, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Level:
    """A dual level: the tangents that were made while it was open end with it. Each thread and task has its own."""

    __slots__ = ("cells",)

    def __init__(self) -> None:
        self.cells: WeakSet[Tangent] = WeakSet()

    def close(self) -> None:
        """Forget all tangents."""
        for cell in list(self.cells):
            cell.tensor = None


LEVEL: ContextVar[Level | None] = ContextVar("fxgrad dual level", default=None)


def ensure_outermost() -> None:
    """Raise where forward mode is in use already: a Tensor has one tangent.

    Raises:
        TensorError: a level is open.
    """
    if LEVEL.get() is not None:
        raise TensorError(
            "Nested forward mode AD is not supported at the moment",
            hint="torch.func.jvp, which nests with itself, instead of dual_level",
        )


class Tangent:
    """The place of a tangent in the aspect of a dual: the Tensor, or None where there is none and none is to be had
    from a base."""

    __slots__ = ("__weakref__", "level", "tensor")
    tensor: Any

    def __init__(self, level: Level | None, tensor: Tensor | None):
        self.level, self.tensor = level, tensor
        if level is not None:
            level.cells.add(self)


def cell_of(tensor: Tensor) -> Tangent | None:
    """The Tangent of a dual; a view of what became a dual by modification is one as well."""
    aspect = tensor.aspect
    if aspect is None:
        return None
    cell = aspect.tangent
    if cell is not None:
        return None if cell.tensor is None else cell
    if aspect.base is None or aspect.creation == "detached":
        return None
    above = cell_of(aspect.base)
    if above is None:
        return None
    return set_tangent(tensor, aspect.steps(above.tensor), above.level)


def tangent_of(tensor: Tensor) -> Tensor | None:
    """The tangent of a dual; None of any other Tensor."""
    cell = cell_of(tensor)
    return None if cell is None else cell.tensor


def set_tangent(tensor: Tensor, tangent: Tensor | None, level: Level | None) -> Tangent:
    """Make a dual of a Tensor; without a tangent, what is none although it may be a view of one."""
    cell = Tangent(level, tangent)
    if tensor.aspect is None:
        tensor.aspect = views.Aspect(None)
    tensor.aspect.tangent = cell
    return cell


# -- operations ------------------------------------------
def follow(
    operation: Any,
    operands: Sequence[Any],
    params: dict,
    pattern: tuple,
    flat: Sequence[Any],
    parents: Sequence[Any],
    results: Sequence[Tensor],
) -> None:
    """Give the results of an operation the tangents that those of its operands make."""
    cells: list[Any] = [cell_of(x) if isinstance(x, Tensor) else None for x in flat]
    level = next((cell.level for cell in cells if cell is not None), None)
    if level is None:
        first = flat[0].aspect if operation.view else None
        if first is not None and first.tangent is not None:
            for result in results:
                set_tangent(result, None, None)
        return
    if operation.view:
        made = operation((cells[0].tensor, *operands[1:]), dict(params))
        tangents = [made] if operation.results is None else list(made)
    else:
        tangents = pushed(operation.primitive(pattern), flat, parents, cells, params, results)
    made_cells = [
        set_tangent(r, t, level) if is_differentiable(aval_of(r.value).dtype) else None
        for r, t in zip(results, tangents)
    ]
    for result in results:
        node = result.node.node if type(result.node) is Edge else result.node
        if node is not None and node.rule.kept:
            node.rule, node.plain = DualRule(node.rule, cells, made_cells), None
            break


def pushed(
    primitive: Any,
    flat: Sequence[Any],
    parents: Sequence[Any],
    cells: Sequence[Tangent | None],
    params: dict,
    results: Sequence[Tensor],
) -> list[Tensor]:
    """The tangents of the results, by the forward rule of the operation, recorded like any operation."""
    tape = current_tape()
    recording = current_modes().recording

    def value_of(tensor: Tensor) -> Any:
        return tracer_of(tensor) if recording and tensor.node is not None else lower(tensor, tape)

    primals = []
    for x, parent in zip(flat, parents):
        value = lower(x, tape) if isinstance(x, Tensor) else x
        primals.append(value if parent is None else TapeTracer(tape, value, parent))
    given = [None if cell is None else value_of(cell.tensor) for cell in cells]
    ys = [r.value if r.node is None else TapeTracer(tape, r.value, parent_of(r)) for r in results]
    silence = STATE.set(SILENT)
    try:
        found = primitive.tangent(ys if primitive.multiple_results else ys[0], primals, given, params)
        found = list(found) if primitive.multiple_results else [found]
    finally:
        STATE.reset(silence)
    owners = [root(lower(x, tape)) for x in flat if isinstance(x, Tensor)]
    owners += [root(cell.tensor.value) for cell in cells if cell is not None]
    return [private(t, r, owners) for t, r in zip(found, results)]


def zeros_like(tensor: Tensor) -> Tensor:
    """The tangent of a constant."""
    tape = current_tape()
    with within(tape.outer):
        return make(tape, ops.zeros_like(lower(tensor, tape)))


def private(tangent: Any, result: Tensor, owners: Sequence[Any]) -> Tensor:
    """A tangent as a Tensor of the dtype of its primal, and with memory of its own as results have."""
    tape = current_tape()
    if tangent is None:
        return zeros_like(result)
    dtype = aval_of(result.value).dtype
    if aval_of(tangent).dtype != dtype:
        tangent = ops.convert(tangent, dtype=dtype)
    made = wrap(tangent, tape)
    value = made.value
    if is_array(value) and (not value.flags.writeable or any(root(value) is owner for owner in owners)):
        return made.clone()
    return made


# -- backward ------------------------------------------
class DualInterpreter(JVPInterpreter):
    """The level in which backward runs on the values outside `tape`, or where it is recorded on its tracers. A pair
    that user code gives belongs to no level yet: it becomes one of the level that meets it."""

    __slots__ = ("recorded", "tape")
    name = "forward_ad"

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        for a in args:
            if type(a) is JVPTracer and a.interpreter is None:
                a.interpreter = self
        return super().process(primitive, args, params)

    def lowered(self, tensor: Tensor) -> Any:
        """A tangent as a value of the level outside."""
        if self.recorded and tensor.tape is self.tape and tensor.node is not None:
            return tracer_of(tensor)
        return lower(tensor, self.tape)


class DualRule(PullbackRule):
    """The rule of a node some of whose operands, and so its results, are duals: with their tangents beside what was
    kept, as long as these last."""

    def __init__(self, rule: Any, operands: Sequence[Tangent | None], results: Sequence[Tangent | None]):
        self.rule, self.operands, self.results = rule, list(operands), list(results)
        self.kept = rule.kept
        self.refill = rule.refill

    def pull(self, ct: Any, *residuals: Any) -> Any:
        """The cotangents of the operands, with tangents."""
        interpreter: Any = next((level for level in levels() if type(level) is DualInterpreter), None)
        if interpreter is None:
            return self.rule.pull(ct, *residuals)

        def paired(cells: Sequence[Tangent | None]) -> Callable[[int, Any], Any]:
            def pair(index: int, value: Any) -> Any:
                cell = cells[index]
                if cell is None or cell.tensor is None:
                    return value
                return JVPTracer(interpreter, value, interpreter.lowered(cell.tensor))

            return pair

        return self.rule.pull(ct, *self.refill(residuals, paired(self.operands), paired(self.results)))

    def protect(self, owner: Any) -> None:
        """Keep copies of tangents whose memory is about to be overwritten."""
        for i, cell in enumerate(self.operands):
            if cell is not None and cell.tensor is not None and root(cell.tensor.value) is owner:
                self.operands[i] = Tangent(cell.level, cell.tensor.clone())


def walking(context: Context, tape: Any, create: bool) -> Context:
    """The Context in which backward runs, given the one without duals."""
    if LEVEL.get() is None:
        return context
    with within(context):
        interpreter = DualInterpreter()
    interpreter.tape, interpreter.recorded = tape, create
    return Context(interpreter, context.watching, context.modes)


NEW: Any = None  # the level of a pair that was met by none yet


def seed(gradient: Tensor, value_of: Callable[[Tensor], Any]) -> Any:
    """A gradient given to backward as a cotangent: with its tangent if it is a dual."""
    tangent = tangent_of(gradient)
    ct = value_of(gradient)
    return ct if tangent is None else JVPTracer(NEW, ct, value_of(tangent))


def is_pair(ct: Any) -> bool:
    """Whether a cotangent has a tangent."""
    return type(ct) is JVPTracer and (ct.interpreter is NEW or type(ct.interpreter) is DualInterpreter)


def in_parts(ct: Any, linear: Callable[[Any], Any]) -> Any:
    """A linear function of a cotangent, and of its tangent if it has one."""
    if not is_pair(ct):
        return linear(ct)
    return JVPTracer(ct.interpreter, linear(ct.primal), None if ct.tangent is None else linear(ct.tangent))


def handed(ct: Any, tensor_of: Callable[[Any], Tensor]) -> Tensor:
    """A cotangent as a Tensor, a dual if it has a tangent."""
    if not is_pair(ct):
        return tensor_of(ct)
    tensor = tensor_of(ct.primal)
    if ct.tangent is not None:
        set_tangent(tensor, tensor_of(ct.tangent), LEVEL.get())
    return tensor


# -- transforms ------------------------------------------
def carried(tensor: Tensor, stand_in: Tensor, entering: Callable[[Tensor], Tensor]) -> Tensor:
    """What stands for a Tensor inside a transform: a dual if that is one, with the tangent brought in likewise."""
    cell = cell_of(tensor)
    if cell is not None:
        set_tangent(stand_in, entering(cell.tensor), cell.level)
    return stand_in
