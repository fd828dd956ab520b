"""Python functions applied to every entry of a Tensor, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import concretize
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.spaces import expose
from ..errors import TensorError
from .viewing import expand


def write_results(
    name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]
) -> Tensor:
    """Write function(entry, entries of others…), which are broadcast, over each entry."""
    if self.requires_grad:
        raise TensorError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.",
            hint=f"x.detach().clone().{name}(…), which leaves x as it is",
        )
    shape = self.shape
    operands = [self, *(expand(x, tuple(shape)) for x in others)]
    columns = [concretize(refresh(x)._fx_value, f"{name}()").ravel().tolist() for x in operands]
    entries = np.array([function(*row) for row in zip(*columns)], self.numpy().dtype).reshape(tuple(shape))
    return self.copy_(make_tensor(self._fx_tape, entries))


@expose("method")
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each entry by what a function of Python's returns for it, which takes its time.

    Raises:
        RuntimeError: the Tensor requires a gradient.

    >>> torch.tensor([1.0, 2.0]).apply_(lambda v: v + 1)
    tensor([2., 3.])
    """
    return write_results("apply_", self, (), callable)


@expose("method")
def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each entry by the result of a Python function of it and the entry of another Tensor."""
    return write_results("map_", self, (other,), callable)


@expose("method")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each entry by the result of a Python function of it and the entries of two other Tensors."""
    return write_results("map2_", self, (x, y), callable)
