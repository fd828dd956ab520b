"""`backward`, which accumulates gradients in `.grad`, and `grad`, which returns them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import Aval, aval_of
from .._core.backward.accumulation import memory_ids, separate_memory, take_tensor
from .._core.backward.engine import run_backward
from .._core.backward.seeds import ensure_gradient, implicit_cotangent, output_cotangent, scalar_seeds
from .._core.modes import current_modes
from .._core.sparse_tensor import SparseTensor
from .._core.tape import BASE_TAPE, LEAF, current_tape, node_and_index
from .._core.tensor import Tensor, gradient_edge, make_tensor, refresh
from .._declare.generated import entry_point
from .._declare.spaces import expose
from ..errors import ArgumentValueError, TensorError
from .gradient_edge import GradientEdge

TensorOrEdge = Tensor | GradientEdge


def as_sequence(given) -> list[Any]:
    """Convert the argument to a list; one alone stands for a list of one."""
    return [given] if isinstance(given, TensorOrEdge) else list(given)


def as_gradients(given, count: int) -> list[Any]:
    """The gradients of so many outputs."""
    if given is None:
        return [None] * count
    gradients = [given] if isinstance(given, Tensor) else list(given)
    for gradient in gradients:
        if gradient is not None:
            ensure_gradient(gradient)
    if len(gradients) != count:
        raise TensorError(
            f"got {count} tensors and {len(gradients)} gradients",
            hint=f"{count} gradients, one for each; None for that of a Tensor with one entry",
        )
    return gradients


def edge_at(given) -> Any:
    """The gradient edge of an output or input, or None: see `Node.next_edges`."""
    if isinstance(given, GradientEdge):
        return given._fx_edge()
    return gradient_edge(refresh(given.entries if isinstance(given, SparseTensor) else given))


def aval_at(given, gradient: Tensor | None = None, is_grads_batched: bool = False) -> Aval:
    """The shape and dtype of an output or input. Those of an edge which are not known are those of its gradient."""
    if not isinstance(given, GradientEdge):
        return aval_of(refresh(given)._fx_value)
    aval = given._fx_aval()
    if aval is None and gradient is not None:
        aval = aval_of(refresh(gradient)._fx_value)
        aval = aval.update(shape=aval.shape[1:]) if is_grads_batched else aval
    if aval is None:
        raise TensorError(
            f"the shape of the output of {given.node.name()} is not known",
            hint="graph.get_gradient_edge(tensor)",
        )
    return aval


def make_seeds(
    outputs: Sequence[Any], gradients: Sequence[Any], create_graph: bool, is_grads_batched: bool
) -> list[tuple[Any, Any]]:
    """Make the seeds of backward: (edge, cotangent) for each output."""
    seeds = []
    for i, (output, gradient) in enumerate(zip(outputs, gradients)):
        aval, edge = aval_at(output, gradient, is_grads_batched), edge_at(output)
        if gradient is None:
            value = output._fx_value if isinstance(output, Tensor) else None
            ct = None if edge is None else implicit_cotangent(aval, value, is_grads_batched)
        else:
            ct = output_cotangent(i, aval, gradient, create_graph, is_grads_batched)
        seeds.append((edge, ct))
    for i, (edge, _) in enumerate(seeds):
        if edge is None:
            raise TensorError(
                f"element {i} of tensors does not require grad and does not have a grad_fn",
                hint="requires_grad_() on a leaf that it is computed from, outside no_grad; for a second derivative "
                "autograd.grad(…, create_graph=True)",
            )
    return seeds


def tape_of(given: Sequence[Any]) -> Any:
    """The tape on which outputs were recorded."""
    tapes = {t._fx_tape for t in given if isinstance(t, Tensor)}
    if len(tapes) > 1:
        raise TensorError("outputs of different transforms", hint="backward() from each of them")
    return tapes.pop() if tapes else BASE_TAPE


def is_graph_recorded(tape, create_graph: bool) -> bool:
    """Whether gradients on a tape are recorded: on request, and under a transform that differentiates its inside."""
    return create_graph or (tape.is_differentiating and current_modes().is_recording)


@entry_point
def backward(
    tensors,
    grad_tensors=None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables=None,
    inputs=None,
) -> None:
    """Add the gradients of `tensors`, weighted by `grad_tensors` and summed, to the `.grad` of the leaves.

    Args:
        tensors: a Tensor or GradientEdge, or a sequence of them.
        grad_tensors: a Tensor for each, of its shape; None for one that has a single element.
        retain_graph: keep what the graph saved, for another backward; by default if `create_graph`.
        create_graph: record the computation of the gradients, to differentiate them in turn. Inside `torch.func.grad`
            it is recorded in any case, unless under no_grad.
        grad_variables: the former name of `grad_tensors`.
        inputs: the Tensors or GradientEdges to whose `.grad` alone gradients are added.

    Raises:
        RuntimeError: a tensor requires no gradient, has several elements and no gradient given, or one of another
            shape; what the graph saved was freed, or modified in place.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward(x * x, torch.tensor([1.0, 10.0]))
    >>> x.grad.tolist()
    [2.0, 40.0]
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3
        )
        if grad_tensors is not None:
            raise TensorError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`.",
                hint="grad_tensors=[…] alone",
            )
        grad_tensors = grad_variables
    outputs = as_sequence(tensors)
    wanted = None
    if inputs is not None:
        given = as_sequence(inputs)
        if not given:
            raise TensorError(
                "`inputs` argument to `backward()` cannot be empty.",
                hint="leave inputs out for all leaves, or name some: y.backward(inputs=[w])",
            )
        for x in given:
            if isinstance(x, Tensor) and x._fx_node is not LEAF:
                x.retain_grad()
        wanted = [node_and_index(edge_at(x)) for x in given]
    if not outputs:
        return
    tape = tape_of(outputs)
    create = is_graph_recorded(tape, create_graph)
    seeds = make_seeds(outputs, as_gradients(grad_tensors, len(outputs)), create, False)
    retain = create if retain_graph is None else retain_graph
    run_backward(tape, seeds, retain_graph=retain, create_graph=create, targets=wanted)


@expose("method", "backward")
def backward_from(
    self, gradient=None, retain_graph: bool | None = None, create_graph: bool = False, inputs=None
) -> None:
    """Add the gradients of this Tensor to the `.grad` of the leaves: see `torch.autograd.backward`."""
    seeds = None if create_graph or gradient is not None or inputs is not None else scalar_seeds(self)
    if seeds is None:
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)
    else:
        run_backward(BASE_TAPE, seeds, retain_graph=bool(retain_graph), create_graph=False)


@entry_point
def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs`, weighted by `grad_outputs` and summed, with respect to `inputs`.

    Args:
        outputs, inputs: a Tensor or GradientEdge, or a sequence of them.
        grad_outputs: a Tensor for each output, of its shape; None for one that has a single element.
        retain_graph: keep what the graph saved, for another backward; by default if `create_graph`.
        create_graph: record the computation of the gradients, to differentiate them in turn. Inside `torch.func.grad`
            it is recorded in any case, unless under no_grad.
        only_inputs: ignored; gradients go nowhere else.
        allow_unused: an input that no output depends on has the gradient None; otherwise it is an error.
        is_grads_batched: `grad_outputs` have a batch axis in front, and so have the results.
        materialize_grads: zeros instead of None for such inputs.

    Returns:
        A tuple of one gradient for each input.

    Raises:
        RuntimeError: as for `backward`; an input requires no gradient or is not used.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(x * x * x, x, create_graph=True)
    >>> slope.item(), torch.autograd.grad(slope, x)[0].item()
    (27.0, 18.0)
    """
    if materialize_grads and allow_unused is False:
        raise ArgumentValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
            hint="materialize_grads=True alone: what is not used has a gradient of zeros",
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=3,
        )
    outputs, inputs = as_sequence(outputs), as_sequence(inputs)
    if not inputs:
        raise TensorError(
            "`inputs` argument to `grad()` cannot be empty.",
            hint="torch.autograd.grad(y, [w]) with one input at least",
        )
    tape = tape_of(outputs)
    create = is_graph_recorded(tape, create_graph)
    given = as_gradients(grad_outputs, len(outputs))
    seeds = make_seeds(outputs, given, create, is_grads_batched)
    parents = [edge_at(x) for x in inputs]
    if any(parent is None for parent in parents):
        raise TensorError(
            "One of the differentiated Tensors does not require grad",
            hint=f"requires_grad_() of input {parents.index(None)}, before it is used",
        )
    captured = run_backward(
        tape,
        seeds,
        retain_graph=create if retain_graph is None else retain_graph,
        create_graph=create,
        targets=[node_and_index(parent) for parent in parents],
        capture=True,
        is_grads_batched=is_grads_batched,
    )
    found: list[Any] = []
    held = memory_ids([*outputs, *inputs, *given])
    for i, x in enumerate(inputs):
        if i in captured:
            taken = separate_memory(take_tensor([captured.pop(i)]), held, sole_owner=False)
            found.append(x.with_entries(taken) if isinstance(x, SparseTensor) else taken)
        elif materialize_grads:
            found.append(zero_gradient(x, create_graph))
        elif allow_unused:
            found.append(None)
        else:
            raise TensorError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior.",
                hint="allow_unused=True gives None, materialize_grads=True zeros; is a copy of it used, or detach()?",
            )
    return tuple(found)


def zero_gradient(unused, create_graph: bool) -> Tensor:
    """The gradient of an unused input; a leaf if it may be differentiated in turn."""
    aval = aval_at(unused)
    return make_tensor(current_tape(), np.zeros(aval.shape, aval.dtype), LEAF if create_graph else None)
