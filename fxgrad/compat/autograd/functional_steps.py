"""Private helpers of torch.autograd.functional that other packages use, under torch's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.tensor import Tensor
from .._make.creation import eye
from .functional import tensor_tuple


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """Return Tensors as a tuple; with names for a message, also return whether the argument was one: (was, tuple).

    Raises:
        ArgumentError: something in it is no Tensor, and the names for a message are given.
    """
    given = tuple(inp) if isinstance(inp, tuple | list) else (inp,)
    if arg_name is None and fn_name is None:
        return given
    tensor_tuple(given if isinstance(inp, tuple | list) else inp, str(arg_name), str(fn_name))
    return isinstance(inp, tuple), given


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Remove the tuples that the caller did not give, one level or two."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    parts = res if inner else tuple(part[0] for part in res)
    return parts if outer else parts[0]


def _grad_preprocess(inputs: Sequence[Any], create_graph: bool, need_graph: bool) -> tuple[Any, ...]:
    """Return the inputs for differentiation: views if the graph is kept, otherwise leaves."""
    return tuple(
        (x.view_as(x) if create_graph else x.detach().requires_grad_(need_graph))
        if isinstance(x, Tensor)
        else x
        for x in inputs
    )


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Return results, in tuples, without their graphs unless these go on."""
    if isinstance(inputs, Tensor):
        return inputs if create_graph else inputs.detach()
    return tuple(_grad_postprocess(x, create_graph) for x in inputs)


def _construct_standard_basis_for(
    tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]
) -> tuple[Tensor, ...]:
    """Return the unit vectors of all entries of several Tensors: for each, the columns that belong to it.

    >>> from fxgrad.compat.autograd.functional_steps import _construct_standard_basis_for
    >>> [part.tolist() for part in _construct_standard_basis_for((torch.ones(1), torch.ones(1)), (1, 1))]
    [[[1.0], [0.0]], [[0.0], [1.0]]]
    """
    columns = eye(sum(tensor_numels)).split(list(tensor_numels), dim=1)
    return tuple(part.to(like.dtype) for part, like in zip(columns, tensors, strict=True))
