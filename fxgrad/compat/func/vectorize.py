"""`vmap`: a function of Tensors, for all entries of a batch at once."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from ... import ops
from ...core import pytree, source_info
from ...core.aval import aval_of
from ...core.errors import StructureError
from ...core.interpreter import boundary, opened, within
from ...transforms.vmap import BatchTracer
from .._core.duals import carried, handed, is_pair
from .._core.errors import ArgumentValueError, DimensionError, TensorError
from .._core.memory import is_array
from .._core.modes import with_modes
from .._core.tensor import Tensor, current, lower, make, unwrap
from .._core.views import Steps, context_of
from .._declare.operation import exposed
from .._make import generators
from .sharing import Outside
from .transform_levels import InnerTape, VmapInterpreter, entering, flatten, lowered, returned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@exposed()
def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
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

    >>> import fxgrad.compat as torch
    >>> torch.vmap(torch.add, in_dims=(0, None))(torch.tensor([1.0, 2.0]), torch.tensor(3.0)).numpy()
    array([4., 5.], dtype=float32)
    """
    if randomness not in ("error", "different", "same"):
        raise TensorError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @boundary
    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        name = getattr(func, "__name__", repr(func))
        leaves, structure = flatten(args)
        dims = dims_of(in_dims, args, leaves, name)
        size = common_size(leaves, dims)

        def batch(given: Sequence[Any], count: int) -> tuple[list[Any], list[Any], Any]:
            return run(
                lambda *xs: func(*structure.unflatten(xs), **kwargs),
                given,
                dims,
                out_dims,
                count,
                randomness,
                name,
            )

        if chunk_size is None or chunk_size >= size:
            results, _, out_structure = batch(leaves, size)
            return out_structure.unflatten(results)
        state = generators.get_rng_state()
        parts = []
        for start in range(0, size, chunk_size):
            if randomness == "same":
                generators.set_rng_state(state)
            count = min(chunk_size, size - start)
            parts.append(
                batch([x if d is None else x.narrow(d, start, count) for x, d in zip(leaves, dims)], count)
            )
        _, places, out_structure = parts[0]
        joined = [
            column[0]
            if place is None
            else returned(ops.concatenate(*map(unwrap, column), axis=place % len(column[0].shape)))
            for place, *column in zip(places, *[results for results, *_ in parts])
        ]
        return out_structure.unflatten(joined)

    return mapped


def run(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    out_dims: Any,
    size: int,
    randomness: str,
    name: str,
) -> tuple[list[Any], list[Any], Any]:
    """(results, their mapped dimensions, their structure) of a function of a flat sequence of arguments."""
    outside, result, values = entered(func, leaves, dims, size, randomness, name)
    results, structure = flatten(result)
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and isinstance(result, Tensor):
        (out_dims,) = out_dims
    places = spread(out_dims, result, results, out_dims_error(out_dims, result, name))
    return [outside.release(r, v, p) for r, v, p in zip(results, values, places)], places, structure


def entered(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    size: int,
    randomness: str,
    name: str = "f",
) -> tuple[OutsideBatch, Any, list[Any]]:
    """(what Tensors inside stand for, result, leaves of the result as values for the level) of a function of a flat
    sequence of arguments."""
    interpreter = VmapInterpreter(source_info.caller(), size, randomness)
    batches = [
        None if d is None else BatchTracer(interpreter, ops.move_axis(unwrap(x), d, 0))
        for x, d in zip(leaves, dims)
    ]
    entries: dict[Any, Any] = {}  # one for an argument that is given more than once
    with opened(interpreter):
        tape = InnerTape(interpreter.site)
        outside = OutsideBatch(tape, leaves, interpreter, name)
        with opened(tape):
            for x, d, b in zip(leaves, dims, batches):
                if (id(x), d) not in entries:
                    entries[id(x), d] = entry = entered_at(tape, interpreter, x, d, b)
                    outside.note(entry, x, d)
            result = func(*[entries[id(x), d] for x, d in zip(leaves, dims)])
            values = [lowered(r, tape) for r in flatten(result)[0]]
    for (_, d), entry in entries.items():
        if d is None and isinstance(entry, Tensor) and interpreter.owns(current(entry).value):
            raise TensorError(
                "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`: an argument that is not mapped was given mapped values",
                hint="map over it as well, or modify a clone",
            )
    outside.restore()
    return outside, result, values


def entered_at(tape: Any, interpreter: VmapInterpreter, x: Any, dim: int | None, batch: Any) -> Any:
    """An argument as the function gets it: one entry of its batch, where it has one."""
    if dim is None:
        return entering(tape, x)

    def entry(tangent: Tensor) -> Tensor:
        with within(interpreter.outer):
            return make(tape, BatchTracer(interpreter, ops.move_axis(unwrap(tangent), dim, 0)))

    return carried(x, make(tape, batch), entry)


def unbatched(value: Any, interpreter: VmapInterpreter) -> Any:
    """A value of the level as one for the levels outside, with the batch axis leading."""
    if interpreter.owns(value):
        return value.value
    spread_out = ops.broadcast_to(value, shape=(interpreter.size, *aval_of(value).shape))
    return spread_out.copy() if is_array(spread_out) else spread_out  # NumPy's own cannot be written to


def placed(value: Any, place: int | None, interpreter: VmapInterpreter, name: str) -> Any:
    """A result as a Tensor that has its batch axis where `out_dims` wants it."""
    if is_pair(value):
        return handed(value, lambda v: placed(v, place, interpreter, name))
    if place is None:
        if interpreter.owns(value):
            raise ArgumentValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None",
                hint="give the dimension that it is to have, 0 for instance",
            )
        return returned(value)
    if not hasattr(value, "shape"):
        raise ArgumentValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    value = unbatched(value, interpreter)
    rank = len(value.shape)
    if not -rank <= place < rank:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {place})"
        )
    return returned(ops.move_axis(value, 0, place % rank))


# -- views ------------------------------------------
class OutsideBatch(Outside):
    """What the Tensors of which a function gets entries have to do with its results."""

    def __init__(self, tape: InnerTape, given: Sequence[Any], interpreter: VmapInterpreter, name: str):
        super().__init__(tape, given)
        self.interpreter, self.name = interpreter, name

    def tensor_of(self, value: Any, place: int | None) -> Any:
        return placed(value, place, self.interpreter, self.name)

    def maps(self, value: Any) -> bool:
        return self.interpreter.owns(value)

    def steps(self, steps: Steps, dim: int | None, place: int | None) -> Steps:
        return steps if dim is None else Steps(None, Mapped(steps, dim, place))


class Mapped:
    """The step from a Tensor to one with the views that some steps make of its entries along a dimension."""

    __slots__ = ("dim", "place", "steps")

    def __init__(self, steps: Steps, dim: int, place: int | None):
        self.steps, self.dim, self.place = steps, dim, place

    @property
    def operation(self) -> Any:
        """The last operation of the steps."""
        return self.steps.last.operation

    def __call__(self, tensor: Tensor) -> Tensor:
        size = tensor.shape[self.dim]
        ((view,), *_) = run(self.steps, [tensor], [self.dim], self.place, size, "error", "view")
        return view

    def restored(self, value: Any, view: Any, tape: InnerTape) -> Any:
        """See `aspects.Step.restored`."""

        def written(entry: Tensor, part: Tensor) -> Tensor:
            self.steps(entry).copy_(part)
            return entry

        whole = make(tape, value)
        with within(with_modes(context_of(whole), grad=False)):
            dims = [self.dim, self.place]
            run(written, [whole, make(tape, view)], dims, self.dim, value.shape[self.dim], "error", "view")
        return lower(whole, tape)


# -- dimensions ------------------------------------------
def spread(dims: Any, whole: Any, leaves: Sequence[Any], error: Callable[[], Exception]) -> list[Any]:
    """One dimension for each leaf, where `dims` may have one for a subtree."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(leaves)
    try:
        # In the tree of arguments None is a leaf, so the leaves stand there as their own numbers.
        numbered = flatten(whole)[1].unflatten(range(len(leaves)))
        found = pytree.flatten_prefix(dims, numbered, "")
    except StructureError:
        raise error() from None
    if any(isinstance(d, str) for d in found):
        raise error()
    return found


def dims_of(in_dims: Any, args: tuple, leaves: Sequence[Any], name: str) -> list[int | None]:
    """The mapped dimension of each leaf of the arguments, none of them negative."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise ArgumentValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ArgumentValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )

    def misfit() -> Exception:
        return ArgumentValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{flatten(in_dims)[1]} but inputs has structure {flatten(args)[1]}."
        )

    dims = spread(in_dims, args, leaves, misfit)
    for i, (x, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ArgumentValueError(
                f"{call}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ArgumentValueError(
                f"{call}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        rank = len(x.shape)
        if not -rank <= d < rank:
            raise ArgumentValueError(
                f"{call}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {rank} so "
                f"expected in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
        dims[i] = d % rank
    return dims


def common_size(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    """The size of the mapped dimension."""
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ArgumentValueError(
            "vmap: got no input with a dimension to map over: at least one in_dim must be an int"
        )
    if len(set(sizes)) > 1:
        raise ArgumentValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


def out_dims_error(out_dims: Any, result: Any, name: str) -> Callable[[], Exception]:
    """What to raise where `out_dims` do not fit the results."""

    def made() -> Exception:
        if not isinstance(out_dims, tuple | list | dict):
            return ArgumentValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear."
            )
        return ArgumentValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {flatten(result)[1]}."
        )

    return made
