"""Vectorization: BatchInterpreter and `vmap`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core import pytree, source_info
from ..core.arrays import is_array_like
from ..core.aval import PLAIN, STRONG, Aval, aval_of, float0
from ..core.common_errors import advise_number, not_a_function
from ..core.errors import AxisError, ConcretizationError, StructureError
from ..core.interpreter import (
    CURRENT,
    EVAL,
    Interpreter,
    Tracer,
    api_boundary,
    ensure_open,
    is_plain,
    opened,
)
from ..core.primitive import HigherOrder
from ..core.references import ensure_distinct, is_reference
from ..core.surface import OBJECTS, hand_on, object_kinds, own, release_all
from .arguments import admit_arguments, admit_or_float0, is_float0, leaf_path, parameter_path, unshare_results
from .derived_function import derive
from .flat_function import FlatFunction

if TYPE_CHECKING:
    from ..core.typing import P, R


# The name of its axis while a level batches an operation, whose bodies are mapped over the same axis.
MAPPED_AXIS: ContextVar[Any] = ContextVar("fxgrad mapped axis", default=None)


class BatchTracer(Tracer):
    """A batch of values, stacked along the leading axis of `value`, that looks like one of them."""

    __slots__ = ("dtype", "shape", "value")
    interpreter: BatchInterpreter
    shape: tuple[int, ...]  # type: ignore[assignment]
    dtype: Any  # type: ignore[assignment]

    def __init__(self, interpreter: BatchInterpreter, value: Any):
        self.interpreter, self.value = interpreter, value
        have = value if type(value) in STRONG else aval_of(value)
        self.shape, self.dtype = have.shape[1:], have.dtype

    aval = property(lambda self: Aval(self.shape, self.dtype))
    weak: bool = False  # type: ignore[assignment]

    def contents(self) -> tuple:
        return (self.value,)

    def concretize(self, operation: str) -> Any:
        return self.interpreter.concretize(self, operation)


STRONG.add(BatchTracer)
new_tracer = object.__new__


class BatchInterpreter(Interpreter):
    """Applies an operation to all entries of the batch at once, by the primitives' batching rules."""

    name = "vmap"
    __slots__ = ("axis_name", "size")

    def __init__(self, site: Any, size: int, axis_name: Any = None):
        super().__init__(site)
        self.size, self.axis_name = size, axis_name

    extent = property(lambda self: self.size)

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        values, is_batched, plain = [], [], self.outer.observer is None
        for a in args:
            own = type(a) is BatchTracer and a.interpreter is self
            if own:
                a = a.value
            is_batched.append(own)
            values.append(a)
            if type(a) not in PLAIN:
                plain = False
        collective = primitive.bound_to_axis and params["axis_name"] == self.axis_name
        if True not in is_batched and not collective and not self.has_collectives(primitive, args, params):
            return self.bind_outer(primitive, args, params)
        if plain and primitive.kernel_shortcut:
            out, flags = primitive.batch(values, is_batched, self.size, params)
        else:
            rule = primitive.collect if collective else primitive.batch
            token, axis_token = CURRENT.set(self.outer), MAPPED_AXIS.set(self.axis_name)
            try:
                out, flags = rule(values, is_batched, self.size, params)
            finally:
                CURRENT.reset(token)
                MAPPED_AXIS.reset(axis_token)
        if primitive.multiple_results:
            return [BatchTracer(self, v) if b else v for v, b in zip(out, flags)]
        if not flags:
            return out
        if type(out) not in STRONG:
            return BatchTracer(self, out)
        tracer = new_tracer(BatchTracer)  # without __init__, for speed
        tracer.interpreter, tracer.value, tracer.shape, tracer.dtype = self, out, out.shape[1:], out.dtype
        return tracer

    def has_collectives(self, primitive: Any, args: Sequence[Any], params: dict) -> bool:
        """Whether an operation on values that are not batched runs Graphs with collectives over this axis."""
        if self.axis_name is None or not isinstance(primitive, HigherOrder):
            return False
        bodies = primitive.subgraphs([aval_of(a) for a in args], params)
        return any(equation.bound_to_axis for graph in bodies for equation in graph.equations)

    def concretize(self, tracer: BatchTracer, operation: str) -> Any:
        """Raise an error: a batched value has no one plain value."""
        advice = "it differs from one batch entry to the next: "
        hint = {
            "bool()": advice
            + "use fnp.where, fnp.select or fx.lax.cond instead of `if`, fx.lax.while_loop instead of "
            '`while`; or fx.vmap(f, control="split"), which runs a pure function on the entries that take each way',
            "use as an index": advice
            + "fnp.take(a, i, axis=0), or fnp.array(a)[i], where a plain array is indexed, a[i]",
            "indexing": "a mask that differs between batch entries selects different numbers of elements: use "
            "fnp.where(mask, x, 0)",
        }.get(operation, advice + "compute with arrays, or do without vmap")
        if operation == "float()":
            hint = advice + advise_number(source_info.user_frame().line)
        raise ConcretizationError(f"{operation} of a batched value {tracer.aval!r}", hint=hint)


def vmap_flat(
    fun: Callable[..., Sequence[Any]], values: Sequence[Any], is_batched: Sequence[bool], size: int
) -> tuple[list[Any], list[bool]]:
    """Map a function from values to a flat sequence of values over leading batch axes; return the results,
    and which of them are batched. For batching rules: what is mapped is a part of the operation, and its axis
    that of the level which asks."""
    return vmap_with(BatchInterpreter(None, size, MAPPED_AXIS.get()), fun, values, is_batched)


def vmap_with(
    interpreter: BatchInterpreter,
    fun: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    is_batched: Sequence[bool],
) -> tuple[list[Any], list[bool]]:
    """Map a function as `vmap_flat` does, by an interpreter that is made for it."""
    args = [BatchTracer(interpreter, v) if b else v for v, b in zip(values, is_batched)]
    with opened(interpreter):
        results = list(fun(*args))
        flags = [type(r) is BatchTracer and r.interpreter is interpreter for r in results]
    for r, flag in zip(results, flags):
        if not flag and isinstance(r, Tracer):
            ensure_open(r, "vmap")
    return [r.value if f else r for r, f in zip(results, flags)], flags


@api_boundary
def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    *,
    chunk_size: int | str | None = None,
    memory_limit: int | float | str | None = None,
    progress: bool | str = False,
    control: str | None = None,
) -> Callable[P, R]:
    """Apply `fun` along an axis of its arguments, to all entries at once.

    Args:
        fun: a function of pytrees of arrays.
        in_axes: the axis of each argument to map over: an int, None (not mapped), or a tuple with one entry for
            every positional argument, each a pytree prefix of it. Axes may be negative. Keyword arguments are
            mapped over axis 0. What is not mapped may be anything, such as a function, a text or an `fx.Ref`;
            what the function writes into a `Ref` that is mapped over is written into its entries.
        out_axes: where the mapped axis goes in the results: a pytree prefix of them; None for results that do
            not depend on the mapped arguments.
        axis_name: a name for the axis, for collectives (`fx.lax.psum` and others).
        axis_size: its size; needed where no argument is mapped.
        chunk_size: map over this many entries at a time, to bound memory; there are no collectives then. "auto" stages
            `fun` to see how many fit.
        memory_limit: with chunk_size="auto", which it implies, what a call may take beside its arguments: bytes, or a
            text such as "500 MB". Half of what the machine has free, if it is not given. See `fx.memory_estimate`.
        progress: show a bar over the chunks, with this label if it is a text; not under another transform.
        control: "split" lets Python's `if` and `while` depend on mapped values: `fun`, which must be pure, is run on
            the entries that take each way, and the results are merged.

    Returns:
        The mapped function.

    Raises:
        AxisError: axes out of range, sizes that differ, out_axes=None for a mapped result.
        StructureError: in_axes or out_axes are no prefix.
        ConcretizationError: `fun` asks for the value of a mapped argument, and `control` is not "split".

    >>> fx.vmap(lambda a, b: a + b, in_axes=(0, None))(np.arange(3.0), 10.0)
    array([10., 11., 12.])
    >>> fx.vmap(lambda a: a if a > 0 else -2 * a, control="split")(np.array([1.0, -2.0]))
    array([1., 4.])
    """
    if not callable(fun):
        raise not_a_function("vmap", fun)
    if not (in_axes is None or isinstance(in_axes, tuple | list | int | np.integer)):
        raise StructureError(
            f"vmap: in_axes is {in_axes!r}",
            hint="the arguments go to the function that vmap returns: fx.vmap(f)(x)"
            if hasattr(in_axes, "shape")
            else "integers or None: one for all arguments, or a tuple with an entry for every positional one",
        )
    automatic = chunk_size == "auto" or (chunk_size is None and memory_limit is not None)
    if not automatic and chunk_size is not None and (isinstance(chunk_size, str) or chunk_size < 1):
        raise AxisError(
            f'vmap: chunk_size must be positive or "auto", not {chunk_size!r}',
            hint="how many entries are taken at a time; None takes all at once",
        )
    if memory_limit is not None and not automatic:
        raise StructureError(
            f"vmap: memory_limit={memory_limit!r} with chunk_size={chunk_size}",
            hint='the limit is for chunk_size="auto"',
        )
    if automatic and control is not None:
        raise StructureError(
            f'vmap: chunk_size="auto" with control={control!r}',
            hint="give the chunk size as a number: a function whose way depends on values cannot be staged",
        )
    if control not in (None, "split") or (control and axis_name is not None):
        raise StructureError(
            f"vmap: control={control!r} with axis_name={axis_name!r}",
            hint='control is None or "split", which is not for collectives: they need the whole axis',
        )

    @api_boundary
    def mapped_fun(*args: Any, **kwargs: Any) -> Any:
        site = source_info.user_frame()
        if isinstance(in_axes, tuple | list) and len(in_axes) != len(args):
            raise StructureError(
                f"vmap: in_axes has {len(in_axes)} entries for a call with {len(args)} positional arguments",
                hint="in_axes=0, or one entry for every argument",
            )
        leaves, structure = pytree.flatten((args, kwargs))
        if type(in_axes) is int and not kwargs:  # one for all
            axes = [in_axes] * len(leaves)
        else:
            prefix = tuple(in_axes) if isinstance(in_axes, list) else in_axes
            axes = pytree.flatten_prefix(prefix, args, "vmap: in_axes")
            axes += [0] * (len(leaves) - len(axes))
        refs = {i: v for i, (v, a) in enumerate(zip(leaves, axes)) if is_reference(v) and a is not None}
        if refs:
            ensure_distinct([*filter(is_reference, leaves)], "vmap")
            leaves = [refs[i].value if i in refs else v for i, v in enumerate(leaves)]
        read = admit_or_float0
        if None in axes:  # what is not mapped may be anything
            places = iter(axes)
            read = lambda v, name: v if next(places) is None and is_opaque(v) else admit_or_float0(v, name)  # noqa: E731
        leaves = admit_arguments("vmap", leaves, structure, True, read)
        size, axes = common_size(fun, leaves, axes, structure, axis_size)
        for i, leaf in enumerate(leaves):
            if is_float0(leaf) and axes[i] is not None:  # all entries are the same
                leaves[i], axes[i] = np.zeros(np.delete(leaf.shape, axes[i]), float0), None
        flat_fun = FlatFunction(fun, structure, "vmap", keywords=True)
        out_places: list[Any] = []

        def map_entries(*values: Any) -> list[Any]:
            before = flat_fun.out_structure
            given = [v if b else lend(v) for v, b, lend in zip(values, is_batched, lends)]
            for i, ref in refs.items():
                given[i] = type(ref)(given[i])
            results = flat_fun(*given)
            if before is not None and before != flat_fun.out_structure:
                raise StructureError(
                    f"vmap: the function returns {before} for some entries and {flat_fun.out_structure} for others",
                    hint="return the same containers whichever way is taken",
                )
            return [*results, *[given[i].end() for i in refs]]

        is_batched = [a is not None for a in axes]
        lends = [hand_on] * len(axes)
        if OBJECTS and None in axes:  # objects are made of values, and guard these themselves
            kinds = object_kinds(structure)
            lends = [hand_on if kind is None or kind._fx_is_box else own for kind in kinds]

        def run_chunk(start: int, stop: int) -> list[Any]:
            values = [v if a is None else take_chunk(v, a, start, stop, size) for v, a in zip(leaves, axes)]
            return run_part(values, stop - start)

        def run_part(values: Sequence[Any], count: int) -> list[Any]:
            if control is None:
                # A part of the axis has no collectives.
                interpreter = BatchInterpreter(site, count, axis_name if count == size else None)
                results, flags = vmap_with(interpreter, map_entries, values, is_batched)
            else:
                from .split import vmap_in_groups  # an interpreter made of this one

                results, flags = vmap_in_groups(
                    map_entries, values, is_batched, count, site, lambda: flat_fun.out_structure
                )
            out_structure = flat_fun.out_structure
            own = len(results) - len(refs)
            if type(out_axes) is int:
                out_places[:] = [out_axes] * own
            else:
                tree = pytree.unflatten(out_structure, results[:own])
                out_places[:] = pytree.flatten_prefix(out_axes, tree, "vmap: out_axes")
            out_places[own:] = [axes[i] for i in refs]
            return [
                place_batch_axis(r, f, p, count, out_structure, i)
                for i, (r, f, p) in enumerate(zip(results, flags, out_places))
            ]

        if automatic:
            from .memory import fit_chunk  # which looks at Graphs

            step = fit_chunk(run_part, map(aval_of, leaves), axes, size, memory_limit, site)
        else:
            step: Any = chunk_size or max(size, 1)
        if step >= size:
            results = unshare_results(run_chunk(0, size), leaves)
        else:
            starts: Any = range(0, size, step)
            if progress and is_plain(leaves) and CURRENT.get() is EVAL:
                from tqdm import tqdm  # 10 ms, for whoever looks

                starts = tqdm(starts, desc=progress if isinstance(progress, str) else "vmap", unit="chunk")
            results = release_all(
                join_chunks((run_chunk(i, min(i + step, size)) for i in starts), out_places, size)
            )
        if refs:
            for ref, value in zip(refs.values(), results[-len(refs) :]):
                ref.assign(value)
            results = results[: -len(refs)]
        return pytree.unflatten(flat_fun.out_structure, results)

    return derive(
        mapped_fun,
        vmap,
        fun,
        in_axes=in_axes,
        out_axes=out_axes,
        axis_name=axis_name,
        axis_size=axis_size,
        chunk_size=chunk_size,
        memory_limit=memory_limit,
        progress=progress,
        control=control,
    )


def is_opaque(value: Any) -> bool:
    """Whether a value is no array and no number: a function, a text, a dtype, a reference, an object of the user's."""
    return (
        isinstance(value, type | np.dtype)
        or is_reference(value)
        or not (isinstance(value, Number) or hasattr(value, "shape") or is_array_like(value))
    )


def common_size(
    fun: Callable[..., Any], leaves: Sequence[Any], axes: Sequence[Any], structure: Any, axis_size: int | None
) -> tuple[int, list]:
    """Return the size of the mapped axis, and the axes made non-negative."""
    sizes: dict[int, int] = {}
    normalized: list[Any] = []
    for index, (leaf, axis) in enumerate(zip(leaves, axes)):
        if axis is None:
            normalized.append(None)
            continue
        if isinstance(axis, bool) or not hasattr(axis, "__index__"):
            raise StructureError(
                f"vmap: in_axes has an entry {axis!r}; axes are integers or None",
                hint="in_axes=0, None for what is not mapped, or a tuple of these",
            )
        shape: Any = getattr(leaf, "shape", ())  # which Python's numbers lack
        if not -len(shape) <= axis < len(shape):
            raise AxisError(
                f"vmap: axis {axis} is out of bounds for argument {parameter_path(fun, structure, index)} of "
                f"shape {shape}",
                hint="in_axes=None for an argument that is not mapped",
            )
        normalized.append(axis % len(shape))
        sizes[index] = shape[axis]
    if len(set(sizes.values())) > 1:
        parts = ", ".join(
            f"{parameter_path(fun, structure, i)}: {n} (shape {aval_of(leaves[i]).shape}, axis {axes[i]})"
            for i, n in sizes.items()
        )
        raise AxisError(
            f"vmap: the mapped axes have different sizes: {parts}",
            hint="in_axes=None for arguments that are not mapped",
        )
    if axis_size is None and not sizes:
        raise AxisError(
            "vmap: no argument is mapped, so the size of the axis is unknown",
            hint="map over an argument (in_axes), or give axis_size",
        )
    size = next(iter(sizes.values()), axis_size or 0)
    if axis_size is not None and axis_size != size:
        raise AxisError(
            f"vmap: axis_size={axis_size}, but the mapped axes have size {size}",
            hint="leave axis_size out: it is needed only where no argument is mapped",
        )
    return size, normalized


def join_chunks(chunks: Iterable[list[Any]], places: Sequence[Any], size: int) -> list[Any]:
    """Join the results of consecutive chunks along the axes `places`, which are known once there is a chunk; those
    without axis are the first chunk's. Arrays are written into one at once, so that they are not there twice."""
    collected: list[Any] = []
    done = 0
    for results in chunks:
        if not collected:
            collected = [[] for _ in results]
        width = 0
        for index, (result, place) in enumerate(zip(results, places)):
            into = collected[index]
            if place is None or type(result) is not np.ndarray:
                into.append(result)
                continue
            axis = place % result.ndim
            width = result.shape[axis]
            if type(into) is list:
                shape = (*result.shape[:axis], size, *result.shape[axis + 1 :])
                into = collected[index] = np.empty(shape, result.dtype)
            elif into.dtype != result.dtype:  # by ways that values decide
                into = collected[index] = into.astype(np.result_type(into, result))
            into[(slice(None),) * axis + (slice(done, done + width),)] = result
        done += width
    return [
        parts
        if type(parts) is np.ndarray
        else parts[0]
        if place is None
        else ops.concatenate(*parts, axis=place % parts[0].ndim)
        for place, parts in zip(places, collected)
    ]


def take_chunk(value: Any, axis: int, start: int, stop: int, size: int) -> Any:
    """Take the entries start…stop of the mapped axis and move that axis to the front."""
    if (start, stop) != (0, size):
        value = ops.getitem(value, index=(slice(None),) * axis + (slice(start, stop, None),))
    return ops.move_axis(value, axis, 0)


def place_batch_axis(result: Any, is_batched: bool, place: Any, size: int, structure: Any, index: int) -> Any:
    """Return a result with its batch axis where out_axes wants it."""
    if place is None:
        if is_batched:
            path = leaf_path(structure, index) or "of the function"
            raise AxisError(
                f"vmap: out_axes is None for the result {path}, which depends on mapped arguments",
                hint="give its axis, 0 for instance",
            )
        return result.copy() if type(result) is np.ndarray else result  # may be one closed over
    if not is_batched:
        result = ops.broadcast_to(result, shape=(size, *aval_of(result).shape))
        if type(result) in PLAIN:
            result = result.copy()  # a broadcast view is read-only
    rank = len(result.shape)
    if isinstance(place, bool) or not hasattr(place, "__index__"):
        raise StructureError(
            f"vmap: out_axes has an entry {place!r}; axes are integers or None",
            hint="out_axes=0, None for what is the same for all, or a tuple of these",
        )
    if not -rank <= place < rank:
        raise AxisError(
            f"vmap: out_axes {place} is out of bounds for a result with {rank} axes",
            hint=f"an axis of the whole result, from {-rank} to {rank - 1}",
        )
    return ops.move_axis(result, 0, place % rank)
