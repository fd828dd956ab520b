"""Normalization: of features, of groups of channels, of batches."""

from __future__ import annotations

from typing import Any

from ..._core.dtypes import int64
from ..._declare.constructors import make_constructor
from ..._declare.late_text import complete_late
from ..._declare.packages import complete_module
from ..._make.creation import ones, tensor, zeros
from ...autograd.grad_mode import no_grad
from ...distributed.groups import get_world_size, is_initialized
from ...errors import ArgumentValueError
from ...ops.arguments import divisors
from ...ops.joining import cat
from ...ops.nn.normalization import single_value_error
from .. import functional, init
from ..parameter import create_parameters
from .module import Module


class AffineNorm(Module):
    """The base of normalizations, with or without a weight and a bias for each feature."""

    weight: Any
    bias: Any

    def _fx_create_affine(self, size, weight: bool, bias: bool, device, dtype) -> None:
        create_parameters(self, device, dtype, weight=size if weight else None, bias=size if bias else None)

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(AffineNorm):
    """Mean 0 and variance 1 over the last dimensions.

    Source: J. L. Ba, J. R. Kiros, G. E. Hinton, Layer normalization, arXiv:1607.06450.

    Args:
        elementwise_affine: whether a factor and a bias for each entry are learned.

    >>> torch.nn.LayerNorm(2)(torch.tensor([1.0, 3.0])).detach()
    tensor([-1.0000,  1.0000])
    """

    _fx_shown = "[normalized_shape] eps elementwise_affine bias"

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
        self._fx_create_affine(shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input) -> Any:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(AffineNorm):
    """Mean square 1 over the last dimensions.

    Source: B. Zhang, R. Sennrich, Root mean square layer normalization, NeurIPS 2019.

    Args:
        eps: what is added to the mean of the squares; the spacing of numbers near 1 unless it is given.
        elementwise_affine: whether a factor for each entry is learned.

    >>> torch.nn.RMSNorm(2)(torch.tensor([3.0, 4.0])).detach()
    tensor([0.8485, 1.1314])
    """

    _fx_shown = "[normalized_shape] eps elementwise_affine"

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

    def reset_parameters(self) -> None:
        """Set weights to one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input) -> Any:
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(AffineNorm):
    """Mean 0 and variance 1 over each group of channels.

    Source: Y. Wu, K. He, Group normalization, ECCV 2018.

    Args:
        num_groups: the number of groups, which divides that of channels.
        num_channels: the number of channels.

    Raises:
        ValueError: `num_channels` is not divisible by `num_groups`.

    >>> torch.nn.GroupNorm(2, 4)(torch.tensor([[1.0, 3.0, 10.0, 30.0]])).detach()
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    _fx_shown = "[num_groups] [num_channels] eps affine bias"

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
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})",
                hint=f"num_groups: one of {divisors(num_channels)}",
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._fx_create_affine(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input) -> Any:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _NormBase(AffineNorm):
    """The base of normalizations with running statistics; `_fx_ranks` are the numbers of dimensions of their inputs."""

    _version = 2
    _fx_shown = "[num_features] eps momentum affine bias track_running_stats"
    _fx_ranks: tuple[int, ...]
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
        self._fx_create_affine(num_features, affine, affine and bias, device, dtype)

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

    def _load_from_state_dict(self, state_dict, prefix: str, local_metadata: dict[str, Any], *rest) -> None:
        """Take the state of this module; before version 2 the batches were not counted."""
        key = f"{prefix}num_batches_tracked"
        if self.track_running_stats and (local_metadata.get("version") or 0) < 2 and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _check_input_dim(self, input) -> None:
        """Raise unless the input has as many dimensions as this module takes."""
        rank = len(input.shape)
        if rank not in self._fx_ranks:
            expected = " or ".join(f"{r}D" for r in self._fx_ranks)
            raise ArgumentValueError(
                f"expected {expected} input (got {rank}D input)",
                hint=f"{type(self).__name__.rstrip('123d')}{max(rank - 2, 1)}d is for {rank}D input"
                if 2 <= rank <= 5
                else "x.unsqueeze(0), a batch of one; x.flatten(0, 1), one batch of two dimensions",
            )


class _BatchNorm(_NormBase):
    """Mean 0 and variance 1 of each channel over the batch; in evaluation by the running statistics."""

    def forward(self, input) -> Any:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        own = self.training or self.running_mean is None
        keeps = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if keeps else (None, None)
        return self._fx_normalize(input, mean, var, own, momentum)

    def _fx_normalize(self, input, mean, var, own: bool, momentum: float) -> Any:
        """The result, by the statistics of the batch (`own`) or by those given, which follow those of the batch.

        Args:
            input: the batch.
            mean, var: statistics, one number for each channel.
            own: whether those of the batch are used.
            momentum: how fast the given ones follow.
        """
        return functional.batch_norm(input, mean, var, self.weight, self.bias, own, momentum, self.eps)

    def _fx_forget_running_stats(self) -> None:
        """Stop keeping running statistics: from now on those of each batch are used, also in evaluation."""
        self.running_mean = self.running_var = self.num_batches_tracked = None
        self.track_running_stats = False


class _InstanceNorm(_NormBase):
    """Mean 0 and variance 1 of each channel of each entry of the batch."""

    __init__ = make_constructor(
        "num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *, "
        "bias=True",
        lambda self, given: _NormBase.__init__(self, **given),
    )

    def _load_from_state_dict(
        self,
        state_dict,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing,
        unexpected,
        errors,
    ) -> None:
        """Load the state of this module; before torch 0.4 every state had running statistics."""
        if local_metadata.get("version") is None and not self.track_running_stats:
            keys = [f"{prefix}{name}" for name in ("running_mean", "running_var")]
            found = [key for key in keys if state_dict.pop(key, None) is not None]
            if found:
                kind, names = type(self).__name__, " and ".join(f'"{key}"' for key in found)
                errors.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If "
                    f"state_dict is a checkpoint saved before 0.4.0, this may be expected because {kind} does not "
                    "track running stats by default since 0.4.0. Please remove these keys from state_dict. If the "
                    f"running stats are actually needed, instead set track_running_stats=True in {kind} to enable "
                    f"them. See the documentation of {kind} for details."
                )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)

    def forward(self, input) -> Any:
        self._check_input_dim(input)
        single = len(input.shape) == self._fx_ranks[0]
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
    for base, ranks in ((_BatchNorm, (2, 3) if n == 1 else (n + 2,)), (_InstanceNorm, (n + 1, n + 2))):
        name = f"{base.__name__[1:]}{n}d"
        MODULES[name] = type(
            name, (base,), {"_fx_ranks": ranks, "__doc__": base.__doc__, "__module__": __name__}
        )
        complete_late(MODULES[name])
globals().update(MODULES)


class SyncBatchNorm(_BatchNorm):
    """Batch norm of inputs (N, C, …) of any number of dimensions. In training mean and variance are those of the
    batches of all processes together, whose lengths may differ.

    Args:
        process_group: the processes; None: all.

    >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(3))
    >>> type(torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input) -> None:
        if input.dim() < 2:
            raise ArgumentValueError(
                f"expected at least 2D input (got {input.dim()}D input)",
                hint="x.unsqueeze(0), a batch of one",
            )
        if not input.shape[1]:
            raise ArgumentValueError(
                "SyncBatchNorm number of input channels should be non-zero",
                hint="(batch, channels, …), with one channel or more",
            )

    def _fx_normalize(self, input, mean, var, own: bool, momentum: float) -> Any:
        """The result, by the statistics of all processes where these train.

        Raises:
            ValueError: there is one entry for each channel.
        """
        alone = not is_initialized() or get_world_size(self.process_group) == 1
        if alone or not (own and self.training):
            return super()._fx_normalize(input, mean, var, own, momentum)
        from ...distributed.nn.functional import all_reduce  # which a single process does without

        x = input.float() if input.dtype.itemsize < 4 else input
        axes, along = [i for i in range(x.ndim) if i != 1], (1, -1, *[1] * (x.ndim - 2))
        count = x.new_full((1,), x.numel() // x.shape[1])
        sums = all_reduce(cat([x.sum(axes), count]), group=self.process_group)
        size = sums[-1].item()
        if size <= 1:
            raise single_value_error(input)
        batch_mean = sums[:-1] / size
        centered = x - batch_mean.view(along)
        batch_var = all_reduce((centered * centered).sum(axes), group=self.process_group) / size
        if mean is not None:
            with no_grad():
                mean.lerp_(batch_mean.to(mean.dtype), momentum)
                var.lerp_((batch_var * (size / (size - 1))).to(var.dtype), momentum)
        result = (centered * (batch_var + self.eps).rsqrt().view(along)).to(input.dtype)
        if self.weight is not None:
            result = result * self.weight.view(along)
        return result if self.bias is None else result + self.bias.view(along)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group=None) -> Module:
        """Put a SyncBatchNorm with the same parameters and statistics in place of every batch norm.

        Args:
            module: what is converted, with all modules inside it.
            process_group: kept by those that are made.

        Returns:
            The module, or what stands in its place.
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name, member in {**module._parameters, **module._buffers}.items():
                setattr(made, name, member)
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


complete_module(globals(), "nn.modules")
