"""Forward mode on Tensors: duals carry a tangent, and operations and backward propagate it.

The tangent of a result is computed by the operation's own forward rule while the tape records, so it has a history:
reverse over forward. Backward meets duals among the saved values of nodes. While a level is open it runs inside a
`DualInterpreter`, and the rule of a node with duals receives pairs of a value and its tangent: forward over reverse.
Plain nodes and plain operations are not slowed down: a dual is recognized by its ViewMeta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from ...extend import (
    CONSTANTS_FOLLOW,
    ERROR_STATE,
    IGNORE,
    Context,
    JVPInterpreter,
    JVPTracer,
    PullbackRule,
    aval_of,
    is_differentiable,
    levels,
    ops,
    use_context,
)
from ..errors import ArgumentValueError, TensorError
from . import views
from .device_level import hide, show
from .memory import is_array, is_writable, memory_owner
from .modes import current_modes
from .tape import Edge, TapeTracer, current_tape
from .tensor import Tensor, gradient_edge, make_tensor, to_outer, to_tracer, unwrap, wrap


class DualLevel:
    """A dual level: the tangents that are made while it is open end with it. Each thread and task has its own."""

    __slots__ = ("cells",)

    def __init__(self) -> None:
        self.cells: WeakSet[TangentCell] = WeakSet()

    def close(self) -> None:
        """Forget all tangents."""
        for cell in list(self.cells):
            cell.tensor = None


DUAL_LEVEL: ContextVar[DualLevel | None] = ContextVar("fxgrad dual level", default=None)


def ensure_no_dual_level() -> None:
    """Raise where forward mode is in use already: a Tensor has only one tangent.

    Raises:
        TensorError: a level is open.
    """
    if DUAL_LEVEL.get() is not None:
        raise TensorError(
            "Nested forward mode AD is not supported at the moment",
            hint="torch.func.jvp, which nests with itself, instead of dual_level",
        )


class TangentCell:
    """The cell in a dual's ViewMeta that holds its tangent: a Tensor, or None if there is no tangent and none is to
    be taken from a base."""

    __slots__ = ("__weakref__", "level", "tensor")
    tensor: Any

    def __init__(self, level: DualLevel | None, tensor: Tensor | None):
        self.level, self.tensor = level, tensor
        if level is not None:
            level.cells.add(self)


def tangent_cell(tensor: Tensor) -> TangentCell | None:
    """Return the TangentCell of a dual; a view of a Tensor that became a dual by modification is a dual as well."""
    meta = tensor._fx_view_meta
    if meta is None:
        return None
    cell = meta.tangent
    if cell is not None:
        return None if cell.tensor is None else cell
    if meta.base is None or meta.creation == "detached":
        return None
    above = tangent_cell(meta.base)
    if above is None:
        return None
    return set_tangent(tensor, meta.chain(above.tensor), above.level)


def get_tangent(tensor: Tensor) -> Tensor | None:
    """Return the tangent of a dual, or None for any other Tensor."""
    cell = tangent_cell(tensor)
    return None if cell is None else cell.tensor


def set_tangent(tensor: Tensor, tangent: Tensor | None, level: DualLevel | None) -> TangentCell:
    """Make a Tensor a dual with this tangent; None keeps a view of a dual from having a tangent."""
    cell = TangentCell(level, tangent)
    if tensor._fx_view_meta is None:
        tensor._fx_view_meta = views.ViewMeta(None)
    tensor._fx_view_meta.tangent = cell
    return cell


def ensure_floating(tensor: Tensor, what: str) -> None:
    """Raise unless a Tensor, the primal or the tangent of a dual, is of a dtype that has derivatives."""
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise ArgumentValueError(
            f"Expected {what} to be floating point or complex, but got: {tensor.dtype}",
            hint="x.to(torch.float32)",
        )


def check_tangent(tangent: Tensor, tensor: Tensor) -> None:
    """Raise unless a Tensor may have this tangent: one of its own shape, complex only where it is complex.

    Raises:
        TensorError: it may not.
    """
    if tangent.shape != tensor.shape:
        raise TensorError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}.",
            hint=f"a tangent of shape {list(tensor.shape)}, such as torch.ones_like(x)",
        )
    if tangent.dtype.is_complex and not tensor.dtype.is_complex:
        raise TensorError(
            "Trying to set a complex forward gradient of a real Tensor, this is not supported.",
            hint="tangent.real, or make_dual(x.to(torch.complex64), tangent)",
        )


# -- operations ------------------------------------------
def propagate_tangents(
    operation,
    operands: Sequence[Any],
    params: dict,
    pattern: tuple,
    flat: Sequence[Any],
    next_edges: Sequence[Any],
    results: Sequence[Tensor],
) -> None:
    """Give the results of an operation the tangents that follow from those of its operands."""
    cells: list[Any] = [tangent_cell(x) if isinstance(x, Tensor) else None for x in flat]
    level = next((cell.level for cell in cells if cell is not None), None)
    if level is None:
        first = flat[0]._fx_view_meta if operation.view else None
        if first is not None and first.tangent is not None:
            for result in results:
                set_tangent(result, None, None)
        return
    if operation.view:
        made = operation((cells[0].tensor, *operands[1:]), dict(params))
        tangents = [made] if operation.results is None else list(made)
    else:
        tangents = jvp_results(operation.primitive_for(pattern), flat, next_edges, cells, params, results)
    made_cells = [
        set_tangent(r, t, level) if is_differentiable(aval_of(r._fx_value).dtype) else None
        for r, t in zip(results, tangents)
    ]
    for result in results:
        node = result._fx_node.node if type(result._fx_node) is Edge else result._fx_node
        if node is not None and node.rule.saved_from:
            node.rule, node.pull_plain = DualPullback(node.rule, cells, made_cells), None
            break


def jvp_results(
    primitive,
    flat: Sequence[Any],
    next_edges: Sequence[Any],
    cells: Sequence[TangentCell | None],
    params: dict,
    results: Sequence[Tensor],
) -> list[Tensor]:
    """Compute the tangents of the results by the operation's forward rule, recorded like any operation."""
    tape = current_tape()
    recording = current_modes().is_recording

    def value_of(tensor: Tensor) -> Any:
        return to_tracer(tensor) if recording and tensor._fx_node is not None else to_outer(tensor, tape)

    primals = []
    for x, parent in zip(flat, next_edges):
        value = to_outer(x, tape) if isinstance(x, Tensor) else x
        primals.append(value if parent is None else TapeTracer(tape, value, parent))
    given = [None if cell is None else value_of(cell.tensor) for cell in cells]
    ys = [
        r._fx_value if r._fx_node is None else TapeTracer(tape, r._fx_value, gradient_edge(r))
        for r in results
    ]
    silence, staying = ERROR_STATE.set(IGNORE), CONSTANTS_FOLLOW.set(True)
    try:
        whole = show(ys if primitive.multiple_results else ys[0])
        found = hide(primitive.tangent_rule(whole, show(primals), show(given), params))
        found = list(found) if primitive.multiple_results else [found]
    finally:
        ERROR_STATE.reset(silence)
        CONSTANTS_FOLLOW.reset(staying)
    owners = [memory_owner(to_outer(x, tape)) for x in flat if isinstance(x, Tensor)]
    owners += [memory_owner(cell.tensor._fx_value) for cell in cells if cell is not None]
    return [make_tangent(t, r, owners) for t, r in zip(found, results)]


def zero_tangent_tensor(tensor: Tensor) -> Tensor:
    """The tangent of a constant."""
    tape = current_tape()
    with use_context(tape.outer):
        return make_tensor(tape, ops.zeros_like(to_outer(tensor, tape)))


def make_tangent(tangent, result: Tensor, owners: Sequence[Any]) -> Tensor:
    """Make a Tensor of a tangent, with the dtype of its primal, and with memory of its own as results have."""
    tape = current_tape()
    if tangent is None:
        return zero_tangent_tensor(result)
    dtype = aval_of(result._fx_value).dtype
    if aval_of(tangent).dtype != dtype:
        tangent = ops.convert(tangent, dtype=dtype)
    made = wrap(tangent, tape)
    value = made._fx_value
    if is_array(value) and (not is_writable(value) or any(memory_owner(value) is owner for owner in owners)):
        return made.clone()
    return made


# -- backward ------------------------------------------
class DualInterpreter(JVPInterpreter):
    """The forward-mode level in which backward runs, on the values outside `tape`, or on its tracers where backward is
    recorded. A pair given by user code belongs to no level yet: the level that first meets it adopts it."""

    __slots__ = ("is_recorded", "tape")
    name = "forward_ad"

    def process(self, primitive, args: tuple, params: dict) -> Any:
        for a in args:
            if type(a) is JVPTracer and a.interpreter is None:
                a.interpreter = self
        return super().process(primitive, args, params)

    def tangent_to_outer(self, tensor: Tensor) -> Any:
        """Return a tangent as a value of the level outside."""
        if self.is_recorded and tensor._fx_tape is self.tape and tensor._fx_node is not None:
            return to_tracer(tensor)
        return to_outer(tensor, self.tape)


class DualPullback(PullbackRule):
    """The pullback of a node some of whose operands, and so its results, are duals. It pairs the residuals with the
    tangents, as long as these last."""

    def __init__(self, rule, operands: Sequence[TangentCell | None], results: Sequence[TangentCell | None]):
        self.rule, self.operands, self.results = rule, list(operands), list(results)
        self.saved_from = rule.saved_from
        self.map_residuals = rule.map_residuals

    def pull(self, ct, *residuals) -> Any:
        """Return the cotangents of the operands, with their tangents."""
        interpreter: Any = next((level for level in levels() if type(level) is DualInterpreter), None)
        if interpreter is None:
            return self.rule.pull(ct, *residuals)

        def pair_with(cells: Sequence[TangentCell | None]) -> Callable[[int, Any], Any]:
            def pair(index: int, value) -> Any:
                cell = cells[index]
                if cell is None or cell.tensor is None:
                    return value
                return JVPTracer(interpreter, value, interpreter.tangent_to_outer(cell.tensor))

            return pair

        return self.rule.pull(
            ct, *self.map_residuals(residuals, pair_with(self.operands), pair_with(self.results))
        )

    def protect_tangents(self, owner) -> None:
        """Keep copies of tangents whose memory is about to be overwritten."""
        for i, cell in enumerate(self.operands):
            if cell is not None and cell.tensor is not None and memory_owner(cell.tensor._fx_value) is owner:
                self.operands[i] = TangentCell(cell.level, cell.tensor.clone())


def add_dual_level(context: Context, tape, create_graph: bool) -> Context:
    """Return the Context in which backward runs while a dual level is open: the given one, with a DualInterpreter."""
    with use_context(context):
        interpreter = DualInterpreter()
    interpreter.tape, interpreter.is_recorded = tape, create_graph
    return Context(interpreter, context.observer, context.modes)


NO_LEVEL: Any = None  # the level of a pair that was met by none yet


def dual_cotangent(gradient: Tensor, value_of: Callable[[Tensor], Any]) -> Any:
    """Return a gradient given to backward as a cotangent, with its tangent if it is a dual."""
    tangent = get_tangent(gradient)
    ct = value_of(gradient)
    return ct if tangent is None else JVPTracer(NO_LEVEL, ct, value_of(tangent))


def has_tangent(ct) -> bool:
    """Whether a cotangent has a tangent."""
    return type(ct) is JVPTracer and (ct.interpreter is NO_LEVEL or type(ct.interpreter) is DualInterpreter)


def map_cotangent(ct, linear: Callable[[Any], Any]) -> Any:
    """Apply a linear function to a cotangent, and to its tangent if it has one."""
    if not has_tangent(ct):
        return linear(ct)
    return JVPTracer(ct.interpreter, linear(ct.primal), None if ct.tangent is None else linear(ct.tangent))


def dual_gradient(ct, tensor_of: Callable[[Any], Tensor]) -> Tensor:
    """Return a cotangent as a Tensor, which is a dual if the cotangent has a tangent."""
    if not has_tangent(ct):
        return tensor_of(ct)
    tensor = tensor_of(ct.primal)
    if ct.tangent is not None:
        set_tangent(tensor, tensor_of(ct.tangent), DUAL_LEVEL.get())
    return tensor


# -- transforms ------------------------------------------
def carry_tangent(tensor: Tensor, stand_in: Tensor, enter: Callable[[Tensor], Tensor]) -> Tensor:
    """Make the Tensor that stands for another inside a transform a dual if that one is, and bring the tangent in
    likewise."""
    cell = tangent_cell(tensor)
    if cell is not None:
        set_tangent(stand_in, enter(cell.tensor), cell.level)
    return stand_in


def to_operand(tensor: Tensor) -> Any:
    """Return a Tensor as a value for this library's own functions and transforms.

    Raises:
        TensorError: it carries a tangent, which they do not know of.
    """
    if tensor._fx_view_meta is not None and get_tangent(tensor) is not None:
        raise TensorError(
            "a dual Tensor given to a function of fxgrad: its tangent would be lost",
            hint="torch's functions; or torch.func.jvp, inside which all functions carry tangents",
        )
    return unwrap(tensor)


Tensor._fx_attach(__fxgrad_value__=to_operand)
