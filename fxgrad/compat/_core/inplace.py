"""Operations in place.

The result is computed like any other and then written into the first operand: into its memory where it is an array,
as a new value of its base otherwise. Its history becomes that of the operand. Where the operand is a view the base
has another history, too: it is what it was before except for the part that the view shows (`CopySlices`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ops
from ...core import source_info
from ...core.aval import aval_of, is_differentiable
from ...core.errors import UnsupportedError
from ...core.interpreter import CURRENT, Tracer, ensure_open, within
from ...numpy import contraction
from . import duals, inference, views
from .dtypes import from_numpy_dtype
from .error_messages import check_result
from .errors import TensorError
from .memory import MEMORIES, ensure_separate, is_array, root
from .modes import current_modes, with_modes
from .tape import FREED, AccumulateGrad, Bare, Edge, Node, TapeTracer, node_name, serial
from .tensor import LEAF, Tensor, current, follow_history, parent_of, tracer_of, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def modify(operation: Any, operands: Sequence[Any], params: dict) -> Tensor:
    """Apply an operation and write its result into the first operand, which is returned."""
    target = operands[0]
    ensure_modifiable(target, operands)
    if not operation.into(target, operands, params):
        operation.check_target(target, operands)
        assign(target, operation((*operands,), params), operation.name + "_")
    return target


def modifying(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """The function that writes the result of `function` into its first argument, which it returns."""
    name = name or function.__name__ + "_"

    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        ensure_modifiable(self, (*args, *options.values()))
        assign(self, function(self, *args, **options), name)
        return self

    method.__name__, method.__doc__ = name, f"In-place version of `{function.__name__}`."
    return method


def reshaping(function: Callable[..., Tensor], name: str | None = None) -> Callable[..., Any]:
    """The function by which a Tensor becomes the view that `function` makes of it."""
    name = name or function.__name__ + "_"

    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        ensure_modifiable(self, overlap=True)
        aspect, view, context = self.aspect, views.is_view(self), CURRENT.get()
        follows = self.node is not None and self.node is not LEAF
        follows = follows and not (view and aspect.creation in views.REFUSED)
        if follows:  # a history is that of every shape, also where nothing is recorded
            context = with_modes(context, grad=True, inference=False)
        with within(context):
            made = function(self, *args, **options)
        self.value = made.value
        if view:
            self.aspect = made.aspect
            made.aspect.creation, made.aspect.inherited = aspect.creation, aspect.inherited
        tangent = duals.cell_of(made)
        if tangent is not None:
            duals.set_tangent(self, tangent.tensor, tangent.level)
        if follows:
            self.node = made.node
            follow_history(self)
        if is_array(self.value):
            MEMORIES.modified(self.value, name, source_info.caller())
        return self

    method.__name__, method.__doc__ = name, f"In-place version of `{function.__name__}`."
    return method


# -- what may be modified ------------------------------------------
def ensure_modifiable(target: Tensor, operands: Sequence[Any] = (), overlap: bool = False) -> None:
    """Raise where torch does: leaves that require a gradient and their views, views whose base cannot be given another
    history, memory that several entries share (unless `overlap`: they are all given the same value, or none)."""
    inference.ensure_writable(target)
    modes = current_modes()
    current(target)
    view = views.is_view(target)
    base = views.base_of(target) if view else target
    if modes.grad and (base.node is not None or any(requires_grad(x) for x in operands)):
        if view and target.aspect.creation in views.REFUSED:
            raise views.refused(target, "is being modified inplace")
        if view and base.node is LEAF:
            raise TensorError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            )
        if target.node is LEAF:
            raise TensorError(
                "a leaf Variable that requires grad is being used in an in-place operation.",
                hint="with torch.no_grad(): …, where the value is to change and not the history; or modify a clone",
            )
        if view and target.grad_fn is not None and target.grad_fn.hooks is not None:
            target.aspect.remake(target, base)  # hooks are those of the history that the view had
    if not overlap and is_array(target.value):
        ensure_separate(target.value)


def requires_grad(operand: Any) -> bool:
    if isinstance(operand, list | tuple):
        return any(map(requires_grad, operand))
    return isinstance(operand, Tensor) and operand.requires_grad


# -- value and history ------------------------------------------
# A Tensor in another dtype. An operation, which is declared in terms of this file: set by `ops.casting`.
to_copy: Callable[[Tensor, Any], Tensor] | None = None


def assign(target: Tensor, result: Tensor, name: str, anew: bool = False) -> None:
    """Give `target` the value and the history of `result`, converted to its dtype. `anew`: that is not computed from
    the target, which has a gradient of zeros then."""
    have, want = aval_of(result.value), aval_of(current(target).value)
    tangent = duals.cell_of(result)
    if have.shape != want.shape:
        raise TensorError(
            f"output with shape {list(want.shape)} doesn't match the broadcast shape {list(have.shape)}"
        )
    if have.dtype != want.dtype:
        check_result(name, want.dtype, have.dtype)
        result = to_copy(result, from_numpy_dtype(want.dtype))  # type: ignore[misc]
    if type(result.value) is TapeTracer and result.value.interpreter is target.tape:
        result = wrap(result.value, target.tape)
    if isinstance(result.value, Tracer):
        ensure_open(result.value, name)
    base = views.base_of(target)
    if result.tape is not base.tape and (result.node is not None or not is_array(result.value)):
        further_out, tape = (result, base.tape) if result.home is base.tape else (base, result.tape)
        if further_out.home is not tape:
            raise UnsupportedError(
                f"{name}: a Tensor from outside the transform would be given a value that belongs to it",
                hint="make the Tensor inside the transformed function, or return the value",
            )
        views.bring_home(further_out)
        current(target)
    write(target, result, name)
    if current_modes().grad:
        rebase(target, result, name, anew)
    if (tangent is not None or target.aspect is not None) and current_modes().forward:
        write_tangent(target, tangent, result.node)


def write_tangent(target: Tensor, cell: duals.Tangent | None, node: Any) -> None:
    """Once `target` was given the value of a result, give it its tangent, too: into the memory of the one that it has,
    or that its base is given with it, so that views have their part of it. `node` is that of the result.

    x.mul_(x) is right here: torch multiplies the tangent by the new x once and by the old one once.
    """
    have: Any = duals.cell_of(target)
    if have is None:
        if cell is None:
            return
        aspect = target.aspect
        if (
            aspect is None
            or aspect.base is None
            or aspect.creation == "detached"
            or aspect.tangent is not None
        ):
            duals.set_tangent(target, cell.tensor.clone(), cell.level)
            return
        duals.set_tangent(aspect.base, duals.zeros_like(aspect.base), cell.level)
        have = duals.cell_of(target)
    tangent = have.tensor
    node = node.node if type(node) is Edge else node
    if node is not None and type(getattr(node, "rule", None)) is duals.DualRule:
        node.rule.protect(root(tangent.value))
    if cell is None:
        tangent.zero_()
        return
    ensure_modifiable(tangent)
    assign(tangent, cell.tensor, "copy_")


def write(target: Tensor, result: Tensor, name: str) -> None:
    """The value: into the memory of an array, or as a new value of the base."""
    value, memory = result.value, target.value
    if not is_array(memory) or not is_array(value):
        views.replace(target, value.copy() if is_array(value) else value)
        return
    node = result.grad_fn
    if node is not None:
        protect(node, memory, value)
    memory[...] = value
    MEMORIES.modified(memory, name, source_info.caller())
    if node is not None and type(result.node) is not Edge:
        node.order = serial()  # what it keeps of this memory is what is there now


def protect(node: Node, memory: Any, value: Any) -> None:
    """Give a node about whose operand is overwritten a copy of it, and as its result the memory itself."""
    if node.residuals is FREED:
        return
    owner = root(memory)
    node.residuals = node.rule.refill(
        node.residuals,
        lambda i, v: v.copy() if is_array(v) and root(v) is owner else v,
        lambda i, v: memory if v is value else v,
    )


class CopySlices(Bare):
    """The rule of a base, a view of which was given a new value: the view's part of the cotangent goes to that value,
    the rest to what the base was before.

    It makes the view of the cotangent. Of a complex one that is right for the conjugate: the imaginary part of a
    gradient is the gradient of the imaginary part by torch's convention.
    """

    node_name = "torch::autograd::CopySlices"

    def __init__(self, replay: Callable[[Tensor], Tensor]):
        self.replay = replay

    def pull(self, ct: Any) -> tuple[Any, Any]:
        """Cotangents for the base as it was, and for the view's new value."""
        own = contraction.conjugated(ct)
        rest = wrap(own).clone() if own is ct else wrap(own)  # others hold the cotangent, too
        view = self.replay(rest)
        part = view.clone()
        view.zero_()
        return contraction.conjugated(inner(rest)), contraction.conjugated(inner(part))


def inner(tensor: Tensor) -> Any:
    """The Tensor as a value for the rules that run in the current Context."""
    return tensor.value if current(tensor).node is None else tracer_of(tensor)


class Overwritten(Bare):
    """The rule of a value that was overwritten, by a constant or another value."""

    def __init__(self, name: str, maker: Node | None):
        self.node_name = node_name(name.rstrip("_")) if maker is None else maker.operation.node_name

    def pull(self, ct: Any) -> tuple[Any, Any]:
        """Zeros for what is no more, and all for the new value."""
        return ops.zeros_like(ct), ct


def rebase(target: Tensor, result: Tensor, name: str, anew: bool = False) -> None:
    """The history: of the target, or of the base of which it is a view."""
    aspect = target.aspect
    new = parent_of(result)
    base = views.base_of(target)
    if (new is None and base.node is None) or not is_differentiable(aval_of(target.value).dtype):
        return
    if aspect is not None and aspect.creation == "detached":
        if new is not None:
            raise UnsupportedError(
                f"{name}: a detached Tensor, which shares its memory, would be given a history of its own inside a "
                "transform",
                hint="detach().clone(), or modify it under no_grad",
            )
        return
    if base is not target:
        rule = CopySlices(target.aspect.steps)
        base.node = Node(rule, rule, (), (parent_of(base), new))
    elif new is None or (anew and base.node is not None):
        rule = Overwritten(name, result.grad_fn)
        base.node = Node(rule, rule, (), (parent_of(base), new))
    elif type(new) is AccumulateGrad:
        base.node = new.variable.clone().node
    else:
        base.node = new
    follow_history(base)
    views.renewed(base)
