"""What absent modules of torch's answer all the same: programs ask them, or decorate with them, at import."""

from __future__ import annotations

import os
import re
from typing import Any

from .._core.overriding import call_plainly, no_overrides


def hand_back(function: Any) -> Any:
    """Return the argument itself."""
    return function


def deny(*args: object, **options: object) -> bool:
    """Whether the machinery is at work: no."""
    return False


def do_nothing(*args: object, **options: object) -> None:
    """Take note of nothing."""


def find_cache() -> str:
    """Return the folder in which torch keeps what it has fetched."""
    above = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(above, "torch")))


def load_library(path: str) -> None:
    """Refuse to load a library of operations, as where its file is damaged: packages do without, then.

    Raises:
        OSError: always.
    """
    raise OSError(f"{path}: there is no library of C++ below this surface")


ANSWERS = {
    "torch._C.DisableTorchFunctionSubclass": no_overrides,
    "torch._C._disabled_torch_function_impl": call_plainly,
    "torch._C._get_tracing_state": do_nothing,
    "torch._C._log_api_usage_once": do_nothing,
    "torch.fx.has_side_effect": hand_back,
    "torch.fx.wrap": hand_back,
    "torch.hub.HASH_REGEX": re.compile(r"-([a-f0-9]*)\."),  # of the checksum in the name of a file
    "torch.hub._get_torch_home": find_cache,
    "torch.hub.get_dir": lambda: os.path.join(find_cache(), "hub"),
    "torch.onnx.is_in_onnx_export": deny,
    "torch.ops.load_library": load_library,
}
