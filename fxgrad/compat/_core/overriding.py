"""`__torch_function__`: classes that say themselves what functions of torch do with them.

Functions look for such operands once a class has been defined that overrides them, and where their fast paths, which
are for torch's own classes alone, have not answered.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ...core.interpreter import CURRENT, use_context
from .errors import ArgumentError
from .modes import current_modes, with_modes
from .tensor import Tensor, as_subclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

OVERRIDERS: list[str] = []  # the names of the classes of Tensors, and of modes, that override functions
NEVER_OVERRIDDEN = {"is_tensor"}  # functions that ask what an object is
NOT_OVERRIDDEN: Any = object()  # what `call_override` returns where nobody overrides
SWITCHED_OFF: ContextVar[bool] = ContextVar("fxgrad __torch_function__ off", default=False)


class no_overrides:
    """A context manager inside which nothing is overridden: `torch._C.DisableTorchFunctionSubclass`."""

    def __enter__(self) -> None:
        self.token = SWITCHED_OFF.set(True)

    def __exit__(self, *error: object) -> None:
        SWITCHED_OFF.reset(self.token)


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
    return convert_results(call_plainly(cls, func, types, args, kwargs), cls)


def convert_results(found: Any, cls: type) -> Any:
    """Convert Tensors in results to a class."""
    if isinstance(found, Tensor):
        return found if isinstance(found, cls) else as_subclass(found, cls)
    if isinstance(found, tuple | list):
        parts = [convert_results(x, cls) for x in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


def overrides_functions(x: Any) -> bool:
    """Whether an object says itself what functions do with it. A Tensor of torch's, the other library, says what its
    own do."""
    own = getattr(type(x), "__torch_function__", None)
    if own is None or getattr(own, "__func__", own) in (call_and_convert, call_plainly):
        return False
    return not any(c.__module__ == "torch" or c.__module__.startswith("torch.") for c in type(x).__mro__)


def find_overriders(operands: Iterable[Any]) -> list[Any]:
    """Find the operands that override functions, one of each class: subclasses before their bases, otherwise from the
    left. Operands may be in lists and tuples."""
    if SWITCHED_OFF.get():
        return []
    found: list[Any] = []
    for operand in operands:
        for x in operand if isinstance(operand, list | tuple) else (operand,):
            if overrides_functions(x) and all(type(x) is not type(y) for y in found):
                place = next((i for i, y in enumerate(found) if issubclass(type(x), type(y))), len(found))
                found.insert(place, x)
    return found


def call_override(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call what a mode or operands have in the place of a function, and return its result; `NOT_OVERRIDDEN` if none
    has.

    Raises:
        ArgumentError: all of them have returned NotImplemented.
    """
    if func.__name__ in NEVER_OVERRIDDEN:
        return NOT_OVERRIDDEN
    modes = CURRENT.get().modes
    if modes is not None and modes.overriding:
        *outer, mode = modes.overriding
        types = tuple(type(x) for x in find_overriders((*args, *kwargs.values())))
        with use_context(with_modes(CURRENT.get(), overriding=tuple(outer))):
            return mode.__torch_function__(func, types, tuple(args), kwargs)
    found = find_overriders((*args, *kwargs.values()))
    return call_first(func, found, args, kwargs) if found else NOT_OVERRIDDEN


class TorchFunctionMode:
    """A context manager inside which functions of torch ask its `__torch_function__(func, types, args, kwargs)`,
    whatever their operands are; what that calls goes to the mode around it.

    >>> import fxgrad.compat as torch
    >>> class Loud(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Loud():
    ...     _ = torch.ones(2) + 1
    ones
    add
    """

    entered: Sequence[use_context] = ()

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        if not OVERRIDERS:
            OVERRIDERS.append(type(self).__name__)
        around = CURRENT.get()
        switched = use_context(with_modes(around, overriding=(*current_modes().overriding, self)))
        switched.__enter__()
        self.entered = [*self.entered, switched]
        return self

    def __exit__(self, *error: object) -> None:
        *self.entered, switched = self.entered
        switched.__exit__(*error)


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that calls every function as it is."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def call_first(
    func: Callable[..., Any], found: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """Call the `__torch_function__` of one operand after the other, until one has an answer."""
    types = tuple(type(x) for x in found)
    for x in found:
        answer = type(x).__torch_function__(func, types, tuple(args), kwargs)
        if answer is not NotImplemented:
            return answer
    lines = "".join(f"\n  - tensor subclass {t}" for t in types)
    raise ArgumentError(
        f"Multiple dispatch failed for 'torch.{getattr(func, '__name__', func)}'; all __torch_function__ handlers "
        f"returned NotImplemented:\n{lines}",
        hint="one of them has to return a result, such as super().__torch_function__(func, types, args, kwargs)",
    )


def note_subclass(cls: Any, **options: Any) -> None:
    """Take note of a new class of Tensors."""
    super(Tensor, cls).__init_subclass__(**options)
    own = getattr(cls.__torch_function__, "__func__", cls.__torch_function__)
    cls.gives_its_class = own is not call_plainly
    if own not in (call_and_convert, call_plainly):
        OVERRIDERS.append(cls.__name__)


Tensor.attach(__torch_function__=classmethod(call_and_convert), __init_subclass__=classmethod(note_subclass))
