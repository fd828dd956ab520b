"""The application of a `Function`: its forward, the history of its outputs, and its jvp.

At the bottom of the stack `forward` runs on the user's own Tensors. Inside transforms the levels further out are asked
first: the whole application is an operation that each of them treats by its own rule (`APPLICATION`), so that every
tape has a Node whose `backward` is the user's.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core import source_info
from ...core.aval import aval_of, is_differentiable
from ...core.interpreter import CURRENT, use_context
from .._core import duals
from .._core.errors import ArgumentError, TensorError
from .._core.inplace import rebase_history, write_tangent
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
from .._core.views import IdentityStep, ViewMeta, base_tensor, is_view, make_view_meta, tensor_version
from .function_node import Ctx, SavedOutput, SingleLevelFunction, has_setup_context

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    quiet = use_context(with_modes(CURRENT.get(), grad=False, forward=False))
    if tape is BASE_TAPE:
        with quiet:
            if has_setup_context(cls):
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
    else:
        if not has_setup_context(cls):
            raise TensorError(
                NO_SETUP_MESSAGE, hint="forward(*args) without ctx, and setup_context(ctx, inputs, output)"
            )
        output, dirty = apply_in_outer(tape, cls, args)
        if recording or for_jvp:
            with quiet:
                cls.setup_context(ctx, args, output)
        ctx.dirty_tensors = dirty
    finished = record_outputs(node, ctx, args, output if isinstance(output, tuple) else (output,), recording)
    if tape is BASE_TAPE:
        set_output_tangents(node, args, finished)
    if not for_jvp:
        ctx.saved_for_forward = ()
    return node, tuple(finished) if isinstance(output, tuple) else finished[0]


def apply_in_outer(tape: TapeInterpreter, cls: type[SingleLevelFunction], args: tuple) -> tuple[Any, tuple]:
    """Apply a Function at the levels outside a tape; return (its output as Tensors of the tape, modified arguments)."""
    values = [to_outer(a, tape) for a in args if isinstance(a, Tensor)]
    box: dict[str, Any] = {}
    layout = [None if isinstance(a, Tensor) else (a,) for a in args]
    with use_context(tape.outer):
        params = {"cls": cls, "layout": layout, "box": box, "randomness": "error"}
        results = iter(CURRENT.get().interpreter.process(APPLICATION, tuple(values), params))
    outputs, dirty = [], []
    for entry in box["outputs"]:
        if type(entry) is tuple:
            outputs.append(entry[0])
            continue
        value = next(results)
        if entry is None:
            made = allocate_tensor(Tensor)
            made.tape, made.value, made.node, made.view_meta = tape, value, None, None
        else:  # an argument that was modified in place
            made = [a for a in args if isinstance(a, Tensor)][entry]
            made.value = value
            dirty.append(made)
        outputs.append(made)
    return outputs[0] if box["single"] else tuple(outputs), tuple(dirty)


# -- the Node ------------------------------------------
def record_outputs(node, ctx, args: tuple, outputs: tuple, recording: bool) -> list[Any]:
    """Return the outputs; those that have a gradient get the Node as their history."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    inputs = {id(t) for t in tensors}
    dirty = marked_ids(ctx.dirty_tensors, "mark_dirty")
    constant = marked_ids(ctx.non_differentiable, "mark_non_differentiable")
    check_dirty(dirty, inputs, outputs)
    node.dirty = {i for i, a in enumerate(args) if id(a) in dirty}
    node.origins = [next((i for i, a in enumerate(args) if a is t), None) for t in outputs]
    node.constant = {i for i, t in enumerate(outputs) if id(t) in constant}
    if recording:
        node.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        node.next_edges = [gradient_edge(refresh(t)) if t.tape is node.tape else None for t in tensors]
        node.operands = [aval_of(t.value) for t in tensors]
        node.result_avals = [aval_of(t.value) if isinstance(t, Tensor) else None for t in outputs]
        node.num_results = len(outputs)
        for t in ctx.dirty_tensors:
            if is_array(t.value):
                VERSIONS.record_change(t.value, node.name(), source_info.user_frame())
        node.order = next_serial()
    finished = []
    for i, t in enumerate(outputs):
        if isinstance(t, Tensor):
            has_gradient = recording and id(t) not in constant and is_differentiable(aval_of(t.value).dtype)
            if id(t) not in inputs:
                set_history(t, Edge(node, i) if has_gradient else None, outputs)
            elif id(t) not in dirty:  # returned as it is: the input keeps its own history
                source, t = t, t.detach()
                if has_gradient:
                    t.view_meta = make_view_meta(source, IdentityStep())
                    set_history(t, Edge(node, i), outputs)
            elif has_gradient:
                set_inplace_history(t, Edge(node, i), outputs)
        finished.append(t)
    if recording:
        own = {id(t): i for i, t in enumerate(outputs) if id(t) not in inputs or id(t) in dirty}
        node.saved_entries = tuple([saved_entry(t, own, i) for i, t in enumerate(ctx.to_save)])
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
    return finished


def marked_ids(tensors: Sequence[Any], method: str) -> set[int]:
    """The ids of the Tensors that were marked."""
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TensorError(
                f"{method} can only accept variables, but argument {i} is of type {type(t).__name__}"
            )
    return set(map(id, tensors))


def check_dirty(dirty: set[int], inputs: set[int], outputs: tuple) -> None:
    if not dirty <= set(map(id, outputs)):
        raise TensorError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    if not dirty <= inputs:
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
            "should be passed to ctx.mark_dirty().",
            UserWarning,
            stacklevel=5,
        )


def set_history(output: Tensor, edge, outputs: tuple) -> None:
    """Give an output its history."""
    meta = output.view_meta
    if meta is not None and meta.base is not None:
        if edge is not None:
            several = sum(isinstance(t, Tensor) for t in outputs) > 1
            creation = "multiple" if several else "custom"
            output.view_meta = ViewMeta(meta.base, meta.chain, creation, meta.tangent)
        elif meta.creation != "detached":
            return  # a view that was made under no_grad
    output.node = edge


def set_inplace_history(target: Tensor, edge: Edge, outputs: tuple) -> None:
    """Give an input that was modified in place its new history."""
    meta = target.view_meta
    if target.node is LEAF:
        raise TensorError(
            "a leaf Variable that requires grad has been used in an in-place operation.",
            hint="apply the Function to a clone",
        )
    if meta is not None and meta.base is not None and sum(isinstance(t, Tensor) for t in outputs) > 1:
        raise TensorError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
            "return more than one Tensor. This is not supported by the current autograd engine. You should either "
            "make sure the input is not a view (using .clone() for example) or make your Function only return one "
            "Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single Tensor "
            "and a second one that does the other operations).",
        )
    rebase_history(target, make_tensor(target.tape, target.value, edge), edge.node.name())


def saved_entry(tensor, own: dict[int, int], position: int) -> Any:
    """The entry that a Node saves for a Tensor: see `BackwardCFunction.saved_entries`."""
    if tensor is None:
        return None
    if not isinstance(tensor, Tensor):
        raise ArgumentError(
            f"save_for_backward can only save variables, but argument {position} is of type {type(tensor).__name__}"
        )
    return SavedOutput(own[id(tensor)], tensor.value) if id(tensor) in own else tensor


# -- forward mode ------------------------------------------
def set_output_tangents(node, args: tuple, outputs: Sequence[Any]) -> None:
    """Set the tangents of the outputs where inputs are duals."""
    cells = [
        duals.tangent_cell(a) if isinstance(a, Tensor) and a.view_meta is not None else None for a in args
    ]
    level = next((cell.level for cell in cells if cell is not None), None)
    if level is None:
        return
    given = [None if cell is None else cell.tensor for cell in cells]
    for output, origin, tangent in zip(outputs, node.origins, jvp_outputs(node, args, given, outputs)):
        if tangent is None:
            continue
        if origin not in node.dirty:
            base = base_tensor(output if origin is None else args[origin])
            if base is not output:
                check_view_tangent(
                    tangent, [t for a, t in zip(args, given) if t is not None and base_tensor(a) is base]
                )
            duals.set_tangent(output, tangent, level)
        elif given[origin] is None:
            write_tangent(output, duals.TangentCell(level, tangent), None)


def check_view_tangent(tangent: Tensor, given: Sequence[Tensor]) -> None:
    """Raise unless the tangent of a view is a view of the tangent."""
    if not is_view(tangent):
        raise TensorError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.",
            hint="t.view_as(t), for an input that is returned as it is",
        )
    for t in given:
        if base_tensor(t) is not base_tensor(tangent):
            raise TensorError(
                "A custom Function is returning a view but the jvp is not returning a view of the "
                f"{'same base as the ' * is_view(t)}given grad input."
            )


def jvp_outputs(node, args: tuple, tangents: Sequence[Any], outputs: Sequence[Any]) -> list[Tensor | None]:
    """Compute the tangents of the outputs by the user's `jvp`."""
    versions = {i: tensor_version(tangents[i]) for i in node.dirty if tangents[i] is not None}
    given = []
    for a, t in zip(args, tangents):
        wanted = (
            isinstance(a, Tensor) and node.materialize_grads and is_differentiable(aval_of(a.value).dtype)
        )
        given.append(
            make_tensor(current_tape(), np.zeros(a.shape, aval_of(a.value).dtype))
            if t is None and wanted
            else t
        )
    found = node.apply_jvp(*given)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise TensorError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(found)})"
        )
    for i, (t, output) in enumerate(zip(found, outputs)):
        if t is not None and not isinstance(t, Tensor):
            raise TensorError(f"expected Variable or None (got {type(t).__name__}) for grad output {i}.")
        if isinstance(output, Tensor):
            if t is not None:
                check_output_tangent(t, output, i, i in node.constant)
            origin = node.origins[i]
            if origin in versions:
                check_tangent_modified(t, tangents[origin], versions[origin])
    return [t if isinstance(o, Tensor) else None for t, o in zip(found, outputs)]


def check_output_tangent(tangent: Tensor, output: Tensor, position: int, constant: bool) -> None:
    """Raise unless an output may have this tangent."""
    if constant or not is_differentiable(aval_of(output.value).dtype):
        raise TensorError(
            f"Function's jvp returned a gradient at position {position}, but  the corresponding forward output is not "
            "a differentiable Tensor.You should return None at that position instead."
        )
    duals.check_tangent(tangent, output)


def check_tangent_modified(found: Tensor | None, tangent: Tensor, before: int) -> None:
    """Raise unless `jvp` has modified the tangent of an input that is modified in place, and returned it."""
    if found is None or tensor_version(found) == before:
        raise TensorError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if found is not tangent:
        raise TensorError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
            "modifying an input inplace, then the jvp function must modify the gradient inplace and return it as-is."
        )


# -- inside transforms ------------------------------------------
class Application(TensorPrimitive):
    """The primitive that applies a Function, for the levels that are not the innermost.

    Its params are the Function, the layout of its arguments (those that are no Tensors, in tuples), a box for the
    layout of its outputs, and the randomness of the level that maps.
    """

    identity_params = True

    def kernel(self, *values, cls, layout, box: dict, randomness: str) -> list[Any]:
        """Apply it in the current Context, at the tape or at the bottom."""
        args = merge_arguments(layout, values)
        return split_outputs(apply_function(cls, args, {})[1], args, box)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        args = merge_arguments(params["layout"], primals)
        node, output = apply_function(params["cls"], args, {}, for_jvp=True)
        outputs = output if isinstance(output, tuple) else (output,)
        rest = iter(tangents)
        given = [next(rest) if isinstance(a, Tensor) else None for a in args]
        wrapped = [None if t is None else wrap(t) for t in given]
        for i in node.dirty:  # `jvp` modifies their tangents, which belong to others
            wrapped[i] = None if wrapped[i] is None else wrapped[i].clone()
        found = jvp_outputs(node, args, wrapped, outputs)
        ys = split_outputs(output, args, params["box"])
        ts = [None if t is None else unwrap(t) for t, o in zip(found, outputs) if isinstance(o, Tensor)]
        return ys, ts

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        args = merge_arguments(params["layout"], values)
        flags = iter(is_batched)
        dims = tuple([(0 if next(flags) else None) if isinstance(a, Tensor) else None for a in args])
        output, out_dims = params["cls"]._apply_to_entries(args, dims, size, params["randomness"])
        moved = [None if d is None else d for d in out_dims]
        ys = split_outputs(output, args, params["box"])
        places = [
            d
            for o, d in zip(output if isinstance(output, tuple) else (output,), moved)
            if isinstance(o, Tensor)
        ]
        return [y if d is None else ops.move_axis(y, d, 0) for y, d in zip(ys, places)], [
            d is not None for d in places
        ]


def merge_arguments(layout: Sequence[Any], values: Sequence[Any]) -> tuple:
    """Merge values into the layout of a Function's arguments: see `Application`."""
    rest = iter(values)
    return tuple([wrap(next(rest)) if entry is None else entry[0] for entry in layout])


def split_outputs(output, args: tuple, box: dict) -> list[Any]:
    """Return the Tensors among the outputs as values. The box takes the other outputs, and which inputs are outputs."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    outputs = output if isinstance(output, tuple) else (output,)
    box["single"] = not isinstance(output, tuple)
    box["outputs"] = [
        next((i for i, a in enumerate(tensors) if a is t), None) if isinstance(t, Tensor) else (t,)
        for t in outputs
    ]
    return [unwrap(t) for t in outputs if isinstance(t, Tensor)]


APPLICATION = Application("custom_function")
