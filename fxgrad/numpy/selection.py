"""Selections `a[mask]` by masks of unknown value, while a function is staged or mapped.

The number of selected entries is unknown, so no array can hold them. But entrywise computation that is written back by
the same mask, as in `a[mask] *= 2`, does not need the number. A selection is the whole array together with the mask;
operations on it compute with the whole array, and a write takes the entries where the mask is true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..core.aval import aval_of
from ..core.errors import ShapeError
from ..core.interpreter import Tracer
from ..core.key import params_key
from ..core.staging import GraphTracer
from ..core.surface import SurfaceObject, own
from ..ops import operators
from ..ops.operators import SIGNS
from .entries import entries_at, is_mask, read_key, unbox, without_count

# Functions of entries, besides those of NumPy's ufuncs.
ENTRYWISE = frozenset({"angle", "clip", "conj", "imag", "nan_to_num", "real", "round", "sinc", "where"})


class Selection(SurfaceObject):
    """The entries of an array at which a mask holds, which may be computed with entry by entry and be written back.

    Whatever else is asked of it raises ConcretizationError.

    >>> def damped(x):
    ...     x[x > 1] *= 0.5
    ...     return x
    >>> fx.jit(damped)(np.array([1.0, 2.0, 4.0]))
    array([1., 1., 2.])
    """

    __slots__ = ("mask", "whole")

    def __init__(self, whole: Any, mask: Any):
        self.whole, self.mask = whole, mask

    def refuse(self) -> NoReturn:
        """Raise the error of an array with an unknown shape."""
        entries_at(self.whole, self.mask)
        raise AssertionError("a mask whose values are known")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a protocol that it does not have
            raise AttributeError(name)
        self.refuse()

    def __fxgrad_value__(self) -> Any:
        self.refuse()

    def __fxgrad_call__(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        primitive = getattr(function, "primitive", None)
        reference = getattr(function, "reference", None)
        if not (
            isinstance(reference, np.ufunc)
            or function.__name__ in ENTRYWISE
            or getattr(primitive, "entrywise", False)
        ):
            self.refuse()
        return self.apply(function, *args, **kwargs)

    def apply(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Selection:
        """Apply an entrywise function to the whole arrays. Its results where the mask is False are ignored."""
        mask_ndim = aval_of(self.mask).ndim
        trailing = aval_of(self.whole).ndim - mask_ndim

        def whole_of(value: Any) -> Any:
            if isinstance(value, Selection):
                return value.written_into(self.mask)
            value = unbox(value)
            if getattr(value, "ndim", 0) > trailing:
                value = without_count(value, trailing)
                if value.ndim > trailing:
                    self.refuse()
            return value

        operands = [whole_of(a) for a in args]
        options = {name: whole_of(v) for name, v in kwargs.items()}
        with np.errstate(all="ignore"):
            return Selection(function(*operands, **options), self.mask)

    def written_into(self, mask: Any) -> Any:
        """Return the whole array whose entries are written where a mask holds, which must be that of the selection."""
        if not is_same(self.mask, mask):
            raise ShapeError(
                "x[mask] of one mask beside, or written into, y[other mask]: how many entries each has is not known",
                hint="the same mask on both sides: m = x > 0; y[m] = x[m] * 2",
            )
        return self.whole

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or "out" in kwargs:
            self.refuse()
        return self.apply(ufunc, *inputs, **kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self.refuse()

    def __len__(self) -> int:
        self.refuse()

    def __iter__(self) -> Any:
        self.refuse()

    def __getitem__(self, key: Any) -> Any:
        self.refuse()

    def __bool__(self) -> bool:
        self.refuse()

    def astype(self, dtype: Any, **options: Any) -> Selection:
        """The entries in another dtype."""
        return Selection(self.whole.astype(dtype), self.mask)


def attach_operators() -> None:
    """Give selections Python's operators."""

    def binary(function: Callable[..., Any]) -> Any:
        return lambda self, other: self.apply(function, self, other)

    def reflected(function: Callable[..., Any]) -> Any:
        return lambda self, other: self.apply(function, other, self)

    for name in SIGNS:
        if name != "matmul":
            function = getattr(operator, f"__{name}__")
            setattr(Selection, f"__{name}__", binary(function))
            setattr(Selection, f"__r{name}__", reflected(function))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Selection, f"__{name}__", binary(getattr(operator, f"__{name}__")))
    for name in ("neg", "pos", "abs", "invert"):
        function = getattr(operator, f"__{name}__")
        setattr(Selection, f"__{name}__", lambda self, function=function: self.apply(function, self))
    Selection.__hash__ = None  # type: ignore[assignment]


attach_operators()


def select(x: Tracer, key: Any) -> Selection | None:
    """Return x[key] where key is a mask whose values are not known, None for other keys."""
    key, known = read_key(key)
    return Selection(own(x), own(key)) if not known and is_mask(key, x.shape) else None


operators.select = select


def is_same(mask: Any, other: Any) -> bool:
    """Whether two masks are known to be equal, though their values may not be known."""
    if mask is other:
        return True
    if type(mask) is not type(other):
        return False
    if not isinstance(mask, Tracer):
        return isinstance(mask, np.ndarray) and np.array_equal(mask, other)
    if mask.interpreter is not other.interpreter:
        return False
    if isinstance(mask, GraphTracer):
        if mask.variable is other.variable:
            return True
        level: Any = mask.interpreter
        made = {var: (e, i) for e in level.equations for i, var in enumerate(e.outputs)}
        return is_same_variable(mask.variable, other.variable, made)
    held, others = mask.contents(), other.contents()
    return len(held) == len(others) > 0 and all(map(is_same, held, others))


def is_same_variable(var: Any, other: Any, made: dict[Any, Any]) -> bool:
    """Whether two variables of a Graph are results of equal equations."""
    todo = [(var, other)]
    while todo:
        a, b = todo.pop()
        if a is b:
            continue
        first, second = made.get(a), made.get(b)
        if first is None or second is None:
            if not (hasattr(a, "value") and hasattr(b, "value") and np.array_equal(a.value, b.value)):
                return False
            continue
        (e, i), (f, j) = first, second
        if (
            i != j
            or e.primitive is not f.primitive
            or e.primitive.effectful
            or params_key(e.params) != params_key(f.params)
        ):
            return False
        todo += zip(e.inputs, f.inputs)
    return True
