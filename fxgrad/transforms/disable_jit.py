"""`disable_jit`: compiled and staged functions run as the Python that the user wrote, for debuggers and `print`."""

from __future__ import annotations

from typing import Any

from ..core import source_info
from ..core.errors import ConcretizationError, FxgradError
from ..core.interpreter import CURRENT, api_boundary, concretize, levels, opened
from ..core.observer import Observer


class PythonObserver(Observer):
    """A level on which `jit`, and the loops and branches of `fx.lax`, take the Python that they are made of."""

    name = "disable_jit"
    transparent = True
    __slots__ = ()

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        return self.bind_outer(primitive, args, params)


class disable_jit:
    """Context manager inside which nothing is compiled: `jit` calls the function itself; `cond`, `switch`, `scan`,
    `map`, `while_loop` and `fori_loop` are Python's `if` and `for`. So a debugger stops inside them, `print` shows
    values, and errors come from the user's own lines.

    Where a decision depends on a value that is not known (a condition that `vmap` makes different between entries) the
    operation is taken as it is otherwise.

    Args:
        disable: False: the context changes nothing.

    >>> @fx.jit
    ... def f(x):
    ...     print(x)
    ...     return 2 * x
    >>> with fx.disable_jit():
    ...     y = f(1.0)
    1.0
    """

    level: opened

    @api_boundary
    def __init__(self, disable: bool = True):
        self.disable = disable

    def __enter__(self) -> None:
        if self.disable:
            self.level = opened(PythonObserver(source_info.user_frame()))
            self.level.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self.disable:
            self.level.__exit__()
            if isinstance(error, FxgradError):
                source_info.hide_frames(error)


def is_jit_disabled() -> bool:
    """Whether a `disable_jit` is open."""
    return CURRENT.get().observer is not None and any(isinstance(level, PythonObserver) for level in levels())


def known_value(value: Any) -> Any:
    """Return the plain number behind a value; None where it is not known."""
    try:
        return concretize(value, "disable_jit")
    except ConcretizationError:
        return None
