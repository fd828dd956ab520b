"""Modules that pool windows of images, or invert the pooling."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentValueError
from ...ops.nn.spatial import per_dimension
from .. import functional
from .functional_modules import FunctionalModule, functional_module
from .module import Module


class PoolModule(FunctionalModule):
    """A pooling window, whose stride is by default its size."""

    stride: Any

    def _fx_start(self, given: dict[str, Any]) -> None:
        stride = given["stride"]
        super()._fx_start(given | {"stride": given["kernel_size"] if stride is None else stride})


class _MaxPoolNd(PoolModule):
    """The base of maxima of windows."""


class _AvgPoolNd(PoolModule):
    """The base of means of windows."""

    _fx_dims: int

    def _fx_start(self, given: dict[str, Any]) -> None:
        super()._fx_start(given)
        if self._fx_dims == 1:  # torch keeps these as tuples
            for name in ("kernel_size", "stride", "padding"):
                setattr(self, name, per_dimension(getattr(self, name), 1))


class _LPPoolNd(FunctionalModule):
    """The base of p-norms of windows, whose `repr` shows the stride as given."""


class _AdaptiveAvgPoolNd(FunctionalModule):
    """The base of means over a given number of windows."""


class _AdaptiveMaxPoolNd(FunctionalModule):
    """The base of maxima over a given number of windows."""


class _MaxUnpoolNd(FunctionalModule):
    """The base of modules that put the maxima of windows back in their places."""

    _fx_dims: int

    def _fx_start(self, given: dict[str, Any]) -> None:
        size = given["kernel_size"]
        given |= {"stride": size if given["stride"] is None else given["stride"]}
        super()._fx_start({name: per_dimension(value, self._fx_dims, name) for name, value in given.items()})

    def forward(self, input, indices, output_size=None) -> Any:
        """A Tensor with the entries at their places, and zeros elsewhere.

        Args:
            input: what max pooling gave.
            indices: the places that it gave.
            output_size: the spatial sizes of the result, where strides leave a choice.
        """
        function = getattr(functional, self._fx_function)
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


POOLING: list[tuple[Any, ...]] = [
    (
        "MaxPool",
        "max_pool",
        "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False",
        "kernel_size stride padding dilation ceil_mode",
        _MaxPoolNd,
    ),
    ("AdaptiveAvgPool", "adaptive_avg_pool", "output_size", "output_size", _AdaptiveAvgPoolNd),
    (
        "AdaptiveMaxPool",
        "adaptive_max_pool",
        "output_size, return_indices=False",
        "output_size",
        _AdaptiveMaxPoolNd,
    ),
    (
        "LPPool",
        "lp_pool",
        "norm_type, kernel_size, stride=None, ceil_mode=False",
        "norm_type kernel_size stride ceil_mode",
        _LPPoolNd,
    ),
    (
        "MaxUnpool",
        "max_unpool",
        "kernel_size, stride=None, padding=0",
        "kernel_size stride padding",
        _MaxUnpoolNd,
    ),
]
AVERAGE = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"


def pool_module(
    name: str, function: str, parameters: str, shown: str, base: type[FunctionalModule], dims: int
) -> type:
    """Make the class of Modules that pool so many dimensions."""
    shaped: Any = type(base.__name__, (base,), {"_fx_dims": dims, "__module__": __name__})
    return functional_module(f"{name}{dims}d", f"{function}{dims}d", parameters, shown, shaped, __name__)


MODULES: dict[str, type] = {}
for n in (1, 2, 3):
    divisor = "" if n == 1 else ", divisor_override=None"
    average: tuple[Any, ...] = (
        "AvgPool",
        "avg_pool",
        AVERAGE + divisor,
        "kernel_size stride padding",
        _AvgPoolNd,
    )
    for row in (*POOLING, average):
        made = pool_module(*row, dims=n)
        MODULES[made.__name__] = made
globals().update(MODULES)


# -- windows of random places ------------------------------------------
class FractionalMaxPool(Module):
    """The base of maxima of windows whose places are drawn at random. Source: Graham, 2014, arXiv:1412.6071.

    Args:
        kernel_size: the size of windows, one number or one for each dimension.
        output_size: how many there are along each dimension.
        output_ratio: how many there are for each entry, between 0 and 1; one of both is given.
        return_indices: places in the flattened image are returned, too.
        _random_samples: (N, C, dimensions), what decides the places; drawn in each call where it is not given.

    Raises:
        ValueError: none or both of `output_size` and `output_ratio`, or a ratio out of range.
    """

    _fx_dims: int

    def __init__(
        self,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples=None,
    ):
        super().__init__()
        self.kernel_size = per_dimension(kernel_size, self._fx_dims, "kernel_size")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else per_dimension(output_size, self._fx_dims)
        self.output_ratio: tuple[float, ...] | None = None
        if output_ratio is not None:
            given = (
                output_ratio if isinstance(output_ratio, tuple | list) else (output_ratio,) * self._fx_dims
            )
            self.output_ratio = tuple(map(float, given))
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ArgumentValueError(
                f"{name} requires specifying either an output size, or a pooling ratio",
                hint="output_ratio=0.5, or output_size=…",
            )
        if output_size is not None and output_ratio is not None:
            raise ArgumentValueError(
                "only one of output_size and output_ratio may be specified",
                hint="output_size=None, or output_ratio=None",
            )
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ArgumentValueError(
                f"output_ratio must be between 0 and 1 (got {output_ratio})", hint="output_ratio=0.5"
            )

    def forward(self, input) -> Any:
        return getattr(functional, f"fractional_max_pool{self._fx_dims}d")(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool2d(FractionalMaxPool):
    """Maxima of windows of images, whose places are drawn at random. See `FractionalMaxPool`.

    Args:
        kernel_size: the size of windows, one number or one for each dimension.
        output_size: how many there are along each dimension.
        output_ratio: how many there are for each entry, between 0 and 1; one of both is given.
        return_indices: places in the flattened image are returned, too.

    >>> torch.nn.FractionalMaxPool2d(2, output_size=3)(torch.zeros(1, 2, 7, 7)).shape
    torch.Size([1, 2, 3, 3])
    """

    _fx_dims = 2


class FractionalMaxPool3d(FractionalMaxPool):
    """Maxima of windows of volumes, whose places are drawn at random. See `FractionalMaxPool`.

    Args:
        kernel_size: the size of windows, one number or one for each dimension.
        output_size: how many there are along each dimension.
        output_ratio: how many there are for each entry, between 0 and 1; one of both is given.
        return_indices: places in the flattened volume are returned, too.

    >>> torch.nn.FractionalMaxPool3d(2, output_size=3)(torch.zeros(1, 2, 7, 7, 7)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _fx_dims = 3
