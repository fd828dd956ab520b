"""Images of another size: interpolation, and the exchange of channels for pixels."""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from ....extend import aval_of, ops
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import ArgumentValueError, NotSupportedError, TensorError
from ..arguments import as_whole, divisors
from .antialiasing import WINDOWS, window_taps
from .grids import cubic_weights
from .pooling import adaptive_avg_pool

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}


def sample_places(
    n: int, count: int, align_corners: bool, scale: float | None, clip_first: bool
) -> np.ndarray:
    """The places of the `count` new entries on the grid of n; `clip_first`: not before the first one."""
    if align_corners:
        return np.arange(count) * ((n - 1) / (count - 1) if count > 1 else 0.0)
    places = (np.arange(count) + 0.5) * (n / count if scale is None else 1 / scale) - 0.5
    return np.maximum(places, 0) if clip_first else places


def linear_taps(n: int, count: int, align_corners: bool, scale: float | None) -> Any:
    """(positions, weights) of the two neighbours of each new entry."""
    places = sample_places(n, count, align_corners, scale, True)
    low = np.minimum(places.astype(np.int64), n - 1)
    part = places - low
    return np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - part, part])


def cubic_taps(n: int, count: int, align_corners: bool, scale: float | None) -> Any:
    """(positions, weights) of the four neighbours."""
    places = sample_places(n, count, align_corners, scale, False)
    low = np.floor(places).astype(np.int64)
    return np.clip(low + np.arange(-1, 3)[:, None], 0, n - 1), np.stack(cubic_weights(places - low))


def nearest_taps(n: int, count: int, exact: bool, scale: float | None) -> Any:
    """(positions, None) of the nearest entries: by their centres if `exact`, by their lower edges otherwise."""
    places = (np.arange(count) + 0.5 * exact) * (n / count if scale is None else 1 / scale)
    return np.minimum(places.astype(np.int64), n - 1)[None], None


def resample_axis(x, axis: int, positions: np.ndarray, weights: np.ndarray | None) -> Any:
    """Σₖ weights[k]·x[positions[k]] along an axis."""
    head = (slice(None, None, None),) * axis
    if weights is None:
        return ops.getitem(x, positions[0], index=(*head, ops.ARRAY))
    aval = aval_of(x)
    total: Any = None
    for places, weight in zip(positions, weights):
        factor = weight.astype(aval.dtype).reshape(-1, *(1,) * (aval.ndim - axis - 1))
        term = ops.getitem(x, places, index=(*head, ops.ARRAY)) * factor
        total = term if total is None else total + term
    return total


@operation("input", spaces="", out=False, name="upsample")
def upsample_values(input, size, scales, mode: str, align_corners: bool, antialias: bool = False) -> Any:
    """Resample the axes after the first two, the last one first; bytes are rounded after each."""
    kind = aval_of(input).dtype
    is_bytes = kind == np.uint8 and not mode.startswith("nearest")
    x = ops.convert(input, dtype=np.dtype("float32")) if is_bytes else input
    for axis, (count, scale) in reversed(list(enumerate(zip(size, scales), 2))):
        n = aval_of(x).shape[axis]
        if mode.startswith("nearest"):
            taps = nearest_taps(n, count, mode == "nearest-exact", scale)
        elif antialias:
            taps = window_taps(n, count, mode, align_corners, scale)
        else:
            make = cubic_taps if mode == "bicubic" else linear_taps
            taps = make(n, count, align_corners, scale)
        x = resample_axis(x, axis, *taps)
        if is_bytes:
            x = ops.minimum(ops.maximum(ops.floor(x + 0.5), 0.0), 255.0)
    return ops.convert(x, dtype=kind) if is_bytes else x


def check_mode(input, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Raise unless the mode is for inputs of this many dimensions, and for these options."""
    rank = input.ndim - 2
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ArgumentValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
            "trilinear",
            hint=f"align_corners=None, which mode={mode!r} takes",
        )
    if antialias and not (mode in WINDOWS and rank == 2):
        raise ArgumentValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as "
            "input",
            hint='mode="bilinear"' if rank == 2 else "antialias=False",
        )
    if mode == "lanczos" and not antialias:
        raise ArgumentValueError("Lanczos mode requires antialias=True", hint="antialias=True")
    if rank in (1, 2, 3) and mode in LINEAR and LINEAR[mode] != rank:
        raise NotSupportedError(
            f"Got {rank + 2}D input, but {mode} mode needs {LINEAR[mode] + 2}D input",
            hint=f'mode="{next(m for m, r in LINEAR.items() if r == rank)}"',
        )
    known = mode in LINEAR or mode in ("nearest", "nearest-exact", "area", *WINDOWS)
    if not known or rank not in (1, 2, 3) or (mode in WINDOWS and rank != 2):
        raise NotSupportedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})",
            hint='mode="nearest"'
            if rank in (1, 2, 3)
            else "(batch, channels, …) with one, two or three more dimensions: x.unsqueeze(0)",
        )


def spatial_numbers(given, rank: int, what: str, words: str, input) -> tuple[Any, ...]:
    """Return a number for each spatial dimension, given one for all or a sequence."""
    if not isinstance(given, list | tuple):
        return (given,) * rank
    if len(given) != rank:
        raise ArgumentValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and {words} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            f"format and {words.partition(' of')[0]} in ({what[0]}1, {what[0]}2, ...,{what[0]}K) format.",
            hint=f"{rank} numbers, or one for all",
        )
    return tuple(given)


@expose("nn.functional")
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Images (N, C, *spatial) of another size.

    Args:
        size, scale_factor: the new size, or by how much it is to be larger; one number, or one for each dimension.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "lanczos" or "area".
        align_corners: the corner entries stay where they are, instead of the corners of the image.
        recompute_scale_factor: scales are those between the sizes, after rounding.
        antialias: images that become smaller are means over all that lies around a place ("bilinear", "bicubic",
            "lanczos").

    Raises:
        ValueError, NotImplementedError, RuntimeError: options that do not go together, or sizes of zero.

    >>> x = torch.tensor([[[0.0, 2.0]]])
    >>> torch.nn.functional.interpolate(x, size=3, mode="linear", align_corners=True).tolist()
    [[[0.0, 1.0, 2.0]]]
    """
    rank = input.ndim - 2
    if (size is None) == (scale_factor is None):
        which = "either" if size is None else "only one of"
        raise ArgumentValueError(
            f"{which} size or scale_factor should be defined", hint="scale_factor=2.0, or size=…"
        )
    if recompute_scale_factor and size is not None:
        raise ArgumentValueError(
            "recompute_scale_factor is not meaningful with an explicit size.",
            hint="recompute_scale_factor=None",
        )
    check_mode(input, mode, align_corners, antialias)
    shape = tuple(input.shape[2:])
    scales: Any = (None,) * rank
    if size is None:
        factors = spatial_numbers(scale_factor, rank, "scale_factor", "scale_factor of shape", input)
        size = tuple(math.floor(n * float(f)) for n, f in zip(shape, factors))
        if not recompute_scale_factor and mode != "area":
            scales = tuple(map(float, factors))
    size = tuple(map(as_whole, spatial_numbers(size, rank, "output", "output size of", input)))
    if min(*shape, *size) < 1:
        raise TensorError(
            f"Input and output sizes should be greater than 0, but got input {shape} and output {size}",
            hint=f"size={tuple([max(n, 1) for n in size])}",
        )
    if mode == "area":
        return adaptive_avg_pool[rank - 1](input, size)
    return upsample_values(input, size, scales, mode, bool(align_corners), antialias)


@expose("nn.functional")
def upsample(
    input, size=None, scale_factor=None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """The function interpolate, under its former name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@expose("nn.functional")
def upsample_nearest(input, size=None, scale_factor=None) -> Any:
    """The function interpolate with mode="nearest"."""
    return interpolate(input, size, scale_factor)


@expose("nn.functional")
def upsample_bilinear(input, size=None, scale_factor=None) -> Any:
    """The function interpolate with mode="bilinear" and the corners aligned."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# -- channels for pixels ------------------------------------------
@operation("input", spaces="function nn.functional", out=False)
def pixel_shuffle(input, upscale_factor: int) -> Any:
    """The entries of channels as pixels: (…, C·r², H, W) → (…, C, H·r, W·r)."""
    *lead, channels, height, width = aval_of(input).shape
    r = upscale_factor
    if r < 1 or channels % (r * r):
        raise TensorError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}",
            hint=f"upscale_factor: one of {[f for f in divisors(channels) if channels % (f * f) == 0]}",
        )
    k = len(lead)
    x = ops.reshape(input, shape=(*lead, channels // (r * r), r, r, height, width))
    x = ops.permute(x, axes=(*range(k + 1), k + 3, k + 1, k + 4, k + 2))
    return ops.reshape(x, shape=(*lead, channels // (r * r), height * r, width * r))


@operation("input", spaces="function nn.functional", out=False)
def pixel_unshuffle(input, downscale_factor: int) -> Any:
    """The pixels as entries of channels: (…, C, H·r, W·r) → (…, C·r², H, W): the inverse of pixel_shuffle."""
    *lead, channels, height, width = aval_of(input).shape
    r = downscale_factor
    for name, n in (("height", height), ("width", width)):
        if r < 1 or n % r:
            raise TensorError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but {name}={n} is not divisible "
                f"by {r}",
                hint=f"downscale_factor: one of {divisors(math.gcd(height, width))}",
            )
    k = len(lead)
    x = ops.reshape(input, shape=(*lead, channels, height // r, r, width // r, r))
    x = ops.permute(x, axes=(*range(k + 1), k + 2, k + 4, k + 1, k + 3))
    return ops.reshape(x, shape=(*lead, channels * r * r, height // r, width // r))


@operation("input", spaces="function nn.functional", out=False)
def channel_shuffle(input, groups: int) -> Any:
    """The channels of all groups dealt out in turn."""
    n, channels, *rest = aval_of(input).shape
    if groups < 1 or channels % groups:
        raise TensorError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.",
            hint=f"groups: one of {divisors(channels)}",
        )
    x = ops.reshape(input, shape=(n, groups, channels // groups, prod(rest)))
    return ops.reshape(ops.permute(x, axes=(0, 2, 1, 3)), shape=(n, channels, *rest))


expose("function nn.functional", "native_channel_shuffle")(channel_shuffle)
