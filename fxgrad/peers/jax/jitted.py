"""`jax.jit`: what the door adds to `fx.jit` is decided when a function is staged, and not at every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from numpy import ndarray

from ...core.aval import Aval
from ...core.cache import Cache
from ...core.fp_errors import call_silently
from ...core.surface import make_object, object_kinds, with_object_kinds
from ...kernels.codegen.source import INDENT, make_function
from ...transforms import jit as jitting
from . import trees
from .arrays import NEW, Array, array_of
from .dtypes import DEPENDENT, SINGLE
from .programs import on_arrays
from .sharding import place_all


class Results:
    """How the flat results of a program are put together: values as arrays, dicts in the order of their keys. It is
    written as Python, in which the dtypes that the Graph knows are not looked at again:

        def unflatten(values):
            v0, v1, = values
            if type(v0) is ndarray: a0 = new(Array); a0._fx_value = v0
            else: a0 = array_of(v0)
            a1 = k5(v1)
            return (a0, {'b': a1})
    """

    __slots__ = ("unflatten",)

    def __init__(self, structure: Any, avals: Sequence[Aval]):
        kinds = object_kinds(structure)
        treedef = trees.in_order(with_object_kinds(structure, [None] * len(kinds)))
        names: dict[str, Any] = {"ndarray": ndarray, "new": NEW, "Array": Array, "array_of": array_of}
        lines = ["".join(f"v{i}, " for i in range(len(kinds))) + "= values"] if kinds else []
        for i, (kind, aval) in enumerate(zip(kinds, avals, strict=True)):
            make = f"a{i} = array_of(v{i})"
            if not (kind in (None, Array) or kind._fx_is_box):
                make = f"a{i} = {note(names, partial(make_object, kind))}(v{i})"
            elif aval.dtype is SINGLE and not aval.weak:
                lines.append(f"if type(v{i}) is ndarray: a{i} = new(Array); a{i}._fx_value = v{i}")
                make = f"else: {make}"
            lines.append(make)
        lines.append(f"return {write_tree(treedef, iter([f'a{i}' for i in range(len(kinds))]), names)}")
        text = f"\n{INDENT}".join(["def unflatten(values):", *lines]) + "\n"
        self.unflatten: Callable[[Iterable[Any]], Any] = make_function("unflatten", text, names)


def note(names: dict[str, Any], value: Any) -> str:
    """Enter a value into a namespace; return its name."""
    name = f"k{len(names)}"
    names[name] = value
    return name


def write_tree(treedef: Any, leaves: Iterator[str], names: dict[str, Any]) -> str:
    """Write a tree of this structure as an expression, with these leaves."""
    kind = treedef.type
    if kind is None:
        return next(leaves)
    if kind is tuple or kind is list or kind is dict:
        parts = [write_tree(child, leaves, names) for child in treedef.children()]
        if kind is dict:
            parts = [f"{note(names, key)}: {part}" for key, part in zip(treedef.entries(), parts)]
        before, after = {tuple: "()", list: "[]", dict: "{}"}[kind]
        return f"{before}{''.join(f'{part}, ' for part in parts)}{after}"
    inside = ", ".join([next(leaves) for _ in range(treedef.num_leaves)])
    return f"{note(names, treedef.unflatten)}([{inside}])"


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

    def compile(self, *args: Any) -> Any:
        """Stage and compile the function."""
        entry = call_silently(super().compile, *args)
        results = Results(entry.structure, entry.graph.out_avals)
        entry.structure = results if self.out_shardings is None else Placed(results, self.out_shardings)
        return entry
