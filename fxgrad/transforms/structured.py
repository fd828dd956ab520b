"""Diagonals and traces of Jacobians and Hessians, which are not formed: exact ones, and random estimates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree, source_info
from ..core.arrays import as_value
from ..core.aval import Aval, aval_of, is_differentiable
from ..core.errors import DTypeError, ShapeError, StructureError
from ..core.interpreter import api_boundary
from ..core.surface import is_alike
from ..core.typing import P
from ..ops.indexing import parse_index
from ..ops.random import DRAW
from ..transforms.arguments import positions_of, wrong_argnums
from .arguments import LeafName, admit, path_at_positions, restrict_arguments, unshare_results, zero_tangent
from .derived_function import derive
from .flat_function import FlatFunction
from .jacobian import Chunks, check_results, put_beside
from .jvp import linearize
from .laplacian import push_laplacian
from .vjp import grad
from .vmap import vmap


@api_boundary
def jacobian_diagonal(
    fun: Callable[P, Any],
    argnums: int = 0,
    *,
    key: Any = None,
    samples: int = 1,
    sparsity: Any = None,
    chunk_size: int | str | None = None,
) -> Callable[P, Any]:
    """The diagonal of the Jacobian of `fun`, as a function of the same arguments. The Jacobian is not formed.

    Args:
        fun: a function whose result is a pytree like the argument, of the same shapes.
        argnums: which positional argument is differentiated.
        key: a key of `fx.random`: the diagonal is estimated by products with `samples` random vectors of signs v, as
            the mean of v·(J v). Without one it is exact, at the cost of one product for each entry.
        samples: how many random vectors.
        sparsity: as for `jacobian`: one product for each color of the pattern.
        chunk_size: how many products are computed at a time, as for `vmap`.

    Returns:
        A function giving a pytree like the argument.

    Raises:
        ShapeError, StructureError: the result is not like the argument.
        DTypeError: the argument is not floating.

    >>> fx.jacobian_diagonal(lambda x: x**2 * x[0])(np.array([1.0, 2.0]))
    array([3., 4.])

    The estimate: C. Bekas, E. Kokiopoulou and Y. Saad, "An estimator for the diagonal of a matrix", Appl. Numer. Math.
    57 (2007).
    """
    positions_of("jacobian_diagonal", argnums)

    @api_boundary
    def diagonal_of(*args: Any, **kwargs: Any) -> Any:
        of_chosen, leaves, structure = restrict(fun, args, kwargs, argnums, "jacobian_diagonal")
        if sparse is not None:
            return sparse(of_chosen, leaves, structure)
        found = diagonal_leaves(of_chosen, leaves, structure, key, samples, chunk_size, "jacobian_diagonal")
        return pytree.unflatten(structure, unshare_results(found, leaves))[0]

    sparse = None if sparsity is None else sparse_diagonal(sparsity, chunk_size)
    options = {"key": key, "samples": samples, "sparsity": sparsity, "chunk_size": chunk_size}
    return derive(diagonal_of, jacobian_diagonal, fun, argnums=argnums, **options)


@api_boundary
def hessian_diagonal(
    fun: Callable[P, Any],
    argnums: int = 0,
    *,
    key: Any = None,
    samples: int = 1,
    sparsity: Any = None,
    chunk_size: int | str | None = None,
) -> Callable[P, Any]:
    """The diagonal of the Hessian of a scalar function: the `jacobian_diagonal` of its gradient, with the same
    arguments.

    >>> fx.hessian_diagonal(lambda x: (x**3).sum() + x[0] * x[1])(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    options = {"key": key, "samples": samples, "sparsity": sparsity, "chunk_size": chunk_size}
    body = jacobian_diagonal(grad(fun, argnums), argnums, **options)
    return derive(body, hessian_diagonal, fun, argnums=argnums, **options)


@api_boundary
def divergence(
    fun: Callable[P, Any],
    argnums: int = 0,
    *,
    key: Any = None,
    samples: int = 1,
    chunk_size: int | str | None = None,
) -> Callable[P, Any]:
    """The divergence of a vector field: the trace of its Jacobian, which is not formed.

    Args:
        fun: a function whose result is a pytree like the argument, of the same shapes.
        argnums: which positional argument is differentiated.
        key: a key of `fx.random`: the trace is estimated by `samples` random vectors of signs v, as the mean of vᵀ J v.
            Without one it is exact, at the cost of one product for each entry.
        samples, chunk_size: as for `jacobian_diagonal`.

    Returns:
        A function giving a number.

    Raises:
        ShapeError, StructureError, DTypeError: as for `jacobian_diagonal`.

    >>> float(fx.divergence(lambda x: x * x[::-1])(np.array([1.0, 2.0])))
    3.0

    The estimate: M. F. Hutchinson, Comm. Stat. Simul. Comput. 18 (1989).
    """
    positions_of("divergence", argnums)

    @api_boundary
    def divergence_of(*args: Any, **kwargs: Any) -> Any:
        of_chosen, leaves, structure = restrict(fun, args, kwargs, argnums, "divergence")
        found = diagonal_leaves(of_chosen, leaves, structure, key, samples, chunk_size, "divergence")
        total: Any = np.float64(0)
        for i, part in enumerate(found):
            part = ops.reduce_sum(part, axes=tuple(range(aval_of(part).ndim)))
            total = part if not i else ops.add(total, part)
        return total

    options = {"key": key, "samples": samples, "chunk_size": chunk_size}
    return derive(divergence_of, divergence, fun, argnums=argnums, **options)


@api_boundary
def laplacian(
    fun: Callable[P, Any],
    argnums: int = 0,
    *,
    key: Any = None,
    samples: int = 1,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The Laplacian of `fun`: the sum of its second derivatives by each entry of an argument, in one forward pass.

    Args:
        fun: a function of pytrees of arrays; its result may have any shape.
        argnums: which positional argument is differentiated.
        key: a key of `fx.random`: the Laplacian is estimated by `samples` random vectors of signs v, as the mean of
            vᵀ H v. Without one it is exact.
        samples: how many random vectors.
        chunk_size: how many directions are taken at a time, to bound memory; all by default.

    Returns:
        A function giving a pytree like the result of `fun`.

    Raises:
        StructureError: the argument is no function.
        DTypeError: the argument is not floating.

    >>> float(fx.laplacian(lambda x: fnp.sum(x**2) ** 2)(np.array([1.0, 2.0])))
    80.0

    The exact one is the forward Laplacian of R. Li et al., Nature Machine Intelligence 6 (2024); the estimate: M. F.
    Hutchinson, Comm. Stat. Simul. Comput. 18 (1989).
    """
    site = source_info.user_frame()
    positions_of("laplacian", argnums)

    @api_boundary
    def laplacian_of(*args: Any, **kwargs: Any) -> Any:
        of_chosen, leaves, structure = restrict(fun, args, kwargs, argnums, "laplacian")
        flat = FlatFunction(of_chosen, structure, "laplacian")
        signs = None if key is None else random_signs(key, samples, leaves, "laplacian")
        count = samples if signs is not None else sum([aval_of(v).size for v in leaves])
        size = count if chunk_size is None else chunk_size
        sums: list[Any] = []
        ys: list[Any] = []
        for start in range(0, max(count, 1), max(size, 1)):
            stop = min(start + size, count)
            if signs is None:
                some = unit_directions(leaves, start, stop)
            else:
                some = [ops.getitem(d, index=(slice(start, stop, None),)) for d in signs]
            ys, found = push_laplacian(flat, leaves, some, stop - start, site)
            sums = [
                a if b is None else b if a is None else ops.add(a, b)
                for a, b in zip(sums or [None] * len(ys), found)
            ]
        weight = 1 if key is None else 1 / samples
        results = [zero_tangent(y) if s is None else ops.multiply(s, weight) for s, y in zip(sums, ys)]
        return pytree.unflatten(flat.out_structure, unshare_results(results, leaves))

    options = {"key": key, "samples": samples, "chunk_size": chunk_size}
    return derive(laplacian_of, laplacian, fun, argnums=argnums, **options)


def restrict(
    fun: Callable[..., Any], args: tuple, kwargs: dict, argnum: int, name: str
) -> tuple[Callable[..., Any], list[Any], Any]:
    """Return `fun` as a function of one argument, and the leaves and the structure of the tuple of it."""
    if not -len(args) <= argnum < len(args):
        raise wrong_argnums(name, argnum, len(args))
    position = argnum % len(args)
    leaves, structure = pytree.flatten((args[position],))
    for index, leaf in enumerate(leaves):
        place = LeafName(f"{name}: the argument", path_at_positions, [position], structure, index)
        leaves[index] = admit(leaf, place)
        if aval_of(leaves[index]).dtype.kind == "c" or not is_differentiable(aval_of(leaves[index]).dtype):
            raise DTypeError(
                f"{place} has dtype {aval_of(leaves[index]).dtype}, expected a real floating one",
                hint="convert it (x.astype(float)), or choose another argnums",
            )
    return restrict_arguments(fun, args, kwargs, [position]), leaves, structure


def random_signs(key: Any, samples: int, leaves: Sequence[Any], name: str) -> list[Any]:
    """Return random vectors of −1 and 1: for each leaf an array with a leading axis over the samples."""
    avals = [aval_of(v) for v in leaves]
    size = sum([a.size for a in avals])
    key = as_value(key)
    if aval_of(key).dtype != np.uint64 or aval_of(key).shape:
        raise DTypeError(
            f"{name}: a key is a uint64, not {aval_of(key)!r}", hint="make a key with fx.random.key(seed)"
        )
    words = ops.random_bits(key, shape=(samples, size), domain=DRAW)
    signs = ops.subtract(
        ops.multiply(ops.convert(ops.right_shift(words, np.uint64(63)), dtype=np.dtype(float)), 2), 1
    )
    found, start = [], 0
    for a in avals:
        part = ops.getitem(signs, index=(slice(None), slice(start, start + a.size, None)))
        found.append(ops.convert(ops.reshape(part, shape=(samples, *a.shape)), dtype=a.dtype))
        start += a.size
    return found


def unit_directions(leaves: Sequence[Any], start: int, stop: int) -> list[Any]:
    """Return the unit vectors of these numbers: for each leaf an array with a leading axis over them."""
    found, first = [], 0
    for leaf in leaves:
        aval = aval_of(leaf)
        rows = np.zeros((stop - start, aval.size), aval.dtype)
        here = np.arange(max(start, first), min(stop, first + aval.size))
        rows[here - start, here - first] = 1
        found.append(put_beside(rows.reshape(stop - start, *aval.shape), leaf))
        first += aval.size
    return found


def diagonal_leaves(
    fun: Callable[..., Any],
    leaves: Sequence[Any],
    structure: Any,
    key: Any,
    samples: int,
    chunk_size: int | str | None,
    name: str,
) -> list[Any]:
    """Return the diagonal of a Jacobian, or the mean of v·(J v) for random vectors v, leaf by leaf."""
    out, push = linearize(fun, *pytree.unflatten(structure, leaves))
    check_like(out, leaves, structure, name)
    avals = [aval_of(v) for v in leaves]
    size = sum([a.size for a in avals])

    def product(vs: Sequence[Any]) -> list[Any]:
        return pytree.leaves(push(*pytree.unflatten(structure, vs)))

    def entry(number: Any) -> Any:
        unit = ops.equal(np.arange(size), number)
        moved = [ops.reshape(m, shape=(a.size,)) for m, a in zip(product(split_entries(unit, avals)), avals)]
        line = ops.concatenate(*moved, axis=0)
        line, arrays, index = parse_index(line, number)
        return ops.getitem(line, *arrays, index=index)

    if not size:
        return [np.zeros(a.shape, a.dtype) for a in avals]
    if key is None:
        return split_entries(vmap(entry, chunk_size=chunk_size)(np.arange(size)), avals)
    signs = random_signs(key, samples, leaves, name)

    def weigh(*vs: Any) -> list[Any]:
        return [ops.multiply(v, m) for v, m in zip(vs, product(vs))]

    rows = vmap(weigh, chunk_size=chunk_size)(*signs)
    return [ops.multiply(ops.reduce_sum(r, axes=(0,)), 1 / samples) for r in rows]


def split_entries(entries: Any, avals: Sequence[Aval]) -> list[Any]:
    """Split a vector of the entries of all leaves into arrays of their shapes and dtypes."""
    found, start = [], 0
    for a in avals:
        part = ops.getitem(entries, index=(slice(start, start + a.size, None),))
        part = ops.reshape(part, shape=a.shape)
        found.append(part if aval_of(part).dtype == a.dtype else ops.convert(part, dtype=a.dtype))
        start += a.size
    return found


def check_like(out: Any, leaves: Sequence[Any], structure: Any, name: str) -> None:
    """Raise unless a result has the structure and shapes of the argument."""
    found, there = pytree.flatten((out,))
    if not is_alike(structure, there):
        raise StructureError(
            f"{name}: the result has the structure {there}, expected that of the argument: {structure}",
            hint="return a result built as the argument is",
        )
    for r, v in zip(found, leaves):
        if aval_of(r).shape != aval_of(v).shape:
            raise ShapeError(
                f"{name}: a result has shape {aval_of(r).shape}, expected that of the argument: {aval_of(v).shape}",
                hint="return results of the shapes of the argument; fx.jacobian is for functions of another shape",
            )


def sparse_diagonal(sparsity: Any, chunk_size: int | str | None) -> Callable[..., Any]:
    """Return the diagonal of a sparse Jacobian as a function of what `restrict` gives."""
    from .sparse_jacobian import SparseBlocks  # when first wanted

    compute = SparseBlocks("jacobian_diagonal", sparsity, "auto")

    def diagonal(fun: Callable[..., Any], leaves: Sequence[Any], structure: Any) -> Any:
        blocks, *_ = compute(
            fun, pytree.unflatten(structure, leaves), False, False, Chunks(chunk_size), check_results
        )
        found = []
        for i, leaf in enumerate(leaves):
            aval = aval_of(leaf)
            data, rows, columns = entries_of(blocks[i][i])
            here = np.flatnonzero(rows == columns)
            taken = ops.getitem(data, here, index=(...,))
            flat = ops.scatter_add(taken, rows[here], index=(...,), shape=(aval.size,))
            found.append(ops.reshape(flat, shape=aval.shape))
        return pytree.unflatten(structure, found)[0]

    return diagonal


def entries_of(block: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the entries of a sparse block, their rows and their columns."""
    if hasattr(block, "places"):
        return block.data, block.rows, block.columns
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    return block.data, rows, block.indices
