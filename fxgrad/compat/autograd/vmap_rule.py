"""Functions under `vmap`: by the user's rule, or by a rule generated from their other methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...extend import aval_of, ops
from .._core.error_messages import dimension_error
from .._core.tensor import Tensor, refresh, unwrap
from ..errors import NotSupportedError, TensorError
from ..func.arguments import flatten_tree
from ..func.transform_levels import wrap_tree
from ..func.vectorize import broadcast_dims, call_in_batch
from .custom import ArgumentLayout, apply_function
from .function_node import FunctionCtx, SingleLevelFunction, check_gradient_places, user_backward


class VmapInfo(NamedTuple):
    """The description of the mapping level that `Function.vmap` gets."""

    batch_size: int
    randomness: str


DOCUMENTS = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def apply_to_entries(
    cls: type[SingleLevelFunction],
    layout: ArgumentLayout,
    tensors: Sequence[Tensor],
    given: Sequence[int | None],
    size: int,
    randomness: str,
) -> tuple[Any, list[Any]]:
    """Apply a Function to a batch, with Tensors at the places of its arguments that are mapped over given dimensions;
    return (output, mapped dimension of each output)."""
    own = cls.vmap is not SingleLevelFunction.vmap
    name = cls.__name__
    leaves, leaf_dims = layout.fill(tensors), layout.spread(given)
    if own and cls.generate_vmap_rule:
        raise TensorError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {DOCUMENTS}",
            hint="delete the method vmap, where forward and backward are made of torch's operations",
        )
    if cls.generate_vmap_rule:
        how = BatchCall(cls, layout, leaves, leaf_dims, size, randomness)
        output = apply_function(MappedFunction, (how, *leaves), {})[1]
        return output[0] if how.single else output, how.out_dims
    if not own:
        raise TensorError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            f"staticmethod or set generate_vmap_rule=True. {DOCUMENTS}",
            hint="generate_vmap_rule = True in the class, where forward and backward are made of torch's "
            "operations",
        )
    (args, kwargs), (dims, _) = layout.arguments(leaves), layout.arguments(leaf_dims)
    check_keywords(kwargs)
    result = cls.vmap(VmapInfo(size, randomness), dims, *args, **kwargs)
    if not isinstance(result, tuple) or len(result) != 2:
        raise TensorError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(result)} instead",
            hint="return output, 0 from vmap: the output with the batch first",
        )
    output, out_dims = result
    outputs = output if isinstance(output, tuple) else (output,)

    def misfit_error() -> Exception:
        return TensorError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{flatten_tree(out_dims)[1]} but output has structure {flatten_tree(output)[1]}. {DOCUMENTS}"
        )

    structure = flatten_tree((0,) * len(outputs) if isinstance(output, tuple) else 0)[1]
    found = broadcast_dims(out_dims, structure, outputs, misfit_error)
    return output, [positive_dim(o, d) for o, d in zip(outputs, found)]


def check_keywords(kwargs: dict) -> None:
    """Raise for Tensors that are given by keyword, which has no place among the `in_dims`."""
    if kwargs and any(isinstance(x, Tensor) for x in flatten_tree(kwargs)[0]):
        raise NotSupportedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to "
            f"autograd.Function. Got: {kwargs}",
            hint="F.apply(x, y) in place of F.apply(x, y=y)",
        )


def positive_dim(output, dim: int | None) -> int | None:
    """The mapped dimension of an output as a non-negative number; None if the output is not a Tensor.

    Raises:
        DimensionError: the output has no such dimension.
    """
    if dim is None or not isinstance(output, Tensor):
        return None
    rank = output.dim()
    if not -rank <= dim < rank:
        raise dimension_error(dim, rank)
    return dim % rank


class BatchCall:
    """The application of a Function to a batch: the mapped dimensions of the leaves of its arguments, and later of its
    outputs. `places` are those of the arguments among the leaves, None for a container."""

    def __init__(
        self,
        cls: type[SingleLevelFunction],
        layout: ArgumentLayout,
        leaves: Sequence[Any],
        dims: list[int | None],
        size: int,
        randomness: str,
    ):
        self.cls, self.size, self.randomness = cls, size, randomness
        self.layout, self.dims = layout, dims
        numbered, keywords = layout.arguments(range(len(leaves)))
        if keywords:
            check_keywords(layout.arguments(leaves)[1])
        self.places = [k if isinstance(k, int) else None for k in numbered]
        self.single = True
        self.out_dims: list[int | None] = []

    def choose(self, given: Sequence[Any], missing: Any = None) -> tuple:
        """Choose the values for the leaves of each argument: `missing` for a container."""
        return tuple([missing if k is None else given[k] for k in self.places])

    def spread_gradients(self, gradients: tuple, avals: Sequence[Any]) -> tuple:
        """Return the gradients of the arguments as gradients of the leaves, in their shapes."""
        tensors = [i for i, k in enumerate(self.places) if k is not None and avals[k] is not None]
        check_gradient_places(f"Vmapped{self.cls.__name__}Backward", gradients, len(self.places), tensors)
        found: list[Any] = [None] * len(self.dims)
        for gradient, k in zip(gradients, self.places):
            if k is not None:
                found[k] = project_gradient(gradient, avals[k])
        return tuple(found)

    def run(
        self, function: Callable[..., Any], leaves: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[list[Any], list[int | None]]:
        """Map a function of entries that returns a flat sequence; return (results, their mapped dimensions). A result
        that is an entry is the batch itself, so that it may be known as one that was modified."""
        outside = call_in_batch(function, leaves, dims, self.size, self.randomness)
        (result,), found, places = outside.results, [], []
        for leaf, value in zip(result.leaves, result.values):
            is_batched, given = outside.interpreter.owns(value), outside.found.get(id(leaf))
            if given is not None and is_batched is (given.dim is not None):
                found.append(given.outside)
                places.append(given.dim)
            else:
                found.append(wrap_tree(value.value if is_batched else value))
                places.append(0 if is_batched else None)
        return found, places


class EntryCtx(FunctionCtx):
    """The `ctx` of one entry of a batch."""

    saved_tensors: tuple = ()
    needs_input_grad: tuple = ()


class EntryState(NamedTuple):
    """The attributes of an entry's `ctx` besides saved Tensors: leaves, their mapped dimensions, structure."""

    leaves: list[Any]
    dims: list[Any]
    structure: Any


class MappedFunction(SingleLevelFunction):
    """A Function with `generate_vmap_rule` on a batch: each of its methods mapped. The first argument is the Batch."""

    generate_vmap_rule = True
    _fx_apply_to_entries = classmethod(apply_to_entries)

    @staticmethod
    def forward(how: BatchCall, *args) -> tuple:
        def forward(*entries) -> tuple:
            args, kwargs = how.layout.arguments(entries)
            output = how.cls.forward(*args, **kwargs)
            how.single = not isinstance(output, tuple)
            return (output,) if how.single else output

        results, how.out_dims = how.run(forward, args, how.dims)
        return tuple(results)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: tuple) -> None:
        how, *args = inputs
        entry = EntryCtx()
        entry.needs_input_grad = how.choose(ctx.needs_input_grad[1:], False)
        originals = [*args, *output]
        dims = [*how.dims, *how.out_dims]
        box: dict[str, Any] = {}

        def setup(*entries) -> list[Any]:
            outputs = entries[len(args) :]
            ctx.entry_avals = [
                aval_of(refresh(e)._fx_value) if isinstance(e, Tensor) else None for e in entries[: len(args)]
            ]
            given, _ = how.layout.arguments(entries[: len(args)])
            how.cls.setup_context(entry, given, outputs[0] if how.single else outputs)
            attributes = {k: v for k, v in vars(entry).items() if k not in CTX_FIELDS}
            leaves, box["structure"] = flatten_tree(attributes)
            kept = [*entry.to_save, *entry.saved_for_forward, *leaves]
            box["origins"] = [next((i for i, e in enumerate(entries) if e is t), None) for t in kept]
            box["constant"] = [
                i for i, t in enumerate(outputs) if any(t is c for c in entry.non_differentiable)
            ]
            box["dirty"] = [i for i, e in enumerate(entries) if any(e is t for t in entry.dirty_tensors)]
            return kept

        kept, places = how.run(setup, originals, dims)
        for i, origin in enumerate(box["origins"]):
            if origin is not None:  # which has a history that what was taken from a batch has not
                kept[i], places[i] = originals[origin], dims[origin]
        first = len(entry.to_save)
        second = first + len(entry.saved_for_forward)
        ctx.save_for_backward(*kept[:first])
        ctx.save_for_forward(*kept[first:second])
        ctx.mark_non_differentiable(*[output[i] for i in box["constant"]])
        ctx.mark_dirty(*[originals[i] for i in box["dirty"]])
        ctx.set_materialize_grads(entry.materialize_grads)
        ctx.how = how
        ctx.dims_to_save, ctx.dims_for_forward = places[:first], places[first:second]
        ctx.state = EntryState(kept[second:], places[second:], box["structure"])

    @staticmethod
    def backward(ctx, *grads) -> tuple:
        how = ctx.how
        dims = [None if g is None else d for g, d in zip(grads, how.out_dims)]

        def backward(entry, *given) -> tuple:
            results = user_backward(how.cls)(entry, *given)
            results = results if isinstance(results, tuple) else (results,)
            return how.spread_gradients(results, ctx.entry_avals)

        results, places = map_method(ctx, backward, ctx.dims_to_save, grads, dims)
        found = []
        for result, place, dim in zip(results, places, how.dims):
            if dim is not None:
                result = place_batch(result, place, dim, how.size)
            elif isinstance(result, Tensor) and place is not None:
                result = wrap_tree(ops.reduce_sum(unwrap(result), axes=(place,)))
            found.append(result)
        return (None, *found)

    @staticmethod
    def jvp(ctx, _, *tangents) -> tuple:
        how = ctx.how
        dims = [d if isinstance(t, Tensor) else None for t, d in zip(tangents, how.dims)]
        given, given_dims = how.choose(tangents), how.choose(dims)
        results, places = map_method(ctx, how.cls.jvp, ctx.dims_for_forward, given, given_dims)
        found = [
            result if dim is None else place_batch(result, place, dim, how.size)
            for result, place, dim in zip(results, places, how.out_dims)
        ]
        return (*found, *results[len(found) :])


CTX_FIELDS = {
    "to_save",
    "saved_for_forward",
    "non_differentiable",
    "materialize_grads",
    "needs_input_grad",
    "dirty_tensors",
}


def map_method(
    ctx, method: Callable[..., Any], saved_dims: Sequence[Any], given: Sequence[Any], dims: Sequence[Any]
) -> tuple[list[Any], list[int | None]]:
    """Map a method of a Function over the saved values, and over gradients or tangents."""
    how, state, saved = ctx.how, ctx.state, ctx.saved_tensors
    first, second = len(saved), len(saved) + len(state.leaves)

    def run_entry(*entries) -> tuple:
        entry = EntryCtx()
        entry.__dict__.update(state.structure.unflatten(entries[first:second]))
        entry.saved_tensors = entries[:first]
        entry.needs_input_grad = how.choose(ctx.needs_input_grad[1:], False)
        result = method(entry, *entries[second:])
        return result if isinstance(result, tuple) else (result,)

    return how.run(run_entry, [*saved, *state.leaves, *given], [*saved_dims, *state.dims, *dims])


def project_gradient(result, aval) -> Any:
    """Reduce a gradient to the shape of its entry, if it has been expanded from that."""
    if not isinstance(result, Tensor) or aval is None or result.shape == aval.shape:
        return result
    return wrap_tree(ops.project(unwrap(result), aval.update(dtype=result.dtype.numpy)))


def place_batch(result, place: int | None, dim: int, size: int) -> Any:
    """Move the mapped dimension of a result to `dim`; a result that is the same for all entries is expanded."""
    if not isinstance(result, Tensor) or place == dim:
        return result
    value = unwrap(result)
    if place is None:
        value, place = ops.broadcast_to(value, shape=(size, *aval_of(value).shape)), 0
    return wrap_tree(ops.move_axis(value, place, dim))
