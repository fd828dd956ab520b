"""torch.fft: discrete Fourier transforms along dimensions, with torch's names for `fxgrad.numpy.fft`."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, Unpack

import numpy as np

from ... import numpy as fnp
from ...extend import aval_of, is_differentiable, ops
from ...numpy.composite import normalize_axes, normalize_axis
from .._core.dtypes import default_numpy_dtype, from_numpy_dtype, short_name
from .._declare.operation import operation
from .._declare.promotion import float_dtype
from .._declare.spaces import expose
from .._make.creation import create_with_options
from .._make.options import OutOptions
from ..errors import DimensionError, TensorError

UNSUPPORTED = ("float16", "bfloat16")


def fft_operand(name: str, x, norm, real: bool = False) -> Any:
    """Check the operand of a transform, and convert it to a floating-point dtype."""
    dtype = from_numpy_dtype(aval_of(x).dtype)
    if dtype.name in UNSUPPORTED:
        raise TensorError(f"Unsupported dtype {short_name(dtype)}", hint="x.to(torch.float32)")
    if real and dtype.is_complex:
        raise TensorError(
            f"{name} expects a real input tensor, but got {short_name(dtype)}",
            hint=f"torch.fft.{name.replace('rfft', 'fft').replace('ihfft', 'ifft')} is of complex x; x.real is real",
        )
    if norm is not None and norm not in fnp.fft.OPPOSITE_NORM:
        raise TensorError(
            f'Invalid normalization mode: "{norm}"',
            hint='norm="backward" (the default), "ortho" or "forward"',
        )
    return x if is_differentiable(dtype.numpy) else ops.convert(x, dtype=float_dtype(dtype.numpy))


def check_points(n: int) -> None:
    if n < 1:
        raise TensorError(
            f"Invalid number of data points ({n}) specified", hint="n=None takes all that are there"
        )


def declare_fft(name: str, doc: str, *, real: bool = False, half: bool = False) -> None:
    """Declare a transform along one dimension: `real` of real numbers, `half` of a spectrum of which half is given."""

    def compute(input, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        input = fft_operand(name, input, norm, real)
        if not input.ndim:
            raise DimensionError(
                f"Dimension specified as {dim} but tensor has no dimensions", hint="x.reshape(1)"
            )
        dim = normalize_axis(dim, input.ndim)
        size = input.shape[dim]
        check_points(n if n is not None else 2 * (size - 1) if half else size)
        return getattr(fnp.fft, name)(input, n, dim, norm)

    expose_transform(name, compute, doc)


def declare_fftn(
    name: str, doc: str, default: tuple[int, ...] | None = None, *, real: bool = False, half: bool = False
) -> None:
    """Declare a transform along several dimensions, by default all."""

    def compute(input, s=None, dim=default, norm: str | None = None) -> Any:
        input = fft_operand(name, input, norm, real)
        sizes = (s,) if isinstance(s, int) else s
        if dim is None and sizes is not None:
            if len(sizes) > input.ndim:
                raise TensorError(
                    f"Got shape with {len(sizes)} values but input tensor only has {input.ndim} dimensions.",
                    hint=f"s={tuple(sizes)[-input.ndim :] if input.ndim else ()}, or unsqueeze(0)",
                )
            dim = range(input.ndim - len(sizes), input.ndim)
        dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        dims = tuple([normalize_axis(d, input.ndim) for d in dims])
        if len({*dims}) < len(dims):
            raise TensorError("FFT dims must be unique", hint=f"dim={tuple(dict.fromkeys(dims))}")
        if sizes is not None and len(sizes) != len(dims):
            raise TensorError(
                "When given, dim and shape arguments must have the same length",
                hint=f"one size for each of dim={dims}; -1 is for all that are there",
            )
        if (real or half) and not dims:
            raise TensorError(f"{name} must transform at least one axis", hint="dim=(-1,)")
        given = (
            [input.shape[d] for d in dims]
            if sizes is None
            else [input.shape[d] if n == -1 else n for n, d in zip(sizes, dims)]
        )
        if half and (sizes is None or sizes[-1] == -1):
            given[-1] = 2 * (input.shape[dims[-1]] - 1)
        for n in given:
            check_points(n)
        if not dims and not real and not half:
            return ops.convert(input, dtype=np.promote_types(aval_of(input).dtype, np.complex64))
        transform = TRANSFORMS.get(name) or getattr(fnp.fft, name)
        return transform(input, given, dims, norm)

    expose_transform(name, compute, doc)


def expose_transform(name: str, computed, doc: str) -> None:
    computed.__name__ = computed.__qualname__ = f"fft_{name}"
    computed.__doc__ = doc
    operation("input", spaces="fft", own_precision=True)(computed)


def hfftn(x, s, axes, norm) -> Any:
    return fnp.fft.irfftn(ops.conjugate(x), s, axes, fnp.fft.OPPOSITE_NORM[norm or "backward"])


def ihfftn(x, s, axes, norm) -> Any:
    return ops.conjugate(fnp.fft.rfftn(x, s, axes, fnp.fft.OPPOSITE_NORM[norm or "backward"]))


# What NumPy lacks.
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "hfft2": hfftn, "hfftn": hfftn, "ihfft2": ihfftn, "ihfftn": ihfftn,
}  # fmt: skip
LAST_TWO = (-2, -1)

declare_fft(
    "fft", "The discrete Fourier transform along a dimension, cropped or padded with zeros to n entries."
)
declare_fft("ifft", "The inverse of `fft`.")
declare_fft("rfft", "The frequencies 0 … n//2 of real numbers; the others are their conjugates.", real=True)
declare_fft("irfft", "The inverse of `rfft`, with n real entries.", half=True)
declare_fft(
    "hfft", "The real spectrum of a signal with Hermitian symmetry, given by its first half.", half=True
)
declare_fft("ihfft", "The inverse of `hfft`.", real=True)
declare_fftn("fftn", "`fft` along dimensions, cropped or padded to the sizes `s`.")
declare_fftn("ifftn", "The inverse of `fftn`.")
declare_fftn("rfftn", "`rfft` along the last of the dimensions, `fft` along the others.", real=True)
declare_fftn("irfftn", "The inverse of `rfftn`.", half=True)
declare_fftn("hfftn", "`hfft` along the last of the dimensions, `fft` along the others.", half=True)
declare_fftn("ihfftn", "The inverse of `hfftn`.", real=True)
declare_fftn("fft2", "`fftn` along two dimensions.", LAST_TWO)
declare_fftn("ifft2", "`ifftn` along two dimensions.", LAST_TWO)
declare_fftn("rfft2", "`rfftn` along two dimensions.", LAST_TWO, real=True)
declare_fftn("irfft2", "`irfftn` along two dimensions.", LAST_TWO, half=True)
declare_fftn("hfft2", "`hfftn` along two dimensions.", LAST_TWO, half=True)
declare_fftn("ihfft2", "`ihfftn` along two dimensions.", LAST_TWO, real=True)


# -- the order of frequencies ------------------------------------------
@operation("input", spaces="fft", out=False, node="RollBackward0")
def fft_fftshift(input, dim=None) -> Any:
    """The frequency 0 moved to the middle."""
    return fnp.fft.fftshift(input, normalize_axes(dim, input.ndim))


@operation("input", spaces="fft", out=False, node="RollBackward0")
def fft_ifftshift(input, dim=None) -> Any:
    """The inverse of `fftshift`."""
    return fnp.fft.ifftshift(input, normalize_axes(dim, input.ndim))


def declare_frequencies(name: str, doc: str) -> None:
    """Expose a function that gives the frequencies of a transform of n points."""

    def compute(n: int, d: float = 1.0, **options: Unpack[OutOptions]) -> Any:
        def make_array(numpy) -> np.ndarray:
            with np.errstate(all="ignore"):  # of distances that are 0
                return (getattr(np.fft, name)(index(n)) / np.float64(d)).astype(numpy)

        return create_with_options(make_array, name, default_numpy_dtype("f"), **options)

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = doc
    expose("fft", name)(compute)


declare_frequencies("fftfreq", "The frequencies of `fft` of n points at distances d.")
declare_frequencies("rfftfreq", "The frequencies of `rfft` of n points at distances d.")
