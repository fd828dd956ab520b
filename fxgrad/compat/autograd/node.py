"""The public interface of Nodes: the attributes of every `grad_fn`."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from ...extend import aval_of
from .._core import tape
from .._core.backward.saved_tensors import find_saved
from .._core.dtypes import dtype, from_numpy_dtype
from .._core.hooks import RemovableHandle
from .._core.tape import FREED, AccumulateGrad
from .._core.tensor import Size, Tensor
from .._make.devices import device_of
from ..errors import TensorError


class Node(ABC):
    """A recorded operation: the type of every `grad_fn`.

    Its class is named after the operation, and what it has saved for backward are its attributes: see `dir`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x.exp()
    >>> isinstance(y.grad_fn, torch.autograd.graph.Node), type(y.grad_fn).__name__
    (True, 'ExpBackward0')
    >>> torch.equal(y.grad_fn._saved_result, y)
    True
    """

    @abstractmethod
    def name(self) -> str:
        """Return the name of the operation.

        >>> x = torch.tensor(0.0, requires_grad=True)
        >>> x.clone().grad_fn.name()
        'CloneBackward0'
        """

    @property
    @abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The Nodes that made the operands, each with the number of its result; (None, 0) for an operand without
        gradient.

        >>> a = torch.tensor(0.0, requires_grad=True)
        >>> (a * 2).exp().grad_fn.next_functions
        ((<MulBackward0 object at 0x...>, 0),)
        """

    @property
    @abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dict for notes of the user."""

    @abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register `fn(grad_inputs, grad_outputs)` to be called after the Node in backward.

        Args:
            fn: takes the gradients of the operands and those of the results, and must not modify them. A tuple that it
                returns is used in place of the former.

        Returns:
            A handle that removes the hook.

        >>> x = torch.tensor(1.0, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2, None))
        >>> y.backward()
        >>> x.grad
        tensor(6.)
        """

    @abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register `fn(grad_outputs)` to be called before the Node in backward.

        Args:
            fn: takes the gradients of the results. A tuple that it returns is used in their place.

        Returns:
            A handle that removes the hook.

        >>> x = torch.tensor(1.0, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
        >>> y.backward()
        >>> x.grad
        tensor(6.)
        """

    @abstractmethod
    def _sequence_nr(self) -> int:
        """Return the serial number of the Node: backward takes the latest first."""

    @property
    @abstractmethod
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        """The metadata of the results, which are the inputs in backward."""


Node.register(tape.Node)


class InputMetadata(NamedTuple):
    """The metadata that a Node keeps of one of its results."""

    shape: Size
    dtype: dtype
    device: Any
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False


def input_metadata(node: tape.Node) -> tuple[InputMetadata, ...]:
    """Return the shapes, dtypes and devices of a Node's results.

    Raises:
        RuntimeError: nobody knows them any more.
    """
    results = [known_result(node)] if node.result_avals is None else node.result_avals
    found = [(aval_of(result), device_of(result)) for result in results if result is not None]
    return tuple([InputMetadata(Size(a.shape), from_numpy_dtype(a.dtype), device) for a, device in found])


def known_result(node: tape.Node) -> Any:
    """Return the single result of a Node if it is alive, otherwise its aval. A Node does not refer to its
    results, but living Tensors and saved values do."""
    if type(node) is AccumulateGrad:
        return node.value
    saved = {} if node.residuals is FREED or node.is_packed else find_saved(node)
    if "result" in saved:
        return saved["result"].residual
    for found in gc.get_referrers(node):
        if issubclass(type(found), Tensor) and found._fx_node is node:
            return found._fx_value
    if "aval" in node.__dict__:
        return node.__dict__["aval"]
    raise TensorError(
        f"{node.name()}: its result is gone, and nobody else knows its shape",
        hint="keep the result that has this Node, until its metadata are read",
    )


tape.Node.attach(_input_metadata=property(input_metadata))
