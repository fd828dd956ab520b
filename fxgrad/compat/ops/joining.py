"""Operations that join several Tensors, or make a grid of them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import Cache, Linear, aval_of, ops, source_info
from .._core.dtypes import from_numpy_dtype, result_numpy_dtype
from .._core.error_messages import tensor_hint
from .._core.precision import value_dtype
from .._core.primitives import declare_primitive
from .._core.tensor import Tensor
from .._declare.gate import read_operands
from .._declare.operation import operation
from .._declare.plain import make_result
from .._declare.rearrangement import Reordering
from .._declare.spaces import expose
from ..errors import ArgumentError, ArgumentValueError, TensorError, argument_error
from .arguments import dim_index, normalize_dim
from .casting import to_copy
from .declarers import add_aliases
from .viewing import atleast_1d, atleast_2d, atleast_3d, expand_values, reshape

stack_primitive = declare_primitive(
    Linear,
    "stack",
    lambda xp: lambda *xs, axis: xp.stack(xs, axis=axis),
    shape_rule=lambda *xs, axis: (*xs[0].shape[:axis], len(xs), *xs[0].shape[axis:]),
    transpose_rule=lambda ct, *xs, axis: [ops.getitem(ct, index=dim_index(axis, i)) for i in range(len(xs))],
    batch_rule=lambda *xs, size, axis: stack_primitive(*xs, axis=axis + 1),
    count=None,
)


@operation("*tensors", spaces="", name="cat", composite=Reordering)
def cat_values(tensors, dim: int) -> Any:
    """Join Tensors of one dtype along a dimension."""
    return ops.concatenate, tensors, {"axis": dim}


@operation("*tensors", spaces="", name="stack", composite=Reordering)
def stack_values(tensors, dim: int) -> Any:
    """Join Tensors of one dtype and shape along a new dimension."""
    return stack_primitive, tensors, {"axis": dim}


class JoinPlan:
    """The way to join arrays of known shapes and one dtype along an axis into memory of a shape, and its pullback.
    `merged` is the shape with the axis as part of the next one, if the axis is new: that is where the arrays lie one
    after the other."""

    __slots__ = ("axis", "merged", "pullback", "shape")

    def __init__(self, operation, arrays: Sequence[np.ndarray], axis: int):
        call = stack_primitive if operation is stack_values.operation else ops.concatenate
        avals, primitive = [aval_of(x) for x in arrays], call.primitive
        self.axis, self.merged = axis, None
        self.shape = shape = tuple(primitive.shape_rule(*avals, axis=axis))
        if call is stack_primitive and axis < len(shape) - 1:
            self.merged = (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
        self.pullback = primitive, (avals, {"axis": axis}), primitive.pull_plain

    def join(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Join arrays of the plan's shapes."""
        made = np.empty(self.shape, arrays[0].dtype)
        if self.merged is not None:
            ops.store_joined(made.reshape(self.merged), arrays, self.axis)
        elif len(self.shape) > arrays[0].ndim:
            ops.store_joined(made, [x[..., None] for x in arrays], self.axis)
        else:
            ops.store_joined(made, arrays, self.axis)
        return made


def have_channels_last(arrays: Sequence[np.ndarray]) -> bool:
    """Whether arrays have their channels, the second dimension, last in memory, so that results get the same layout."""
    axes = (0, *range(2, arrays[0].ndim), 1)
    return not arrays[0].flags.c_contiguous and all([x.transpose(axes).flags.c_contiguous for x in arrays])


JOINS = Cache(1024)  # JoinPlans by operation, axis, dtype and shapes


def take_join(operation, tensors, dim, plan_axis: int | None = None) -> Tensor | None:
    """Join plain Tensors by the known plan for their shapes, or by a new one along `plan_axis`. Return None where there
    is more to decide."""
    found = None
    if type(tensors) in (list, tuple) and tensors and type(dim) is int:
        found = read_operands(tensors)
    if found is None:
        return None
    kinds, arrays, edges = found
    key = (operation, dim, *kinds)
    plan = JOINS.get(key)
    if plan is None:
        if plan_axis is None:
            return None
        plan = JOINS[key] = JoinPlan(operation, arrays, plan_axis)
    if arrays[0].ndim > 3 and have_channels_last(arrays):
        return None
    return make_result(plan.join(arrays), operation, plan.pullback, edges if any(edges) else None, 3)


def join_directly(operation) -> Callable[..., Tensor | None]:
    """Return the function that joins plain Tensors by known plans, with the parameters of `cat` and `stack`."""

    def join(tensors=None, dim=0, out=None, **others) -> Tensor | None:
        return None if others or out is not None else take_join(operation, tensors, dim)

    return join


def promote_tensors(tensors, operation: str) -> Sequence[Tensor]:
    """Convert a non-empty sequence of Tensors to their common dtype."""
    if not isinstance(tensors, tuple | list):
        raise argument_error(
            operation, "tensors", 1, "tuple of Tensors", tensors, f"torch.{operation}([x, y])"
        )
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise ArgumentError(
                f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}",
                hint=tensor_hint(x),
            )
    if not tensors:
        raise ArgumentValueError(
            f"torch.{operation}(): expected a non-empty list of Tensors",
            hint="at least one Tensor; torch.empty(0, …) where there is none",
        )
    dtypes = {value_dtype(x._fx_value) for x in tensors}
    if len(dtypes) == 1:
        return tensors
    common = from_numpy_dtype(result_numpy_dtype([x._fx_value for x in tensors]))
    return [x if x.dtype is common else to_copy(x, common) for x in tensors]


def value_shape(x: Tensor) -> tuple[int, ...]:
    """The shape as Python's tuple, which costs less than torch's Size."""
    value = x._fx_value
    return value.shape if type(value) is np.ndarray else aval_of(value).shape


@expose(direct=join_directly(cat_values.operation))
def cat(tensors, dim: int = 0, *, out=None) -> Tensor:
    """Tensors joined along a dimension. Empty vectors among them are passed over.

    >>> torch.cat([torch.zeros(1, 2), torch.ones(2, 2)]).tolist()
    [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    """
    parts = promote_tensors(tensors, "cat")
    shapes = [value_shape(x) for x in parts]
    if () in shapes:
        raise TensorError(
            f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated",
            hint="torch.stack, or x.reshape(1)",
        )
    first = next((s for s in shapes if s != (0,)), (0,))
    d = normalize_dim(dim, len(first))
    if first != (0,) and (0,) in shapes:
        nothing = (*first[:d], 0, *first[d + 1 :])
        parts = [
            x.reshape(nothing) if s == (0,) else x
            for x, s in zip(parts, shapes)
            if s != (0,) or x.requires_grad
        ]
        shapes = [value_shape(x) for x in parts]
    before, after = first[:d], first[d + 1 :]
    for i, s in enumerate(shapes):
        if len(s) != len(first) or s[:d] != before or s[d + 1 :] != after:
            raise mismatch_error(first, s, d, i)
    joined = take_join(cat_values.operation, parts, dim, d) if out is None and parts is tensors else None
    return cat_values.operation((parts,), {"dim": d}, out) if joined is None else joined


def cat_hint(first: tuple[int, ...], shape: tuple[int, ...], dim: int) -> str:
    """Return the hint for shapes that cannot be joined along a dimension: another dimension, if there is one."""
    unequal = [d for d, (n, m) in enumerate(zip(first, shape)) if n != m]
    if len(unequal) == 1:
        return f"dim={unequal[0]}, along which the sizes may differ"
    return f"all sizes but that of dimension {dim} have to agree: narrow(…) or torch.nn.functional.pad"


def mismatch_error(first: tuple[int, ...], shape: tuple[int, ...], dim: int, place: int) -> TensorError:
    """Return the error for a Tensor that cannot be joined to the first along a dimension."""
    if len(shape) != len(first):
        return TensorError(
            f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}",
            hint="unsqueeze(…) the one with fewer",
        )
    n, m = next((n, m) for j, (n, m) in enumerate(zip(first, shape)) if n != m and j != dim)
    return TensorError(
        f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for tensor number "
        f"{place} in the list.",
        hint=cat_hint(first, shape, dim),
    )


@expose(direct=join_directly(stack_values.operation))
def stack(tensors, dim: int = 0, *, out=None) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
    if isinstance(tensors, tuple | list) and not tensors:
        raise TensorError(
            "stack expects a non-empty TensorList",
            hint="at least one Tensor; torch.empty(0, …) where there is none",
        )
    parts = promote_tensors(tensors, "stack")
    first = value_shape(parts[0])
    for i, x in enumerate(parts):
        if value_shape(x) != first:
            raise TensorError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(x.shape)} at entry {i}",
                hint="torch.cat, along a dimension of any sizes; torch.nn.utils.rnn.pad_sequence pads to one length",
            )
    d = normalize_dim(dim, len(first) + 1)
    joined = take_join(stack_values.operation, parts, dim, d) if out is None and parts is tensors else None
    return stack_values.operation((parts,), {"dim": d}, out) if joined is None else joined


@expose()
def hstack(tensors, *, out=None) -> Tensor:
    """Tensors joined along their second dimension; vectors along their only one."""
    parts = list(atleast_1d(tuple(tensors)))
    return cat(parts, min(1, len(parts[0].shape) - 1) if parts else 0, out=out)


@expose()
def vstack(tensors, *, out=None) -> Tensor:
    """Tensors, vectors as rows, joined along their first dimension."""
    return cat(list(atleast_2d(tuple(tensors))), 0, out=out)


add_aliases("function", concat=cat, concatenate=cat, row_stack=vstack)


@expose()
def dstack(tensors, *, out=None) -> Tensor:
    """Tensors joined along their third dimension."""
    return cat(list(atleast_3d(tuple(tensors))), 2, out=out)


@expose()
def column_stack(tensors, *, out=None) -> Tensor:
    """Tensors joined along their second dimension; vectors, and numbers, as columns."""
    return hstack([x if len(x.shape) > 1 else reshape(x, (-1, 1)) for x in tensors], out=out)


def block_diag_arguments(*tensors) -> Any:
    """Vectors, and numbers, are rows."""
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    for i, x in enumerate(tensors):
        if len(x.shape) > 2:
            raise TensorError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {len(x.shape)} "
                "dimensions",
                hint="torch.block_diag(*x) of the matrices of a batch",
            )
    return ([atleast_2d(x) for x in tensors],), {}


@operation("*tensors", spaces="function", promote="arithmetic", out=False, arguments=block_diag_arguments)
def block_diag(tensors) -> Any:
    """The matrix with the given matrices along its diagonal; vectors and numbers are rows."""
    width, start, rows = sum(x.shape[1] for x in tensors), 0, []
    for x in tensors:
        stop = start + x.shape[1]
        rows.append(ops.pad(x, widths=((0, 0), (start, width - stop))))
        start = stop
    return ops.concatenate(*rows, axis=0)


@expose()
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid, expanded from its axes; `indexing="xy"` swaps the first two axes of the results."""
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
            stacklevel=source_info.user_stacklevel(),
        )
    elif indexing not in ("ij", "xy"):
        raise TensorError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}',
            hint='indexing="ij", rows first, or "xy", columns first',
        )
    for x in tensors:
        if len(x.shape) > 1:
            raise TensorError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x!r}",
                hint="x.flatten()",
            )
    axes = list(range(len(tensors)))
    if indexing == "xy" and len(axes) > 1:
        axes[:2] = [1, 0]
    sizes = [x.shape[0] if x.shape else 1 for x in tensors]
    shape = [0] * len(axes)
    for n, a in zip(sizes, axes):
        shape[a] = n
    return tuple(
        [
            expand_values(reshape(x, (1,) * a + (n,) + (1,) * (len(axes) - a - 1)), shape)
            for x, n, a in zip(tensors, sizes, axes)
        ]
    )


@expose()
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one entry of each vector, as rows."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(x, (-1,)) for x in meshgrid(*tensors, indexing="ij")], 1)


@expose()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose `r` entries of a vector, as rows."""
    if len(input.shape) != 1:
        raise TensorError(f"Expect a 1D vector, but got shape {list(input.shape)}", hint="x.flatten()")
    if r < 0:
        raise TensorError(f"Expect a non-negative number, but got {r}", hint=f"r={-r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    if r == 0:
        return input[:0]
    return combination_values(input, np.array(list(choose(range(input.shape[0]), r)), np.intp).reshape(-1, r))


@operation("input", spaces="", name="masked_select", out=False, composite=Reordering)
def combination_values(input, places) -> Any:
    """The entries of a vector at these places."""
    return ops.getitem, (input, places), {"index": (ops.ARRAY,)}
