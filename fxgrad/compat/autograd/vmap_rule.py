"""Functions under `vmap`: by the user's rule, or by one that is made of their other methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ... import ops
from ...core.aval import aval_of
from ...ops.projection import project
from .._core.errors import TensorError
from .._core.tensor import Tensor, unwrap
from ..func.arguments import flatten_tree
from ..func.transform_levels import wrap_tree
from ..func.vectorize import broadcast_dims, call_in_batch
from .custom import apply_function
from .function_node import FunctionCtx, SingleLevelFunction, user_backward

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class VmapInfo(NamedTuple):
    """The description of the mapping level that `Function.vmap` gets."""

    batch_size: int
    randomness: str


def apply_to_entries(
    cls: type[SingleLevelFunction], args: tuple, dims: tuple, size: int, randomness: str
) -> tuple[Any, list[Any]]:
    """Apply a Function to a batch; return (output, mapped dimension of each output)."""
    own = cls.vmap is not SingleLevelFunction.vmap
    name = cls.__name__
    if own and cls.generate_vmap_rule:
        raise TensorError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity."
        )
    if cls.generate_vmap_rule:
        how = BatchCall(cls, dims, size, randomness)
        output = apply_function(MappedFunction, (how, *args), {})[1]
        return output[0] if how.single else output, [0 if flag else None for flag in how.is_batched]
    if not own:
        raise TensorError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )
    result = cls.vmap(VmapInfo(size, randomness), dims, *args)
    if not isinstance(result, tuple) or len(result) != 2:
        raise TensorError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(result)} instead"
        )
    output, out_dims = result
    outputs = list(output) if isinstance(output, tuple) else [output]

    def misfit_error() -> Exception:
        return TensorError(
            f"out_dims {out_dims} of {name}.vmap is not compatible with the structure of its output"
        )

    return output, broadcast_dims(
        out_dims, output if isinstance(output, tuple) else outputs[0], outputs, misfit_error
    )


class BatchCall:
    """One application of a Function to a batch: which of its arguments are batched, and then which of its outputs."""

    def __init__(self, cls: type[SingleLevelFunction], dims: tuple, size: int, randomness: str):
        self.cls, self.dims, self.size, self.randomness = cls, list(dims), size, randomness
        self.single = True
        self.is_batched: list[bool] = []

    def run(
        self, function: Callable[..., Any], leaves: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[list, list[bool]]:
        """Map a function of entries that returns a flat sequence; return (results, whether each is batched)."""
        outside = call_in_batch(function, leaves, dims, self.size, self.randomness)
        values = outside.results[0].values
        flags = [outside.interpreter.owns(v) for v in values]
        return [wrap_tree(v.value if f else v) for v, f in zip(values, flags)], flags


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
    _apply_to_entries = classmethod(apply_to_entries)

    @staticmethod
    def forward(how: BatchCall, *args) -> tuple:
        def forward(*entries) -> tuple:
            output = how.cls.forward(*entries)
            how.single = not isinstance(output, tuple)
            return (output,) if how.single else output

        results, how.is_batched = how.run(forward, args, how.dims)
        return tuple(results)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: tuple) -> None:
        how, *args = inputs
        entry = EntryCtx()
        entry.needs_input_grad = ctx.needs_input_grad[1:]
        originals = [*args, *output]
        dims = [*how.dims, *(0 if flag else None for flag in how.is_batched)]
        box: dict[str, Any] = {}

        def setup(*entries) -> list[Any]:
            outputs = entries[len(args) :]
            ctx.entry_avals = [e.aval if isinstance(e, Tensor) else None for e in entries[: len(args)]]
            how.cls.setup_context(entry, entries[: len(args)], outputs[0] if how.single else outputs)
            if entry.dirty_tensors:
                raise TensorError(
                    f"{how.cls.__name__}: mark_dirty is not supported with generate_vmap_rule=True"
                )
            attributes = {k: v for k, v in vars(entry).items() if k not in CTX_FIELDS}
            leaves, box["structure"] = flatten_tree(attributes)
            kept = [*entry.to_save, *entry.saved_for_forward, *leaves]
            box["origins"] = [next((i for i, e in enumerate(entries) if e is t), None) for t in kept]
            box["constant"] = [
                i for i, t in enumerate(outputs) if any(t is c for c in entry.non_differentiable)
            ]
            return kept

        kept, flags = how.run(setup, originals, dims)
        for i, origin in enumerate(
            box["origins"]
        ):  # those have a history that what was taken from a batch has not
            if origin is not None:
                kept[i], flags[i] = originals[origin], dims[origin] is not None
        places = [0 if flag else None for flag in flags]
        first = len(entry.to_save)
        second = first + len(entry.saved_for_forward)
        ctx.save_for_backward(*kept[:first])
        ctx.save_for_forward(*kept[first:second])
        ctx.mark_non_differentiable(*[output[i] for i in box["constant"]])
        ctx.set_materialize_grads(entry.materialize_grads)
        ctx.how = how
        ctx.dims_to_save, ctx.dims_for_forward = places[:first], places[first:second]
        ctx.state = EntryState(kept[second:], places[second:], box["structure"])

    @staticmethod
    def backward(ctx, *grads) -> tuple:
        how = ctx.how
        dims = [0 if flag else None for flag in how.is_batched]

        def backward(entry, *given) -> tuple:
            results = user_backward(how.cls)(entry, *given)
            results = results if isinstance(results, tuple) else (results,)
            return (*map(project_gradient, results, ctx.entry_avals), *results[len(ctx.entry_avals) :])

        results, flags = map_method(ctx, backward, ctx.dims_to_save, grads, dims)
        found = []
        for result, flag, dim in zip(results, flags, how.dims):
            if isinstance(result, Tensor) and flag and dim is None:
                result = wrap_tree(ops.reduce_sum(unwrap(result), axes=(0,)))
            found.append(expand_to_batch(result, how.size) if dim == 0 and not flag else result)
        return (None, *found, *results[len(found) :])

    @staticmethod
    def jvp(ctx, _, *tangents) -> tuple:
        how = ctx.how
        dims = [d if isinstance(t, Tensor) else None for t, d in zip(tangents, how.dims)]
        results, flags = map_method(ctx, how.cls.jvp, ctx.dims_for_forward, tangents, dims)
        return tuple(
            [
                expand_to_batch(result, how.size) if wanted and not flag else result
                for result, flag, wanted in zip(results, flags, how.is_batched)
            ]
        )


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
) -> tuple[list, list[bool]]:
    """Map a method of a Function over what `setup_context` saved, and over gradients or tangents."""
    how, state, saved = ctx.how, ctx.state, ctx.saved_tensors
    first, second = len(saved), len(saved) + len(state.leaves)

    def run_entry(*entries) -> tuple:
        entry = EntryCtx()
        entry.__dict__.update(state.structure.unflatten(entries[first:second]))
        entry.saved_tensors = entries[:first]
        entry.needs_input_grad = ctx.needs_input_grad[1:]
        result = method(entry, *entries[second:])
        return result if isinstance(result, tuple) else (result,)

    return how.run(run_entry, [*saved, *state.leaves, *given], [*saved_dims, *state.dims, *dims])


def project_gradient(result, aval) -> Any:
    """Reduce a gradient to the shape of its entry, from which it may have been expanded."""
    if not isinstance(result, Tensor) or aval is None or result.shape == aval.shape:
        return result
    return wrap_tree(project(unwrap(result), aval.update(dtype=result.dtype.numpy)))


def expand_to_batch(result, size: int) -> Any:
    """Expand a result that is the same for all entries to a batch."""
    if not isinstance(result, Tensor):
        return result
    value = unwrap(result)
    return wrap_tree(ops.broadcast_to(value, shape=(size, *aval_of(value).shape)))
