"""Functions of absent torch modules that programs call, or use as decorators, during import."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .._core.operation_names import OpNamespace
from .._core.overriding import call_plainly, dispatch_plainly, no_overrides, no_overrides_or_modes
from .._core.tape import BASE_TAPE, current_tape
from .._make.devices import as_device
from ..func import collections
from ..nn.modules.destination import parse_to as parse_arguments


def hand_back(function: Any) -> Any:
    """Return the argument itself."""
    return function


def deny(*args: object, **options: object) -> bool:
    """Whether the machinery is at work: no."""
    return False


def do_nothing(*args: object, **options: object) -> None:
    """Accept any arguments, and do nothing."""


def parse_to(*args: Any, **options: Any) -> tuple[Any, ...]:
    """Return what the arguments of `Module.to` say: a device, a dtype, whether to wait, and a memory format."""
    device, *others = parse_arguments(*args, **options)
    return None if device is None else as_device(device), *others


def find_cache() -> str:
    """Return the folder in which torch caches downloads."""
    above = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(above, "torch")))


def load_library(path: str | os.PathLike[str]) -> None:
    """Define the operations of torchaudio's library, which that package cannot do without, in its place.

    Raises:
        OSError: it is another library. Packages do without it, as where its file is damaged.
    """
    if Path(path).stem not in ("_torchaudio", "libtorchaudio"):
        raise OSError(f"{path}: there is no library of C++ below this surface")
    from . import audio

    audio.define()


def answer(name: str) -> Any:
    """Return the object for a name of torch's: None if nothing does.

    Every namespace of operations is there, and says itself what it lacks; those of torch's own operations are absent.
    """
    namespace = name.removeprefix("torch.ops.")
    is_namespace = "." not in namespace and namespace not in ("aten", "prim", "prims", "higher_order")
    return OpNamespace(namespace) if is_namespace and name not in ANSWERS else ANSWERS.get(name)


ANSWERS = {
    "torch._C.DispatchKeySet": lambda *keys: frozenset(keys),  # some are united at import, for no dispatch
    "torch._C.DisableTorchFunction": no_overrides_or_modes,
    "torch._C.DisableTorchFunctionSubclass": no_overrides,
    "torch._C._are_functorch_transforms_active": lambda: current_tape() is not BASE_TAPE,
    "torch._C._functorch._add_batch_dim": collections.add_batch_dim,
    "torch._C._functorch._remove_batch_dim": collections.remove_batch_dim,
    "torch._C._functorch.is_batchedtensor": collections.is_batched,
    "torch._functorch.vmap._add_batch_dim": collections.add_batch_dim,
    "torch._functorch.vmap._maybe_remove_batch_dim": collections.maybe_remove_batch_dim,
    "torch._functorch.vmap._remove_batch_dim": collections.remove_batch_dim,
    "torch._C._disabled_torch_dispatch_impl": dispatch_plainly,
    "torch._C._disabled_torch_function_impl": call_plainly,
    "torch._C._nn._parse_to": parse_to,
    "torch._C._get_tracing_state": do_nothing,
    "torch._C._is_tracing": deny,
    "torch._C._jit_set_profiling_executor": deny,  # these return what was set before
    "torch._C._jit_set_profiling_mode": deny,
    "torch._C._log_api_usage_once": do_nothing,
    "torch._dynamo.is_dynamo_supported": deny,
    "torch.hub.HASH_REGEX": re.compile(r"-([a-f0-9]*)\."),  # of the checksum in the name of a file
    "torch.hub._get_torch_home": find_cache,
    "torch.hub.get_dir": lambda: os.path.join(find_cache(), "hub"),
    "torch.onnx.is_in_onnx_export": deny,
    "torch.onnx.register_custom_op_symbolic": do_nothing,
    "torch.onnx.symbolic_helper.parse_args": lambda *args, **options: hand_back,
    "torch.distributed.elastic.multiprocessing.errors.record": hand_back,
    "torch.distributed.rpc.api._require_initialized": hand_back,
    "torch.fx._compatibility.compatibility": lambda *args, **options: hand_back,
    "torch.utils.data.functional_datapipe": lambda *args, **options: hand_back,
    "torch.onnx.unregister_custom_op_symbolic": do_nothing,
    "torch.ops.load_library": load_library,
    "torch.utils._python_dispatch.is_traceable_wrapper_subclass": deny,
}
