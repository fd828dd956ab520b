"""Contraction: one bilinear primitive, `contract(a, b, spec="ij,jk->ik")`, on which matmul, dot, tensordot and einsum
are built. Every letter of an operand occurs in the other operand or in the result, so that transposes are contractions
again. Sums over a single operand, diagonals and repeated letters are computed beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, kind_of
from ..core.errors import ShapeError
from ..kernels.contraction import contract_kernel, parse_spec
from .kinds import bilinear

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def contract_aval(self: Any, a: Aval, b: Aval, *, spec: str) -> Aval:
    sizes: dict[str, int] = {}
    left, right, out = parse_spec(spec)
    for letters, aval in ((left, a), (right, b)):
        for letter, n in zip(letters, aval.shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                raise ShapeError(
                    f"contract {spec!r}: axis {letter!r} has sizes {sizes[letter]} and {n} in operands of "
                    f"shapes {a.shape} and {b.shape}",
                    hint="a letter for each size: transpose an operand, or give an axis another letter",
                )
    key = (a.dtype, b.dtype)
    if key not in self.dtypes:
        self.dtypes[key] = (
            np.promote_types(a.dtype, b.dtype)
            if kind_of(a.dtype) == kind_of(b.dtype)
            else np.result_type(a.dtype, b.dtype)
        )
    return Aval(tuple(sizes[letter] for letter in out), self.dtypes[key])


def contract_transpose(i: int, ct: Any, aval: Aval, other: Any, *, spec: str) -> Any:
    left, right, out = parse_spec(spec)
    if i == 0:
        return contract(ct, other, spec=f"{out},{right}->{left}")
    return contract(ct, other, spec=f"{out},{left}->{right}")


def contract_batch(a: Any, b: Any, a_batched: bool, b_batched: bool, *, spec: str) -> Any:
    left, right, out = parse_spec(spec)
    letter = next(c for c in LETTERS if c not in spec)
    return contract(a, b, spec=f"{letter * a_batched}{left},{letter * b_batched}{right}->{letter}{out}")


contract = bilinear(
    "contract",
    contract_kernel,
    abstract_rule=contract_aval,
    transpose_rule=contract_transpose,
    batch_rule=contract_batch,
)
