"""The application of a `Function`: its forward, the history of its outputs, and its jvp.

At the bottom of the stack `forward` runs on the user's own Tensors. Inside transforms the whole application is an
operation that each level further out treats by its own rule (`APPLICATION`), so that every tape has a Node whose
`backward` is the user's.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import CURRENT, aval_of, is_differentiable, ops, source_info, use_context
from .._core import duals
from .._core.inplace import assign, ensure_modifiable, rebase_history, write_tangent
from .._core.memory import VERSIONS, is_array
from .._core.modes import current_modes, with_modes
from .._core.tape import BASE_TAPE, Edge, TapeInterpreter, TensorPrimitive, current_tape, next_serial
from .._core.tensor import (
    LEAF,
    Tensor,
    allocate_tensor,
    gradient_edge,
    make_tensor,
    refresh,
    to_outer,
    unwrap,
    wrap,
)
from .._core.views import (
    IdentityStep,
    base_tensor,
    is_view,
    make_view_meta,
    tensor_version,
    view_history_version,
)
from ..errors import ArgumentError, TensorError
from ..func.arguments import flatten_tree
from .function_node import Ctx, SavedOutput, SingleLevelFunction, has_setup_context

NO_SETUP_MESSAGE = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod."
)


def apply_function(
    cls: type[SingleLevelFunction], args: tuple, kwargs: dict, for_jvp: bool = False
) -> tuple[Any, Any]:
    """Apply a Function in the current Context; return (Node, output). `for_jvp`: ctx is set up in any case."""
    tape = current_tape()
    node = cls._backward_cls(tape, tuple([isinstance(a, Tensor) and a.requires_grad for a in args]))
    ctx = Ctx(node)
    recording = current_modes().is_recording and any(node.needs_input_grad)
    cells = dual_cells(args)
    level = next((cell.level for cell in cells if cell is not None), None)
    quiet = use_context(with_modes(CURRENT.get(), grad=False, forward=False))
    if not has_setup_context(cls):
        if tape is not BASE_TAPE and not all(map(is_constant_array, args)):
            raise TensorError(
                NO_SETUP_MESSAGE, hint="forward(*args) without ctx, and setup_context(ctx, inputs, output)"
            )
        with quiet:
            output = cls.forward(ctx, *args, **kwargs)
    elif tape is BASE_TAPE:
        with quiet:
            output = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, output)
    else:
        output, dirty = apply_in_outer(tape, cls, args, kwargs)
        if recording or for_jvp or level is not None:
            with quiet:
                cls.setup_context(ctx, args, output)
        ctx.dirty_tensors = (*ctx.dirty_tensors, *dirty)
    outputs = output if isinstance(output, tuple) else (output,)
    finished = record_outputs(node, ctx, args, outputs, recording, recording or for_jvp or level is not None)
    if level is not None:
        set_output_tangents(node, args, cells, level, finished)
    if not for_jvp:
        ctx.saved_for_forward = ()
    return node, tuple(finished) if isinstance(output, tuple) else finished[0]


def is_constant_array(arg) -> bool:
    """Whether the levels that are open have no part in an argument, so that a Function may be applied as outside."""
    return not isinstance(arg, Tensor) or (refresh(arg)._fx_node is None and is_array(arg._fx_value))


def apply_in_outer(
    tape: TapeInterpreter, cls: type[SingleLevelFunction], args: tuple, kwargs: dict
) -> tuple[Any, tuple]:
    """Apply a Function at the levels outside a tape; return (its output as Tensors of the tape, modified arguments)."""
    layout = ArgumentLayout(args, kwargs)
    tensors = layout.tensors
    values = [to_outer(a, tape) for a in tensors]
    box: dict[str, Any] = {}
    with use_context(tape.outer):
        params = {"cls": cls, "layout": layout, "box": box, "randomness": "error", "dims": None}
        results = iter(CURRENT.get().interpreter.process(APPLICATION, tuple(values), params))
    outputs, dirty = [], []
    for entry in box["outputs"]:
        if type(entry) is tuple:
            outputs.append(entry[0])
            continue
        value = next(results)
        if entry is None:
            made = allocate_tensor(Tensor)
            made._fx_tape, made._fx_value, made._fx_node, made._fx_view_meta = tape, value, None, None
        else:  # an argument that was modified in place
            made = tensors[entry]
            if value is not values[entry]:
                base, recorded = base_tensor(made), current_modes().grad
                with use_context(with_modes(CURRENT.get(), grad=False, unrecorded=True, forward=False)):
                    assign(made, make_tensor(tape, value), cls.__name__)
                base._fx_was_replaced_with_grad = base._fx_was_replaced_with_grad or recorded
            dirty.append(made)
        outputs.append(made)
    return outputs[0] if box["single"] else tuple(outputs), tuple(dirty)


# -- the Node ------------------------------------------
def record_outputs(
    node, ctx, args: tuple, outputs: tuple, recording: bool, differentiating: bool
) -> list[Any]:
    """Return the outputs; the Node becomes the history of those that have a gradient. `differentiating`: in either
    mode."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    inputs = {id(t) for t in tensors}
    dirty = marked_ids(
        ctx.dirty_tensors, "mark_dirty can only accept variables, but argument {} is of type {}"
    )
    constant = marked_ids(
        ctx.non_differentiable,
        "mark_non_differentiable only accepts variable arguments, but got {1} at position {0}",
    )
    check_dirty(dirty, inputs, outputs)
    node.origins = [next((i for i, a in enumerate(args) if a is t), None) for t in outputs]
    node.dirty = {i for i, t in enumerate(outputs) if id(t) in dirty} if dirty else dirty
    node.constant = set()
    if differentiating:
        node.constant = {i for i, t in enumerate(outputs) if is_constant(t, constant)}
    if recording:
        node.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        node.next_edges = [gradient_edge(refresh(t)) if t._fx_tape is node.tape else None for t in tensors]
        node.operands = [aval_of(t._fx_value) for t in tensors]
        node.result_avals = [aval_of(t._fx_value) if isinstance(t, Tensor) else None for t in outputs]
        node.num_results = len(outputs)
        for t in ctx.dirty_tensors:
            if is_array(t._fx_value):
                VERSIONS.record_change(t._fx_value, node.name(), source_info.user_frame())
        node.order = next_serial()
    finished, own = [], {}
    for i, t in enumerate(outputs):
        if isinstance(t, Tensor):
            edge = Edge(node, i) if recording and i not in node.constant else None
            if edge is not None and (id(t) not in inputs or i in node.dirty):
                own[id(t)] = i
            if id(t) not in inputs:
                set_history(t, edge, node, outputs)
            elif edge is None and t.requires_grad:
                t = t.detach()  # the input keeps its history
            elif i not in node.dirty:
                t = alias_input(t)
                set_history(t, edge, node, outputs)
            elif edge is not None:
                set_inplace_history(t, edge, outputs)
        finished.append(t)
    if recording:
        node.save([saved_entry(t, own, i) for i, t in enumerate(ctx.to_save)])
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
    return finished


def is_constant(output, marked: set[int]) -> bool:
    """Whether an output is a Tensor without derivative, because of its dtype or because the user marked it."""
    if not isinstance(output, Tensor):
        return False
    return id(output) in marked or not is_differentiable(aval_of(output._fx_value).dtype)


def alias_input(tensor: Tensor) -> Tensor:
    """Return a view of an input that `forward` returned unchanged."""
    made = tensor.detach()
    if not tensor._fx_is_inference_tensor:
        made._fx_view_meta = make_view_meta(tensor, IdentityStep(), "custom")
    return made


def marked_ids(tensors: Sequence[Any], complaint: str) -> set[int]:
    """The ids of the marked Tensors; the error names the position and type of an argument that is not one."""
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TensorError(complaint.format(i, type(t).__name__))
    return {id(t) for t in tensors}


def check_dirty(dirty: set[int], inputs: set[int], outputs: tuple) -> None:
    if not dirty:
        return
    if not dirty <= set(map(id, outputs)):
        raise TensorError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function.",
            hint="return x itself after x.add_(…), not a clone or a view of it",
        )
    if not dirty <= inputs:
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
            "should be passed to ctx.mark_dirty().",
            UserWarning,
            stacklevel=5,
        )


def set_history(output: Tensor, edge: Edge | None, node, outputs: tuple) -> None:
    """Set the history of an output, or None if it has no gradient. A view has that of its base, and may not be given
    another."""
    meta = output._fx_view_meta
    if meta is None or meta.base is None:
        output._fx_node = edge
    elif edge is not None or meta.creation != "detached":
        several = edge is not None and sum(isinstance(t, Tensor) for t in outputs) - len(node.constant) > 1
        meta.creation = "multiple" if several else "custom"
        meta.history_version = view_history_version(meta.base, output)
        meta.base_version = tensor_version(meta.base)
        output._fx_node = edge if edge is not None else output._fx_node


def set_inplace_history(target: Tensor, edge: Edge, outputs: tuple) -> None:
    """Give an input that was modified in place its new history."""
    meta = target._fx_view_meta
    if target._fx_node is LEAF:
        raise TensorError(
            "a leaf Variable that requires grad has been used in an in-place operation.",
            hint="apply the Function to a clone",
        )
    if meta is not None and meta.base is not None and len(outputs) > 1:
        raise TensorError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
            "return more than one Tensor. This is not supported by the current autograd engine. You should either "
            "make sure the input is not a view (using .clone() for example) or make your Function only return one "
            "Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single Tensor "
            "and a second one that does the other operations).",
            hint="F.apply(x.clone())",
        )
    ensure_modifiable(target, overlap=True)
    result = make_tensor(target._fx_tape, target._fx_value, edge)
    rebase_history(target, base_tensor(target), result, edge.node.name())


def saved_entry(tensor, own: dict[int, int], position: int) -> Any:
    """The entry that a Node saves for a Tensor: see `BackwardCFunction.saved_entries`."""
    if tensor is None:
        return None
    if not isinstance(tensor, Tensor):
        raise ArgumentError(
            f"save_for_backward can only save variables, but argument {position} is of type {type(tensor).__name__}",
            hint=f"ctx.name = value for what is no Tensor, as this {type(tensor).__name__}",
        )
    return SavedOutput(own[id(tensor)], tensor._fx_value) if id(tensor) in own else tensor


# -- forward mode ------------------------------------------
def dual_cells(args: tuple) -> list[Any]:
    """The TangentCell of each argument; None for an argument that is not dual."""
    return [
        duals.tangent_cell(a) if isinstance(a, Tensor) and a._fx_view_meta is not None else None for a in args
    ]


def set_output_tangents(node, args: tuple, cells: Sequence[Any], level, outputs: Sequence[Any]) -> None:
    """Set the tangents of the outputs where inputs are duals of a level. An output that shares the memory of an input
    shares its tangent."""
    given: list[Any] = [None if cell is None else cell.tensor for cell in cells]
    found, modified = jvp_outputs(node, args, given, outputs), modified_places(node)
    for i, (output, tangent) in enumerate(zip(outputs, found)):
        if not isinstance(output, Tensor):
            continue
        place = modified.get(i)
        if i in node.constant:
            drop_tangent(output if place is None else args[place], place is not None)
            continue
        base = base_tensor(output if node.origins[i] is None else args[node.origins[i]])
        sources = [t for a, t in zip(args, given) if isinstance(a, Tensor) and base_tensor(a) is base]
        shared = [t for t in sources if t is not None]
        if place is None:
            if shared:
                check_view_tangent(tangent, shared)
        elif given[place] is not None:
            continue  # `jvp` has modified it
        else:
            given[place] = tangent
        if tangent is not None:
            duals.check_tangent(tangent, output)
            if sources and not shared and is_view(output):
                write_tangent(output, duals.TangentCell(level, tangent), None)
            else:
                duals.set_tangent(output, tangent, level)


def drop_tangent(output: Tensor, is_dirty: bool) -> None:
    """Remove the tangent of the memory of an output without derivative; a modified input gets the tangent zero."""
    if is_dirty:
        write_tangent(output, None, None)
    elif output._fx_view_meta is not None:
        duals.set_tangent(output, None, None)


def check_view_tangent(tangent: Tensor | None, given: Sequence[Tensor]) -> None:
    """Raise unless the tangent of an output that is a view of inputs is a view of their tangents."""
    if tangent is None or not is_view(tangent):
        raise TensorError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.",
            hint="t.view_as(t), for an input that is returned as it is",
        )
    for t in given:
        if base_tensor(t) is not base_tensor(tangent):
            raise TensorError(
                "A custom Function is returning a view but the jvp is not returning a view of the "
                f"{'same base as the ' * is_view(t)}given grad input.",
                hint="apply the view that forward applies to the tangent: t.view_as(t), t[…]",
            )


def jvp_outputs(node, args: tuple, tangents: Sequence[Any], outputs: Sequence[Any]) -> list[Tensor | None]:
    """Compute the tangents of the outputs by the user's `jvp`."""
    versions = [None if t is None else tensor_version(t) for t in tangents]
    found = node.apply_jvp(*[zero_tangent(node, a) if t is None else t for a, t in zip(args, tangents)])
    found = found if isinstance(found, tuple) else (found,)
    for i, t in enumerate(found):
        if t is not None and not isinstance(t, Tensor):
            raise TensorError(
                f"expected Variable or None (got {type(t).__name__}) for grad output {i}.",
                hint="return a Tensor, or None for an output without a tangent",
            )
    if len(found) != len(outputs):
        raise TensorError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(found)})",
            hint=f"return a tuple of {len(outputs)}, with None for an output that has no tangent",
        )
    for i, t in enumerate(found):
        origin = node.origins[i]
        if i in node.constant:
            if t is not None:
                raise TensorError(
                    f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is "
                    "not a differentiable Tensor.You should return None at that position instead.",
                    hint=f"None in place {i} of what jvp returns",
                )
        elif i in node.dirty:
            if origin is None:
                raise TensorError(
                    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no "
                    "need to pass it to mark_dirty().",
                    hint="ctx.mark_dirty(x) of an argument x of forward, or leave it out",
                )
            if tangents[origin] is not None:
                check_tangent_modified(t, tangents[origin], versions[origin])
    return list(found)


def zero_tangent(node, arg) -> Tensor | None:
    """The tangent that `jvp` receives for an argument without one: zeros, or None if zeros are not materialized."""
    if not (isinstance(arg, Tensor) and node.materialize_grads):
        return None
    aval = aval_of(arg._fx_value)
    return (
        make_tensor(current_tape(), np.zeros(aval.shape, aval.dtype))
        if is_differentiable(aval.dtype)
        else None
    )


def check_tangent_modified(found: Tensor | None, tangent: Tensor, before: int | None) -> None:
    """Raise unless `jvp` modified and returned the tangent of an input that was modified in place."""
    if found is None or tensor_version(found) == before:
        raise TensorError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace.",
            hint="t.mul_(…) in jvp, as x.mul_(…) in forward, and return t",
        )
    if found is not tangent:
        raise TensorError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
            "modifying an input inplace, then the jvp function must modify the gradient inplace and return it as-is.",
            hint="return the tangent t itself after t.mul_(…), not a clone or a view of it",
        )


# -- inside transforms ------------------------------------------
class ArgumentLayout:
    """The arguments of an application, (args, kwargs), with places for the Tensors among them. A Function is
    differentiated by Tensors that are arguments themselves; those in containers it gets as constants."""

    __slots__ = ("leaves", "structure", "tensors")

    def __init__(self, args: tuple, kwargs: dict):
        leaves, self.structure = flatten_tree((args, kwargs))
        self.tensors = [x for x in leaves if isinstance(x, Tensor)]
        self.leaves = [PLACE if isinstance(x, Tensor) else x for x in leaves]

    def fill(self, tensors: Sequence[Tensor]) -> list[Any]:
        """The leaves, with other Tensors."""
        rest = iter(tensors)
        return [next(rest) if x is PLACE else x for x in self.leaves]

    def spread(self, given: Sequence[Any]) -> list[Any]:
        """Distribute values over the Tensors among the leaves; the other leaves get None."""
        rest = iter(given)
        return [next(rest) if x is PLACE else None for x in self.leaves]

    def arguments(self, leaves: Sequence[Any]) -> tuple[tuple, dict]:
        """(args, kwargs) of these leaves."""
        return self.structure.unflatten(leaves)


PLACE: Any = ("place",)  # stands for a Tensor


class Application(TensorPrimitive):
    """The primitive that applies a Function, for the levels that are not the innermost.

    Its params are the Function, the layout of its arguments, a box for the layout of its outputs, and of the level
    that maps: the randomness, and the mapped dimensions as the user gave them.
    """

    identity_params = True

    def kernel(self, *values, cls, layout, box: dict, randomness: str, dims) -> list[Any]:
        """Apply the function in the current Context, on the tape or at the bottom level."""
        tensors = [wrap(v) for v in values]
        args, kwargs = layout.arguments(layout.fill(tensors))
        node, output = apply_function(cls, args, kwargs)
        modified = {i: args[k] for i, k in modified_places(node).items()}
        return split_outputs(output, modified, tensors, box)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        tensors, layout = [wrap(v) for v in primals], params["layout"]
        args, kwargs = layout.arguments(layout.fill(tensors))
        node, output = apply_function(params["cls"], args, kwargs, for_jvp=True)
        outputs = output if isinstance(output, tuple) else (output,)
        spread, _ = layout.arguments(layout.spread([None if t is None else wrap(t) for t in tangents]))
        given: list[Any] = [t if isinstance(a, Tensor) else None for a, t in zip(args, spread)]
        modified = {i: args[k] for i, k in modified_places(node).items()}
        for k in modified_places(node).values():  # `jvp` modifies their tangents, which belong to others
            given[k] = None if given[k] is None else given[k].clone()
        found = jvp_outputs(node, args, given, outputs)
        for t, o in zip(found, outputs):
            if t is not None and isinstance(o, Tensor):
                duals.check_tangent(t, o)
        ts = [None if t is None else unwrap(t) for t, o in zip(found, outputs) if isinstance(o, Tensor)]
        return split_outputs(output, modified, tensors, params["box"]), ts

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        given = params["dims"] or [0 if flag else None for flag in is_batched]
        tensors = [wrap(ops.move_axis(v, 0, d) if d else v) for v, d in zip(values, given)]
        output, out_dims = params["cls"]._fx_apply_to_entries(
            params["layout"], tensors, given, size, params["randomness"]
        )
        outputs = output if isinstance(output, tuple) else (output,)
        modified = {i: o for i, o in enumerate(outputs) if any(o is t for t in tensors)}
        ys = split_outputs(output, modified, tensors, params["box"])
        places = [d for o, d in zip(outputs, out_dims) if isinstance(o, Tensor)]
        return [y if d is None else ops.move_axis(y, d, 0) for y, d in zip(ys, places)], [
            d is not None for d in places
        ]


def modified_places(node) -> dict[int, int]:
    """The outputs that are arguments which were modified in place: position of the output → of the argument."""
    return {i: node.origins[i] for i in node.dirty if node.origins[i] is not None}


def split_outputs(output, modified: dict[int, Tensor], tensors: Sequence[Tensor], box: dict) -> list[Any]:
    """Return the Tensors among the outputs as values. The box takes the other outputs, and which of the given Tensors
    were modified to be outputs."""
    outputs = output if isinstance(output, tuple) else (output,)
    box["single"] = not isinstance(output, tuple)
    box["outputs"] = [
        (t,) if not isinstance(t, Tensor) else find_tensor(modified[i], tensors) if i in modified else None
        for i, t in enumerate(outputs)
    ]
    return [unwrap(t) for t in outputs if isinstance(t, Tensor)]


def find_tensor(tensor: Tensor, tensors: Sequence[Tensor]) -> int:
    """The position of a Tensor among others."""
    return next(i for i, t in enumerate(tensors) if t is tensor)


APPLICATION = Application("custom_function")
