"""Sparse Jacobians and Hessians, computed by one product for each color of their pattern.

The pattern, the coloring, and the product that yields each entry are computed once for each program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.aval import PLAIN, Aval, aval_of, is_differentiable
from ..core.cache import Cache
from ..core.errors import ConcretizationError, ShapeError, StructureError
from ..core.key import key_of
from ..core.same_graphs import graph_key
from .coloring import UNCOLORED, Coloring, color
from .flat_function import FlatFunction
from .jacobian import put_beside
from .jit import eval_shape
from .jvp import linearize
from .linear_map import map_rows
from .sparse_matrix import Places, wrap_entries
from .sparsity import TangentProgram, detect_pattern, stage_tangents
from .vjp import vjp
from .vmap import vmap


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a sparse matrix is put together: its coloring, and for the block of each leaf of the result and of the
    arguments the places of its entries, and where these stand among all products."""

    coloring: Coloring
    blocks: list[list[tuple[Places, np.ndarray]]]


def program_key(program: TangentProgram) -> Any:
    """Return what tells a program from all others, with the values that it closes over, of which the pattern may read
    those that are known; None where that cannot be told."""
    closed, captured = program.graph.lift_captured()
    values = []
    for value in captured:
        if type(value) is np.ndarray:
            values.append(blake2b(np.ascontiguousarray(value).tobytes()).digest())
        elif type(value) in PLAIN:
            values.append(key_of(value))
        else:
            values.append("traced")
    try:
        key = graph_key(closed), tuple(values), tuple(program.present), tuple(program.results)
        hash(key)
    except TypeError:  # a param that cannot be hashed
        return None
    return key


class SparseBlocks:
    """The blocks of a sparse Jacobian; called as functions for dense ones are, with the check of the results at the
    end. `sparsity` is "auto", a pattern or a Coloring."""

    def __init__(self, name: str, sparsity: Any, mode: str, symmetric: bool = False):
        if isinstance(sparsity, str) and sparsity != "auto":
            raise StructureError(
                f"{name}: there is no sparsity={sparsity!r}",
                hint='sparsity="auto", an array of booleans, or fx.color(pattern)',
            )
        self.name, self.sparsity, self.mode, self.symmetric = name, sparsity, mode, symmetric
        self.recipes = Cache(64)

    def __call__(
        self,
        fun: Callable,
        chosen: tuple,
        has_aux: bool,
        holomorphic: bool,
        chunks: Any,
        check: Callable[[Sequence[Any], bool, str], None],
    ) -> tuple:
        leaves, structure = pytree.flatten(chosen)
        recipe = self.find_recipe(fun, structure, leaves, has_aux, holomorphic)
        coloring, products = recipe.coloring, []
        if coloring.column_products or not coloring.row_products:
            out, push, *aux = linearize(fun, *chosen, has_aux=has_aux)
            results, out_structure = self.admit_results(out, holomorphic, "fwd", check)
            products += multiply_columns(push, coloring, structure, leaves, results, chunks)
        if coloring.row_products:
            out, pull, *aux = vjp(fun, *chosen, has_aux=has_aux)
            results, out_structure = self.admit_results(out, holomorphic, "rev", check)
            products += multiply_rows(pull, coloring, out_structure, leaves, results, chunks)
        entries = products[0] if len(products) == 1 else concatenate(products)
        blocks = [[take_block(entries, block, r) for block in row] for row, r in zip(recipe.blocks, results)]
        return blocks, out_structure, aux[0] if has_aux else None

    def admit_results(
        self, out: Any, holomorphic: bool, mode: str, check: Callable[[Sequence[Any], bool, str], None]
    ) -> tuple[list[Aval], Any]:
        """Return the avals of the results and their structure, after they are checked."""
        results, structure = pytree.flatten(out)
        check(results, holomorphic, mode)
        return [aval_of(r) for r in results], structure

    def find_recipe(
        self, fun: Callable, structure: Any, leaves: Sequence[Any], has_aux: bool, holomorphic: bool
    ) -> Recipe:
        """Return the recipe for a function as it is now: what it closes over may have changed since the last call."""

        def value_of(*chosen: Any) -> Any:
            return fun(*chosen)[0] if has_aux else fun(*chosen)

        flat = FlatFunction(value_of, structure, self.name)
        avals = [aval_of(v) for v in leaves]
        if isinstance(self.sparsity, str):
            program = stage_tangents(flat, avals)
            results, key = program.results, program_key(program)
        else:
            program, results = None, shapes_of(flat, leaves)
            key = tuple(results)
        key = None if key is None else (key, structure, tuple(avals))
        recipe = None if key is None else self.recipes.get(key)
        if recipe is None:
            pattern = self.sparsity if program is None else detect_pattern(program)
            recipe = self.make_recipe(pattern, avals, results, holomorphic)
            if key is not None:
                self.recipes[key] = recipe
        return recipe

    def make_recipe(
        self, pattern: Any, avals: Sequence[Aval], results: Sequence[Aval], holomorphic: bool
    ) -> Recipe:
        """Color the pattern, and tell for each entry from which product it comes."""
        shape = sum([a.size for a in results]), sum([a.size for a in avals])
        mode = self.mode
        if mode == "auto" and not holomorphic:  # as for dense ones, what only one mode can do
            if any(a.dtype.kind == "c" for a in avals):
                mode = "rev"
            elif any(a.dtype.kind == "c" or not is_differentiable(a.dtype) for a in results):
                mode = "fwd"
        if isinstance(pattern, Coloring):
            coloring = pattern
        else:
            coloring = color(pattern, symmetric=self.symmetric and shape[0] == shape[1], mode=mode)
        if coloring.pattern.shape != shape:
            raise ShapeError(
                f"{self.name}: the sparsity pattern has shape {coloring.pattern.shape}, the results have "
                f"{shape[0]} entries and the arguments {shape[1]}",
                hint=f"a pattern of shape {shape}: fx.sparsity_pattern(f)(*args) finds it",
            )
        return Recipe(coloring, lay_blocks(coloring, results, avals))


def shapes_of(fun: Callable[..., Sequence[Any]], values: Sequence[Any]) -> list[Aval]:
    """Return the avals of the results of a function of values, which is called only if it cannot be staged."""
    try:
        return [aval_of(r) for r in eval_shape(fun, *values)]
    except ConcretizationError:  # depends on values
        return [aval_of(r) for r in fun(*values)]


def multiply_columns(
    push: Any, coloring: Coloring, structure: Any, leaves: Sequence[Any], results: Sequence[Aval], chunks: Any
) -> list[Any]:
    """Return the products with the columns of each color, flat, for each leaf of the result."""
    count = coloring.column_products
    if not count:
        return []
    seeds = seed_vectors(coloring.column_colors, count, [aval_of(v) for v in leaves])
    seeds = [put_beside(seed, v) for seed, v in zip(seeds, leaves)]
    found = map_rows(push.graph, seeds) if not any(chunks) else None
    if found is None:

        def product(*ts: Any) -> list[Any]:
            return pytree.leaves(push(*pytree.unflatten(structure, ts)))

        found = vmap(product, **chunks._asdict())(*seeds)
    return [
        ops.reshape(p, shape=(count * r.size,)) if is_differentiable(r.dtype) else np.zeros(count * r.size)
        for p, r in zip(found, results)
    ]


def multiply_rows(
    pull: Any, coloring: Coloring, structure: Any, leaves: Sequence[Any], results: Sequence[Aval], chunks: Any
) -> list[Any]:
    """Return the products with the rows of each color, flat, for each leaf of the arguments."""
    count = coloring.row_products
    seeds = [put_beside(s, leaves[0]) for s in seed_vectors(coloring.row_colors, count, results)]

    def product(*cts: Any) -> list[Any]:
        return pytree.leaves(pull(pytree.unflatten(structure, cts)))

    found = vmap(product, **chunks._asdict())(*seeds)
    return [ops.reshape(p, shape=(count * aval_of(v).size,)) for p, v in zip(found, leaves)]


def seed_vectors(colors: np.ndarray, count: int, avals: Sequence[Aval]) -> list[np.ndarray]:
    """Return the sums of the unit vectors of each color: for each value an array with a leading axis over the
    colors."""
    seeds, start = [], 0
    for aval in avals:
        own = colors[start : start + aval.size]
        seed = np.zeros((count, aval.size), aval.dtype if is_differentiable(aval.dtype) else float)
        colored = np.flatnonzero(own != UNCOLORED)
        seed[own[colored], colored] = 1
        seeds.append(seed.reshape(count, *aval.shape))
        start += aval.size
    return seeds


def lay_blocks(
    coloring: Coloring, results: Sequence[Aval], avals: Sequence[Aval]
) -> list[list[tuple[Places, np.ndarray]]]:
    """Return for each block the places of its entries, and where these stand among the products: those of columns, one
    leaf of the result after another, and then those of rows."""
    pattern = coloring.pattern.tocoo()
    rows, columns = (np.asarray(c, np.intp) for c in pattern.coords)
    height = coloring.pattern.shape[0]
    of_columns, of_rows = coloring.column_products, coloring.row_products
    by_column = positions_in_products(
        coloring.column_colors[columns], rows, [a.size for a in results], of_columns
    )
    alone = are_alone(rows, coloring.column_colors[columns], of_columns)
    if coloring.symmetric:
        mirrored = positions_in_products(
            coloring.column_colors[rows], columns, [a.size for a in results], of_columns
        )
        found = np.where(alone, by_column, mirrored)
        complete = alone | are_alone(columns, coloring.column_colors[rows], of_columns)
    else:
        by_row = positions_in_products(coloring.row_colors[rows], columns, [a.size for a in avals], of_rows)
        found = np.where(alone, by_column, of_columns * height + by_row)
        complete = alone | are_alone(columns, coloring.row_colors[rows], of_rows)
    if not complete.all():
        raise StructureError(
            "the coloring does not tell all entries of its pattern apart",
            hint="fx.color(pattern), which does",
        )
    blocks, row = [], 0
    for r in results:
        line, column = [], 0
        for a in avals:
            inside = (rows >= row) & (rows < row + r.size) & (columns >= column) & (columns < column + a.size)
            here = np.flatnonzero(inside)
            places = Places(rows[here] - row, columns[here] - column, (r.size, a.size))
            line.append((places, found[here]))
            column += a.size
        blocks.append(line)
        row += r.size
    return blocks


def positions_in_products(
    colors: np.ndarray, entries: np.ndarray, sizes: Sequence[int], count: int
) -> np.ndarray:
    """Return where these entries of the product of a color stand, where leaf follows leaf, and each has all its
    products."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    leaf = np.searchsorted(starts, entries, side="right") - 1
    start = starts[leaf]
    return start * count + colors * (starts[np.minimum(leaf + 1, len(sizes))] - start) + entries - start


def are_alone(lines: np.ndarray, colors: np.ndarray, count: int) -> np.ndarray:
    """Tell which entries have a color that no other entry of their line has."""
    if not count:
        return np.zeros(len(lines), bool)
    keys = lines * np.int64(count + 1) + colors + 1
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return (counts[inverse] == 1) & (colors != UNCOLORED)


def concatenate(parts: Sequence[Any]) -> Any:
    """Concatenate the products, which may be none."""
    return ops.concatenate(*parts, axis=0) if parts else np.zeros(0)


def take_block(entries: Any, block: tuple[Places, np.ndarray], result: Aval) -> Any:
    """Take the entries of a block out of all products, in the dtype of the result."""
    places, where = block
    data = ops.getitem(entries, where, index=(...,))
    have, want = aval_of(data).dtype, result.dtype
    if (
        is_differentiable(want) and have != want and have.kind == want.kind
    ):  # joined with leaves of other precision
        data = ops.convert(data, dtype=want)
    return wrap_entries(data, places)
