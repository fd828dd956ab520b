"""The names of JAX's top module that are not this library's, or mean differently."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from types import FunctionType
from typing import Any
from weakref import ref

import numpy as np

from ... import transforms as _transforms  # noqa: F401  (loads what traced values have)
from ...core import pytree
from ...core.arrays import as_value
from ...core.interpreter import Tracer
from ...core.surface import is_object, make_object
from ...flatten_util import ravel_pytree as ravel
from ...transforms import vmap as mapping
from ...transforms.jvp import jvp as here_jvp
from ...transforms.vjp import grad as here_grad
from ...transforms.vjp import value_and_grad as here_value_and_grad
from ...transforms.vjp import vjp
from . import trees
from .arrays import Array, WeakArray, array_of, weaken
from .config import config, debug_infs, debug_nans
from .custom_rules import custom_gradient, custom_jvp, custom_vjp
from .devices import CPU, CpuDevice
from .dtypes import dtype_of, result_type, wide
from .jitted import Jitted
from .numpy import asarray
from .programs import lift_program, lift_transform, map_leaves, named_as
from .sharding import place_all
from .version import __version__, __version_info__

__all__ = [
    "Array", "Device", "__version__", "__version_info__", "array_garbage_collection_guard", "check_tracer_leaks",
    "clear_caches", "config", "copy_to_host_async", "custom_gradient", "custom_jvp", "custom_vjp", "debug_infs",
    "debug_key_reuse", "debug_nans", "default_backend", "default_matmul_precision", "device_count", "device_get",
    "device_put", "devices",
    "disable_x64", "effects_barrier", "enable_checks", "enable_x64", "ensure_compile_time_eval",
    "explain_cache_misses", "fwd_and_bwd", "grad", "host_count", "host_id", "host_ids", "jit", "jvp", "live_arrays",
    "local_device_count", "local_devices", "log_compiles", "named_call", "numpy_dtype_promotion",
    "numpy_rank_promotion", "pmap", "print_environment_info", "process_indices", "ravel_pytree", "softmax_custom_jvp",
    "thread_guard", "threefry_partitionable", "transfer_guard", "transfer_guard_device_to_device",
    "transfer_guard_device_to_host", "transfer_guard_host_to_device", "value_and_grad", "vmap",
]  # fmt: skip

Device = CpuDevice
enable_x64 = wide
disable_x64 = partial(wide, False)
# Options of JAX's that say how a program is placed or compiled.
PLACING = frozenset([
    "in_shardings", "device", "backend", "donate_argnums", "donate_argnames", "keep_unused",
    "inline", "abstracted_axes", "compiler_options",
])  # fmt: skip


def jit(fun: Any = None, /, **options: Any) -> Any:
    """Compile a function of arrays: `fx.jit`. Options of how XLA compiles have no meaning; results lie
    as `out_shardings` says."""
    if fun is None:
        return partial(jit, **options)
    options = {n: v for n, v in options.items() if n not in PLACING and v is not None}
    key = tuple(sorted(options.items()))
    made = Jitted(fun, **options)
    if type(fun) is FunctionType and is_hashable(key):
        kept = fun.__dict__.get(COMPILED)
        if kept is None or kept.owner() is not fun:  # `functools.wraps` has copied it
            kept = fun.__dict__[COMPILED] = Compiled(fun)
        made.share_code(kept.code.setdefault(key, {}))
    return made


class Compiled:
    """What has been compiled of a function, by the options of `jit`: an attribute of the function, which refers to it
    weakly. So `jit(f)(x)` compiles once."""

    def __init__(self, owner: Any = None):
        self.owner, self.code = (lambda: None) if owner is None else ref(owner), dict[Any, Any]()

    def __reduce__(self) -> Any:
        return Compiled, ()  # compiled code stays in its process


def is_hashable(value: Any) -> bool:
    """Whether a value can be the key of a dict."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


COMPILED = "_fx_compiled"  # the attribute


def pmap(fun: Any, axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0, **options: Any) -> Any:
    """Map a function over the devices, of which there is one: the mapped axes have the length 1."""
    return jit(vmap(fun, in_axes, out_axes, axis_name=axis_name))


def with_weak_results(fun: Any) -> Any:
    """Return a function with weak arrays for weak numbers: along the mapped axis they are no numbers any more."""

    if not callable(fun):
        return fun

    @named_as(fun)
    def function(*args: Any, **kwargs: Any) -> Any:
        return trees.map(weak_number, fun(*args, **kwargs), is_leaf=is_object)

    return function


def weak_number(leaf: Any) -> Any:
    """Return a weak number as a weak array, anything else as it is."""
    if not is_weak(leaf):
        return leaf
    value = as_value(leaf._fx_value if type(leaf) is Array else leaf)
    return make_object(WeakArray, value if isinstance(value, Tracer) else np.asarray(value, dtype_of(value)))


mapped = lift_transform(mapping.vmap)


@wraps(mapped)
def vmap(fun: Any, *args: Any, **options: Any) -> Any:
    """Map a function over leading axes: `fx.vmap`, with weak results where the function's are."""
    return mapped(with_weak_results(fun), *args, **options)


def devices(backend: str | None = None) -> list[Any]:
    """Return the devices: the CPU."""
    return [CPU]


local_devices = devices


def device_count(backend: str | None = None) -> int:
    """Return the number of devices."""
    return 1


local_device_count = device_count


def default_backend() -> str:
    """Return the name of the backend."""
    return "cpu"


def device_put(x: Any, device: Any = None, **options: Any) -> Any:
    """Return a pytree with arrays for NumPy's arrays and numbers."""
    return map_leaves(x) if device is None else place_all(x, device, "device_put")


def device_get(x: Any) -> Any:
    """Return a pytree with NumPy's arrays, which are not to be written into, for arrays."""
    return trees.map(lambda leaf: np.asarray(leaf) if type(leaf) is Array else leaf, x, is_leaf=is_object)


def jvp(fun: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return the results of a function, and their tangents, which are weak where the results are."""
    results, moved, *aux = forward(fun, primals, tangents, has_aux=has_aux)
    return results, pytree.map(weak_as, moved, results, is_leaf=is_object), *aux


forward = lift_program(here_jvp)


def weak_as(tangent: Any, result: Any) -> Any:
    """Return a tangent, as a weak number if it belongs to one."""
    is_weak = type(result) is type(tangent) is Array and result.weak_type and result.dtype == tangent.dtype
    return weaken(tangent) if is_weak else tangent


def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Any], Any]]:
    """Return the leaves of a pytree in one flat array of their common dtype, and the function that undoes this."""
    leaves, treedef = trees.flatten(pytree)
    arrays = trees.map(asarray, leaves, is_leaf=is_object)
    common = result_type(*arrays) if arrays else result_type(float)
    parts = [x.astype(common) for x in arrays]
    flat, unravel = ravel(parts)

    def rebuild(values: Any) -> Any:
        found = map_leaves(unravel(values))
        if any(x.dtype != common for x in arrays):
            if values.dtype != common:
                raise TypeError(
                    f"unravel function given array of dtype {values.dtype}, but expected {common}"
                )
            found = [part.astype(x.dtype) for part, x in zip(found, arrays)]
        return treedef.unflatten(found)

    return array_of(flat).astype(common), rebuild


def with_weak_gradients(transform: Callable[..., Any], has_value: bool) -> Callable[..., Any]:
    """Return `grad` or `value_and_grad`, whose gradients are weak where their arguments are."""
    lifted = lift_transform(transform)

    @wraps(lifted)
    def differentiate(fun: Any = None, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
        if fun is None:
            return partial(differentiate, argnums=argnums, has_aux=has_aux, **options)
        compute = lifted(fun, argnums, has_aux, **options)

        @wraps(compute)
        def computed(*args: Any, **kwargs: Any) -> Any:
            result = compute(*args, **kwargs)
            given = args[argnums] if type(argnums) is int else tuple([args[i] for i in argnums])
            if not any([is_weak(leaf) for leaf in pytree.leaves(given, is_object)]):
                return result
            if has_value or has_aux:
                place = 1 if has_value else 0
                return (*result[:place], weak_where(given, result[place]), *result[place + 1 :])
            return weak_where(given, result)

        return computed

    return differentiate


def is_weak(leaf: Any) -> bool:
    """Whether an argument takes the precision of arrays beside it."""
    return type(leaf) in (int, float, complex) or (type(leaf) is Array and leaf.weak_type)


def weak_where(given: Any, gradients: Any) -> Any:
    """Return gradients, weak where the arguments are."""
    return trees.map(
        lambda leaf, g: weaken(g) if is_weak(leaf) and type(g) is Array else g,
        given, gradients, is_leaf=is_object,
    )  # fmt: skip


grad, value_and_grad = with_weak_gradients(here_grad, False), with_weak_gradients(here_value_and_grad, True)


@contextmanager
def do_nothing(*args: Any, **options: Any) -> Any:
    """Open a block in which nothing is different."""
    yield


enable_checks = softmax_custom_jvp = thread_guard = array_garbage_collection_guard = do_nothing
default_matmul_precision = transfer_guard = ensure_compile_time_eval = do_nothing
check_tracer_leaks = debug_key_reuse = explain_cache_misses = log_compiles = do_nothing
numpy_dtype_promotion = numpy_rank_promotion = threefry_partitionable = do_nothing
transfer_guard_device_to_device = transfer_guard_device_to_host = transfer_guard_host_to_device = do_nothing


def clear_caches() -> None:
    """Do nothing: compiled code is kept with its function."""


def effects_barrier() -> None:
    """Do nothing: effects take place in the program's order."""


def process_indices(backend: str | None = None) -> list[int]:
    """Return the places of the processes: of one."""
    return [0]


host_ids = process_indices


def host_count(backend: str | None = None) -> int:
    """Return the number of processes."""
    return 1


def host_id(backend: str | None = None) -> int:
    """Return the place of this process."""
    return 0


def copy_to_host_async(x: Any) -> Any:
    """Return arrays: they are in the host's memory."""
    return x


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of what a program runs on, or return them."""
    text = (
        f"jax:    {__version__} (its programs run on fxgrad)\nnumpy:  {np.__version__}\npython: {sys.version}"
    )
    return text if return_string else print(text)


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the forward pass, which returns residuals beside its result, and the backward pass, a function of these
    and a cotangent."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    pull = lift_program(vjp)

    def fwd(*args: Any) -> Any:
        def of_chosen(*chosen: Any) -> Any:
            given = list(args)
            for place, value in zip(places, chosen):
                given[place] = value
            return fun(*given)

        return pull(of_chosen, *[args[place] for place in places], has_aux=has_aux)

    def bwd(residuals: Any, outgrad: Any) -> Any:
        found = residuals(outgrad)
        return found[0] if isinstance(argnums, int) else found

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


def live_arrays(platform: Any = None) -> list[Any]:
    """Return the arrays that are in memory: they are not counted."""
    return []


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Return a function under another name."""

    @wraps(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    called.__name__ = name or fun.__name__
    return called
