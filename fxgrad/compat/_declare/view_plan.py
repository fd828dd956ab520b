"""View plans: the known steps from plain arrays to their views.

A view computes nothing, so its cost is overhead only. For a plain Tensor of a given shape, and given integers and
slices, the view function always takes the same step from the Tensor to its view. The step is stored after the first
call, and the next call takes it directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from ...extend import CURRENT, EVAL, Cache, Context, ops
from .._core import strides
from .._core.memory import memory_address
from .._core.tape import no_copy
from .._core.tensor import Size, Tensor, allocate_tensor
from .._core.views import NO_REBASE_MESSAGES, ViewChain, ViewMeta, ViewStep, tensor_version
from .entrance import Hook
from .gate import NOT_PLAIN, plain_edge
from .plain import make_result
from .rearrangement import Rearrangement

current = CURRENT.get
BOUND_TYPES = frozenset({int, type(None)})  # of a slice that means the same whenever it is looked at
Reader = Callable[[np.ndarray], np.ndarray]


def read_reshaped(array: np.ndarray, call, params: dict[str, Any]) -> tuple[Reader, Reader]:
    """How another shape reads arrays."""
    shape = params["shape"]
    return methodcaller("reshape", shape), methodcaller("reshape", shape, copy=False)


def read_restrided(array: np.ndarray, call, params: dict[str, Any]) -> tuple[Reader, Reader]:
    """How a primitive that gives arrays other strides reads them: known ones where their own are known."""
    kernel = partial(call.primitive.kernel, **params)
    if not array.size or array.dtype.kind == "V":  # of a dtype that cannot be exported
        return kernel, kernel
    part = kernel(array)
    start = memory_address(part) - memory_address(array)
    return partial(np.ndarray, part.shape, part.dtype, offset=start, strides=part.strides), kernel


# How primitives that make views read arrays with the strides of `array`, a new one, and arrays with others, if that is
# different: the latter raise ValueError for arrays of which they make no view.
READERS: dict[Any, Callable[..., tuple[Reader, Reader | None]]] = {
    strides.basic_view: lambda array, call, params: (itemgetter((*params["index"], ...)), None),
    ops.permute: lambda array, call, params: (methodcaller("transpose", params["axes"]), None),
    ops.reshape: read_reshaped,
    strides.unsqueeze: read_restrided,
    strides.expand: read_restrided,
    strides.diagonal: read_restrided,
    strides.unfold: read_restrided,
}


class ViewPlan:
    """How an operation makes its view of an array of known shape and dtype: `read` gives the array of the view of one
    with these `strides`, `read_strided` of others (None: `read` does); `step` is the step from a Tensor to its view."""

    __slots__ = ("read", "read_strided", "step", "strides")

    def __init__(self, array: np.ndarray, call, params: dict[str, Any], step: ViewStep):
        fresh = np.empty(array.shape, array.dtype)
        self.read, self.read_strided = READERS[call](fresh, call, params)
        self.strides, self.step = fresh.strides, step


def freeze(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return a hashable stand-in for integers, slices, `...`, None and tuples of these, or None if there are others:
    what they mean could change, or not be told by equality."""
    found = None
    for i, x in enumerate(arguments):
        kind = type(x)
        if kind is int or x is None or x is ...:
            if found is not None:
                found.append(x)
            continue
        if found is None:
            found = list(arguments[:i])
        if kind is slice:
            start, stop, step = x.start, x.stop, x.step
            if not (
                type(start) in BOUND_TYPES
                and type(stop) in BOUND_TYPES
                and (step is None or type(step) is int)
            ):
                return None
            found.append((slice, start, stop, step))
        elif kind is tuple or kind is Size:
            inner = freeze(x)
            if inner is None:
                return None
            found.append((tuple, inner))
        else:
            return None
    return tuple(arguments) if found is None else tuple(found)


def make_view(tensor, context: Context, edge, made: np.ndarray, step: ViewStep) -> Tensor:
    """Make the view of a plain Tensor with this gradient edge that shows this array, by this step."""
    view = make_result(made, step.operation, step.pullback, None if edge is None else (edge,), 3)
    view._fx_view_meta = meta = allocate_tensor(ViewMeta)
    meta.chain = chain = allocate_tensor(ViewChain)
    above, creation, chain.last_step = tensor._fx_view_meta, "default" if context is EVAL else "no_grad", step
    meta.is_inherited = False
    if above is None:
        base, chain.previous, meta.arrays = tensor, None, (tensor._fx_value, made)
    else:
        base, chain.previous, arrays = above.base, above.chain, above.arrays
        meta.arrays = (arrays[0], made) if arrays is not None and arrays[1] is tensor._fx_value else None
        if context is EVAL or above.creation == "detached":
            creation, meta.is_inherited = above.creation, True
    meta.base, meta.creation, meta.tangent = base, creation, None
    meta.history_version = base._fx_history_version
    meta.base_version = tensor_version(base) if creation in NO_REBASE_MESSAGES else 0
    return view


def take_view(plans: Cache, tensor, context: Context, edge, key: tuple[Any, ...] | None) -> Tensor | None:
    """Return the view of a plain Tensor with this edge that a known plan makes for arguments with this key; None where
    there is more to decide."""
    value = tensor._fx_value
    plan = plans.get((value.shape, value.dtype.num, edge is None, key))
    if plan is None:
        return None
    if plan.read_strided is None or value.strides == plan.strides:
        return make_view(tensor, context, edge, plan.read(value), plan.step)
    try:
        made = plan.read_strided(value)
    except ValueError:
        return None
    return make_view(tensor, context, edge, made, plan.step)


def plan_view(
    plans: Cache,
    tensor,
    context: Context,
    edge,
    key: tuple[Any, ...] | None,
    operation,
    params: dict[str, Any],
) -> Tensor | None:
    """Make the plan by which an operation makes a view of Tensors like this one, and return its view; None where there
    is more to decide."""
    if key is None:
        return None
    value = tensor._fx_value
    call, _, given = operation.primitive_for(operation.full_pattern).arrangement(value, **params)
    if call not in READERS:
        return None
    pullback, primitive = None, call.primitive
    if edge is not None:
        _, rule, residuals = primitive.vjp(primitive.kernel, (value,), (True,), given, no_copy)
        pullback = rule, residuals, rule.pull_plain
    plan = ViewPlan(value, call, given, ViewStep(operation, (), params, None, pullback))
    plans[value.shape, value.dtype.num, edge is None, key] = plan
    return take_view(plans, tensor, context, edge, key)


def learn_view(plans: Cache, tensor, edge, key: tuple[Any, ...], view) -> None:
    """Keep the plan by which a function has made a view of a plain Tensor, if that was one step of a view operation."""
    if type(view) is not Tensor or type(view._fx_view_meta) is not ViewMeta:
        return
    meta, above, value = view._fx_view_meta, tensor._fx_view_meta, tensor._fx_value
    base, before = (tensor, None) if above is None else (above.base, above.chain)
    if (
        meta.base is not base
        or meta.chain.previous is not before
        or type(meta.chain.last_step) is not ViewStep
    ):
        return
    step = meta.chain.last_step
    operation, params = step.operation, step.params
    is_view = not step.operands and step.index is None and operation.view is True and not operation.bit
    composite = operation.primitive_for(operation.full_pattern)
    if (
        not is_view
        or not isinstance(composite, Rearrangement)
        or (step.pullback is None) is not (view._fx_node is None)
    ):
        return
    call, _, given = composite.arrangement(value, **params)
    if call in READERS:
        plans[value.shape, value.dtype.num, edge is None, key] = ViewPlan(value, call, given, step)


VIEW_TEXT = """\
_fx_key = freeze(({rest})) if _fx_short else None
_fx_edge = NOT_PLAIN if _fx_key is None else plain_edge({first}, _fx_context)
if _fx_edge is not NOT_PLAIN:
    _fx_result = take_view(plans, {first}, _fx_context, _fx_edge, _fx_key)
    if _fx_result is not None:
        return _fx_result
"""
LEARN_TEXT = """\
if _fx_edge is not NOT_PLAIN:
    learn_view(plans, {first}, _fx_edge, _fx_key, _fx_result)
"""


def remember_views() -> Hook:
    """Make the hook by which a function of a Tensor takes the views of it that it has made before by their plans."""
    names = {"NOT_PLAIN": NOT_PLAIN, "freeze": freeze, "plain_edge": plain_edge, "plans": Cache()}
    return Hook(VIEW_TEXT, LEARN_TEXT, names | {"learn_view": learn_view, "take_view": take_view})
