"""How a group is cut: into tiles of a few vectors, loops over them, and units that threads share."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ...core.graph import Graph
from ..space import Space
from . import lanes

CHAIN = 32  # additions one after the other
PIECE = 1 << 14  # entries of a run, beyond which it is cut
SHARE = 1 << 15  # entries of a unit that reduces, beyond which another one helps
SHARES = 64  # units at most that are put together to the same totals
STRIP = 8  # lines that are visited together
ACCUMULATORS = 8  # vectors of totals that stay in registers
REGISTER = 16  # bytes of the smallest vector of which no lane is left to chance


class Tile(NamedTuple):
    """`count` vectors of `width` lanes, neighbours in memory: entries of a run along the last dimension, or, where that
    has only `inner` entries, of all of them at some places along the one before. `axis` is the dimension along which
    there are several tiles; `is_partial`: the only one has fewer entries than lanes."""

    axis: int
    count: int
    width: int
    inner: int = 1
    is_partial: bool = False

    @property
    def extent(self) -> int:
        """How many places along the axis a tile takes."""
        return self.count * self.width // self.inner

    def places(self, vector: int) -> list[int]:
        """Return how far the lanes of a vector are along the axis."""
        return [k // self.inner for k in range(vector * self.width, (vector + 1) * self.width)]

    def columns(self, vector: int) -> list[int]:
        """Return how far they are along the `inner` entries."""
        return [k % self.inner for k in range(vector * self.width, (vector + 1) * self.width)]


def choose_tile(space: Space) -> Tile:
    """Return the tile of a space."""
    dims, reductions, steps = space.dims, space.reductions.values(), len(space.graph.equations)
    width, last, length = lanes.vector_width(space.graph), len(dims) - 1, dims[-1]
    if last and length < width + any(r.reduced[-1] for r in reductions):
        narrow = min(width, 1 << dims[-2].bit_length() - 1)
        few = length * max(len(reductions), 1) <= 2 * ACCUMULATORS and length * steps <= 256
        if few and narrow >= least_width(space.graph):
            return Tile(last - 1, length, narrow, length)
    if length < width:
        return Tile(last, 1, width, is_partial=True)
    if not reductions:
        return Tile(last, 1, width)
    most = max(min(ACCUMULATORS // len(reductions), 32 // steps, length // width), 1)
    counts = range(1, most + 1)
    return Tile(last, min(counts, key=lambda n: (-(-length // (n * width)) * n * (1 + 0.25 / n), n)), width)


def least_width(graph: Graph) -> int:
    """Return from how many lanes on vectors fill a register, or are of numbers of which nothing warns. Complex numbers
    have no tiles of short runs."""
    dtypes = {v.aval.dtype for e in graph.equations for v in (*e.inputs, *e.outputs) if not v.aval.weak}
    if any(d.kind == "c" for d in dtypes):
        return 1 << 30
    sizes = [max(d.itemsize, 4) for d in dtypes if d.kind not in "biu"]
    return REGISTER // min(sizes, default=REGISTER // 2)


class Work:
    """The loops of a group, from the outermost to the innermost one.

    shares    pieces of the first dimension of `inside`
    outer     dimensions that no reduction reduces, and then those that not all of them reduce
    pieces    of the axis of the tiles
    inside    dimensions that all reductions reduce
    strip     places of the first of these that are visited before the next tile is, 0 for all

    A unit of work is one step of the first three. The loop over the tiles of a piece is inside of all others if all
    reductions reduce the axis of the tiles, and else just outside of `inside`.
    """

    def __init__(self, space: Space):
        self.space, self.tile = space, choose_tile(space)
        dims, flags, tile = space.dims, [r.reduced for r in space.reductions.values()], self.tile
        depths = [sum(reduced[d] for reduced in flags) for d in range(len(dims))]
        self.reduced = [d for d in range(len(dims)) if flags and depths[d] == len(flags)]
        others = [d for d in range(tile.axis)]
        self.inside = [d for d in others if d in self.reduced]
        self.outer = sorted((d for d in others if d not in self.reduced), key=lambda d: depths[d])
        self.share, self.piece = dims[self.inside[0]] if self.inside else 1, dims[tile.axis]
        whole = space.size // prod(dims[d] for d in self.outer)  # entries of a unit
        if tile.axis not in self.reduced:
            most = max(PIECE // tile.inner // tile.extent, 1) * tile.extent
            if dims[tile.axis] > most + most // 2:
                self.piece = most
                whole = whole // dims[tile.axis] * most
        if flags:
            count = prod(dims[d] for d in self.reduced)
            kept = any(v.aval.size > 1 for i, v in enumerate(space.graph.outputs) if i in space.reductions)
            most = min(whole // SHARE, count // CHAIN, SHARES if kept else SHARES * SHARES)
            if self.inside and most > 1:
                self.share = -(-self.share // most)
                most //= self.shares
            if tile.axis in self.reduced and most > 1 and not tile.is_partial:
                self.piece = -(-self.piece // (most * tile.extent)) * tile.extent
        # A few lines of tiles that lie beside one another are visited at a time, as they lie in memory.
        beside = tile.axis not in self.reduced and self.piece > tile.extent
        lines = 1 if space.results else max(STRIP // self.additions(self.inside[1:]), 1)
        self.strip = lines if beside and self.inside and self.share > lines else 0
        self.units = self.shares * self.pieces * prod(dims[d] for d in self.outer)

    @property
    def shares(self) -> int:
        return -(-self.space.dims[self.inside[0]] // self.share) if self.inside else 1

    @property
    def pieces(self) -> int:
        return -(-self.space.dims[self.tile.axis] // self.piece)

    def additions(self, axes: Sequence[int]) -> int:
        """Return how many entries are added to one total in a unit along these dimensions."""
        return prod(-(-self.lengths(d) // self.step(d)) for d in axes)

    def lengths(self, axis: int) -> int:
        """Return how many places a unit has along a dimension."""
        if axis == self.tile.axis:
            return self.piece
        return self.share if axis in self.inside[:1] else self.space.dims[axis]

    def step(self, axis: int) -> int:
        """Return how many places one step of the loop over a dimension takes."""
        return self.tile.extent if axis == self.tile.axis else 1

    def partial_shape(self, i: int) -> tuple[int, int]:
        """Return the shape of the partial results of the reduction of an output, whose first axis is reduced
        afterwards."""
        dims, reduced = self.space.dims, self.space.reductions[i].reduced
        parts = self.shares * prod(dims[d] for d in self.outer if reduced[d])
        parts *= self.pieces if reduced[self.tile.axis] else 1
        return parts, prod(n for n, r in zip(dims, reduced) if not r)
