"""Lazy modules, which infer the size of their input from the first call."""

from __future__ import annotations

import inspect
from math import gcd
from typing import Any

from ..._core.hooks import RemovableHandle
from ..._declare.constructors import make_constructor
from ..._declare.late_text import complete_late
from ...autograd.grad_mode import no_grad
from ...errors import ArgumentValueError, NotSupportedError, TensorError
from ...ops.arguments import divisors
from ...ops.nn.spatial import image_error
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from . import convolution, normalization
from .linear import Linear


class LazyModuleMixin:
    """The mixin of lazy modules, whose parameters have no shape until the first call or until a state is loaded.

    A subclass defines `initialize_parameters(*args)`, which gives them one, for the arguments of `forward`. After its
    first call the module is of the class `cls_to_become`, if there is one.
    """

    cls_to_become: type | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _initialize_hook: RemovableHandle
    _load_hook: RemovableHandle

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(
            type(self)._infer_parameters, with_kwargs=True
        )

    def _fx_members(self) -> dict[str, Any]:
        return {**self._parameters, **self._buffers}

    def _save_to_state_dict(self, destination, prefix: str, keep_vars: bool) -> None:
        for name, member in self._fx_members().items():
            if member is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = member if keep_vars or is_lazy(member) else member.detach()

    def _lazy_load_hook(self, state_dict, prefix: str, *others) -> None:
        """Give members the shapes of the state that is about to be loaded."""
        for name, member in self._fx_members().items():
            given = state_dict.get(prefix + name)
            if is_lazy(member) and given is not None and not is_lazy(given):
                with no_grad():
                    member.materialize(given.shape)

    def initialize_parameters(self, *args, **kwargs) -> None:
        """Give all parameters their shapes, from the arguments of `forward`; subclasses define it."""
        raise NotSupportedError(
            f"initialize_parameters is not implemented for {type(self).__name__}",
            hint="def initialize_parameters(self, x): self.weight.materialize(…)",
        )

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer has no shape yet."""
        return any(map(is_lazy, self._fx_members().values()))

    def _infer_parameters(self, args: tuple, kwargs: dict[str, Any] | None = None) -> None:
        """The hook before the first call."""
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise TensorError(
                f"module {type(self).__name__} has not been fully initialized",
                hint="materialize every parameter in initialize_parameters: self.weight.materialize(shape)",
            )
        for name in ("_initialize_hook", "_load_hook"):
            getattr(self, name).remove()
            delattr(self, name)
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that learns `in_features` in its first call.

    Args:
        out_features, bias, device, dtype: see `Linear`.

    >>> layer = torch.nn.LazyLinear(2)
    >>> layer(torch.zeros(4, 3)).shape, layer
    (torch.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, once there are any."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input) -> None:
        """Take the size of the input."""
        if self.has_uninitialized_params():
            weight: Any = self.weight
            bias: Any = self.bias
            self.in_features = input.shape[-1]
            with no_grad():
                weight.materialize((self.out_features, self.in_features))
                if bias is not None:
                    bias.materialize((self.out_features,))
                self.reset_parameters()
        if not self.in_features:  # a state was loaded
            self.in_features = self.weight.shape[-1]


class _LazyConvXdMixin(LazyModuleMixin):
    """The base of convolutions that learn `in_channels` in their first call."""

    _fx_dims: int
    transposed: bool
    groups: int
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def _fx_start(self, given: dict[str, Any]) -> None:
        channels, has_bias = given.pop("out_channels"), given.pop("bias")
        place = {name: given[name] for name in ("device", "dtype")}
        LazyModuleMixin.__init__(self, 0, 0, bias=False, **given)
        self.weight = UninitializedParameter(**place)
        self.out_channels = channels
        if has_bias:
            self.bias = UninitializedParameter(**place)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, once there are any."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input, *args, **kwargs) -> None:
        """Take the number of channels of the input.

        Raises:
            ValueError: the number of channels is not divisible by that of groups.
        """
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups:
            raise ArgumentValueError(
                "in_channels must be divisible by groups",
                hint=f"groups: one of {divisors(gcd(self.in_channels, self.out_channels))}",
            )
        sizes = (self.out_channels, self.in_channels)
        first, second = sizes[::-1] if self.transposed else sizes
        with no_grad():
            self.weight.materialize((first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input) -> int:
        """The number of channels of images with a batch or without."""
        if input.dim() not in (self._fx_dims + 1, self._fx_dims + 2):
            raise image_error(type(self).__name__, input.shape, self._fx_dims)
        return input.shape[input.dim() - self._fx_dims - 1]


class _LazyNormBase(LazyModuleMixin):
    """The base of normalizations that learn `num_features` in their first call."""

    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, affine, track_running_stats, **place, bias=bias)
        self.num_features = 0
        for name in ("weight", "bias"):
            if getattr(self, name) is not None:
                setattr(self, name, UninitializedParameter(**place))
        for name in ("running_mean", "running_var"):
            if getattr(self, name) is not None:
                self._buffers[name] = UninitializedBuffer(**place)

    def reset_parameters(self) -> None:
        """Reset parameters and statistics to their initial values, if they exist."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input) -> None:
        """Take the number of channels of the input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            with no_grad():
                for member in self._fx_members().values():
                    if is_lazy(member):
                        member.materialize((self.num_features,))
                self.reset_parameters()


def lazy_module(base: type, mixin: type[LazyModuleMixin], learned: str) -> type:
    """Make the lazy form of a class of Modules, which becomes that class on the first call."""
    members: dict[str, Any] = {
        "cls_to_become": base,
        "__module__": __name__,
        "__doc__": f"A {base.__name__} that learns `{learned}` in its first call, and has its other parameters.",
    }
    if mixin is _LazyConvXdMixin:
        known = list(inspect.signature(base).parameters.values())[1:]  # without `in_channels`
        texts = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in known]
        members["__init__"] = make_constructor(", ".join(texts), mixin._fx_start)
    made = type(f"Lazy{base.__name__}", (mixin, base), members)
    complete_late(made)
    return made


CONVOLUTIONS = [
    lazy_module(convolution.MODULES[name.format(n)], _LazyConvXdMixin, "in_channels")
    for name in ("Conv{}d", "ConvTranspose{}d")
    for n in (1, 2, 3)
]
NORMS = [
    lazy_module(normalization.MODULES[name.format(n)], _LazyNormBase, "num_features")
    for name in ("BatchNorm{}d", "InstanceNorm{}d")
    for n in (1, 2, 3)
]
LazyConv1d, LazyConv2d, LazyConv3d = CONVOLUTIONS[:3]
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = CONVOLUTIONS[3:]
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = NORMS[:3]
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = NORMS[3:]
