"""torch.quasirandom: points of Sobol's sequence, with torch's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..extend import load_library
from ._core.dtypes import as_numpy_dtype, get_default_dtype
from ._core.tensor import Tensor
from ._make.creation import from_numpy
from ._make.generators import Generator
from ._surface import randint
from .errors import ArgumentValueError, TensorError


class SobolEngine:
    """A source of the points of Sobol's sequence in the unit cube, which fill it more evenly than random ones.

    The direction numbers are SciPy's, which are torch's too: those of Joe and Kuo. (S. Joe, F. Y. Kuo, Constructing
    Sobol sequences with better two-dimensional projections, SIAM J. Sci. Comput. 30, 2008.)

    Args:
        dimension: how many coordinates a point has: 1 to 21201.
        scramble: whether the sequence is scrambled by random triangular matrices of bits, and shifted.
        seed: of the scrambling.

    Raises:
        ValueError: the dimension is out of its range.
        MissingLibraryError: SciPy is not installed.

    >>> engine = torch.quasirandom.SobolEngine(2)
    >>> engine.draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ArgumentValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]",
                hint="torch.rand draws independent coordinates, of any number",
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        directions = find_directions(dimension, self.MAXBIT)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            directions, shift = scramble_directions(directions, seed)
        self.sobolstate, self.shift = from_numpy(directions), from_numpy(shift)
        self.quasi, self.num_generated = self.shift.clone(), 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Draw the next points.

        Args:
            n: how many.
            out: a Tensor that takes them.
            dtype: theirs; None: the default one.

        Returns:
            A Tensor of shape (n, dimension).

        Raises:
            RuntimeError: n is negative.

        >>> torch.quasirandom.SobolEngine(1).draw(4).ravel()
        tensor([0.0000, 0.5000, 0.7500, 0.2500])
        """
        if n < 0:
            raise TensorError(
                f"Trying to create tensor with negative dimension {n}: [{n}, {self.dimension}]", hint="n >= 0"
            )
        is_first = self.num_generated == 0 and n > 0
        before = self.quasi.numpy()
        points = np.concatenate([before[None], self._fx_walk(n - is_first)])[0 if is_first else 1 :]
        self.num_generated += n
        kind = as_numpy_dtype(dtype or get_default_dtype())
        drawn = from_numpy((points / 2.0**self.MAXBIT).astype(kind))
        return drawn if out is None else out.resize_(drawn.shape).copy_(drawn)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Draw the next 2**m points, which are balanced if there are 2**k then.

        Args:
            m: the exponent.
            out, dtype: as for `draw`.

        Returns:
            A Tensor of shape (2**m, dimension).

        Raises:
            ValueError: the number of points that have been drawn then would not be a power of two.

        >>> torch.quasirandom.SobolEngine(3).draw_base2(2).shape
        torch.Size([4, 3])
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ArgumentValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}"
                f"={total}. If you still want to do this, please use 'SobolEngine.draw()' instead.",
                hint="engine.reset() begins again",
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again, with the same scrambling, and return the engine.

        >>> engine = torch.quasirandom.SobolEngine(1)
        >>> engine.draw(2).ravel(), engine.reset().draw(2).ravel()
        (tensor([0.0000, 0.5000]), tensor([0.0000, 0.5000]))
        """
        self.quasi, self.num_generated = self.shift.clone(), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out points, and return the engine.

        Args:
            n: how many.

        >>> torch.quasirandom.SobolEngine(1).fast_forward(2).draw()
        tensor([[0.7500]])
        """
        steps = n - 1 if self.num_generated == 0 else n
        if steps > 0:
            self._fx_walk(steps)
        self.num_generated += n
        return self

    def _fx_walk(self, n: int) -> np.ndarray:
        """Take n steps from the present point, and return the points that are reached."""
        if n <= 0:
            return np.zeros((0, self.dimension), np.int64)
        taken = max(self.num_generated - 1, 0)
        steps = np.arange(taken + 1, taken + n + 1)
        lowest = np.bitwise_count(
            (steps & -steps) - 1
        )  # the place of the lowest bit, which changes in Gray's code
        changes = self.sobolstate.numpy()[:, lowest].T
        points = np.bitwise_xor.accumulate(np.concatenate([self.quasi.numpy()[None], changes]))[1:]
        self.quasi = from_numpy(points[-1].copy())
        return points

    def __repr__(self) -> str:
        text = f"SobolEngine(dimension={self.dimension}"
        if self.scramble:
            text += ", scramble=True"
        if self.seed is not None:
            text += f", seed={self.seed}"
        return f"{text})"


def find_directions(dimension: int, bits: int) -> np.ndarray:
    """Find the direction numbers of each coordinate."""
    qmc = load_library("scipy.stats.qmc", "scipy", "torch.quasirandom.SobolEngine")
    engine = qmc.Sobol(dimension, scramble=False, bits=bits)
    return np.asarray(engine._sv).astype(np.int64)  # the only way to them


def scramble_directions(directions: np.ndarray, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Multiply direction numbers, as vectors of bits, by random lower triangular matrices, and draw a shift."""
    generator = Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    dimension, count = directions.shape
    shift = randint(2, (dimension, count), generator=generator).numpy() @ 2 ** np.arange(count)
    matrices = np.tril(randint(2, (dimension, count, count), generator=generator).numpy())
    matrices[:, range(count), range(count)] = 1
    falling = np.arange(count - 1, -1, -1)
    bits = (directions[..., None] >> falling) & 1
    scrambled = bits @ matrices.transpose(0, 2, 1) % 2
    return (scrambled << falling).sum(-1), shift


__all__ = ["SobolEngine"]
