"""Context managers and decorators that turn the recording of operations on and off.

Each changes some of the `Modes` of the current Context, so it applies to one thread and one async task, and ends with
the transform in which it was set.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from ...extend import CURRENT, EVAL
from .._core.modes import NO_GRAD, current_modes, with_modes
from .._core.tensor import Tensor
from .._declare.spaces import expose
from ..errors import ArgumentError


def switch_modes(**changes) -> dict[str, Any]:
    """Change switches of the current Context; return the old modes."""
    modes = current_modes()
    CURRENT.set(with_modes(CURRENT.get(), **changes))
    return {name: getattr(modes, name) for name in changes}


class ModeSwitch:
    """A context manager and decorator under which some modes have other values.

    An instance may be entered any number of times, within itself, too. On generators, coroutines and asynchronous
    generators the modes are changed while their own code runs, and at no other time.
    """

    _fx_changes: dict[str, Any]

    def __init__(self) -> None:
        self._fx_previous: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._fx_previous.append(switch_modes(**self._fx_changes))

    def __exit__(self, *exc: object) -> None:
        switch_modes(**self._fx_previous.pop())

    def _fx_check_values(self, given: dict[str, Any]) -> None:
        """Raise for arguments of switches that are not bool.

        Raises:
            TypeError: a value is no bool.
        """
        for position, (name, value) in enumerate(given.items(), 1):
            if not isinstance(value, bool):
                raise ArgumentError(
                    f"{type(self).__name__}(): argument {name!r} (position {position}) must be bool, not "
                    f"{type(value).__name__}",
                    hint=f"{name}={bool(value)}" if isinstance(value, int) else "True or False",
                )

    def clone(self) -> ModeSwitch:
        """A new, unused switch of the same modes."""
        made = ModeSwitch()
        made._fx_changes = self._fx_changes
        return made

    def __call__(self, function) -> Any:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
        for applies, decorate in DECORATORS:
            if applies(function):
                return decorate(self, function)
        return decorate_function(self, function)


def decorate_function(switch: ModeSwitch, function: Callable[..., Any]) -> Any:
    """Decorate a plain function with a switch."""

    @wraps(function)
    def wrapper(*args, **kwargs) -> Any:
        with switch.clone():
            return function(*args, **kwargs)

    return wrapper


def decorate_generator(switch: ModeSwitch, function: Callable[..., Any]) -> Any:
    """Decorate a generator function with a switch, which is off between its steps."""

    @wraps(function)
    def wrapper(*args, **kwargs) -> Any:
        with switch.clone():
            generator = function(*args, **kwargs)
        step, given = generator.send, None
        try:
            while True:
                with switch.clone():
                    produced = step(given)
                try:
                    given = yield produced
                    step = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    given, step = error, generator.throw
        except StopIteration as stop:
            return stop.value
        finally:
            with switch.clone():
                generator.close()

    return wrapper


def decorate_coroutine(switch: ModeSwitch, function: Callable[..., Any]) -> Any:
    """Decorate a coroutine function with a switch; concurrent tasks have their own Contexts."""

    @wraps(function)
    async def wrapper(*args, **kwargs) -> Any:
        with switch.clone():
            return await function(*args, **kwargs)

    return wrapper


def decorate_async_generator(switch: ModeSwitch, function: Callable[..., Any]) -> Any:
    """Decorate an asynchronous generator function with a switch, which is off between its steps."""

    @wraps(function)
    async def wrapper(*args, **kwargs) -> Any:
        generator = function(*args, **kwargs)
        step, given = generator.asend, None
        try:
            while True:
                with switch.clone():
                    produced = await step(given)
                try:
                    given = yield produced
                    step = generator.asend
                except GeneratorExit:
                    raise
                except BaseException as error:
                    given, step = error, generator.athrow
        except StopAsyncIteration:
            return
        finally:
            with switch.clone():
                await generator.aclose()

    return wrapper


DECORATORS = (
    (inspect.isgeneratorfunction, decorate_generator),
    (inspect.iscoroutinefunction, decorate_coroutine),
    (inspect.isasyncgenfunction, decorate_async_generator),
)


class BareModeSwitch(ModeSwitch):
    """A switch without arguments, which decorates without parentheses as well."""

    def __new__(cls, orig_func=None) -> Any:
        return object.__new__(cls) if orig_func is None else cls()(orig_func)


DEFAULT_CHANGES = {"grad": True}  # what `no_grad` changes, as it was at first


@expose()
class no_grad(BareModeSwitch):
    """Operations are not recorded: results do not require a gradient.

    The mode holds for one thread and one async task. A function of `torch.func` that is called inside differentiates
    all the same.

    Args:
        orig_func: a function to decorate; None makes a context manager.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @torch.no_grad
    ... def doubled(x):
    ...     return x * 2
    >>> doubled(x).requires_grad
    False
    """

    _fx_changes = {"grad": False}  # noqa: RUF012

    def __enter__(self) -> None:
        context = CURRENT.get()
        if context is EVAL:  # as in every training step: nothing has to be looked for
            self._fx_previous.append(DEFAULT_CHANGES)
            CURRENT.set(NO_GRAD)
        else:
            super().__enter__()

    def __exit__(self, *exc: object) -> None:
        previous = self._fx_previous.pop()
        if previous is DEFAULT_CHANGES and CURRENT.get() is NO_GRAD:
            CURRENT.set(EVAL)
        else:
            switch_modes(**previous)


@expose()
class enable_grad(BareModeSwitch):
    """Operations are recorded, inside `no_grad` too.

    Args:
        orig_func: a function to decorate; None makes a context manager.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> with torch.no_grad():
    ...     with torch.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    _fx_changes = {"grad": True}  # noqa: RUF012


class ImmediateModeSwitch(ModeSwitch):
    """A switch that takes effect when it is made, as a function, a context manager or a decorator. Other modes may be
    switched along with the one that it belongs to."""

    _fx_mode_name: str

    def __init__(self, mode: bool, **others):
        super().__init__()
        self._fx_check_values({"enabled": mode, **others})
        self._fx_changes = {self._fx_mode_name: mode, **others}
        # Until it is used in another way.
        self._fx_before: dict[str, Any] | None = switch_modes(**self._fx_changes)

    def __enter__(self) -> None:
        super().__enter__()
        if self._fx_before is not None:
            self._fx_previous[-1], self._fx_before = self._fx_before, None

    def __call__(self, function) -> Any:
        if self._fx_before is not None:
            switch_modes(**self._fx_before)
            self._fx_before = None
        return super().__call__(function)


@expose()
class set_grad_enabled(ImmediateModeSwitch):
    """Turn recording on or off: as a function from now on, as a context manager or decorator inside it.

    Args:
        mode: whether operations are recorded.

    Raises:
        TypeError: `mode` is no bool.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    _fx_mode_name = "grad"

    def __init__(self, mode: bool):
        super().__init__(mode)
        self.mode = mode

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class set_multithreading_enabled(ImmediateModeSwitch):
    """torch's switch of multithreaded backward. It is remembered and has no effect: backward always runs in the thread
    that calls it.

    Args:
        mode: the switch.

    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     print(torch.autograd.is_multithreading_enabled())
    False
    """

    _fx_mode_name = "multithreading"

    def __init__(self, mode: bool):
        super().__init__(mode)
        self.mode = mode


@expose()
class inference_mode(ModeSwitch):
    """Operations are not recorded, and their results can never take part in what is: as `no_grad` for code whose
    results are only looked at. `inference_mode(False)` undoes an enclosing one.

    Args:
        mode: whether it is on, or a function to decorate.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> with torch.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    def __new__(cls, mode=True) -> Any:
        return object.__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True):
        super().__init__()
        self.mode = mode
        self._fx_changes = {"grad": not mode, "inference": mode, "forward": not mode}


@expose()
def is_grad_enabled() -> bool:
    """Whether grad mode is on."""
    return current_modes().grad


@expose()
def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return current_modes().inference


@expose("function method")
def is_inference(input: Tensor) -> bool:
    """Whether the Tensor was made in inference mode."""
    return input._fx_is_inference_tensor


def is_multithreading_enabled() -> bool:
    """Whether `set_multithreading_enabled` was last called with True.

    Returns:
        A bool.

    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    return current_modes().multithreading


__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
