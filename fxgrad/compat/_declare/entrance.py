"""Entrances: what users call in the place of a function on Tensors that is not one operation. It is an entry point of
the library, asks classes that override functions, takes NumPy's parameter names, and shows the call to an observer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from types import MappingProxyType
from typing import Any

from ...extend import CURRENT, DEFAULT, ERROR_STATE, EVAL, IGNORE, Observer, leave_library
from .._core.modes import NO_GRAD
from .._core.overriding import NOT_OVERRIDDEN, OPEN_TO_ANY, ORDINARY_CLASSES, call_override
from .signatures import DerivedSignature

current = CURRENT.get
SEQUENCES = {list, tuple}
NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
NO_NAMES: Mapping[str, str] = MappingProxyType({})
UNSET: Any = object()  # the default of what is not given
# Functions that are no operations to torch: they ask, print, set, or lead to others.
SILENT = {
    "allclose", "as_tensor", "asarray", "backward", "backward_from", "broadcast_shapes", "data_ptr",
    "deepcopy_tensor", "dim", "dlpack_device", "element_size", "equal", "format_with_spec",
    "from_dlpack", "from_numpy", "frombuffer", "get_default_device", "get_device",
    "get_num_interop_threads", "get_num_threads", "get_printoptions", "get_rng_state", "getitem",
    "initial_seed", "is_complex", "is_conj", "is_contiguous", "is_floating_point",
    "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_nonzero", "is_same_size",
    "is_set_to", "is_shared", "is_signed", "is_tensor", "iterate_entries_along_0", "manual_seed",
    "ndimension", "nelement", "new", "numel", "numpy", "reduce_tensor", "register_hook",
    "register_post_accumulate_grad_hook", "representation", "requires_grad_", "result_type",
    "retain_grad", "seed", "set_default_device", "set_printoptions", "set_rng_state", "setitem",
    "share_memory_", "size", "storage", "storage_offset", "stride", "tensor", "to_dlpack",
    "to_numpy_array", "tolist", "untyped_storage", "vmap", "wrap_array"
}  # fmt: skip


def public_place(spaces: Sequence[str], name: str) -> tuple[str, str]:
    """Return the module and the qualified name under which users find a function first: in a namespace, if it is in
    one, or as a method."""
    space = next((s for s in spaces if s != "method"), "method" if spaces else "function")
    module = "fxgrad.compat" if space in ("function", "method") else f"fxgrad.compat.{space}"
    return module, f"Tensor.{name}" if space == "method" else name.removeprefix(f"{space}_")


def are_ordinary(operands: Any) -> bool:
    """Whether operands, a sequence of them, are of classes that override nothing."""
    if type(operands) not in SEQUENCES:
        return False
    for x in operands:  # noqa: SIM110 (most are short)
        if type(x) not in ORDINARY_CLASSES:
            return False
    return True


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function on Tensors an entry point that takes NumPy's parameter names as well, as torch's functions do."""
    return make_entrance(function, NUMPY_NAMES)


def make_entrance(function: Callable[..., Any], renamed: Mapping[str, str] = NO_NAMES) -> Callable[..., Any]:
    """Make a function on Tensors an entry point of the library: see `api_boundary`. `renamed` are other
    names of parameters. Where it is overridden, what users know it as is said to be called: its `exposed`."""
    if function.__name__ in OPEN_TO_ANY:
        return make_open_entrance(function)

    @wraps(function)
    def enter(first: Any = UNSET, /, *args: Any, **kwargs: Any) -> Any:
        context = current()
        try:
            if context is EVAL and type(first) in ORDINARY_CLASSES and not kwargs:  # the commonest calls
                if not args:
                    return function(first)
                if len(args) == 1 and type(args[0]) in ORDINARY_CLASSES:
                    return function(first, args[0])
            if kwargs and renamed:
                kwargs = {renamed.get(name, name): value for name, value in kwargs.items()}
            # Nobody overrides it, and nobody looks.
            if (context is EVAL or context is NO_GRAD) and (
                type(first) in ORDINARY_CLASSES or are_ordinary(first)
            ):
                for x in args:
                    if type(x) not in ORDINARY_CLASSES and not are_ordinary(x):
                        break
                else:
                    if not kwargs:
                        return function(first, *args)
                    for x in kwargs.values():
                        if type(x) not in ORDINARY_CLASSES and not are_ordinary(x):
                            break
                    else:
                        return function(first, *args, **kwargs)
            if first is not UNSET:
                args = (first, *args)
            found = call_override(getattr(enter, "exposed", enter), args, kwargs)
            if found is not NOT_OVERRIDDEN:
                return found
            if context.observer is not None:
                return run_function(context.observer, function, args, kwargs)
            return function(*args, **kwargs)
        except BaseException as error:
            leave_torch(error, context)
            raise

    enter.__signature__ = DerivedSignature(function, list)  # type: ignore[attr-defined]
    return enter


def make_open_entrance(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that takes objects of any kind an entry point: modes alone override it."""

    @wraps(function)
    def enter(*args: Any, **kwargs: Any) -> Any:
        context = current()
        try:
            if context is EVAL:
                return function(*args, **kwargs)
            found = call_override(getattr(enter, "exposed", enter), args, kwargs, ())
            if found is not NOT_OVERRIDDEN:
                return found
            if context.observer is not None:
                return run_function(context.observer, function, args, kwargs)
            return function(*args, **kwargs)
        except BaseException as error:
            leave_torch(error, context)
            raise

    enter.__signature__ = DerivedSignature(function, list)  # type: ignore[attr-defined]
    return enter


def run_function(observer: Observer, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run a function on Tensors as one step of an observer."""
    if function.__name__ in SILENT or function.__name__.startswith("__"):
        return function(*args, **kwargs)
    run = partial(function, *args, **kwargs)
    return observer.observe("operation", function.__name__, (*args, *kwargs.values()), run)


def leave_torch(error: BaseException, context) -> None:
    """Do what `leave_library` does, and let NumPy warn again."""
    if ERROR_STATE.get() is IGNORE:  # Ctrl-C may come before the `try` that ends with its reset
        ERROR_STATE.set(DEFAULT)
    leave_library(error, context)
