"""Normalization: of features, of groups of channels, of batches."""

from __future__ import annotations

from typing import Any

from ..._core.dtypes import int64
from ..._core.errors import ArgumentValueError
from ..._make.creation import ones, tensor, zeros
from .. import functional, init
from ..parameter import create_parameters
from .functional_modules import make_constructor
from .module import Module


class AffineNorm(Module):
    """The base of normalizations, with or without a weight and a bias for each feature."""

    weight: Any
    bias: Any

    def _create_affine(self, size, weight: bool, bias: bool, device, dtype) -> None:
        create_parameters(self, device, dtype, weight=size if weight else None, bias=size if bias else None)

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(AffineNorm):
    """Mean 0 and variance 1 over the last dimensions."""

    def __init__(
        self,
        normalized_shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self._create_affine(shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input) -> Any:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = f", bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}{bias}"


class RMSNorm(AffineNorm):
    """Mean square 1 over the last dimensions."""

    bias = None

    def __init__(
        self,
        normalized_shape,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        create_parameters(self, device, dtype, weight=shape if elementwise_affine else None)

    def forward(self, input) -> Any:
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(AffineNorm):
    """Mean 0 and variance 1 over each group of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ArgumentValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._create_affine(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input) -> Any:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = f", bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}{bias}"


class RunningNorm(AffineNorm):
    """The base of normalizations with running statistics; `ranks` are the numbers of dimensions of their inputs."""

    ranks: tuple[int, ...]
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        statistics = {name: None for name in ("running_mean", "running_var", "num_batches_tracked")}
        if track_running_stats:
            statistics = {
                "running_mean": zeros(num_features, device=device, dtype=dtype),
                "running_var": ones(num_features, device=device, dtype=dtype),
                "num_batches_tracked": tensor(0, dtype=int64, device=device),
            }
        for name, value in statistics.items():
            self.register_buffer(name, value)
        self._create_affine(num_features, affine, affine and bias, device, dtype)

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weights to one, biases to zero, and forget the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check(self, input) -> None:
        rank = len(input.shape)
        if rank not in self.ranks:
            expected = " or ".join(f"{r}D" for r in self.ranks)
            raise ArgumentValueError(f"expected {expected} input (got {rank}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm(RunningNorm):
    """Mean 0 and variance 1 of each channel over the batch; in evaluation by the running statistics."""

    def forward(self, input) -> Any:
        self._check(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        own = self.training or self.running_mean is None
        keeps = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if keeps else (None, None)
        return functional.batch_norm(input, mean, var, self.weight, self.bias, own, momentum, self.eps)

    def forget_running_stats(self) -> None:
        """Keep no running statistics from now on: those of each batch are taken, in evaluation as well."""
        self.running_mean = self.running_var = self.num_batches_tracked = None
        self.track_running_stats = False


class InstanceNorm(RunningNorm):
    """Mean 0 and variance 1 of each channel of each entry of the batch."""

    __init__ = make_constructor(
        "num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *, "
        "bias=True",
        lambda self, given: RunningNorm.__init__(self, **given),
    )

    def forward(self, input) -> Any:
        self._check(input)
        single = len(input.shape) == self.ranks[0]
        own = self.training or not self.track_running_stats
        result = functional.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            own,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if single else result


MODULES: dict[str, type] = {}
for n in (1, 2, 3):
    for base, ranks in ((BatchNorm, (2, 3) if n == 1 else (n + 2,)), (InstanceNorm, (n + 1, n + 2))):
        name = f"{base.__name__}{n}d"
        MODULES[name] = type(name, (base,), {"ranks": ranks, "__doc__": base.__doc__, "__module__": __name__})
globals().update(MODULES)
