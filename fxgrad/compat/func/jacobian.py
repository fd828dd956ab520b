"""Jacobians and Hessians of functions of Tensors: `vjp` or `jvp`, mapped over a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ...extend import aval_of, unit_vectors
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor
from ..errors import ArgumentValueError, TensorError
from ..ops.joining import stack
from .arguments import argnum_positions, flatten_primals, flatten_tree, match_argnums
from .forward import jvp_at
from .reverse import vjp_at
from .vectorize import vmap


def unit_tensors(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The standard basis of the space of all these Tensors' entries together, a row for each of its vectors."""
    return [make_tensor(current_tape(), v) for v in unit_vectors([aval_of(x._fx_value) for x in tensors])]


def split_rows(
    found: Sequence[Tensor], outputs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> list[list[Tensor]]:
    """Split derivatives by the inputs, whose first dimension runs over the entries of all outputs, into one list of
    blocks for each output."""
    pieces = [g.split([y.numel() for y in outputs]) for g in found]
    return [
        [piece[i].reshape(y.shape + x.shape) for piece, x in zip(pieces, inputs)]
        for i, y in enumerate(outputs)
    ]


def split_columns(found: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[list[Tensor]]:
    """Split derivatives of the outputs, whose first dimension runs over the entries of all inputs, into one list of
    blocks for each output."""
    sizes = [x.numel() for x in inputs]
    return [
        [piece.reshape(t.shape[1:] + x.shape) for piece, x in zip(t.movedim(0, -1).split(sizes, -1), inputs)]
        for t in found
    ]


def ensure_real(tensors: Sequence[Tensor], name: str, what: str) -> None:
    """Raise for complex Tensors, whose Jacobian is defined for holomorphic functions only."""
    for i, x in enumerate(tensors):
        if x.dtype.is_complex:
            raise TensorError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}",
                hint="torch.view_as_real, for the Jacobian of the parts; vjp and jvp take complex Tensors",
            )


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `func` by reverse mode: one row for each entry of the output.

    Args:
        func: a function of pytrees of Tensors.
        argnums: the argument to differentiate by, or a tuple of them.
        has_aux: `func` returns (output, aux).
        chunk_size: compute so many rows at a time, to bound memory; 1 does without `vmap`.

    Returns:
        A function of the same arguments, giving for every Tensor of the output the structure of the argument, with
        Tensors of the shape output.shape + argument.shape; (Jacobian, aux) if `has_aux`.

    Raises:
        RuntimeError: an argument or a result is complex.
        ValueError: `chunk_size` is not positive.

    >>> torch.func.jacrev(torch.sin)(torch.tensor([0.0, 0.0])).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentValueError(
            "jacrev: `chunk_size` should be greater than 0.",
            hint="chunk_size=1, or None for all rows at once",
        )

    @wraps(func)
    def jacobian(*args, **kwargs) -> Any:
        places = argnum_positions(argnums, len(args))
        output, vjp_fn, *aux = vjp_at(func, args, kwargs, places, has_aux)
        results, structure = flatten_tree(output)
        leaves, inputs = flatten_tree(match_argnums(argnums, [args[i] for i in places]))
        ensure_real(leaves, "jacrev", "inputs")
        ensure_real(results, "jacrev", "outputs")
        basis = unit_tensors(results)

        def vjp_row(*cts: Tensor) -> list[Tensor]:
            return flatten_tree(vjp_fn(structure.unflatten(cts)))[0]

        if chunk_size == 1:
            rows = [vjp_row(*[b.select(0, i) for b in basis]) for i in range(len(basis[0]))]
            found = [stack(column) for column in zip(*rows)]
        else:
            found = vmap(vjp_row, chunk_size=chunk_size)(*basis)
        jacobians = structure.unflatten([inputs.unflatten(row) for row in split_rows(found, results, leaves)])
        return (jacobians, *aux) if has_aux else jacobians

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The Jacobian of `func` by forward mode: one column for each entry of the argument. See `jacrev`.

    Args:
        func, argnums, has_aux: as for `jacrev`.
        randomness: as for `vmap`.

    Returns:
        A function of the same arguments, giving what `jacrev` gives.

    Raises:
        RuntimeError: an argument or a result is complex.

    >>> torch.func.jacfwd(torch.sin)(torch.tensor([0.0, 0.0])).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    @wraps(func)
    def jacobian(*args, **kwargs) -> Any:
        places = argnum_positions(argnums, len(args))
        primals = tuple([args[i] for i in places])
        leaves, structure = flatten_primals(primals, "jacfwd")
        ensure_real(leaves, "jacfwd", "inputs")
        box: dict[str, Any] = {}

        def jvp_column(*tangents: Tensor) -> Any:
            along = structure.unflatten(tangents)
            _, derivative, *box["aux"] = jvp_at(func, args, kwargs, places, along, has_aux=has_aux)
            return derivative

        derivative = vmap(jvp_column, randomness=randomness)(*unit_tensors(leaves))
        found, out_structure = flatten_tree(derivative)
        ensure_real(found, "jacfwd", "outputs")
        inputs = flatten_tree(match_argnums(argnums, primals))[1]
        jacobians = out_structure.unflatten([inputs.unflatten(row) for row in split_columns(found, leaves)])
        return (jacobians, *box["aux"]) if has_aux else jacobians

    return jacobian


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The Hessian of `func`: forward over reverse mode. See `jacrev`.

    Args:
        func: a function of pytrees of Tensors that returns a Tensor of one element.
        argnums: the argument to differentiate by, or a tuple of them.

    Returns:
        A function of the same arguments, giving a Tensor of shape argument.shape + argument.shape for every pair of
        Tensors in the arguments.

    >>> torch.func.hessian(lambda x: (x * x * x).sum())(torch.tensor([1.0, 2.0])).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(func, argnums), argnums)
