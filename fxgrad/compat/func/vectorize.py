"""`vmap`: a function of Tensors applied to all entries of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import reduce, wraps
from itertools import groupby
from typing import Any

from ...extend import (
    BatchTracer,
    StructureError,
    api_boundary,
    aval_of,
    opened,
    ops,
    pytree,
    source_info,
    use_context,
)
from .._core.duals import carry_tangent, dual_gradient, has_tangent
from .._core.error_messages import captured_target_error, dimension_error
from .._core.memory import is_array
from .._core.modes import with_modes
from .._core.tensor import Tensor, make_tensor, refresh, to_outer, unwrap
from .._core.views import IdentityStep, ViewChain, base_tensor, tape_context
from .._declare.spaces import SPACES, expose
from .._make import generators
from ..errors import ArgumentValueError, TensorError
from .arguments import flatten_tree
from .collections import enter_collection, entering, is_collection, is_mapped_leaf, leave_collection
from .sharing import OuterTensors, Result, toggles_bit
from .transform_levels import InnerTape, VmapInterpreter, enter_tape, wrap_tree


@expose()
def vmap(
    func: Callable[..., Any],
    in_dims=0,
    out_dims=0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func` applied along a dimension of its arguments, all entries at once.

    Args:
        func: a function of pytrees of Tensors that returns a pytree of Tensors. It may use views, write in place, and
            (unlike torch's) call `requires_grad_()` and `backward()`, which is then that of each entry.
        in_dims: the dimension of each argument to map over: an int, None (not mapped), or a tuple with one entry for
            every positional argument, each an int, None, or a pytree of these. Keyword arguments are not mapped.
        out_dims: where the mapped dimension goes in the results; None for what is not mapped.
        randomness: whether random operations raise an error ("error"), draw the same numbers for all entries
            ("same") or different ones ("different").
        chunk_size: map over this many entries at a time, to bound memory.

    Raises:
        ValueError: what is mapped is no Tensor, or sizes or structures do not fit.
        RuntimeError: `func` asks for the value of a mapped Tensor, or for random numbers without `randomness`.

    >>> torch.vmap(torch.add, in_dims=(0, None))(torch.tensor([1.0, 2.0]), torch.tensor(3.0)).numpy()
    array([4., 5.], dtype=float32)
    """
    if randomness not in ("error", "different", "same"):
        raise TensorError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}",
            hint='randomness="different" draws anew for each entry, "same" once for all',
        )
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentValueError(
            f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})",
            hint="chunk_size=1, or None for all at once",
        )

    @api_boundary
    @wraps(func)
    def call_mapped(*args, **kwargs) -> Any:
        name = getattr(func, "__name__", repr(func))
        leaves, structure = pytree.flatten(args, is_mapped_leaf)
        dims = mapped_dims(in_dims, args, structure, leaves, name)
        size = common_size(leaves, dims)

        def map_chunk(given: Sequence[Any], count: int) -> tuple[list[Any], list[Any], Any]:
            return run_mapped(
                lambda *xs: func(*structure.unflatten(xs), **kwargs),
                given,
                dims,
                out_dims,
                count,
                randomness,
                name,
            )

        if chunk_size is None or chunk_size >= size:
            results, _, out_structure = map_chunk(leaves, size)
            return out_structure.unflatten(results)
        state = generators.get_rng_state()
        parts = []
        for start in range(0, size, chunk_size):
            if randomness == "same":
                generators.set_rng_state(state)
            count = min(chunk_size, size - start)
            parts.append(
                map_chunk(
                    [x if d is None else part_of(x, d, start, count) for x, d in zip(leaves, dims)], count
                )
            )
        _, places, out_structure = parts[0]
        joined = [
            column[0] if place is None else join_parts(column, place % len(column[0].shape))
            for place, *column in zip(places, *[results for results, *_ in parts])
        ]
        return out_structure.unflatten(joined)

    return call_mapped


def part_of(x: Any, dim: int, start: int, count: int) -> Any:
    """Return so many entries of a Tensor or a collection along a dimension."""
    return x[(slice(None),) * dim + (slice(start, start + count),)]


def join_parts(parts: Sequence[Any], dim: int) -> Any:
    """Join Tensors, or collections, along a dimension."""
    if is_collection(parts[0]):
        return SPACES["function"]["cat"](parts, dim)
    return wrap_tree(ops.concatenate(*map(unwrap, parts), axis=dim))


def run_mapped(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    out_dims,
    size: int,
    randomness: str,
    name: str,
) -> tuple[list[Any], list[Any], Any]:
    """Map a function of flat arguments; return (results, their mapped dimensions, their structure)."""
    outside = call_in_batch(func, leaves, dims, size, randomness, name)
    (result,) = outside.results
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and isinstance(result.whole, Tensor):
        (out_dims,) = out_dims
    misfit_error = out_dims_error(out_dims, result.whole, name)
    parts, structure = pytree.flatten(result.whole, is_mapped_leaf)
    places = broadcast_dims(out_dims, structure, parts, misfit_error)
    if not any(map(is_collection, parts)):
        return outside.release_leaves(result, places), places, structure
    return outside.release_collections(result, parts, places), places, structure


def call_in_batch(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    size: int,
    randomness: str,
    name: str = "f",
) -> OuterBatches:
    """Call a function of flat arguments inside a batch level; return the outer Tensors, with its result."""
    interpreter = VmapInterpreter(source_info.user_frame(), size, randomness)
    batches = [
        BatchTracer(interpreter, ops.move_axis(unwrap(x), d, 0))
        if d is not None and isinstance(x, Tensor)
        else None
        for x, d in zip(leaves, dims)
    ]
    interpreter.dims = {id(b.value): d for d, b in zip(dims, batches) if d and b is not None}
    entries: dict[Any, Any] = {}  # one for an argument that is given more than once
    with opened(interpreter):
        tape = InnerTape(interpreter.site)
        outside = OuterBatches(tape, leaves, interpreter, name)
        has_collections = any([b is None and is_collection(x) for x, b in zip(leaves, batches)])
        with opened(tape), entering(outside.enter_mapped) if has_collections else nullcontext():
            for x, d, b in zip(leaves, dims, batches):
                if (id(x), d) in entries:
                    continue
                if has_collections and is_collection(x):
                    entries[id(x), d] = enter_collection(x, d)
                else:
                    entries[id(x), d] = outside.note(enter_entry(tape, interpreter, x, d, b), x, d)
            outside.collect(func(*[entries[id(x), d] for x, d in zip(leaves, dims)]))
    for (_, d), entry in entries.items():
        if d is None and isinstance(entry, Tensor) and interpreter.owns(refresh(entry)._fx_value):
            raise captured_target_error("", mapped=True)
    outside.write_back_arguments()
    return outside


def enter_entry(tape, interpreter: VmapInterpreter, x, dim: int | None, batch) -> Any:
    """Wrap an argument for the mapped function: a mapped argument becomes one entry of its batch."""
    if dim is None:
        return enter_tape(tape, x)

    def enter_tangent(tangent: Tensor) -> Tensor:
        with use_context(interpreter.outer):
            return make_tensor(tape, BatchTracer(interpreter, ops.move_axis(unwrap(tangent), dim, 0)))

    return carry_tangent(x, make_tensor(tape, batch), enter_tangent)


def to_batch(value, interpreter: VmapInterpreter) -> Any:
    """Convert a value of the level to one for the outer levels, with a leading batch axis."""
    if interpreter.owns(value):
        return value.value
    spread_out = ops.broadcast_to(value, shape=(interpreter.size, *aval_of(value).shape))
    return spread_out.copy() if is_array(spread_out) else spread_out  # NumPy's own cannot be written to


def place_mapped_dim(value, place: int | None, interpreter: VmapInterpreter, name: str) -> Any:
    """Wrap a result as a Tensor, with the batch axis at the place given by `out_dims`."""
    if has_tangent(value):
        return dual_gradient(value, lambda v: place_mapped_dim(v, place, interpreter, name))
    if place is None:
        if interpreter.owns(value):
            raise ArgumentValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None",
                hint="give the dimension that it is to have, 0 for instance",
            )
        return wrap_tree(value)
    if not hasattr(value, "shape"):
        raise ArgumentValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
            "out_dims= to None for output?",
            hint=f"torch.as_tensor of the {type(value).__name__}, if it is a number; or return it by "
            "out_dims=None",
        )
    value = to_batch(value, interpreter)
    rank = len(value.shape)
    if not -rank <= place < rank:
        raise dimension_error(place, rank)
    return wrap_tree(ops.move_axis(value, 0, place % rank))


# -- views ------------------------------------------
class OuterBatches(OuterTensors):
    """The batches outside `vmap` whose entries the Tensors inside stand for."""

    def __init__(self, tape: InnerTape, given: Sequence[Any], interpreter: VmapInterpreter, name: str):
        super().__init__(tape, given)
        self.interpreter, self.name = interpreter, name

    def enter_mapped(self, x: Tensor, dim: int) -> Tensor:
        """Wrap a Tensor that a collection holds."""
        interpreter: Any = self.interpreter
        with use_context(interpreter.outer):
            batch = BatchTracer(interpreter, ops.move_axis(unwrap(x), dim, 0))
        interpreter.dims |= {id(batch.value): dim} if dim else {}
        return self.note(enter_entry(self.tape, interpreter, x, dim, batch), x, dim)

    def release_collections(
        self, result: Result, parts: Sequence[Any], places: Sequence[int | None]
    ) -> list[Any]:
        """Return what `release_leaves` does for the parts of a result, some of which are collections."""
        ranks = [len(part.shape) + 1 if is_collection(part) else 0 for part in parts]
        places = [place % rank if rank and place is not None else place for place, rank in zip(places, ranks)]
        counts = [len(flatten_tree(part)[0]) for part in parts]
        repeated = [place for place, count in zip(places, counts) for _ in range(count)]
        made = self.release_leaves(result, repeated)
        outer = {id(inside): x for inside, x in zip(result.leaves, made)}
        found, start = [], 0
        for part, place, count in zip(parts, places, counts):
            own = made[start : start + count]
            start += count
            if place is not None and is_collection(part):
                size = self.interpreter.size
                own = [leave_collection(part, lambda x, _: outer[id(x)], self.name, size, place)]
            elif is_collection(part):
                own = [flatten_tree(part)[1].unflatten(own)]
            found += own
        return found

    def wrap_outer(self, value, place: int | None) -> Any:
        return place_mapped_dim(value, place, self.interpreter, self.name)

    def release(self, result, value, place: int | None = None) -> Any:
        """See `OuterTensors.release`. What is an outer Tensor for all entries is repeated without a copy."""
        if place is None or not isinstance(result, Tensor):
            return super().release(result, value, place)
        if place < 0 <= place + len(result.shape) + 1:
            place += len(result.shape) + 1
        if not self.interpreter.owns(value):
            known = self.find(base_tensor(result))
            if known is not None and known.dim is None and known.stamp is not None:
                one = super().release(result, value)
                return one.expand(self.interpreter.size, *one.shape).movedim(0, place)
        return super().release(result, value, place)

    def is_mapped(self, value) -> bool:
        return self.interpreter.owns(value)

    def steps(self, chain: ViewChain, dim: int | None, place: int | None) -> ViewChain:
        return chain if dim is None else map_chain(chain, dim, place)


def map_chain(chain: ViewChain, dim: int, place: int | None) -> ViewChain:
    """Return the chain that applies another to every entry along a dimension. Steps that show conjugates or negatives
    do so wherever that dimension is; others that follow one another are mapped at once."""
    steps = chain.steps()
    if dim != place and all(map(toggles_bit, steps)):
        steps = [IdentityStep(), *steps]
    groups = [list(group) for _, group in groupby(steps, toggles_bit)]
    last = max([i for i, group in enumerate(groups) if not toggles_bit(group[0])], default=None)
    found: Any = None
    for i, group in enumerate(groups):
        if not toggles_bit(group[0]):
            inner: Any = reduce(ViewChain, group, None)
            group, dim = [MappedStep(inner, dim, place if i == last else 0)], 0
        found = reduce(ViewChain, group, found)
    return found


class MappedStep:
    """A view step that applies a chain of view steps to every entry along a dimension."""

    __slots__ = ("chain", "dim", "place")
    pullback = None

    def __init__(self, chain: ViewChain, dim: int, place: int | None):
        self.chain, self.dim, self.place = chain, dim, place

    @property
    def operation(self) -> Any:
        """The last operation of the steps."""
        return self.chain.last_step.operation

    def __call__(self, tensor: Tensor) -> Tensor:
        size = tensor.shape[self.dim]
        outside = call_in_batch(self.chain, [tensor], [self.dim], size, "error", "view")
        outside.is_repetition = True
        (view,) = outside.release_leaves(outside.results[0], [self.place])
        return view

    def write_back(self, value, view, tape: InnerTape) -> Any:
        """See `ViewStep.write_back`."""

        def write_entry(entry: Tensor, part: Tensor) -> Tensor:
            self.chain(entry).copy_(part)
            return entry

        with use_context(with_modes(tape_context(tape), unrecorded=True)):
            whole = make_tensor(tape, value).clone()  # the old value stays what it is
            dims = [self.dim, self.place]
            run_mapped(
                write_entry,
                [whole, make_tensor(tape, view)],
                dims,
                self.dim,
                value.shape[self.dim],
                "error",
                "view",
            )
        return to_outer(whole, tape)


# -- dimensions ------------------------------------------
def broadcast_dims(dims, structure, leaves: Sequence[Any], error: Callable[[], Exception]) -> list[Any]:
    """Broadcast a prefix tree of dimensions: one for each leaf of a structure; `dims` may have one for a subtree."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(leaves)
    try:
        # In the tree of arguments None is a leaf, so the leaves stand there as their own numbers.
        found = pytree.flatten_prefix(dims, structure.unflatten(range(len(leaves))), "")
    except StructureError:
        raise error() from None
    if any(isinstance(d, str) for d in found):
        raise error()
    return found


IN_DIMS = {  # what is wrong with them, in torch's words, and what to write: "{0}" there has an entry for each argument
    "type": (
        "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {}.",
        "in_dims={0}",
    ),
    "structure": (
        "in_dims is not compatible with the structure of `inputs`. in_dims has structure {} but inputs has structure "
        "{}.",
        "in_dims={0}, an entry for each argument, of which one stands for all of a list or dict",
    ),
    "entry": (
        "Got in_dim={} for an input but in_dim must be either an integer dimension or None.",
        "0, or None for what is not mapped",
    ),
    "input": (
        "Got in_dim={} for an input but the input is of type {}. We cannot vmap over non-Tensor arguments, please use "
        "None as the respective in_dim",
        "None for one that all entries share, torch.tensor(…) of one for each entry",
    ),
    "range": (
        "Got in_dim={0} for some input, but that input is a Tensor of dimensionality {1} so expected in_dim to satisfy "
        "-{1} <= in_dim < {1}.",
        "in_dims=0 for the first dimension, None for a Tensor that is not mapped",
    ),
}


def mapped_dims(in_dims, args: tuple, structure, leaves: Sequence[Any], name: str) -> list[int | None]:
    """The mapped dimensions of the leaves of the arguments, as non-negative numbers."""

    def make_error(kind: str, *facts) -> ArgumentValueError:
        message, hint = IN_DIMS[kind]
        return ArgumentValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): {message.format(*facts)}",
            hint=hint.format((0,) * len(args)),
        )

    if not isinstance(in_dims, int | tuple):
        raise make_error("type", type(in_dims))
    if not args:
        raise ArgumentValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported.",
            hint="vmap(f)(xs): what is mapped is an argument, by position",
        )
    dims = broadcast_dims(
        in_dims,
        structure,
        leaves,
        lambda: make_error("structure", flatten_tree(in_dims)[1], structure),
    )
    for i, (x, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise make_error("entry", d)
        if not (isinstance(x, Tensor) or is_collection(x)):
            raise make_error("input", d, type(x))
        rank = len(x.shape)
        if not -rank <= d < rank:
            raise make_error("range", d, rank)
        dims[i] = d % rank
    return dims


def common_size(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    """The size of the mapped dimension."""
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ArgumentValueError(
            "vmap: Expected at least one Tensor to vmap over",
            hint="an int as the in_dim of one of the inputs",
        )
    if len(set(sizes)) > 1:
        raise ArgumentValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension",
            hint="in_dims=None for an argument that is not mapped, another number for one with the batch "
            "elsewhere",
        )
    return sizes[0]


def out_dims_error(out_dims, result, name: str) -> Callable[[], Exception]:
    """Return the error for `out_dims` that do not fit the results."""

    def make_error() -> Exception:
        if not isinstance(out_dims, tuple | list | dict):
            return ArgumentValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear.",
                hint="out_dims=0",
            )
        return ArgumentValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten_tree(out_dims)[1]} but outputs has structure "
            f"{flatten_tree(result)[1]}.",
            hint="one number for all outputs, out_dims=0, or a number or None for each",
        )

    return make_error
