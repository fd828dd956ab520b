"""grid_sample and affine_grid: images at the places of a grid, with coordinates from -1 to 1 along each dimension."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import numpy as fnp
from ....extend import aval_of, native_function, ops, source_info
from ..._declare.composite import Composite, prefer
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import ArgumentValueError, NotSupportedError, TensorError
from ..declarers import check_same_dtype
from .embedding import ROWS

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


# -- where the grid is in the image ------------------------------------------
def clip_place(place, n: int) -> Any:
    """Clip places to the range of the entries; clipped places have derivative 0."""
    return ops.where(
        ops.less_equal(place, 0), 0.0, ops.where(ops.greater_equal(place, n - 1), n - 1.0, place)
    )


def reflect_place(place, n: int, align_corners: bool) -> Any:
    """Reflect places at the ends: the centres of the outer entries, or their edges."""
    low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
    if not span:
        return place * 0.0
    away = ops.absolute(place - low)
    turns = ops.floor(away / span)
    rest = away - turns * span
    return low + ops.where(ops.equal(ops.remainder(turns, 2), 0), rest, span - rest)


def pad_place(place, n: int, padding: str, align_corners: bool) -> Any:
    """Apply the padding mode to places outside of the image."""
    if padding == "zeros":
        return place
    return clip_place(place if padding == "border" else reflect_place(place, n, align_corners), n)


def taps(place, n: int, mode: str, padding: str, align_corners: bool) -> tuple[Any, Any]:
    """(numbers, weights) of the entries that are read along one dimension, along a new first axis."""
    if mode != "bicubic":
        place = pad_place(place, n, padding, align_corners)
    if mode == "nearest":
        return ops.rint(place)[None], None
    first = ops.floor(place)
    part = place - first
    weights = cubic_weights(part) if mode == "bicubic" else [1 - part, part]
    steps = np.arange(len(weights), dtype=aval_of(place).dtype).reshape(-1, *(1,) * aval_of(place).ndim)
    if mode == "bicubic":
        return pad_place(first + (steps - 1), n, padding, align_corners), ops.stack(weights, 0)
    return first + steps, ops.stack(weights, 0)


def cubic_weights(part) -> list[Any]:
    """The cubic convolution with a = -3/4 of the four neighbours."""
    a = -0.75

    def near(d) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def grid_sample_values(input, grid, mode: str, padding_mode: str, align_corners: bool) -> Any:
    """Σ weight · entry over the entries around each place."""
    check_same_dtype(input, grid, "expected scalar type {} but found {}")
    batch, channels, *sizes = aval_of(input).shape
    dtype, rank = aval_of(input).dtype, len(sizes)
    lines = []
    for d, n in enumerate(sizes):
        place = ops.getitem(grid, index=(Ellipsis, rank - 1 - d))
        place = (place + 1) * ((n - 1) / 2) if align_corners else ((place + 1) * n - 1) / 2
        lines.append(taps(place, n, mode, padding_mode, align_corners))
    table = ops.reshape(
        ops.permute(input, axes=(0, *range(2, rank + 2), 1)), shape=(batch * int(np.prod(sizes)), channels)
    )
    flat: Any = np.arange(batch).reshape(batch, *(1,) * rank)
    weight: Any = 1.0
    inside: Any = True
    for d, ((numbers, factors), n) in enumerate(zip(lines, sizes)):
        count, *shape = aval_of(numbers).shape
        along = (*(1,) * d, count, *(1,) * (rank - 1 - d), *shape)  # one axis for the taps of each dimension
        numbers = ops.reshape(numbers, shape=along)
        known = ops.logical_and(ops.greater_equal(numbers, 0), ops.less_equal(numbers, n - 1))
        flat = flat * n + ops.convert(ops.where(known, numbers, 0), dtype=np.dtype("i8"))
        weight = weight if factors is None else weight * ops.reshape(factors, shape=along)
        inside = ops.logical_and(inside, known)
    share = ops.convert(ops.where(inside, weight, 0), dtype=dtype)
    entries = ops.getitem(table, flat, index=ROWS) * ops.reshape(share, shape=(*aval_of(share).shape, 1))
    total = ops.reduce_sum(entries, axes=tuple(range(rank)))
    if mode == "nearest":  # a derivative of zero by the grid
        nothing = ops.reduce_sum(grid, axes=(aval_of(grid).ndim - 1,)) * 0
        total = ops.with_derivative_of(
            total, total + ops.reshape(nothing, shape=(*aval_of(nothing).shape, 1))
        )
    return ops.permute(total, axes=(0, rank + 1, *range(1, rank + 1)))


class Sampling(Composite):
    """Images at the places of a grid: of two dimensions, and by mode and padding, one function of machine code, and one
    that pulls back where images and grid are both kept."""

    def forward(self, values: Sequence[Any], params: dict) -> Callable[..., list[Any]]:
        """See `Composite`."""
        return prefer(self.direct("grid.sampler", values, params), super().forward(values, params))

    def pullback_for(self, y, values, needed, params: dict) -> Any:
        """See `Composite`."""
        rule = super().pullback_for(y, values, needed, params)
        general, kept = rule.pull_plain, [*rule.saved_from]
        direct = self.direct("grid.pullback", values, params) if kept in ([1, 2], [2]) else None
        if direct is None or hasattr(general, "general"):  # the rule has it already
            return rule

        def pull(ct, residuals) -> Sequence[Any]:
            x, grid = residuals[:2] if len(kept) == 2 else (None, residuals[0])
            cts = direct(ct, x, grid)
            if cts is None:
                return general(ct, residuals)
            return [None if n is None else v for v, n in zip(cts, needed)]

        pull.general = general  # type: ignore[attr-defined]
        rule.pull_plain = pull
        return rule

    @staticmethod
    def direct(name: str, values: Sequence[Any], params: dict) -> Any:
        """Return a function for arrays like these, if there is one."""
        plain = all([type(v) is np.ndarray for v in values])
        options = (params[name] for name in ("mode", "padding_mode", "align_corners"))
        return native_function(name)(*values, *options) if plain else None


SAMPLERS = {
    rank: operation("input grid", name=f"grid_sampler_{rank}d", spaces="", out=False, composite=Sampling)(
        grid_sample_values
    )
    for rank in (2, 3)
}


@expose("nn.functional")
def grid_sample(
    input, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """The images `input` (N, C, H, W) at the places `grid` (N, H', W', 2), or the same with a third dimension.

    Args:
        grid: (x, y) of every new pixel, from -1 (the left or upper end) to 1.
        mode: how to find values between entries: "bilinear", "nearest", or "bicubic" (of images with two dimensions).
        padding_mode: what is outside: "zeros", the nearest entry ("border"), or the image again, "reflection".
        align_corners: -1 and 1 are the centres of the outer pixels, not their edges.

    >>> image = torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    >>> torch.nn.functional.grid_sample(image, torch.zeros(1, 1, 1, 2), align_corners=False).item()
    1.5
    """
    if mode not in MODES:
        raise ArgumentValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'",
            hint='mode="bilinear"',
        )
    if padding_mode not in PADDINGS:
        raise ArgumentValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'",
            hint='padding_mode="zeros"',
        )
    have, places = tuple(input.shape), tuple(grid.shape)
    if len(have) not in (4, 5) or len(have) != len(places):
        raise TensorError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(have)} and grid with sizes {list(places)}",
            hint="input (batch, channels, height, width), grid (batch, height, width, 2); unsqueeze(0) adds a batch",
        )
    if have[0] != places[0]:
        raise TensorError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(have)} and grid with sizes {list(places)}",
            hint=f"grid.expand({', '.join(map(str, (have[0], *places[1:])))})"
            if places[0] == 1
            else f"input.expand({', '.join(map(str, (places[0], *have[1:])))})"
            if have[0] == 1
            else "one grid for each image",
        )
    if places[-1] != len(have) - 2:
        raise TensorError(
            f"grid_sampler(): expected grid to have size {len(have) - 2} in last dimension, but got grid with sizes "
            f"{list(places)}",
            hint=f"torch.stack([x, y{', z' * (len(have) == 5)}], -1)",
        )
    if mode == "bicubic" and len(have) == 5:
        raise TensorError(
            "grid_sampler(): bicubic interpolation only supports 4D input", hint='mode="bilinear"'
        )
    return SAMPLERS[len(have) - 2](
        input, grid, mode, padding_mode, resolve_align_corners("grid_sample", align_corners)
    )


def affine_arguments(theta, size, align_corners: bool | None = None) -> Any:
    """The maps and the size are checked."""
    if not theta.is_floating_point():
        raise ArgumentValueError(
            f"Expected theta to have floating point type, but got {theta.dtype}", hint="theta.float()"
        )
    size, have = tuple(size), tuple(theta.shape)
    count = len(size) - 2
    if count not in (2, 3):
        raise NotSupportedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{list(size)}.",
            hint="size: (batch, channels, height, width)",
        )
    if len(have) != 3 or have[1:] != (count, count + 1):
        raise ArgumentValueError(
            f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size {list(size)}. Got "
            f"{list(have)}.",
            hint=f"theta.reshape(-1, {count}, {count + 1})",
        )
    if min(size) <= 0:
        raise ArgumentValueError(
            f"Expected non-zero, positive output size. Got {list(size)}",
            hint="size: (batch, channels, height, width), each 1 or more",
        )
    corners = resolve_align_corners("affine_grid", align_corners)
    return (theta,), {"size": size, "align_corners": corners}


@operation(
    "theta",
    arguments=affine_arguments,
    spaces="nn.functional",
    out=False,
    node="AffineGridGeneratorBackward0",
)
def affine_grid(theta, size, align_corners: bool) -> Any:
    """The grid for `grid_sample` that shows an image of the size (N, C, H, W) under the affine maps `theta` (N, 2, 3),
    or one with a third dimension."""
    # theta · (places, 1) for every place of the image
    dtype = aval_of(theta).dtype
    lines = [
        np.linspace(-1, 1, n) * (1 if align_corners else (n - 1) / n) if n > 1 else np.zeros(1)
        for n in size[2:]
    ]
    places = np.stack([*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(size[2:])], -1).astype(dtype)
    count, rank = len(size) - 2, int(np.prod(size[2:]))
    found = fnp.matmul(places.reshape(1, rank, count + 1), ops.permute(theta, axes=(0, 2, 1)))
    return ops.reshape(found, shape=(size[0], *size[2:], count))


def resolve_align_corners(name: str, align_corners: bool | None) -> bool:
    """Resolve `align_corners`; its default warns as in torch."""
    if align_corners is None:
        warnings.warn(
            f"Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            f"specify align_corners=True if the old behavior is desired. See the documentation of {name} for details.",
            UserWarning,
            stacklevel=source_info.user_stacklevel(),
        )
    return bool(align_corners)
