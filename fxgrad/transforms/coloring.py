"""`color` finds columns and rows of a sparse matrix that can be computed together.

Columns that share no row can be computed by one Jacobian-vector product with the sum of their basis vectors. They form
a color of the columns. A coloring of the rows serves vector-Jacobian products. If a few rows (or columns) are nearly
full, these are computed separately, and the others in the other direction. For a symmetric matrix, half of the entries
determine the rest: a star coloring of its graph needs fewer colors.

A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your Jacobian? Graph coloring for computing derivatives", SIAM
Review 47 (2005); the two directions: T. F. Coleman and A. Verma, SIAM J. Sci. Comput. 19 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.common_errors import check_option
from ..core.errors import DTypeError, ShapeError
from ..core.interpreter import api_boundary
from .dependence import sparse_library

UNCOLORED = -1
SPLITS = 8  # numbers of rows, or columns, that are tried for the other direction


@dataclass(frozen=True, eq=False)
class Coloring:
    """A coloring of a pattern, which says how a sparse matrix of that pattern is computed: `jacobian(f,
    sparsity=coloring)`.

    `pattern` is a boolean `scipy.sparse.csr_array`. `column_colors` and `row_colors` number the columns that are
    computed by Jacobian-vector products and the rows that are computed by vector-Jacobian products, −1 for others. An
    entry comes from its column where no other column of that color has an entry in the row, and else from its row; of a
    `symmetric` matrix, where only columns are colored, else from the entry in the mirrored place.

    >>> coloring = fx.color(np.eye(3, dtype=bool))
    >>> coloring.column_colors
    array([0, 0, 0])
    """

    pattern: Any
    column_colors: np.ndarray
    row_colors: np.ndarray
    symmetric: bool = False

    @property
    def column_products(self) -> int:
        """How many Jacobian-vector products the matrix takes."""
        return int(self.column_colors.max(initial=UNCOLORED)) + 1

    @property
    def row_products(self) -> int:
        """How many vector-Jacobian products the matrix takes."""
        return int(self.row_colors.max(initial=UNCOLORED)) + 1

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        return (
            f"<coloring of {rows} × {columns} with {self.pattern.nnz} entries: "
            f"{self.column_products} columns, {self.row_products} rows>"
        )


@api_boundary
def color(pattern: Any, *, symmetric: bool = False, mode: str = "auto") -> Coloring:
    """Return a coloring of a sparsity pattern, which tells how many products a sparse Jacobian or Hessian takes.

    Args:
        pattern: the nonzero entries: a `scipy.sparse` array or a boolean array of two axes, of shape (m, n).
        symmetric: the matrix is symmetric, as Hessians are. The entries of both triangles count.
        mode: "fwd" colors columns, "rev" rows, "auto" the one or the other, or both, whichever takes the fewest
            products.

    Returns:
        A `Coloring`.

    Raises:
        ShapeError: the pattern does not have two axes, or is symmetric and not square.
        DTypeError: it is an array of objects or texts.
        MissingLibraryError: SciPy is not installed.
        StructureError: there is no such `mode`.

    >>> fx.color(np.eye(6) + np.eye(6, k=1))
    <coloring of 6 × 6 with 11 entries: 2 columns, 0 rows>
    >>> arrow = np.eye(6)
    >>> arrow[0] = arrow[:, 0] = 1
    >>> fx.color(arrow), fx.color(arrow, symmetric=True)
    (<coloring of 6 × 6 with 16 entries: 2 columns, 1 rows>, <coloring of 6 × 6 with 16 entries: 2 columns, 0 rows>)

    Gebremedhin, Manne and Pothen, SIAM Review 47 (2005): greedy colorings, by largest degree and in natural order;
    their star coloring for symmetric matrices.
    """
    check_option("color", "mode", mode, ("auto", "fwd", "rev"))
    pattern = as_pattern(pattern)
    rows, columns = pattern.shape
    none = np.full(rows, UNCOLORED)
    if symmetric:
        if rows != columns:
            raise ShapeError(
                f"color: a symmetric pattern has shape {pattern.shape}, expected a square one",
                hint="symmetric=False",
            )
        whole = as_pattern(pattern + pattern.T)
        return Coloring(whole, fewest_star_colors(whole), none, True)
    transposed = pattern.T.tocsr()
    choices = []
    if mode in ("auto", "fwd"):
        choices.append((fewest_colors(pattern, transposed), none))
    if mode in ("auto", "rev"):
        choices.append((np.full(columns, UNCOLORED), fewest_colors(transposed, pattern)))
    if mode == "auto":
        choices += split_colors(pattern, min(map(count_products, choices)))
        choices += [(c, r) for r, c in split_colors(transposed, min(map(count_products, choices)))]
    return Coloring(pattern, *min(choices, key=count_products))


def as_pattern(pattern: Any) -> Any:
    """Return a given pattern as a boolean matrix, its entries in order."""
    sparse = sparse_library()
    if not sparse.issparse(pattern):
        pattern = np.asarray(pattern)
        if pattern.dtype.kind not in "biuf":
            raise DTypeError(
                f"a sparsity pattern has dtype {pattern.dtype}, expected a boolean array or a scipy.sparse array",
                hint="pattern != 0",
            )
    if len(pattern.shape) != 2:
        raise ShapeError(
            f"a sparsity pattern has shape {pattern.shape}, which is that of no matrix",
            hint="pattern.reshape(results, arguments), a row for each result",
        )
    found = sparse.csr_array(pattern != 0, dtype=bool)
    found.sum_duplicates()
    found.eliminate_zeros()
    found.sort_indices()
    return found


def count_products(choice: tuple[np.ndarray, np.ndarray]) -> int:
    """Return how many products a choice of colors takes."""
    return sum([int(c.max(initial=UNCOLORED)) + 1 for c in choice])


def split_colors(pattern: Any, best: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return colorings, with fewer than `best` products, of which the fullest rows are computed by themselves and the
    others by columns."""
    degrees = np.diff(pattern.indptr)
    order = np.argsort(-degrees, kind="stable")
    drops = np.flatnonzero(np.diff(degrees[order]) < 0) + 1  # after which the degree is lower
    found = []
    for split in drops[drops < best][:SPLITS]:
        if degrees[order[split]] + 1 >= best:  # as many columns stay in one row
            continue
        full = np.zeros(len(degrees), bool)
        full[order[:split]] = True
        rest = keep_rows(pattern, ~full)
        chosen = keep_rows(pattern, full)
        by_column = fewest_colors(rest, rest.T.tocsr())
        choice = by_column, fewest_colors(chosen.T.tocsr(), chosen)
        if count_products(choice) < best:
            best = count_products(choice)
            found.append(choice)
    return found


def keep_rows(pattern: Any, kept: np.ndarray) -> Any:
    """Return the pattern without the entries of the rows that are not kept."""
    entries = np.repeat(kept, np.diff(pattern.indptr))
    counts = np.where(kept, np.diff(pattern.indptr), 0)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse_library().csr_array(
        (pattern.data[entries], pattern.indices[entries], indptr), pattern.shape
    )


def fewest_colors(pattern: Any, transposed: Any) -> np.ndarray:
    """Color the columns of a pattern, given by rows and by columns, greedily in two orders; return the better one."""
    degrees = np.diff(pattern.indptr)
    least = int(degrees.max(initial=0))  # columns that meet in one row
    if least == pattern.shape[1]:
        return np.arange(least)
    found = greedy_colors(transposed, range(transposed.shape[0]))
    if found.max(initial=UNCOLORED) + 1 > least:
        meeting = transposed @ degrees  # how many columns each meets, with repetition
        again = greedy_colors(transposed, np.argsort(-meeting, kind="stable").tolist())
        found = min(found, again, key=lambda colors: colors.max(initial=UNCOLORED))
    return found


def greedy_colors(transposed: Any, order: Sequence[int]) -> np.ndarray:
    """Give each column in turn the first color that no column with a common row has. A column without entries gets no
    color. The colors used in a row are the bits of a number."""
    starts, entries = transposed.indptr.tolist(), transposed.indices.tolist()
    used = [0] * transposed.shape[1]
    colors = [UNCOLORED] * transposed.shape[0]
    for column in order:
        rows = entries[starts[column] : starts[column + 1]]
        taken = 0
        for row in rows:
            taken |= used[row]
        if not rows:
            continue
        bit = ~taken & (taken + 1)
        colors[column] = bit.bit_length() - 1
        for row in rows:
            used[row] |= bit
    return np.array(colors, np.intp)


def fewest_star_colors(pattern: Any) -> np.ndarray:
    """Color a symmetric pattern in two orders, and its columns by themselves; return the best coloring."""
    degrees = np.diff(pattern.indptr)
    if 2 * pattern.nnz > pattern.shape[0] ** 2:  # hardly any two columns can be computed together
        return fewest_colors(pattern, pattern)
    orders = range(len(degrees)), np.argsort(-degrees, kind="stable").tolist()
    stars = min((star_colors(pattern, order) for order in orders), key=lambda c: c.max(initial=UNCOLORED))
    if stars.max(initial=UNCOLORED) < degrees.max(initial=0):  # columns that meet in one row take as many
        return stars
    return min(stars, fewest_colors(pattern, pattern), key=lambda c: c.max(initial=UNCOLORED))


def star_colors(pattern: Any, order: Sequence[int]) -> np.ndarray:
    """Color the graph of a symmetric pattern, so that neighbours have two colors, and each path of four vertices three
    (Gebremedhin, Manne and Pothen 2005, algorithm 4.1). So one of each two entries (i, j), (j, i) is alone in its row
    among the columns of its color.

    Sets of colors are the bits of numbers. For each vertex there are those of its neighbours, the only neighbour of
    each color, and, once it is colored, those of the neighbours which have two neighbours of its color: the inner
    vertices of paths that a further neighbour must not complete. So an edge is looked at a few times only.
    """
    starts, entries = pattern.indptr.tolist(), pattern.indices.tolist()
    near = [[w for w in entries[starts[v] : starts[v + 1]] if w != v] for v in range(len(starts) - 1)]
    colors = [UNCOLORED] * len(near)
    around = [0] * len(near)
    only: list[dict[int, int]] = [
        {} for _ in near
    ]  # a color → the neighbour that has it, UNCOLORED for several
    ends = [0] * len(near)
    for v in order:
        if starts[v] == starts[v + 1]:
            continue
        taken = around[v]
        for w in near[v]:
            if colors[w] == UNCOLORED or only[v][colors[w]] == UNCOLORED:
                taken |= around[w]
            else:
                taken |= ends[w]
        bit = ~taken & (taken + 1)
        color = colors[v] = bit.bit_length() - 1
        for w in near[v]:
            around[w] |= bit
            if colors[w] != UNCOLORED and only[v][colors[w]] == UNCOLORED:
                ends[w] |= bit
            if color not in only[w]:
                only[w][color] = v
                continue
            if colors[w] != UNCOLORED:
                own = 1 << colors[w]
                ends[v] |= own
                if only[w][color] != UNCOLORED:
                    ends[only[w][color]] |= own
            only[w][color] = UNCOLORED
    return np.array(colors, np.intp)
