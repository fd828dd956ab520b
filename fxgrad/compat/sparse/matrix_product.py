"""The product of a sparse matrix and a dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tape import BASE_TAPE, current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._make.creation import zeros
from ..autograd.function import Function
from .construction import make_indices


def multiply_array(places: np.ndarray, entries: np.ndarray, dense: np.ndarray, rows: int) -> np.ndarray:
    """Multiply a sparse matrix of a given number of rows by a dense one, with SciPy if it is there and has the
    dtype."""
    if entries.dtype == dense.dtype and entries.dtype.char in "fdFD":
        try:
            from scipy.sparse import coo_array
        except ImportError:
            pass
        else:
            matrix = coo_array((entries, (places[0], places[1])), shape=(rows, dense.shape[0]))
            return np.ascontiguousarray(matrix @ dense)
    found = np.zeros((rows, dense.shape[1]), np.result_type(entries, dense))
    np.add.at(found, places[0], entries[:, None] * dense[places[1]])
    return found


class SparseMatmul(Function):
    """The product of a sparse matrix, given by its entries, and a dense one; its derivatives are such products."""

    @staticmethod
    def forward(ctx, entries: Tensor, dense: Tensor, places: np.ndarray, rows: int) -> Tensor:
        ctx.save_for_backward(entries, dense)
        ctx.places = places
        values = refresh(entries)._fx_value, refresh(dense)._fx_value
        return make_tensor(BASE_TAPE, multiply_array(places, *values, rows))

    @staticmethod
    def backward(ctx, *grads: Tensor) -> tuple[Any, ...]:
        (grad,) = grads
        entries, dense = ctx.saved_tensors
        row, column = map(make_indices, ctx.places)
        slope = change = None
        if ctx.needs_input_grad[0]:
            slope = (grad.index_select(0, row) * dense.conj().index_select(0, column)).sum(1)
        if ctx.needs_input_grad[1]:
            change = apply_matrix(entries.conj(), grad, ctx.places[::-1], dense.shape[0])
        return slope, change, None, None


def apply_matrix(entries: Tensor, dense: Tensor, places: np.ndarray, rows: int) -> Tensor:
    """Multiply a sparse matrix by a dense one; inside transforms and for traced values, by known primitives."""
    plain = all(isinstance(refresh(x)._fx_value, np.ndarray) for x in (entries, dense))
    if plain and current_tape() is BASE_TAPE:
        return SparseMatmul.apply(entries, dense, places, rows)
    row, column = map(make_indices, places)
    products = entries.unsqueeze(1) * dense.index_select(0, column)
    return zeros(rows, dense.shape[1], dtype=products.dtype).index_add(0, row, products)
