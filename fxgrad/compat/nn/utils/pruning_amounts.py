"""The amount of pruning: a number of entries, or a fraction of all entries."""

from __future__ import annotations

from numbers import Integral, Real

from ...errors import ArgumentError, ArgumentValueError


def check_amount(amount: float) -> None:
    """Raise unless the amount is a number of entries or a fraction.

    Raises:
        TypeError: `amount` is no number.
        ValueError: it is negative, or a fraction greater than 1.
    """
    if not isinstance(amount, Real):
        raise ArgumentError(
            f"Invalid type for amount: {amount}. Must be int or float.",
            hint="amount=0.5 for a half, amount=2 for two entries",
        )
    if amount < 0 or (not isinstance(amount, Integral) and amount > 1):
        raise ArgumentValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer",
            hint=f"amount={amount / 100:g}, of percent" if 1 < amount <= 100 else "amount=0.5",
        )


def count_pruned(amount: float, size: int) -> int:
    """How many of so many entries an amount is.

    Raises:
        ValueError: `amount` is greater than the number of entries.
    """
    if not isinstance(amount, Integral):
        return round(amount * size)
    if amount > size:
        raise ArgumentValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={size}",
            hint=f"amount={size}, which is all",
        )
    return int(amount)


# -- what users call ------------------------------------------
