"""Reverse mode: `grad`, `grad_and_value` and `vjp`, each with a tape of its own."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core import pytree, source_info
from ...core.aval import aval_of, kind_of
from ...core.interpreter import CURRENT, api_boundary
from ...numpy import contraction
from .._core.backward.accumulation import cast_to_output, memory_ids, separate_memory
from .._core.backward.engine import run_backward
from .._core.dtypes import from_numpy_dtype
from .._core.duals import dual_cotangent, dual_gradient, map_cotangent
from .._core.errors import TensorError
from .._core.memory import is_array
from .._core.tape import grad_accumulator
from .._core.tensor import Tensor, gradient_edge, refresh, unwrap
from .sharing import OuterTensors
from .transform_levels import (
    GradTape,
    as_leaf,
    ensure_tensors,
    enter_tape,
    flatten_tree,
    is_none,
    leave_tape,
    output_and_aux,
    partial_call,
    record_in_thread,
    select_arguments,
    wrap_tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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

    >>> import fxgrad.compat as torch
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
    """(gradient, value) of a function that returns a Tensor of one element; (gradient, (value, aux)) if `has_aux`.

    >>> import fxgrad.compat as torch
    >>> g, y = torch.func.grad_and_value(lambda x: x * x)(torch.tensor(3.0))
    >>> g.numpy(), y.numpy()
    (array(6., dtype=float32), array(9., dtype=float32))
    """
    name = "grad_and_value(f)(*args)"

    @api_boundary
    @wraps(func)
    def compute(*args, **kwargs) -> tuple[Any, Any]:
        pulled = RecordedCall(name, lambda *a: func(*a, **kwargs), args, argnums, has_aux)
        output = pulled.result
        if not isinstance(output, Tensor):
            raise TensorError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.shape != ():
            raise TensorError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {len(output.shape)} dims. Maybe "
                "you wanted to use the vjp or jacrev APIs instead?"
            )
        dtype = pulled.avals[0].dtype
        if kind_of(dtype) == "c":
            raise TensorError(
                f"grad can be implicitly created only for real scalar outputs but got {from_numpy_dtype(dtype)}"
            )
        gradients = pulled.apply([np.ones((), dtype)], retain=False)
        value = pulled.results(has_aux)
        return gradients, value if has_aux else value[0]

    return compute


class RecordedCall:
    """A call of a function that was recorded on a tape of its own: its results and its pullback."""

    def __init__(self, name: str, func: Callable[..., Any], args: tuple, argnums, has_aux: bool):
        self.tape = tape = GradTape(source_info.user_frame())
        chosen, self.structure = flatten_tree(select_arguments(args, argnums))
        self.leaves = [as_leaf(tape, x) for x in chosen]
        given, structure = flatten_tree(args)
        others = [enter_tape(tape, x) for x in given]
        self.outside = OuterTensors(tape, given)
        for x, stand_in in zip([*given, *chosen], [*others, *self.leaves]):
            self.outside.note(stand_in, x)
        inputs = self.structure.unflatten(self.leaves)
        call = partial_call(func, structure.unflatten(others), argnums)
        with record_in_thread(tape):
            result = call(*inputs) if isinstance(argnums, tuple) else call(inputs)
            self.result, self.aux = output_and_aux(result, name) if has_aux else (result, None)
            self.values, self.outer_aux = leave_tape(tape, self.result), leave_tape(tape, self.aux)
            results, self.out_structure = flatten_tree(self.result)
            tensors = [refresh(r) for r in results if isinstance(r, Tensor)]
            self.edges = [gradient_edge(r) if r.tape is tape else None for r in tensors]
            self.avals = [aval_of(r.value) for r in tensors]
        self.outside.write_back_arguments()

    def results(self, has_aux: bool) -> tuple:
        """Return (output,), or (output, aux), as outer Tensors: only once, since they belong to the caller then."""
        found = [self.outside.release_tree(self.result, self.values)]
        if has_aux:
            found.append(self.outside.release_tree(self.aux, self.outer_aux))
        del self.outside, self.result, self.values, self.aux, self.outer_aux
        return tuple(found)

    def apply(self, cts: Sequence[Any], retain: bool) -> Any:
        """Pull cotangents of the results back to gradients, by torch's convention for complex ones."""
        seeds = [
            (p, map_cotangent(ct, contraction.conjugate_complex))
            for p, ct in zip(self.edges, cts)
            if p is not None
        ]
        wanted = [(grad_accumulator(x), 0) for x in self.leaves]
        found = run_backward(
            self.tape,
            seeds,
            retain_graph=retain,
            create_graph=False,
            targets=wanted,
            capture=True,
            context=CURRENT.get(),
        )
        return self.structure.unflatten([as_gradient(x, found.get(i)) for i, x in enumerate(self.leaves)])


def as_gradient(x: Tensor, found) -> Tensor:
    """Wrap the gradient that backward captured for a leaf; zeros if the leaf was not reached."""
    if found is None:
        return wrap_tree(ops.zeros_like(x.value))

    def copy_to_tensor(ct) -> Tensor:
        ct = contraction.conjugate_complex(ct)
        return wrap_tree(np.array(ct) if is_array(ct) or not hasattr(ct, "shape") else ct)

    return dual_gradient(found, copy_to_tensor)


@api_boundary
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

    >>> import fxgrad.compat as torch
    >>> y, pullback = torch.func.vjp(torch.mul, torch.tensor(3.0), torch.tensor(4.0))
    >>> [g.numpy() for g in pullback(torch.tensor(1.0))]
    [array(4., dtype=float32), array(3., dtype=float32)]
    """
    return pullback_of(func, primals, tuple(range(len(primals))), has_aux)


def pullback_of(func: Callable[..., Any], primals: tuple, argnums, has_aux: bool) -> Any:
    """Compute `vjp` with respect to some of the arguments."""
    pulled = RecordedCall("vjp(f, *primals)", func, primals, argnums, has_aux)
    results, structure = flatten_tree(pulled.result)
    ensure_tensors(results, "vjp(f, *primals): expected f(*primals) to return only tensors")

    @api_boundary
    def vjp_fn(cotangents, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_structure = flatten_tree(cotangents)
        if given_structure != structure:
            raise TensorError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_structure}, primal output: {structure}"
            )
        for i, (ct, aval) in enumerate(zip(given, pulled.avals)):
            if not isinstance(ct, Tensor):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(ct).__name__}")
            if ct.shape != aval.shape:
                raise TensorError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {ct.shape} and output[{i}] has a shape of "
                    f"torch.Size({list(aval.shape)})."
                )
        values = [
            dual_cotangent(ct, lambda t, dtype=aval.dtype, i=i: cast_to_output(unwrap(t), dtype, i))
            for i, (ct, aval) in enumerate(zip(given, pulled.avals))
        ]
        gradients = pulled.apply(values, retain=retain_graph)
        return pytree.map(partial(separate_memory, used_ids=memory_ids(given)), gradients, is_leaf=is_none)

    output, *aux = pulled.results(has_aux)
    return output, vjp_fn, *aux
