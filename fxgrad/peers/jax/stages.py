"""`jax.stages`: the stages of a jitted function before it runs, traced, lowered and compiled."""

from __future__ import annotations

from ...transforms.lowered import Compiled, Lowered

__all__ = ["Compiled", "Lowered", "Wrapped"]


class WrappedKind(type):
    """The class of `Wrapped`, which says what `isinstance` means."""

    def __instancecheck__(cls, instance: object) -> bool:
        return callable(instance) and hasattr(instance, "lower")


class Wrapped(metaclass=WrappedKind):
    """The class of jitted functions, for `isinstance` and annotations."""
