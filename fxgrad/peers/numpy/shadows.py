"""Shadows of NumPy's and SciPy's modules. A function of theirs that this library has as well is a function that decides
when it is called: outside of transforms it is the original; where a transform is open it is this library's, so that
`np.zeros(n)` can be written into, and SciPy takes traced values. Types, dtypes, constants and ufuncs are the originals:
ufuncs find traced values by NumPy's protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ...core import pytree
from ...core.interpreter import CURRENT, EVAL, Tracer
from ...core.surface import is_object
from ...numpy.boxes import make_writable

HERE = __name__.partition(".")[0]
HOMES = {"numpy": f"{HERE}.numpy", "scipy": f"{HERE}.scipy"}
SHADOWS: dict[str, Shadow] = {}  # by the name of the module


def own_module(name: str) -> Any:
    """Return the module of this library for one of NumPy's or SciPy's: None if there is none."""
    root, _, rest = name.partition(".")
    path = f"{HOMES[root]}.{rest}".rstrip(".")
    try:
        return import_module(path)
    except ModuleNotFoundError:
        return None


def shadow_of(name: str) -> Shadow:
    """Return the shadow of a module, which is imported."""
    if name not in SHADOWS:
        SHADOWS[name] = Shadow(import_module(name), own_module(name))
    return SHADOWS[name]


class Shadow(ModuleType):
    """A module of NumPy or SciPy with functions that decide at each call."""

    def __init__(self, original: ModuleType, own: Any):
        super().__init__(original.__name__, original.__doc__)
        self.__dict__.update(_original=original, _own=own, __spec__=original.__spec__)
        for name in ("__file__", "__path__", "__version__"):
            if hasattr(original, name):
                self.__dict__[name] = getattr(original, name)

    def __getattr__(self, name: str) -> Any:
        original = getattr(self._original, name)
        root = self.__name__.partition(".")[0]
        if not isinstance(original, ModuleType):
            found = decide(
                original, MEANINGS.get(f"{self.__name__}.{name}") or getattr(self._own, name, None), root
            )
        else:
            is_inside = original.__name__.partition(".")[0] == root
            found = shadow_of(original.__name__) if is_inside else original
        if not name.startswith("__"):
            self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return dir(self._original)

    def __repr__(self) -> str:
        return repr(self._original)


def odeint(func: Callable[..., Any], y0: Any, *args: Any, **options: Any) -> Any:
    """Call `fxgrad.scipy.integrate.odeint` as SciPy's: of a vector, which a number is as well."""
    integrate: Any = own_module("scipy.integrate")
    return integrate.odeint(func, own_module("numpy").atleast_1d(y0), *args, **options)


# Functions of this library that mean a little else than SciPy's.
MEANINGS: dict[str, Callable[..., Any]] = {"scipy.integrate.odeint": odeint}


def decide(original: Any, own: Any, root: str) -> Any:
    """Return what stands for a function, object or class: the original, if this library has none or needs none."""
    if own is None or own is original or not callable(original) or isinstance(original, np.ufunc):
        return original
    if isinstance(original, type):
        return (
            original if root == "numpy" else DecidingKind(original.__name__, (), {"_pair": (original, own)})
        )
    if root == "numpy":
        return decide_by_level(original, own)
    if type(original).__name__ in ("function", "builtin_function_or_method", "_ArrayFunctionDispatcher"):
        return decide_by_values(original, own)
    return DecidingObject(original, own)


def decide_by_level(original: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's that is this library's where a transform is open; what it makes there can be written
    into."""
    current = CURRENT.get

    @wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if current() is EVAL:
            return original(*args, **kwargs)
        made = own(*args, **kwargs)
        if type(made) is np.ndarray and made.base is None and not any(made is a for a in args):
            return make_writable(made)
        return made

    return function


def decide_by_values(original: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of SciPy's that is this library's for traced values."""
    current = CURRENT.get

    @wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if current() is EVAL or not (any(map(is_traced, args)) or any(map(is_traced, kwargs.values()))):
            return original(*args, **kwargs)
        return own(*args, **kwargs)

    return function


def is_traced(argument: Any) -> bool:
    """Whether an argument is traced, or can be written into under transforms, or contains such a value. Functions may
    close over one."""
    if isinstance(argument, Tracer) or is_object(argument):
        return True
    if type(argument) in (list, tuple, dict):
        return any(map(is_traced, pytree.leaves(argument)))
    return callable(argument) and not isinstance(argument, type)


class DecidingObject:
    """An object of SciPy's with methods, such as a distribution, whose methods decide at each call."""

    def __init__(self, original: Any, own: Any):
        self._original, self._own, self._call = original, own, decide_by_values(original, own)

    @property
    def __class__(self) -> type:
        return type(self._original)

    def __getattr__(self, name: str) -> Any:
        original, own = getattr(self._original, name), getattr(self._own, name, None)
        if own is None or not callable(original):
            return original
        self.__dict__[name] = found = decide_by_values(original, own)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self._original)


class DecidingKind(type):
    """The class of a class of SciPy's whose instances are this library's if they are made of traced values."""

    def __init__(cls, name: str, bases: tuple[type, ...], parts: dict[str, Any]):
        super().__init__(name, bases, parts)
        cls._pair: tuple[Any, Any] = parts["_pair"]
        cls._make: Any = staticmethod(decide_by_values(*cls._pair))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._make(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._pair[0], name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls._pair)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls._pair[0])
