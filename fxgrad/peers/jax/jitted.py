"""`jax.jit`: what the door adds to `fx.jit` is decided when a function is staged, and not at every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from numpy import ndarray

from ...core.aval import Aval
from ...core.cache import Cache
from ...core.fp_errors import call_silently
from ...core.surface import make_object, object_kinds, with_object_kinds
from ...transforms import jit as jitting
from ...transforms.assembly import make_assembly, note
from . import trees
from .arrays import NEW, Array, array_of
from .dtypes import DEPENDENT, SINGLE, is_wide
from .programs import on_arrays
from .sharding import place_all
from .stages import Lowered


class Results:
    """How the flat results of a program are put together: values as arrays, dicts in the order of their keys. Arrays
    whose dtype the Graph knows are not looked at again."""

    __slots__ = ("treedef", "unflatten")

    def __init__(self, structure: Any, avals: Sequence[Aval]):
        kinds = object_kinds(structure)
        self.treedef = treedef = trees.in_order(with_object_kinds(structure, [None] * len(kinds)))
        names: dict[str, Any] = {"ndarray": ndarray, "new": NEW, "Array": Array, "array_of": array_of}
        statements = []
        for i, (kind, aval) in enumerate(zip(kinds, avals, strict=True)):
            if not (kind in (None, Array) or kind._fx_is_box):
                statements.append(f"v{i} = {note(names, partial(make_object, kind))}(v{i})")
            elif aval.dtype is not SINGLE or aval.weak:
                statements.append(f"v{i} = array_of(v{i})")
            else:
                statements += [
                    f"if type(v{i}) is ndarray: a = new(Array); a._fx_value = v{i}; v{i} = a",
                    f"else: v{i} = array_of(v{i})",
                ]
        self.unflatten = make_assembly(treedef, statements, names)


class Placed:
    """Results that lie by shardings."""

    def __init__(self, results: Results, shardings: Any):
        self.results, self.shardings = results, shardings

    def unflatten(self, values: Iterable[Any]) -> Any:
        """Return the result for flat values."""
        return place_all(self.results.unflatten(values), self.shardings, "jit: out_shardings")


class Jitted(jitting.jit):
    """A compiled function of arrays, whose results may be placed."""

    is_silent = True

    def __init__(self, fun: Callable[..., Any], out_shardings: Any = None, **options: Any):
        super().__init__(on_arrays(fun), **options)
        self.out_shardings, self.other_cache = out_shardings, Cache(256)
        DEPENDENT.add(self)

    def share_code(self, code: dict[bool, Cache]) -> None:
        """Take the code of other compiled functions of the same function and options, for each precision."""
        for on in (False, True):
            code.setdefault(on, Cache(256))
        self.cache, self.other_cache = code[is_wide()], code[not is_wide()]

    def change_width(self) -> None:
        """Take the code for the other precision: `jax_enable_x64` has changed."""
        self.cache, self.other_cache = self.other_cache, self.cache
        self.last = self.before = None

    def call_observed(self, *args: Any) -> Any:
        """Call the function under an observer."""
        return call_silently(super().call_observed, *args)

    def call_with_references(self, *args: Any) -> Any:
        """Call the function, which is given references or closes over some."""
        return call_silently(super().call_with_references, *args)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Stage and compile for these arguments, without running anything."""
        lowered = call_silently(super().lower, *args, **kwargs)
        lowered.entry.structure = Results(lowered.entry.structure, lowered.entry.graph.out_avals)
        return Lowered(lowered)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return shapes and dtypes of the results."""
        return self.lower(*args, **kwargs).out_info

    def compile(self, *args: Any) -> Any:
        """Stage and compile the function."""
        entry = call_silently(super().compile, *args)
        results = Results(entry.structure, entry.graph.out_avals)
        entry.structure = results if self.out_shardings is None else Placed(results, self.out_shardings)
        return entry
