"""Checks of the sizes and options of recurrent networks."""

from __future__ import annotations

import warnings
from typing import Any

from ...errors import ArgumentError, ArgumentValueError


def check_sizes(input_size: int, hidden_size: int, num_layers: int, proj_size: int) -> None:
    """Raise for sizes that a recurrent network cannot have."""
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise ArgumentError(
                f"{name} should be of type int, got: {type(size).__name__}", hint=f"int({name})"
            )
        if size <= 0:
            raise ArgumentValueError(f"{name} must be greater than zero", hint=f"{name}={-size or 1}")
    if num_layers <= 0:
        raise ArgumentValueError("num_layers must be greater than zero", hint="num_layers=1")
    if proj_size < 0:
        raise ArgumentValueError(
            "proj_size should be a positive integer or zero to disable projections", hint="proj_size=0"
        )
    if proj_size >= hidden_size:
        raise ArgumentValueError(
            "proj_size has to be smaller than hidden_size",
            hint=f"proj_size={hidden_size - 1} at most; proj_size=0 is no projection",
        )


def check_options(bias: bool, batch_first: bool, dropout: float, num_layers: int) -> None:
    """Raise for options of another type or range, and warn of dropout that is nowhere."""
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
        raise ArgumentValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed",
            hint="dropout=0.5",
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise ArgumentError(
                f"{name} should be of type bool, got: {type(value).__name__}",
                hint=f"{name}={bool(value)}; after num_layers the arguments are best given by name",
            )


def refuse_projection(options: dict[str, Any]) -> None:
    """Raise where a network other than an LSTM is to have projections."""
    if "proj_size" in options:
        raise ArgumentValueError(
            "proj_size argument is only supported for LSTM, not RNN or GRU",
            hint="torch.nn.LSTM, or a torch.nn.Linear after it",
        )
