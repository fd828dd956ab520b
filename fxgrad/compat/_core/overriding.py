"""`__torch_function__`: classes that define the behaviour of torch's functions on them.

A function checks for overrides if an argument is of a class that may override something (not in `ORDINARY_CLASSES`), or
if a mode is in force. Declared operations check after their fast paths, which are for torch's own classes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import wraps
from threading import Lock
from types import BuiltinFunctionType, EllipsisType, FunctionType, NoneType
from typing import Any

from ...extend import CURRENT, PLAIN, api_boundary, leave_library, use_context
from ..errors import ArgumentError
from .dtypes import dtype
from .modes import current_modes, with_modes
from .tensor import Size, Tensor, as_subclass

# The commonest classes of arguments: their objects neither override functions nor contain others.
ORDINARY_CLASSES: set[type] = {
    *PLAIN,
    *(Tensor, Size, dtype, str, slice, range, NoneType, EllipsisType, FunctionType, BuiltinFunctionType),
}
# Functions that cannot be overridden: they inspect an object, or concern settings.
NEVER_OVERRIDDEN = {
    "_make_subclass", "_make_wrapper_subclass", "are_deterministic_algorithms_enabled", "as_instance",
    "as_subclass", "broadcast_shapes", "clear_autocast_cache", "enable_grad", "from_numpy",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "get_default_device",
    "get_default_dtype", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "get_printoptions", "get_rng_state", "inference_mode",
    "initial_seed", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled", "is_inference_mode_enabled", "is_storage", "is_tensor", "is_vulkan_available",
    "is_warn_always_enabled", "make_instance", "make_wrapper", "manual_seed", "no_grad", "seed",
    "set_anomaly_enabled", "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled",
    "set_default_device", "set_default_dtype", "set_default_tensor_type", "set_deterministic_debug_mode",
    "set_float32_matmul_precision", "set_flush_denormal", "set_grad_enabled", "set_num_interop_threads",
    "set_num_threads", "set_printoptions", "set_rng_state", "set_warn_always", "typename",
    "use_deterministic_algorithms", "vmap"
}  # fmt: skip
OPEN_TO_ANY = {"as_tensor", "asarray", "tensor"}  # they take any objects: modes alone override them
# Functions that ask about a Tensor, not its entries: `__torch_dispatch__` does not hear of them.
METADATA = {
    "__deepcopy__", "__delete__", "__dir__", "__format__", "__get__", "__hash__", "__len__", "__reduce_ex__",
    "__repr__", "__set__", "backward", "dim", "dim_order", "element_size", "get_device", "is_complex", "is_conj",
    "is_contiguous", "is_floating_point", "is_inference", "is_neg", "is_shared", "is_signed", "ndimension", "nelement",
    "numel", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad", "size",
    "storage_offset", "stride"
}  # fmt: skip
ASKING_ATTRIBUTES: set[str] = set()  # those that ask: see `have_attributes_ask`
ASKING_LOCK = Lock()
NOT_OVERRIDDEN: Any = object()  # the result of `call_override` without an override
SWITCHED_OFF: ContextVar[bool] = ContextVar("fxgrad __torch_function__ off", default=False)
SKIPPED: ContextVar[bool] = ContextVar("fxgrad __torch_function__ next off", default=False)
UNDISPATCHED: ContextVar[bool] = ContextVar("fxgrad __torch_dispatch__ off", default=False)


class no_overrides:
    """A context manager inside which no operand overrides functions: `torch._C.DisableTorchFunctionSubclass`."""

    def __enter__(self) -> None:
        self.token = SWITCHED_OFF.set(True)

    def __exit__(self, *error: object) -> None:
        SWITCHED_OFF.reset(self.token)


class skip_next_question:
    """A context manager inside which the first call does not check for overrides."""

    def __enter__(self) -> None:
        self.token = SKIPPED.set(True)

    def __exit__(self, *error: object) -> None:
        SKIPPED.reset(self.token)


class no_overrides_or_modes(no_overrides):
    """A context manager inside which nothing is overridden, by modes neither: `torch._C.DisableTorchFunction`."""

    def __enter__(self) -> None:
        self.switched = use_context(with_modes(CURRENT.get(), overriding=()))
        self.switched.__enter__()
        super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.switched.__exit__(*error)


def call_plainly(
    cls: type, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
) -> Any:
    """Call a function without overrides: what `__torch_function__` is where it says that it does nothing."""
    with no_overrides():
        return func(*args, **(kwargs or {}))


def call_and_convert(
    cls: type, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
) -> Any:
    """The `__torch_function__` of Tensors: call a function without overrides; Tensors among its results are of the
    class, unless other classes take part that it does not know."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    found = call_plainly(cls, func, types, args, kwargs)
    return found if func in readers_of_others() else convert_results(found, cls)


def readers_of_others() -> frozenset[Callable[..., Any]]:
    """The functions that read attributes of a Tensor which are Tensors of their own: these keep their classes."""
    return frozenset(vars(Tensor)[name].__get__ for name in ("_base", "grad") if name in vars(Tensor))


def convert_results(found: Any, cls: type) -> Any:
    """Convert Tensors in results to a class."""
    if isinstance(found, Tensor):
        return found if isinstance(found, cls) else as_subclass(found, cls)
    if isinstance(found, tuple | list) and type(found) not in ORDINARY_CLASSES:
        parts = [convert_results(x, cls) for x in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


def overrides_functions(x: Any) -> bool:
    """Whether an object says itself what functions do with it. A Tensor of torch's, the other library, says what its
    own do."""
    own = getattr(type(x), "__torch_function__", None)
    if own is None or getattr(own, "__func__", own) in (call_and_convert, call_plainly):
        return False
    others = [c for c in type(x).__mro__ if c is not Tensor]  # which may say that it is torch's: see `door`
    return not any(c.__module__ == "torch" or c.__module__.startswith("torch.") for c in others)


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a Tensor, or has `__torch_function__`.

    Args:
        inp: any object.

    Returns:
        A bool.

    >>> torch.overrides.is_tensor_like(torch.zeros(2)), torch.overrides.is_tensor_like(3)
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def find_overriders(operands: Iterable[Any]) -> list[Any]:
    """Find the operands that override functions, as `choose_by_class` orders them."""
    return [] if SWITCHED_OFF.get() else choose_by_class(unusual_parts(operands), overrides_functions)


def asks(operands: Iterable[Any]) -> bool:
    """Whether a mode, or the class of an operand, overrides functions called with these operands."""
    modes = CURRENT.get().modes
    if not ((modes is not None and modes.overriding) or find_overriders(operands)):
        return False
    if SKIPPED.get():
        SKIPPED.set(False)
        return False
    return True


def unusual_parts(operands: Iterable[Any]) -> list[Any]:
    """Return the operands that are not of ordinary classes, those in lists and tuples among them."""
    found: list[Any] = []
    for x in operands:
        if type(x) not in ORDINARY_CLASSES:
            if isinstance(x, list | tuple) and not hasattr(x, "__torch_function__"):
                found += unusual_parts(x)
            else:
                found.append(x)
    return found


def choose_by_class(operands: Sequence[Any], is_wanted: Callable[[Any], bool]) -> list[Any]:
    """Choose the wanted operands, one of each class: subclasses before their bases, otherwise from the left."""
    found: list[Any] = []
    for x in operands:
        if is_wanted(x) and all(type(x) is not type(y) for y in found):
            place = next((i for i, y in enumerate(found) if issubclass(type(x), type(y))), len(found))
            found.insert(place, x)
    return found


def call_override(
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    operands: Iterable[Any] | None = None,
) -> Any:
    """Call what a mode, or operands, have in the place of a function, and return its result; `NOT_OVERRIDDEN` if none
    has. The operands are all arguments, unless they are given.

    Raises:
        ArgumentError: all of them have returned NotImplemented.
    """
    name = getattr(func, "__name__", "")
    if operands is None:
        operands = (*args, *kwargs.values())
    modes, unusual = CURRENT.get().modes, unusual_parts(operands)
    overriding = () if modes is None else modes.overriding
    if not (unusual or overriding) or name in NEVER_OVERRIDDEN:
        return NOT_OVERRIDDEN
    if SKIPPED.get():
        SKIPPED.set(False)
        return NOT_OVERRIDDEN
    found = [] if SWITCHED_OFF.get() else choose_by_class(unusual, overrides_functions)
    if overriding:
        *outer, mode = overriding
        types = tuple(type(x) for x in found)
        with use_context(with_modes(CURRENT.get(), overriding=tuple(outer))):
            return mode.__torch_function__(func, types, tuple(args), kwargs)
    if found:
        return call_first("__torch_function__", func, found, args, kwargs)
    found = [] if name in METADATA or UNDISPATCHED.get() else choose_by_class(unusual, has_dispatch)
    return call_first("__torch_dispatch__", func, found, args, kwargs) if found else NOT_OVERRIDDEN


def has_dispatch(x: Any) -> bool:
    """Whether an operand is a Tensor of a class with `__torch_dispatch__`."""
    return isinstance(x, Tensor) and x._fx_has_own_dispatch


def call_first(
    protocol: str, func: Callable[..., Any], found: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """Call this method of the class of one operand after the other, until one has an answer."""
    types = tuple(type(x) for x in found)
    for x in found:
        answer = getattr(type(x), protocol)(func, types, tuple(args), kwargs)
        if answer is not NotImplemented:
            return answer
    lines = "".join(f"\n  - tensor subclass {t}" for t in types)
    raise ArgumentError(
        f"Multiple dispatch failed for 'torch.{getattr(func, '__name__', func)}'; all {protocol} handlers "
        f"returned NotImplemented:\n{lines}",
        hint=f"one of them has to return a result, such as super().{protocol}(func, types, args, kwargs)",
    )


class TorchFunctionMode:
    """A context manager inside which functions of torch ask its `__torch_function__(func, types, args, kwargs)`,
    whatever their operands are; what that calls goes to the mode around it.

    >>> class Loud(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Loud():
    ...     _ = torch.ones(2) + 1
    ones
    add
    """

    _fx_entered: Sequence[use_context] = ()

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        have_attributes_ask()
        around = CURRENT.get()
        switched = use_context(with_modes(around, overriding=(*current_modes().overriding, self)))
        switched.__enter__()
        self._fx_entered = [*self._fx_entered, switched]
        return self

    def __exit__(self, *error: object) -> None:
        *self._fx_entered, switched = self._fx_entered
        switched.__exit__(*error)


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that calls every function as it is.

    >>> with torch.overrides.BaseTorchFunctionMode():
    ...     y = torch.zeros(2) + 1
    >>> y
    tensor([1., 1.])
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


# -- attributes ------------------------------------------
def have_attributes_ask() -> None:
    """Let overrides apply to attributes of Tensors, too, with `Tensor.shape.__get__` as `func`. This takes time, and so
    begins with the first class or mode that overrides functions. The property objects remain, with new functions:
    `Tensor.shape` is the same before and after."""
    with ASKING_LOCK:
        if "__len__" in ASKING_ATTRIBUTES:
            return
        for name, attribute in vars(Tensor).copy().items():
            if type(attribute) is property and name not in ASKING_ATTRIBUTES:
                have_attribute_ask(attribute)
                ASKING_ATTRIBUTES.add(name)
        Tensor._fx_attach(
            __len__=make_length(Tensor.__len__)
        )  # a new member has Python look up the others again
        ASKING_ATTRIBUTES.add("__len__")


def make_length(count: Callable[[Any], int]) -> Callable[[Any], int]:
    """Make the length of Tensors, which `count` computes unless it is overridden."""

    @wraps(count)
    def ask_length(self: Tensor) -> int:
        found = call_override(ask_length, (self,), {})
        return count(self) if found is NOT_OVERRIDDEN else found

    return ask_length


def have_attribute_ask(attribute: property) -> None:
    """Let overrides apply when an attribute is read, set or deleted."""
    get, put, delete, doc = attribute.fget, attribute.fset, attribute.fdel, attribute.__doc__
    read, write, remove = attribute.__get__, attribute.__set__, attribute.__delete__

    def ask_get(self: Tensor) -> Any:
        context = CURRENT.get()
        try:  # an `api_boundary` without its call
            if type(self) in ORDINARY_CLASSES and context.modes is None:
                return get(self)  # type: ignore[misc]
            found = call_override(read, (self,), {})
            return get(self) if found is NOT_OVERRIDDEN else found  # type: ignore[misc]
        except BaseException as error:
            leave_library(error, context)
            raise

    @api_boundary
    def ask_set(self: Tensor, value: Any) -> None:
        if call_override(write, (self, value), {}) is NOT_OVERRIDDEN:
            put(self, value)  # type: ignore[misc]

    @api_boundary
    def ask_delete(self: Tensor) -> None:
        if call_override(remove, (self,), {}) is NOT_OVERRIDDEN:
            delete(self)  # type: ignore[misc]

    ask_get.__wrapped__ = get  # type: ignore[attr-defined]
    attribute.__init__(ask_get, put and ask_set, delete and ask_delete, doc)  # type: ignore[misc]


# -- classes ------------------------------------------
def dispatch_plainly(
    cls: type, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
) -> Any:
    """Call a function without overrides and without `__torch_dispatch__`: what that is of Tensors."""
    token = UNDISPATCHED.set(True)
    try:
        return call_plainly(cls, func, types, args, kwargs)
    finally:
        UNDISPATCHED.reset(token)


def note_subclass(cls: Any, **options: Any) -> None:
    """Record a new class of Tensors."""
    super(Tensor, cls).__init_subclass__(**options)
    own = getattr(cls.__torch_function__, "__func__", cls.__torch_function__)
    cls._fx_gives_its_class = own is not call_plainly
    own_dispatch = getattr(cls.__torch_dispatch__, "__func__", cls.__torch_dispatch__)
    cls._fx_has_own_dispatch = own_dispatch is not dispatch_plainly
    if own not in (call_and_convert, call_plainly):
        have_attributes_ask()


Tensor._fx_attach(
    __torch_function__=classmethod(call_and_convert),
    __torch_dispatch__=classmethod(dispatch_plainly),
    __init_subclass__=classmethod(note_subclass),
)
