"""Convolutions in one, two and three dimensions, and transposed ones."""

from __future__ import annotations

from math import gcd
from typing import Any

from ..._declare.late_text import complete_late
from ...errors import ArgumentValueError
from ...ops.arguments import divisors
from ...ops.nn.spatial import per_dimension
from .. import functional
from ..parameter import create_parameters
from .linear import LinearMap

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(LinearMap):
    """The base of convolutions."""

    _fx_dims: int
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ):
        super().__init__()
        if groups <= 0:
            raise ArgumentValueError("groups must be a positive integer", hint="groups=1")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ArgumentValueError(
                    f"{name} must be divisible by groups",
                    hint=f"groups: one of {divisors(gcd(in_channels, out_channels))}",
                )
        if padding_mode not in PADDING_MODES:
            raise ArgumentValueError(
                f"padding_mode must be one of {set(PADDING_MODES)}, but got '{padding_mode}'",
                hint="padding_mode='zeros'",
            )
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ArgumentValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}",
                    hint="padding='same', which keeps the size",
                )
            if padding == "same" and any(s != 1 for s in per_dimension(stride, self._fx_dims)):
                raise ArgumentValueError(
                    "padding='same' is not supported for strided convolutions",
                    hint="padding=k // 2 for a kernel of k entries",
                )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = per_dimension(kernel_size, self._fx_dims, "kernel_size")
        self.stride = per_dimension(stride, self._fx_dims, "stride")
        self.padding = (
            padding if isinstance(padding, str) else per_dimension(padding, self._fx_dims, "padding")
        )
        self.dilation, self.padding_mode = per_dimension(dilation, self._fx_dims, "dilation"), padding_mode
        self._reversed_padding_repeated_twice = self._fx_pad_widths()
        self.output_padding = (0,) * self._fx_dims
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        size = (first, second // groups, *self.kernel_size)
        create_parameters(self, device, dtype, weight=size, bias=out_channels if bias else None)

    def _fx_pad_widths(self) -> list[int]:
        """The padding in the order of `functional.pad`: the last dimension first."""
        if isinstance(self.padding, tuple):
            totals = [2 * p for p in self.padding]
        else:
            same = self.padding == "same"
            totals = [same * d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        return [n for t in reversed(totals) for n in (t // 2, t - t // 2)]

    def _conv_forward(self, input, weight, bias) -> Any:
        """The convolution with a given weight and bias; subclasses call it with their own."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            widths = self._reversed_padding_repeated_twice
            input, padding = functional.pad(input, widths, mode=self.padding_mode), 0
        function = getattr(functional, f"conv{self._fx_dims}d")
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input) -> Any:
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        defaults = {
            "padding": (0,) * self._fx_dims,
            "dilation": (1,) * self._fx_dims,
            "output_padding": (0,) * self._fx_dims,
            "groups": 1,
        }
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        text += "" if self.bias is not None else ", bias=False"
        return text + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}")


class _ConvTransposeNd(_ConvNd):
    """The base of transposed convolutions."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups: int = 1,
        bias: bool = True,
        dilation=1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ArgumentValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}',
                hint="padding_mode='zeros'; torch.nn.functional.pad of the result has other modes",
            )
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            "zeros",
            device,
            dtype,
        )
        self.output_padding = per_dimension(output_padding, self._fx_dims, "output_padding")

    def forward(self, input, output_size=None) -> Any:
        """The transposed convolution.

        Args:
            input: a batch (N, C, …), or one entry of it.
            output_size: the spatial sizes of the result, where strides leave a choice.
        """
        extra = (
            self.output_padding if output_size is None else self._fx_output_padding_for(input, output_size)
        )
        function = getattr(functional, f"conv_transpose{self._fx_dims}d")
        return function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _fx_output_padding_for(self, input, output_size) -> list[int]:
        """The output padding that makes the result of this size."""
        sizes = list(output_size)[-self._fx_dims :]
        smallest = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                input.shape[-self._fx_dims :], self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        if any(not low <= n < low + s for n, low, s in zip(sizes, smallest, self.stride)):
            largest = [low + s - 1 for low, s in zip(smallest, self.stride)]
            raise ArgumentValueError(
                f"requested an output size of {tuple(output_size)}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {input.shape[-self._fx_dims :]})",
                hint=f"output_size={smallest}",
            )
        return [n - low for n, low in zip(sizes, smallest)]


MODULES: dict[str, type] = {}
for n in (1, 2, 3):
    for base, name in ((_ConvNd, f"Conv{n}d"), (_ConvTransposeNd, f"ConvTranspose{n}d")):
        doc = (
            f"{'The transpose of a c' if base.transposed else 'C'}onvolution of {n} dimension{'s'[: n > 1]}."
        )
        MODULES[name] = type(name, (base,), {"_fx_dims": n, "__doc__": doc, "__module__": __name__})
        complete_late(MODULES[name])
globals().update(MODULES)
