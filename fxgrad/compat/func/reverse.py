"""Reverse mode: `grad`, `grad_and_value` and `vjp`, each with a tape of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from ...extend import CURRENT, api_boundary, aval_of, is_differentiable, ops, pytree, source_info
from ...numpy import contraction
from .._core.backward.accumulation import memory_ids, separate_memory
from .._core.backward.engine import run_backward
from .._core.backward.seeds import ensure_gradient, implicit_cotangent, output_cotangent
from .._core.duals import dual_gradient
from .._core.memory import copy_array, is_array
from .._core.tape import grad_accumulator
from .._core.tensor import Tensor, gradient_edge, refresh
from .._declare.generated import entry_point
from ..errors import TensorError
from .arguments import argnum_positions, ensure_output, flatten_tree, is_leaf, match_argnums
from .sharing import OuterTensors
from .transform_levels import GradTape, as_leaf, record_in_thread, wrap_tree


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of a function that returns a Tensor of one element, as a function of the same arguments.

    Args:
        func: a function of pytrees of Tensors.
        argnums: the argument to differentiate by, or a tuple of them.
        has_aux: `func` returns (output, aux).

    Returns:
        A function giving the gradient, with the structure of the argument (a tuple of them for a tuple `argnums`);
        (gradient, aux) if `has_aux`.

    Raises:
        RuntimeError: the output is no Tensor of one real element, or `argnums` fits no argument.
        ValueError: an argument is no Tensor.

    >>> torch.func.grad(torch.sin)(torch.tensor(0.0)).numpy()
    array(1., dtype=float32)
    """
    both = grad_and_value(func, argnums, has_aux)

    @api_boundary
    @wraps(func)
    def gradient(*args, **kwargs) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that returns (gradient, value) of a function that returns a Tensor of one element; (gradient,
    (value, aux)) if `has_aux`.

    Args:
        func: a function of pytrees of Tensors that returns a Tensor of one element.
        argnums: the argument to differentiate by, or a tuple of them.
        has_aux: `func` returns (value, aux).

    Returns:
        A function of the same arguments.

    Raises:
        RuntimeError: the value has several elements.

    >>> g, y = torch.func.grad_and_value(lambda x: x * x)(torch.tensor(3.0))
    >>> g.numpy(), y.numpy()
    (array(6., dtype=float32), array(9., dtype=float32))
    """
    name = "grad_and_value(f)(*args)"

    @api_boundary
    @wraps(func)
    def compute(*args, **kwargs) -> tuple[Any, Any]:
        call = RecordedCall(name, func, args, kwargs, argnum_positions(argnums, len(args)), has_aux)
        output = call.result.whole
        if not isinstance(output, Tensor):
            raise TensorError(
                f"{name}: Expected f(*args) to return a Tensor, got {type(output)}",
                hint="a Tensor without dimensions, such as loss.sum(); has_aux=True for (loss, aux); jacrev "
                "for several",
            )
        if output.shape != ():
            raise TensorError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {len(output.shape)} dims. Maybe "
                "you wanted to use the vjp or jacrev APIs instead?",
                hint="y.sum() or y.mean(), or torch.func.jacrev",
            )
        seeds = [] if call.edges[0] is None else [implicit_cotangent(call.avals[0], output._fx_value)]
        gradients = match_argnums(argnums, call.pull_back(seeds, retain=False))
        value = call.outside.release_results()
        return gradients, tuple(value) if has_aux else value[0]

    return compute


class RecordedCall:
    """A call of a function, recorded on its own tape: the results, and their pullback to the chosen arguments."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        args: tuple,
        kwargs: dict,
        places: Sequence[int],
        has_aux: bool,
    ):
        self.tape = tape = GradTape(source_info.user_frame())
        chosen, self.structure = flatten_tree(tuple([args[i] for i in places]))
        self.outside = outside = OuterTensors(tape, chosen)
        self.leaves = [outside.note(as_leaf(tape, x), x) for x in chosen]
        call = outside.restrict(func, args, kwargs, places)
        with record_in_thread(tape):
            self.result = outside.collect(call(*self.structure.unflatten(self.leaves)), name, has_aux)
            tensors = [refresh(r) for r in self.result.leaves if isinstance(r, Tensor)]
            self.edges = [gradient_edge(r) if r._fx_tape is tape else None for r in tensors]
            self.avals = [aval_of(r._fx_value) for r in tensors]
        outside.write_back_arguments()

    def pull_back(self, cts: Sequence[Any], retain: bool) -> tuple[Any, ...]:
        """Pull cotangents of the results back to gradients, one for each of the chosen arguments."""
        found = run_backward(
            self.tape,
            [(edge, ct) for edge, ct in zip(self.edges, cts) if edge is not None],
            retain_graph=retain,
            create_graph=False,
            targets=[(grad_accumulator(x), 0) for x in self.leaves],
            capture=True,
            context=CURRENT.get(),
        )
        return self.structure.unflatten([as_gradient(x, found.get(i)) for i, x in enumerate(self.leaves)])


def as_gradient(x: Tensor, found) -> Tensor:
    """Wrap the gradient that backward captured for a leaf; zeros if the leaf was not reached."""
    if found is None:
        return wrap_tree(ops.zeros_like(x._fx_value))

    def copy_to_tensor(ct) -> Tensor:
        ct = contraction.conjugate_complex(ct)
        return wrap_tree(
            copy_array(ct, "K") if is_array(ct) else ct if hasattr(ct, "shape") else np.array(ct)
        )

    return dual_gradient(found, copy_to_tensor)


@entry_point
def vjp(func: Callable[..., Any], *primals, has_aux: bool = False) -> Any:
    """The output of `func` and its pullback at `primals` (vector-Jacobian product).

    Args:
        func: a function of pytrees of Tensors.
        primals: its arguments.
        has_aux: `func` returns (output, aux).

    Returns:
        (output, vjp_fn), and aux if `has_aux`. `vjp_fn(cotangents)` takes cotangents with the structure of the output
        and returns a tuple of gradients, one for each of `primals`. It may be called any number of times.

    Raises:
        ValueError: one of `primals` is no Tensor.
        RuntimeError: the output has what is no Tensor; by `vjp_fn`, the cotangents do not fit it.

    >>> y, pullback = torch.func.vjp(torch.mul, torch.tensor(3.0), torch.tensor(4.0))
    >>> [g.numpy() for g in pullback(torch.tensor(1.0))]
    [array(4., dtype=float32), array(3., dtype=float32)]
    """
    return vjp_at(func, primals, {}, range(len(primals)), has_aux)


def vjp_at(func: Callable[..., Any], args: tuple, kwargs: dict, places: Sequence[int], has_aux: bool) -> Any:
    """Compute `vjp` with respect to the arguments at some places."""
    name = "vjp(f, *primals)"
    call = RecordedCall(name, func, args, kwargs, places, has_aux)
    ensure_output(call.result.leaves, name)
    for y in call.result.leaves:
        if not is_differentiable(aval_of(y._fx_value).dtype):
            raise TensorError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{y.dtype}",
                hint="has_aux=True, for outputs that are not differentiated",
            )
    structure = call.result.structure

    @api_boundary
    def vjp_fn(cotangents, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_structure = flatten_tree(cotangents)
        if given_structure != structure:
            raise TensorError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_structure}, primal output: {structure}",
                hint="cotangents in the containers of the output: torch.utils._pytree.tree_map(torch.ones_like, y)",
            )
        cts = []
        for i, (gradient, aval) in enumerate(zip(given, call.avals)):
            ensure_gradient(gradient)
            cts.append(output_cotangent(i, aval, gradient, create_graph=True))
        gradients = call.pull_back(cts, retain=retain_graph)
        return pytree.map(partial(separate_memory, used_ids=memory_ids(given)), gradients, is_leaf=is_leaf)

    output, *aux = call.outside.release_results()
    del call.outside, call.result  # they belong to the caller now
    return output, vjp_fn, *aux
