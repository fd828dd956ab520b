"""Surface objects: objects of other APIs, such as the Tensors of `fxgrad.compat`, that stand for values of this
library.

For transforms such an object is a pytree whose one leaf is its value. A function receives and returns the kind of
object that its caller uses, while a transform sees only arrays and tracers. Functions of this library unwrap such
operands and wrap their results again. (For the functions of `fx.tree` the object is a leaf.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

from . import pytree
from .advice import explain_arguments
from .aval import float0
from .interpreter import CURRENT, EVAL, Tracer, twin
from .typing import type_of

F = TypeVar("F", bound="Callable[..., Any]")

# The classes of objects, and for the tracers that their users never see the class of the object; empty until a surface
# is imported.
OBJECTS: set[type] = set()
TRACERS: dict[type, type[SurfaceObject]] = {}


class SurfaceObject:
    """The base of the objects of a surface."""

    __slots__ = ()
    _fx_is_box = False  # whether it is written into in NumPy's way
    _fx_value: Any  # what it holds now: an array or a tracer

    def __init_subclass__(cls) -> None:
        OBJECTS.add(cls)
        pytree.register_pytree_node(
            cls,
            cls.__fxgrad_flatten__,
            cls.__fxgrad_unflatten__,
            lambda held: ((("", held.__fxgrad_value__()),), None),  # a step that paths do not show
        )

    def __fxgrad_value__(self) -> Any:
        """Return the value with which levels compute: an array or a tracer."""
        return self._fx_value

    @staticmethod
    def __fxgrad_object__(value: Any, shared: bool = False) -> Any:
        """Return the object that stands for an array or a tracer. If it is `shared`, another object owns it."""
        raise NotImplementedError

    def __fxgrad_flatten__(self) -> tuple[tuple[Any, ...], None]:
        """Return the value as the leaves of a pytree, and what else the object consists of: nothing."""
        return (self.__fxgrad_value__(),), None

    @classmethod
    def __fxgrad_unflatten__(cls, _: None, leaves: Any) -> Any:
        """Return the object that stands for a leaf."""
        return make_object(cls, *leaves)

    def __fxgrad_call__(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of this library, to which this object is the first that is given."""
        return call_on_values(self, function, args, kwargs)


is_object = SurfaceObject.__instancecheck__  # at C's speed


def is_box(value: Any) -> bool:
    """Whether a value is an array that can be written into under transforms (see `numpy.boxes`)."""
    return is_object(value) and value._fx_is_box


def make_object(kind: type[SurfaceObject], value: Any, shared: bool = False) -> Any:
    """Return an array or a tracer as an object; any other value is returned unchanged."""
    if isinstance(value, Tracer) or (
        issubclass(type_of(value), (np.ndarray, np.generic)) and value.dtype != float0
    ):
        return kind.__fxgrad_object__(value, shared)
    return value


def first_object(values: Any) -> SurfaceObject | None:
    """Return the first object among these operands and lists of operands, or None."""
    for value in values:
        if is_object(value):
            return value
        if type(value) is list or type(value) is tuple:
            found = first_object(value)
            if found is not None:
                return found
    return None


def call_on_values(
    like: SurfaceObject, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> Any:
    """Call a function of this library on the values of the objects among its arguments. Its results are objects of the
    surface of `like`."""
    given, structure = pytree.flatten((tuple(args), kwargs), is_object)
    values = [x.__fxgrad_value__() if is_object(x) else x for x in given]
    args, kwargs = structure.unflatten(values)
    taken = {id(v) for v in values}

    def make_result(y: Any) -> Any:
        return make_object(type(like), y, id(y) in taken)

    return pytree.map(make_result, function(*args, **kwargs))


def is_whole(is_leaf: Callable[..., Any] | None, *question: Any) -> Any:
    """Whether the subtree, the last argument of a predicate, is an object, or a leaf in the eyes of `is_leaf`."""
    return is_object(question[-1]) or (is_leaf is not None and is_leaf(*question))


def with_whole_objects(function: F, module: str) -> F:
    """Return a function of `core.pytree` to which objects are leaves, as they are to the users of `module`."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    place = names.index("is_leaf") if "is_leaf" in names else sys.maxsize
    takes_path = "is_leaf_takes_path" in code.co_varnames

    @wraps(function)
    def over_whole_objects(*args: Any, **kwargs: Any) -> Any:
        if OBJECTS:
            given = args[place] if len(args) > place else kwargs.get("is_leaf")
            is_leaf = partial(is_whole, given) if takes_path or given is not None else is_object
            if len(args) > place:
                args = (*args[:place], is_leaf, *args[place + 1 :])
            else:
                kwargs["is_leaf"] = is_leaf
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            explain_arguments(error, function)
            raise

    over_whole_objects.__module__ = module  # where pickle finds it
    return over_whole_objects  # type: ignore[return-value]  # it is called like `function`


def takes_objects(function: F) -> F:
    """Decorate a function of this library, so that it is called on the values of objects."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        held = first_object((*args, *kwargs.values())) if OBJECTS else None
        try:
            return function(*args, **kwargs) if held is None else held.__fxgrad_call__(function, args, kwargs)
        except TypeError as error:
            explain_arguments(error, function)
            raise

    return call  # type: ignore[return-value]  # likewise


def object_kinds(structure: pytree.PyTreeDef) -> list[Any]:
    """Return for every leaf of a structure the class of the object whose value it is, or None."""
    if structure.type in OBJECTS:
        return [structure.type]
    children = structure.children()
    if not children:
        return [None] * structure.num_leaves
    return [kind for child in children for kind in object_kinds(child)]


def with_object_kinds(structure: pytree.PyTreeDef, kinds: Sequence[Any]) -> pytree.PyTreeDef:
    """Return a structure with objects of these classes (None: none) in the place of its first leaves."""
    kinds = [*kinds, *object_kinds(structure)[len(kinds) :]]
    leaves = [0 if kind is None else kind.__fxgrad_object__(np.zeros(())) for kind in kinds]
    return pytree.structure(structure.unflatten(leaves))


def is_alike(structure: pytree.PyTreeDef, other: pytree.PyTreeDef) -> bool:
    """Return whether two structures are the same but for objects, for which arrays may stand."""
    if structure == other:
        return True
    bare, other_bare = [pytree.structure(s.unflatten([0] * s.num_leaves)) for s in (structure, other)]
    return bare == other_bare


def join_structures(structures: Sequence[pytree.PyTreeDef]) -> pytree.PyTreeDef | None:
    """Return the structure that has an object where one of these has; None if they differ in more than objects."""
    if not all(is_alike(structures[0], other) for other in structures):
        return None
    rows = zip(*map(object_kinds, structures))
    return with_object_kinds(structures[0], [next((kind for kind in row if kind), None) for row in rows])


def hand_on(value: Any) -> Any:
    """Return an argument with which a transform has nothing to do as the function's own, if it is one into which traced
    values may be written."""
    if type(value) is np.ndarray:
        return CURRENT.get().interpreter.lend(value) if value.dtype.kind in "fc" else value
    return own(value)


def release(value: Any) -> Any:
    """Return a result for the user: a surface object if it is the tracer of one, otherwise a tracer that nothing else
    holds."""
    if type(value) in TRACERS:
        return make_object(TRACERS[type(value)], value)
    return twin(value) if isinstance(value, Tracer) else value


def own(value: Any) -> Any:
    """Return a value as the library keeps it: of a tracer that user code may write into, a twin."""
    return twin(value) if isinstance(value, Tracer) and type(value) not in TRACERS else value


def release_all(values: Sequence[Any]) -> Sequence[Any]:
    """Release several results."""
    return list(map(release, values)) if TRACERS or CURRENT.get() is not EVAL else values
