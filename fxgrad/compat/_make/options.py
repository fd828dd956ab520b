"""The options of functions that make Tensors, which they hand on by keyword to `create_with_options`."""

from __future__ import annotations

from typing import Any, TypedDict


class SignalOptions(TypedDict, total=False):
    """The options of all of them."""

    dtype: Any
    layout: Any
    device: Any
    requires_grad: bool


class Options(SignalOptions, total=False):
    """The options of all but the windows of torch.signal."""

    pin_memory: bool


class OutOptions(Options, total=False):
    """The options of those that write into a Tensor where one is given."""

    out: Any


class SampleOptions(OutOptions, total=False):
    """The options of those that draw random numbers."""

    generator: Any


class LikeOptions(Options, total=False):
    """The options of those that make a Tensor like another."""

    memory_format: Any


class SampleLikeOptions(LikeOptions, total=False):
    """The options of those that draw random numbers for a Tensor like another."""

    generator: Any
