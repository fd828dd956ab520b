"""Jacobians and Hessians of functions of Tensors: `vjp` or `jvp`, mapped over a basis."""

from __future__ import annotations

from functools import wraps
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import numpy as fnp
from ...core.aval import aval_of
from .._core.errors import ArgumentValueError, TensorError
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, unwrap
from .forward import jvp_with_constants
from .reverse import pullback_of
from .transform_levels import flatten_tree, partial_call, select_arguments, wrap_tree
from .vectorize import vmap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def tensor_basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The standard basis of the space of all these Tensors' entries together, a row for each of its vectors."""
    avals = [aval_of(x.value) for x in tensors]
    sizes = [prod(a.shape) for a in avals]
    total, start, rows = sum(sizes), 0, []
    for aval, size in zip(avals, sizes):
        part = np.zeros((total, size), aval.dtype)
        part[start : start + size] = np.eye(size, dtype=aval.dtype)
        rows.append(make_tensor(current_tape(), part.reshape(total, *aval.shape)))
        start += size
    return rows


def ensure_real(tensors: Sequence[Tensor], name: str, what: str) -> None:
    """Raise for complex Tensors: a function of them has no one Jacobian, unless it is holomorphic."""
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

    >>> import fxgrad.compat as torch
    >>> torch.func.jacrev(torch.sin)(torch.tensor([0.0, 0.0])).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def jacobian(*args, **kwargs) -> Any:
        output, pullback, *aux = pullback_of(lambda *a: func(*a, **kwargs), args, argnums, has_aux)
        results, structure = flatten_tree(output)
        columns, inputs = flatten_tree(select_arguments(args, argnums))
        ensure_real(columns, "jacrev", "inputs")
        ensure_real(results, "jacrev", "outputs")
        rows = tensor_basis(results)

        def vjp_row(*cts: Tensor) -> list[Tensor]:
            return flatten_tree(pullback(structure.unflatten(cts)))[0]

        if chunk_size == 1:
            each = [vjp_row(*[row.select(0, i) for row in rows]) for i in range(len(rows[0]))]
            found = [wrap_tree(fnp.stack([unwrap(g) for g in column])) for column in zip(*each)]
        else:
            found = vmap(vjp_row, chunk_size=chunk_size)(*rows)
        blocks, start = [], 0
        for y in results:
            stop = start + y.numel()
            parts = [
                g.narrow(0, start, stop - start).reshape(y.shape + x.shape) for g, x in zip(found, columns)
            ]
            blocks.append(inputs.unflatten(parts))
            start = stop
        jacobians = structure.unflatten(blocks)
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

    >>> import fxgrad.compat as torch
    >>> torch.func.jacfwd(torch.sin)(torch.tensor([0.0, 0.0])).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    @wraps(func)
    def jacobian(*args, **kwargs) -> Any:
        chosen = select_arguments(args, argnums)
        primals = chosen if isinstance(argnums, tuple) else (chosen,)
        columns, inputs = flatten_tree(primals)
        ensure_real(columns, "jacfwd", "inputs")
        box: dict[str, Any] = {}

        def call(given: tuple, *chosen) -> Any:
            return partial_call(func, given, argnums, kwargs)(*chosen)

        def jvp_along(*tangents: Tensor) -> Any:
            along = inputs.unflatten(tangents)
            _, derivative, *box["aux"] = jvp_with_constants(
                call, primals, along, has_aux=has_aux, constants=(args,)
            )
            return derivative

        derivative = vmap(jvp_along, randomness=randomness)(*tensor_basis(columns))
        outputs, structure = flatten_tree(derivative)
        ensure_real(outputs, "jacfwd", "outputs")
        inner = flatten_tree(chosen)[1]
        blocks = []
        for t in outputs:
            parts, start = [], 0
            for x in columns:
                part = t.narrow(0, start, x.numel()).movedim(0, -1)
                parts.append(part.reshape((*part.shape[:-1], *x.shape)))
                start += x.numel()
            blocks.append(inner.unflatten(parts))
        jacobians = structure.unflatten(blocks)
        return (jacobians, *box["aux"]) if has_aux else jacobians

    return jacobian


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The Hessian of `func`: forward over reverse mode. See `jacrev`.

    >>> import fxgrad.compat as torch
    >>> torch.func.hessian(lambda x: (x * x * x).sum())(torch.tensor([1.0, 2.0])).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(func, argnums), argnums)
