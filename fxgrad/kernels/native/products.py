"""Products of small matrices as machine code, for use inside loops: C = A·B, where a call of BLAS takes longer than the
arithmetic.

    product(c, a, b)       c[i, j] = Σₖ a[i, k]·b[k, j], the rows of b and c dense

Blocks of c stay in registers while k runs; each step adds a product to an entry with one rounding. This is the inner
kernel of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), without their packing:
small matrices are in the cache as they are.
"""

from __future__ import annotations

from typing import NamedTuple

from ..contraction import dot_order, parse_spec
from .ir import I64, PTR, Function, Type, Value, fma
from .processor import vector_bytes

COLUMNS = 4  # vectors of a block side by side


class Product(NamedTuple):
    """A contraction as C = A·B of dense arrays: `swapped` if A is the second operand; the entries of A are `row` and
    `step` apart along i and k; `transposed` if B lies in memory as [j, k]."""

    swapped: bool
    rows: int
    columns: int
    terms: int
    row: int
    step: int
    transposed: bool


def plan_product(spec: str, left: tuple[int, ...], right: tuple[int, ...]) -> Product | None:
    """Return a contraction of operands of these shapes as a matrix product, or None if it is not one."""
    if dot_order(spec) is None:
        return None
    first, second, out = parse_spec(spec)
    swapped = bool(out) and out[-1] in first
    (a, shape), (b, other) = [(first, left), (second, right)][:: -1 if swapped else 1]
    lengths = dict(zip(a + b, shape + other))
    summed = next(c for c in a if c in b)
    rows = lengths[out[0]] if len(out) == 2 else 1
    terms = lengths[summed]
    row, step = (terms, 1) if a[-1] == summed else (1, rows)
    columns = lengths[out[-1]] if out else 1
    return Product(swapped, rows, columns, terms, row, step, len(b) == 2 and b[-1] == summed)


def write_product(name: str, element: str, product: Product) -> Function:
    """Write the function of a product with B not transposed."""
    f = Function(name, [PTR, PTR, PTR], local=True, inline=False)
    rows, columns = product.rows, product.columns
    width = vector_bytes() * 8 // Type(element).bits
    wide = min(COLUMNS, -(-columns // width))
    high = min(rows, (24 if vector_bytes() == 64 else 12) // wide)

    def write_rows(first: Value, count: int) -> None:
        """Write blocks side by side, of `count` rows from the row `first` on."""
        span = wide * width
        whole = columns - columns % span
        if whole:
            with f.loop(whole, step=span) as loop:
                write_block(f, element, product, first, count, loop.index, span)
        if whole < columns:
            rest = f.constant(whole, I64)
            write_block(f, element, product, first, count, rest, columns - whole)

    whole = rows - rows % high
    with f.loop(whole, step=high) as loop:
        write_rows(loop.index, high)
    if whole < rows:
        write_rows(f.constant(whole, I64), rows - whole)
    return f


def write_block(
    f: Function, element: str, product: Product, first: Value, rows: int, begin: Value, columns: int
) -> None:
    """Write a block of c: `rows` from `first` on and `columns` from `begin` on."""
    c, a, b = f.arguments
    width = vector_bytes() * 8 // Type(element).bits
    type, count = Type(element, width), -(-columns // width)
    tail = columns % width
    inside = f.lanes_below(f.constant(tail, I64), width) if tail else None
    masks = [None] * (count - 1) + [inside]
    zeros = [f.constant(0.0, type)] * (rows * count)
    with f.loop(product.terms, carry=zeros) as k:
        place = k.index * product.columns + begin
        right = []
        for j, mask in enumerate(masks):
            at = place + j * width
            right.append(f.load(b, type, at) if mask is None else f.load_masked(b, mask, type, at))
        totals = []
        for i in range(rows):
            one = f.load(a, Type(element), (first + i) * product.row + k.index * product.step)
            left = f.splat(one, width)
            totals += [fma(left, r, t) for r, t in zip(right, k.carry[i * count : (i + 1) * count])]
        k.update(*totals)
    for i in range(rows):
        for j, mask in enumerate(masks):
            total, at = k.carry[i * count + j], (first + i) * product.columns + begin + j * width
            if mask is None:
                f.store(total, c, at)
            else:
                f.store_masked(total, c, mask, at)


def write_transposition(name: str, element: str, rows: int, columns: int) -> Function:
    """Write the function (y, x) that stores a dense matrix x of so many rows and columns transposed."""
    f = Function(name, [PTR, PTR], local=True, inline=False)
    y, x = f.arguments
    with f.loop(rows) as i, f.loop(columns) as j:
        f.store(f.load(x, Type(element), i.index * columns + j.index), y, j.index * rows + i.index)
    return f
