"""In-place operations.

The result is computed like any other and then written into the first operand: into its memory if it is an array,
otherwise as a new value of its base. The history of the result becomes that of the operand. If the operand is a view,
the history of its base changes, too: it combines the earlier base with the part that the view shows (`CopySlices`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import (
    CURRENT,
    BatchTracer,
    Tracer,
    UnsupportedError,
    aval_of,
    ensure_open,
    is_differentiable,
    ops,
    source_info,
    use_context,
)
from ...numpy import contraction
from ..errors import TensorError
from . import duals, inference, strides, views
from .bits import apply_bits, has_bit, memory_array
from .dtypes import cast_number, from_numpy_dtype
from .error_messages import captured_target_error, check_result_dtype
from .layout import layout_array, order_of
from .memory import (
    VERSIONS,
    copy_array,
    copy_with_strides,
    ensure_no_overlap,
    is_array,
    memory_address,
    memory_owner,
    restride,
    shares_memory,
    write_array,
)
from .meta import is_meta, refuse_entries, without_entries
from .modes import DEFAULT_MODES, with_modes
from .tape import (
    FREED,
    AccumulateGrad,
    Edge,
    Node,
    StatelessPullback,
    TapeTracer,
    next_serial,
    node_name,
    record_node,
)
from .tensor import (
    LEAF,
    Tensor,
    attach_retain_hook,
    gradient_edge,
    make_tensor,
    recorded_node,
    refresh,
    to_tracer,
    wrap,
)


def apply_inplace(operation, operands: Sequence[Any], params: dict) -> Tensor:
    """Apply an operation and write its result into the first operand, which is returned."""
    target = operands[0]
    ensure_modifiable(target, operands)
    context, name = CURRENT.get(), operation.name + "_"
    if context.modes is not None and context.modes.packing:
        apply_packed(operation, operands, params, name)
        return target
    result = operation(operands, params, None, target)
    if result is not target:
        assign(target, result, name)
    return target


def apply_packed(operation, operands: Sequence[Any], params: dict, name: str) -> None:
    """Do so where hooks pack what nodes save: they see it as it is after the operation."""
    target, context = operands[0], CURRENT.get()
    with use_context(with_modes(context, packing=())):
        result = operation(operands, params, None, target)
        if result is not target:
            assign(target, result, name)
    if result is not target and result._fx_node is not None:
        context.modes.packing[-1].pack_node(recorded_node(result), target._fx_tape, operands)


def tell_origin(method: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Name a method after the function that it is in place of, and give it the parameters of that."""
    method.__name__, method.in_place_of, method.__wrapped__ = name, function, function
    return method


def to_inplace(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Return the method that writes the result of `function` into its first argument, and returns that."""
    name = name or function.__name__ + "_"

    def method(input: Tensor, *args, **options) -> Tensor:
        ensure_modifiable(input, (*args, *options.values()))
        assign(input, function(input, *args, **options), name)
        return input

    return tell_origin(method, name, function)


def to_inplace_view(function: Callable[..., Tensor], name: str | None = None) -> Callable[..., Any]:
    """Return the method that turns a Tensor into the view that `function` makes of it."""
    name = name or function.__name__ + "_"

    def method(input: Tensor, *args, **options) -> Tensor:
        ensure_modifiable(input, overlap=True)
        meta, view, context = input._fx_view_meta, views.is_view(input), CURRENT.get()
        follows = input._fx_node is not None and input._fx_node is not LEAF
        follows = follows and not (view and meta.creation in views.NO_REBASE_MESSAGES)
        if follows:  # a history is that of every shape, also where nothing is recorded
            context = with_modes(context, grad=True, inference=False)
        with use_context(context):
            made = function(input, *args, **options)
            if not view and not is_array(made._fx_value):
                here = function(make_tensor(input._fx_tape, layout_array(input)), *args, **options)._fx_value
                input._fx_memory_layout = lambda: here
        input._fx_value = made._fx_value
        if view:
            input._fx_view_meta = made._fx_view_meta
            made._fx_view_meta.creation, made._fx_view_meta.is_inherited = meta.creation, meta.is_inherited
        elif has_bit(input):
            meta.memory = made._fx_view_meta.memory
        tangent = duals.tangent_cell(made)
        if tangent is not None:
            duals.set_tangent(input, tangent.tensor, tangent.level)
        if follows:
            input._fx_node = made._fx_node
            attach_retain_hook(input)
        if is_array(input._fx_value):
            VERSIONS.record_change(memory_array(input), name, source_info.user_frame())
        return input

    return tell_origin(method, name, function)


# -- what may be modified ------------------------------------------
def ensure_modifiable(target: Tensor, operands: Sequence[Any] = (), overlap: bool = False) -> None:
    """Raise where torch does: leaves that require a gradient and their views, views whose base cannot be given another
    history, memory that several entries share (unless `overlap`: they are all given the same value, or none)."""
    value, meta = target._fx_value, target._fx_view_meta
    is_own = meta is None and target._fx_node is None and not target._fx_is_inference_tensor
    if is_own and type(value) is np.ndarray and value.flags.c_contiguous:
        return
    view = views.is_view(refresh(target))
    base = target._fx_view_meta.base if view else target
    modes = CURRENT.get().modes or DEFAULT_MODES
    if modes.grad and (
        target._fx_node is not None
        or base._fx_node is not None
        or any_requires_grad(operands)
        or (view and views.has_outer_history(base._fx_value))
    ):
        if view and target._fx_view_meta.creation in views.NO_REBASE_MESSAGES:
            raise views.rebase_error(target, "is being modified inplace")
        if view and target._fx_node is not None and (base._fx_node is None or base._fx_node is LEAF):
            raise TensorError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation.",
                hint="with torch.no_grad(): …, where the value is to change and not the history; or a view of a clone",
            )
        if target._fx_node is LEAF:
            raise TensorError(
                "a leaf Variable that requires grad is being used in an in-place operation.",
                hint="with torch.no_grad(): …, where the value is to change and not the history; or modify a clone",
            )
        if view and isinstance(target._fx_node, Node) and target._fx_node.hooks is not None:
            target._fx_view_meta.regenerate(target, base)  # hooks are those of the history that the view had
    if target._fx_is_inference_tensor:
        inference.ensure_writable(target)
    if overlap:
        return
    if is_array(target._fx_value):
        ensure_no_overlap(target._fx_value)
    elif views.base_tensor(target) is not target:
        ensure_no_overlap(layout_array(target))


def any_requires_grad(operand) -> bool:
    if isinstance(operand, list | tuple):
        return any(map(any_requires_grad, operand))
    return isinstance(operand, Tensor) and operand.requires_grad


# -- value and history ------------------------------------------
# A Tensor in another dtype. An operation, which is declared in terms of this file: set by `ops.casting`.
to_copy: Callable[[Tensor, Any], Tensor] | None = None


def assign(target: Tensor, result: Tensor, name: str, overwrites: bool = False) -> None:
    """Give `target` the value and the history of `result`, converted to its dtype. With `overwrites` that is not
    computed from the target, whose former value then has a gradient of zeros; it may be a number without axes."""
    have, want = result._fx_value, refresh(target)._fx_value
    if type(have) is not np.ndarray or type(want) is not np.ndarray:
        if is_meta(want) and not is_meta(have):
            result = make_tensor(result._fx_tape, without_entries(have), result._fx_node)
        elif is_meta(have) and is_array(want):
            refuse_entries()
    tangent = None if result._fx_view_meta is None else duals.tangent_cell(result)
    if have.shape != want.shape and not (overwrites and have.shape == () and is_array(want)):
        raise TensorError(
            f"output with shape {list(want.shape)} doesn't match the broadcast shape {list(have.shape)}",
            hint="the operation that makes a new Tensor: x = x + y in place of x += y",
        )
    if have.dtype != want.dtype:
        check_result_dtype(name, want.dtype, have.dtype)
        result = to_copy(result, from_numpy_dtype(want.dtype))  # type: ignore[misc]
    if type(result._fx_value) is TapeTracer and result._fx_value.interpreter is target._fx_tape:
        result = wrap(result._fx_value, target._fx_tape)
    if isinstance(result._fx_value, Tracer):
        ensure_open(result._fx_value, name)
    base = views.base_tensor(target)
    if result._fx_tape is not base._fx_tape and (
        result._fx_node is not None or not is_array(result._fx_value)
    ):
        further_out, tape = (
            (result, base._fx_tape) if result._fx_origin_tape is base._fx_tape else (base, result._fx_tape)
        )
        if further_out._fx_origin_tape is not tape:
            raise captured_target_error(
                name, result._fx_node is None and isinstance(result._fx_value, BatchTracer)
            )
        views.move_to_origin(further_out)
        refresh(target)
    modes = CURRENT.get().modes or DEFAULT_MODES
    if modes.mutations is not None:
        modes.mutations.keep(memory_array(target))
    write_value(target, result, name)
    meta = target._fx_view_meta
    if modes.grad and (result._fx_node is not None or base._fx_node is not None):
        rebase_history(target, base, result, name, overwrites)
    dual = (
        tangent is not None
        or base._fx_view_meta is not None
        or (meta is not None and meta.tangent is not None)
    )
    if dual and modes.forward:
        write_tangent(target, tangent, result._fx_node)


def fill_number(target: Tensor, number, name: str) -> None:
    """Write a number into every entry."""
    ensure_modifiable(target, overlap=True)
    here = target._fx_value
    value = cast_number(number, here.dtype)
    if not is_array(here):
        value = np.broadcast_to(value, here.shape)
    assign(target, make_tensor(target._fx_tape, value), name, overwrites=True)


def write_tangent(target: Tensor, cell: duals.TangentCell | None, node) -> None:
    """Once `target` was given the value of a result, give it its tangent, too: into the memory of the one that it has,
    or that its base is given with it, so that views have their part of it. `node` is that of the result.

    x.mul_(x) is right here: torch multiplies the tangent by the new x once and by the old one once.
    """
    have: Any = duals.tangent_cell(target)
    if have is None:
        if cell is None:
            return
        meta = target._fx_view_meta
        if meta is None or meta.base is None or meta.creation == "detached" or meta.tangent is not None:
            duals.set_tangent(target, cell.tensor.clone(), cell.level)
            return
        duals.set_tangent(meta.base, duals.zero_tangent_tensor(meta.base), cell.level)
        have = duals.tangent_cell(target)
    tangent = have.tensor
    node = node.node if type(node) is Edge else node
    if node is not None and type(getattr(node, "rule", None)) is duals.DualPullback:
        node.rule.protect_tangents(memory_owner(tangent._fx_value))
    if cell is None:
        tangent.zero_()
        return
    ensure_modifiable(tangent)
    assign(tangent, cell.tensor, "copy_")


def write_value(target: Tensor, result: Tensor, name: str) -> None:
    """Write the value of a result into the memory of the target, or bind the base to it if there is no memory."""
    value, memory, meta = result._fx_value, target._fx_value, target._fx_view_meta
    bits = 0 if meta is None else meta.bits
    if bits:
        memory = memory_array(target)
    if not is_array(memory) or not is_array(value):
        views.rebind_value(target, copy_array(value) if is_array(value) else value)
        return
    node = None if result._fx_node is None else recorded_node(result)
    if node is not None:
        protect_residuals(node, memory, value, as_result=not bits)
    write_array(memory, apply_bits(value, bits) if bits else value)
    VERSIONS.record_change(memory, name, source_info.user_frame())
    if bits:
        refresh(target)
    if node is not None and type(result._fx_node) is not Edge:
        node.order = next_serial()  # its saved values of this memory are the present ones


def protect_residuals(node: Node, memory, value, as_result: bool) -> None:
    """Give a node a copy of the operand that is about to be overwritten, and with `as_result` the memory itself in
    place of its result."""
    if node.residuals is FREED:
        return
    owner = memory_owner(memory)
    node.residuals = node.rule.map_residuals(
        node.residuals,
        lambda i, v: copy_array(v) if is_array(v) and memory_owner(v) is owner else v,
        lambda i, v: memory if v is value and as_result else v,
    )


class CopySlices(StatelessPullback):
    """The pullback of a base one of whose views was given a new value: the view's part of the cotangent goes to that
    value, the rest to what the base was before.

    It makes the view of the cotangent. Of a complex one that is right for the conjugate: the imaginary part of a
    gradient is the gradient of the imaginary part by torch's convention.
    """

    node_name = "torch::autograd::CopySlices"

    def __init__(self, replay: Callable[[Tensor], Tensor], base):
        self.replay = replay
        self.order = order_of(base.strides) if is_array(base) else ()

    def pull(self, ct) -> tuple[Any, Any]:
        """Return the cotangents of the base as it was, and of the view's new value."""
        own = strides.clone(contraction.conjugate_complex(ct), order=self.order)
        rest = wrap(own)  # in the order of the base in memory, so that the steps make views of it
        view = self.replay(rest)
        part = view.clone()
        view.zero_()
        return contraction.conjugate_complex(rule_value(rest)), contraction.conjugate_complex(
            rule_value(part)
        )


class CopyRegion(StatelessPullback):
    """`CopySlices` where the base and the view are arrays of one dtype in one memory: strides say where the view is."""

    node_name = CopySlices.node_name

    def __init__(self, base: np.ndarray, view: np.ndarray):
        self.dtype, self.strides = base.dtype, base.strides
        self.region = view.shape, view.strides, memory_address(view) - memory_address(base)

    def pull_plain(self, ct, residuals) -> tuple[Any, Any]:
        """Return the cotangents of the base as it was, and of the view's new value."""
        rest = copy_with_strides(np.asarray(ct, self.dtype), self.strides)
        view = restride(rest, *self.region)
        part = view.copy()
        view[...] = 0
        return rest, part

    def pull(self, ct) -> tuple[Any, Any]:
        """See `pull_plain`; of traced cotangents, which have no memory, by the positions of the view's entries."""
        aval = aval_of(ct)
        places = strides.strided_positions(aval, *self.region, self.strides)
        inside = places >= 0
        flat = ops.reshape(ct, shape=(aval.size,))
        part = ops.getitem(flat, places, index=(ops.ARRAY,))
        if not inside.all():
            part = ops.where(inside, part, 0)
        rest = ops.update(flat, np.zeros(inside.sum(), aval.dtype), places[inside], index=(ops.ARRAY,))
        return ops.reshape(rest, shape=aval.shape), part


def rule_value(tensor: Tensor) -> Any:
    """Return the Tensor as a value for the rules that run in the current Context."""
    return tensor._fx_value if refresh(tensor)._fx_node is None else to_tracer(tensor)


class OverwritePullback(StatelessPullback):
    """The pullback of a value that was overwritten, by a constant or another value."""

    def __init__(self, name: str, maker: Node | None):
        self.node_name = node_name(name.rstrip("_")) if maker is None else maker.operation.node_name

    def pull(self, ct) -> tuple[Any, Any]:
        """Return zeros for the overwritten value, and the whole cotangent for the new one."""
        return ops.zeros_like(ct), ct


def rebase_history(target: Tensor, base: Tensor, result: Tensor, name: str, overwrites: bool = False) -> None:
    """Give the target, or the base of which it is a view, the history of the result."""
    meta = target._fx_view_meta
    new = None if result._fx_node is None else gradient_edge(result)
    if (new is None and base._fx_node is None) or not is_differentiable(target._fx_value.dtype):
        return
    if meta is not None and meta.creation == "detached":
        if new is not None:
            raise UnsupportedError(
                f"{name}: a detached Tensor, which shares its memory, would be given a history of its own inside a "
                "transform",
                hint="detach().clone(), or modify it under no_grad",
            )
        return
    if base is not target:
        whole, part = base._fx_value, target._fx_value
        arrays = type(whole) is type(part) is np.ndarray and whole.dtype == part.dtype
        known = arrays and shares_memory(part, whole)
        rule = CopyRegion(whole, part) if known else CopySlices(target._fx_view_meta.chain, whole)
        base._fx_node = record_node(rule, rule, (), (gradient_edge(base), new), rule.pull_plain)
    elif new is None or (overwrites and base._fx_node is not None):
        rule = OverwritePullback(name, recorded_node(result))
        base._fx_node = record_node(rule, rule, (), (gradient_edge(base), new))
    elif type(new) is AccumulateGrad:
        base._fx_node = new.variable.clone()._fx_node
    else:
        base._fx_node = new
    attach_retain_hook(base)
    base._fx_history_version += 1
