"""torch.nn.modules.utils: sizes given as one number or several; modules of other packages use these functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

from ...errors import ArgumentValueError


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that makes a tuple: from the entries of an iterable, or from n times any other value."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """Return the entries in reverse order, each n times."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Sequence[int | None] | int, defaults: Sequence[int]) -> Any:
    """Return sizes, in which None is replaced by the entry of `defaults` counted from the end."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ArgumentValueError(
            f"Input dimension should be at least {len(out_size) + 1}", hint="x.unsqueeze(0), a batch of one"
        )
    return [
        default if size is None else size
        for size, default in zip(out_size, defaults[-len(out_size) :], strict=True)
    ]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix, such as "module.", off the names in a `state_dict`, in place.

    >>> from fxgrad.compat.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in [key for key in metadata if key and f"{key}.".startswith(prefix)]:
            metadata[key.removeprefix(prefix) if key.startswith(prefix) else ""] = metadata.pop(key)


__all__ = ["consume_prefix_in_state_dict_if_present"]
