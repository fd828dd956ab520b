"""Statistics that are compiled for losses, and for arguments of a kind, that have come before.

A statistic stages its loss at every call, so that the loss may refer to what changes. If that gives a Graph that has
come before, up to the values of arrays, the call runs code which the second one has compiled (`compute_again`).

The loss is not even staged where it is certain that it refers to nothing that changes: then the second call for
arguments of one structure, shapes and dtypes makes code which all later ones run (`keep_program`). What a function
refers to is certain if that is compared at each call (numbers, texts, small arrays, tuples, lists and dicts of these),
a function of this library or of NumPy, or a function of the user's of which the same holds. Large arrays, objects,
random generators and functions that print are not certain.
"""

from __future__ import annotations

import builtins
import dis
import math
import operator
import sys
import types
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import pytree
from ..core.aval import PLAIN
from ..core.cache import Cache
from ..core.costs import COMPARED_BYTES
from ..core.errors import FxgradError
from ..core.interpreter import CURRENT, EVAL, is_plain
from ..core.key import key_of, tree_key
from ..core.same_graphs import intern_graph, lift_constants
from ..transforms.derived_function import DerivedFunction
from ..transforms.jit import jit

if TYPE_CHECKING:
    from .problem import Problem

NUMBERS = (type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, type(...), slice)
PURE = frozenset({
    abs, all, any, bool, complex, dict, divmod, enumerate, float, frozenset, int, isinstance, len, list, max, min, pow,
    range, reversed, round, set, slice, sorted, str, sum, tuple, type, zip, AssertionError, TypeError, ValueError,
})  # fmt: skip
WRITES = frozenset({"STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR", "IMPORT_NAME"})


class UncertainError(Exception):
    """A function refers to what may change unseen."""


class References:
    """What functions refer to, all of which is compared at each call: the names of globals and the cells, with their
    values; lists and dicts with their items; arrays with their bytes."""

    def __init__(self) -> None:
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.containers: list[tuple[Any, list[Any]]] = []
        self.arrays: list[tuple[np.ndarray, tuple[Any, ...]]] = []
        self.known: set[int] = set()

    def hold(self) -> bool:
        """Whether all values are what they were."""
        for space, name, value in self.names:
            if space.get(name, space) is not value:
                return False
        for container, items in self.containers:
            found = items_of(container)
            if len(found) != len(items) or not all(map(operator.is_, found, items)):
                return False
        return all([cell.cell_contents is value for cell, value in self.cells]) and all(
            [contents_of(array) == contents for array, contents in self.arrays]
        )

    def add(self, value: Any) -> None:
        """Add what a value refers to, or raise UncertainError."""
        if id(value) in self.known or isinstance(value, NUMBERS):
            return
        if isinstance(value, tuple | frozenset) and type(value) in (tuple, frozenset):
            for item in value:
                self.add(item)
        elif type(value) in (list, dict):
            self.known.add(id(value))
            items = items_of(value)
            self.containers.append((value, items))
            for item in items:
                self.add(item)
        elif type(value) is np.ndarray and value.nbytes <= COMPARED_BYTES and value.dtype.kind in "biufc":
            self.arrays.append((value, contents_of(value)))
        elif type(value) is partial:
            for part in (value.func, value.args, value.keywords):
                self.add(part)
        elif type(value) is DerivedFunction:
            for part in (value.fun, *value.options.values()):
                self.add(part)
        elif type(value) is jit:
            self.add(value.fun)
        elif not is_of_library(value):
            if type(value) is not types.FunctionType:
                raise UncertainError
            self.known.add(id(value))
            self.add_function(value)

    def add_function(self, function: types.FunctionType) -> None:
        """Add the globals, the cells and the defaults of a function of the user's."""
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.add(value)
        for cell in function.__closure__ or ():
            try:
                self.cells.append((cell, cell.cell_contents))
            except ValueError:  # which is empty so far
                raise UncertainError from None
            self.add(cell.cell_contents)
        self.add_code(function.__code__, function.__globals__)

    def add_code(self, code: types.CodeType, space: dict[str, Any]) -> None:
        """Add the globals that code, and code in it, reads."""
        if "random" in code.co_names:  # NumPy's, whose state is nobody's
            raise UncertainError
        for instruction in dis.get_instructions(code):
            if instruction.opname in WRITES:
                raise UncertainError
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = instruction.argval
                if name in space:
                    self.names.append((space, name, space[name]))
                    self.add(space[name])
                elif getattr(builtins, name, None) not in PURE:
                    raise UncertainError
                else:
                    self.names.append((space, name, space))  # it stays absent
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.add_code(constant, space)


def items_of(container: Any) -> list[Any]:
    """Return the items of a list, or the keys and values of a dict."""
    return [*container, *container.values()] if type(container) is dict else [*container]


def contents_of(array: np.ndarray) -> tuple[Any, ...]:
    """Return all that can be written into an array."""
    return array.shape, array.dtype, array.tobytes()


def is_of_library(value: Any) -> bool:
    """Whether a value is a module of this library, of NumPy or `math`, or what one has under its own name."""
    if isinstance(value, types.ModuleType):
        home = value.__name__
    else:
        home = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
        name = getattr(value, "__name__", "")
        owner: Any = np if isinstance(value, np.ufunc) else sys.modules.get(home)
        if getattr(owner, name, None) is not value:
            return False
    root = home.partition(".")[0]
    if root == __name__.partition(".")[0]:
        return ".compat" not in home  # which has modes and a generator
    return home == math.__name__ or (root == "numpy" and not home.startswith("numpy.random"))


def references_of(*values: Any) -> References | None:
    """Return what values refer to, or None where that may change unseen."""
    found = References()
    try:
        for value in values:
            found.add(value)
    except UncertainError:
        return None
    return found


def keep_program(compute: Callable[..., Any], *values: Any) -> Callable[..., Any]:
    """Return `compute`, whose result depends on its arguments and on what `values` refer to, compiled where it has been
    called with arguments of the same kind before."""
    references: References | None = None
    program: jit[..., Any] | None = None
    seen: Cache = Cache(64)
    is_certain = True

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal references, program, is_certain
        if not is_certain or CURRENT.get() is not EVAL:
            return compute(*args, **kwargs)
        if references is None or not references.hold():
            seen.clear()
            program, references = None, references_of(*values)
            is_certain = references is not None
        known = program
        last = None if known is None else known.last
        if known is None or last is None or last.guard(args, kwargs) is None:
            leaves, structure = pytree.flatten((args, kwargs))
            if not is_certain or not all(type(leaf) in PLAIN for leaf in leaves):
                return compute(*args, **kwargs)
            kinds = tuple(
                [(type(leaf), getattr(leaf, "shape", None), getattr(leaf, "dtype", None)) for leaf in leaves]
            )
            key = structure, tree_key(args), tree_key(kwargs), kinds
            if key not in seen:
                result = compute(*args, **kwargs)
                seen[key] = True
                return result
            if known is None:
                known = program = jit(compute)
        try:
            return known(*args, **kwargs)
        except FxgradError:
            is_certain = False  # it cannot be staged, or `compute` tells better what is wrong
            return compute(*args, **kwargs)

    return run


def compute_again(problem: Problem, compute: Callable[[Problem], Any], *options: Any) -> Any:
    """Return compute(problem), which depends on the problem and the options: by code compiled for an equal loss if that
    has come before."""
    if CURRENT.get() is not EVAL or problem.graph.acts or not all(isinstance(o, NUMBERS) for o in options):
        return compute(problem)
    closed, constants = lift_constants(problem.graph)
    values = [*constants, *problem.params, *problem.examples]
    if not is_plain(values):
        return compute(problem)
    known = intern_graph(closed)
    if known is closed:  # its first time, or it will never be met again
        return compute(problem)
    key = compute_again, key_of(options), problem.key
    program = known.cache.get(key)
    if program is None:
        blank = problem.fill(None, ())
        program = known.cache[key] = jit(lambda values: compute(blank.fill(known, values)))
    try:
        return program(values)
    except FxgradError:  # which `compute` tells better
        return compute(problem)
