"""Checks of the arguments, tangents and cotangents of transforms, with messages that name the leaf."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.arrays import as_value
from ..core.aval import PLAIN, Aval, aval_of, check_dtype, dtype_of, float0, is_differentiable
from ..core.errors import DTypeError, ShapeError, StructureError
from ..core.interpreter import VALUES, Tracer, ensure_open, twin
from ..core.pytree_keys import keystr
from ..core.surface import TRACERS, hand_on, is_alike, release
from ..kernels.memory import copy

FLOAT = np.dtype(float)
NUMBER_TYPES = PLAIN - {np.ndarray}
WRAPPER_NAMES = frozenset(["__wrapped__"])  # what a function has besides that is another in a wrapper


class LeafName:
    """The name of a leaf in messages, made only when a message is written: `vmap: the argument
    kwargs['x']`."""

    __slots__ = ("path", "what")

    def __init__(self, what: str, path: Callable[..., str], *arguments: Any):
        self.what, self.path = what, partial(path, *arguments)

    def __str__(self) -> str:
        return f"{self.what} {self.path()}".rstrip()


def positions_of(name: str, argnums: Any) -> tuple[Any, ...]:
    """Return `argnums` as a tuple; raise unless they are integers."""
    positions = (argnums,) if isinstance(argnums, int | np.integer) else argnums
    if isinstance(positions, tuple | list | range) and all(
        isinstance(p, int | np.integer) for p in positions
    ):
        return tuple(positions)
    given = repr(argnums) if isinstance(argnums, str) else f"a {type(argnums).__name__}"
    raise StructureError(
        f"{name}: argnums are positions of arguments, one integer or a tuple of them, not {given}",
        hint=f"argnums=0; the arguments themselves go to the function that {name} returns: fx.{name}(f)(x)",
    )


def wrong_argnums(name: str, argnums: Any, count: int) -> StructureError:
    """What to raise for `argnums` that name no argument, or one twice, of a call with `count` positional ones."""
    positions = [argnums] if isinstance(argnums, int | np.integer) else argnums
    if all(-count <= p < count for p in positions):
        return StructureError(
            f"{name}: argnums={argnums} names an argument twice",
            hint="each argument once; negative numbers count from the last",
        )
    return StructureError(
        f"{name}: argnums={argnums} for a call with {count} positional arguments",
        hint=f"argnums={' or '.join(map(str, range(count)))}; arguments given by their names have no number"
        if count
        else "give the arguments by position: those given by their names have no number",
    )


def admit(value: Any, what: str | LeafName) -> Any:
    """Return a leaf as a value to compute with: an array, a number, or the tracer of an open transform.

    Raises:
        DTypeError: it is nothing of the kind (see `core.arrays.read`), or of a dtype that fxgrad does not compute with.
        EscapedTracerError: the transform to which it belongs has returned.
    """
    kind = type(value)
    if kind in NUMBER_TYPES or (kind is np.ndarray and value.dtype is FLOAT):
        return value
    if kind not in VALUES or kind is np.ndarray:
        value = as_value(value, what)
    elif isinstance(value, Tracer):
        ensure_open(value, what)
        if kind not in TRACERS:
            value = twin(value)  # the function's own
        if value.dtype is FLOAT:
            return value
    check_dtype(aval_of(value).dtype, what)
    return value


def admit_or_float0(value: Any, what: str | LeafName) -> Any:
    """Admit a leaf, or zeros of dtype float0, which staged programs hand through."""
    return value if is_float0(value) else admit(value, what)


def admit_arguments(
    operation: str,
    values: Sequence[Any],
    structure: Any,
    keywords: bool = False,
    read: Callable[[Any, LeafName], Any] = admit,
) -> list[Any]:
    """Admit the leaves of args, or of (args, kwargs), each by `read`."""
    return [
        read(value, LeafName(f"{operation}: the argument", argument_path, structure, index, keywords))
        for index, value in enumerate(values)
    ]


def argument_path(structure: Any, index: int, keywords: bool) -> str:
    """Write the path of a leaf of args, `args[0]['w']`, or of one of (args, kwargs), which may be
    `kwargs['x']`."""
    path = leaf_path(structure, index)
    if not keywords:
        return "args" + path
    return ("args" if path.startswith("[0]") else "kwargs") + path[3:]


def positional_names(fun: Callable[..., Any]) -> Sequence[str]:
    """Return the names of the parameters of a function that may be given by position."""
    while type(fun) is FunctionType and fun.__dict__.keys() <= WRAPPER_NAMES:  # in a fiftieth of the time
        if not fun.__dict__:
            return fun.__code__.co_varnames[: fun.__code__.co_argcount]
        fun = fun.__wrapped__
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def parameter_path(fun: Callable[..., Any], structure: Any, index: int) -> str:
    """Write the path of a leaf of (args, kwargs) by the name of the function's parameter, `params['w']`."""
    path = argument_path(structure, index, True)
    place, _, rest = path.removeprefix("args[").partition("]")
    names = positional_names(fun)
    return names[int(place)] + rest if path.startswith("args[") and int(place) < len(names) else path


def input_name(names: Sequence[str], structure: Any, index: int, keywords: bool) -> str:
    """Return the path of a leaf of args, or of (args, kwargs), as one name: `params_w` for `params["w"]`, where the
    parameters of the function have these names."""
    path = structure.paths()[index]
    group, place, *rest = path if keywords else (0, *path)
    start = (place,) if group else (names[place],) if place < len(names) else ("args", place)
    return re.sub(r"\W+", "_", "_".join(map(str, (*start, *rest))))


def tangent_dtype(dtype: Any) -> Any:
    """Return the dtype of tangents and cotangents: float0 for integers and booleans."""
    return dtype if is_differentiable(dtype) else float0


def as_cotangent(ct: Any, aval: Aval) -> Any:
    """Return a given tangent or cotangent, with weak Python scalars in the dtype of the value."""
    return aval.dtype.type(ct) if type(ct) in (int, float, complex, bool) and aval.dtype != float0 else ct


def float0_zeros(value: Any) -> Any:
    """Return the tangent of an integer value: zeros of dtype float0."""
    return np.zeros(aval_of(value).shape, float0)


def zero_tangent(value: Any) -> Any:
    """Return the zero tangent or cotangent of a value; that of an integer has dtype float0, that of a number is one."""
    if not is_differentiable(dtype_of(value)):
        return float0_zeros(value)
    zero = ops.zeros_like(value)
    return zero[()] if isinstance(value, float | complex | np.generic) else zero


def path_at_positions(positions: Iterable[int], structure: Any, index: int) -> str:
    """Write the path of a leaf of the tuple of the arguments at these positions: `args[1]['w']`."""
    number, _, rest = leaf_path(structure, index)[1:].partition("]")
    return f"args[{list(positions)[int(number)]}]{rest}"


def path_in_arguments(arguments: dict[int, Any], index: int) -> str:
    """Write the path of a leaf of some arguments, which are given by position: `args[1]['w']`."""
    return path_at_positions(arguments, pytree.structure(tuple(arguments.values())), index)


def leaf_path(structure: Any, index: int) -> str:
    """Write the path of a leaf as in Python: `[0]['w']`."""
    numbered = pytree.unflatten(structure, range(structure.num_leaves))
    return keystr(pytree.leaves_with_path(numbered)[index][0])


def admit_tangents(
    operation: str,
    what: str,
    values: Sequence[Any],
    structure: Any,
    given: Sequence[Any],
    given_structure: Any,
    dtype_for: Callable[[Any], Any] = tangent_dtype,
) -> list[Any]:
    """Admit tangents (or cotangents); raise unless they have the structure, shapes and dtypes of the
    values.

    `dtype_for` gives the dtype that belongs to a value's. A Python scalar fits every dtype of its kind (weak), and
    where the value is one, so does every tangent of that kind; otherwise dtypes must be equal.
    """
    if not is_alike(structure, given_structure):
        raise StructureError(
            f"{operation}: the {what}s {pytree.describe_difference(given_structure, structure)}",
            hint="containers of the same kinds, with the same keys and lengths, as what they belong to",
        )
    found = []
    for index, (value, t) in enumerate(zip(values, given)):
        place = LeafName(f"{operation}: the {what}", leaf_path, structure, index)
        if not is_float0(t):
            t = admit(t, place)
        found.append(t)
        have = aval_of(t)
        want, dtype = aval_of(value), dtype_for(aval_of(value).dtype)
        if have.shape == want.shape and have.dtype == dtype:
            continue
        if have.shape != want.shape:
            raise ShapeError(
                f"{place} has shape {have.shape}, expected {want.shape}",
                hint=f"fnp.broadcast_to(value, {want.shape}) where it is too small, or sum it where it is too large",
            )
        fits = np.can_cast(have.dtype, dtype, "same_kind") or have.dtype.kind in "iu"
        if not (want.weak and dtype == float0) and not (
            fits and dtype != float0 and (have.weak or want.weak)
        ):
            hint = (
                "give zeros of dtype fx.float0 for integer arguments"
                if dtype == float0
                else f"convert it: t.astype({dtype.name!r})"
            )
            raise DTypeError(f"{place} has dtype {have.dtype}, expected {dtype}", hint=hint)
    return found


def unshare_results(results: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """Copy what results share, so that the user may write into each: none has memory in common with an
    argument or with another result."""
    taken = {id(owning_array(a)) for a in arguments if type(a) is np.ndarray}
    released = []
    for r in results:
        if type(r) is np.ndarray:
            owner = owning_array(r)
            if not r.flags.writeable or id(owner) in taken:
                r = owner = copy(r)
            taken.add(id(owner))
        released.append(r if type(r) in PLAIN else release(r))
    return released


def owning_array(array: Any) -> Any:
    """Return the object that owns the memory of an array."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def is_float0(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.char == "V" and value.dtype == float0


def restrict_arguments(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict,
    positions: Sequence[int],
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Return `fun` as a function of the arguments at these positions, with the others fixed and without the
    auxiliary result."""

    def restricted_fun(*chosen: Any) -> Any:
        filled = list(map(hand_on, args))
        for place, value in zip(positions, chosen):
            filled[place] = value
        result = fun(*filled, **{name: hand_on(value) for name, value in kwargs.items()})
        return result[0] if has_aux else result

    return restricted_fun
