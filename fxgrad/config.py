"""`fxgrad.config`: the switches that programs written for JAX set in their first lines.

None of them changes anything here. A setting that already holds is accepted, as are settings of JAX's compiler and of
its printing. A setting that asks for different results raises an error that says what to write.
"""

from __future__ import annotations

from typing import Any

from .core.errors import StructureError, UnsupportedError
from .core.face import missing_attribute, show_public_names
from .core.interpreter import api_boundary

__all__ = ["read", "update"]

# Switch → what it is here, and what to write for another value.
FIXED: dict[str, tuple[Any, str]] = {
    "jax_debug_infs": (False, "with fx.debug_nans(nans=False): around the call"),
    "jax_debug_nans": (False, "with fx.debug_nans(infs=False): around the call"),
    "jax_disable_jit": (False, "with fx.disable_jit(): around the call"),
    "jax_enable_x64": (True, 'dtypes are NumPy\'s: fnp.asarray(x, "float32") for data and parameters'),
    "jax_num_cpu_devices": (1, "fx.vmap(…, axis_name=…) for collectives, or processes: fx.distributed"),
    "jax_numpy_dtype_promotion": ("standard", "promotion is NumPy's; an array's dtype is x.dtype"),
    "jax_numpy_rank_promotion": ("allow", "assert x.ndim == y.ndim where it matters"),
    "jax_platform_name": ("cpu", 'fx.default_device.set("cuda")'),
    "jax_platforms": ("cpu", 'fx.default_device.set("cuda")'),
}
# Switches without a meaning here: of XLA, of its caches, of messages.
IGNORED: dict[str, Any] = dict.fromkeys(
    [
        "jax_check_tracer_leaks", "jax_compilation_cache_dir", "jax_debug_key_reuse", "jax_default_matmul_precision",
        "jax_default_prng_impl", "jax_enable_checks", "jax_enable_compilation_cache", "jax_explain_cache_misses",
        "jax_log_compiles", "jax_logging_level", "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes", "jax_pprint_use_color", "jax_threefry_partitionable",
        "jax_traceback_filtering", "jax_transfer_guard", "jax_use_shardy_partitioner",
    ]
)  # fmt: skip


@api_boundary
def update(name: str, val: Any) -> None:
    """Set a JAX switch to the value that it has here.

    Args:
        name: the switch, such as "jax_enable_x64".
        val: its value. Of `jax_enable_x64` it is True, of `jax_platforms` "cpu" or None, of `jax_debug_nans` and
            `jax_disable_jit` False: for the others there are context managers.

    Raises:
        StructureError: JAX's programs have no switch of that name here.
        UnsupportedError: the value asks for other results.

    >>> fx.config.update("jax_enable_x64", True)
    >>> fx.config.update("jax_debug_nans", True)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.UnsupportedError: jax_debug_nans is False here, not True
      at:  ...
      try: with fx.debug_nans(infs=False): around the call
      see: errors/UnsupportedError, or help(fx.UnsupportedError)
    """
    if name in IGNORED:
        IGNORED[name] = val
        return
    here = read(name)
    if val != here and not (val in (None, "") and here == "cpu"):
        raise UnsupportedError(f"{name} is {here!r} here, not {val!r}", hint=FIXED[name][1])


@api_boundary
def read(name: str) -> Any:
    """Return the value of a JAX switch: None, or the value to which it was set, if it has no meaning here.

    Args:
        name: the switch.

    Raises:
        StructureError: JAX's programs have no switch of that name here.

    >>> fx.config.read("jax_enable_x64"), fx.config.jax_enable_x64
    (True, True)
    """
    if name in IGNORED:
        return IGNORED[name]
    if name not in FIXED:
        raise StructureError(
            f"there is no switch {name!r}",
            hint=f"leave it out; those with a meaning are {', '.join(FIXED)}",
        )
    return FIXED[name][0]


def __getattr__(name: str) -> Any:
    if name in FIXED or name in IGNORED:
        return read(name)
    raise missing_attribute(__name__, name)


show_public_names(__name__)
