"""Forward mode: `jvp`, and `linearize`, which keeps its derivative as a Graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...extend import JVPTracer, api_boundary, aval_of, opened, ops, source_info
from ...extend import linearize as linearize_values
from .._core.backward.accumulation import memory_ids, separate_memory
from .._core.dtypes import from_numpy_dtype
from .._core.duals import check_tangent, ensure_floating, ensure_no_dual_level
from .._core.memory import VERSIONS, ensure_unmodified
from .._core.tape import next_serial
from .._core.tensor import Size, Tensor, make_tensor, unwrap
from .._declare.generated import entry_point
from ..errors import TensorError
from ..ops.slicing import alias
from .arguments import ensure_output, ensure_tensors, flatten_primals, flatten_tree
from .sharing import OuterTensors
from .transform_levels import InnerTape, TangentInterpreter, to_outer_result, wrap_tree

JVP = "jvp(f, primals, tangents)"  # its name in messages


@entry_point
def jvp(
    func: Callable[..., Any], primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The output of `func` at `primals` and its derivative along `tangents` (Jacobian-vector product).

    Args:
        func: a function of pytrees of Tensors.
        primals: a tuple of its arguments.
        tangents: a tuple of the same structure and shapes.
        strict: raise if an output does not depend on the primals, instead of giving zeros.
        has_aux: `func` returns (output, aux).

    Returns:
        (output, tangent of the output), and aux if `has_aux`.

    Raises:
        RuntimeError: structures or shapes do not fit, or what must be Tensors are none.
        ValueError: Tensors of integers or booleans.

    >>> y, t = torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    >>> y.numpy(), t.numpy()
    (array(0., dtype=float32), array(2., dtype=float32))
    """
    if not isinstance(primals, tuple):
        raise TensorError(
            f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
            hint="(primals,)",
        )
    return jvp_at(func, primals, {}, range(len(primals)), tangents, strict, has_aux)


def jvp_at(
    func: Callable[..., Any],
    args: tuple,
    kwargs: dict,
    places: Sequence[int],
    tangents: tuple,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """Compute `jvp` with respect to the arguments at some places."""
    ensure_no_dual_level()
    leaves, structure = flatten_primals(tuple([args[i] for i in places]), JVP)
    given, tangent_structure = flatten_tree(tangents)
    if tangent_structure != structure:
        raise TensorError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {tangent_structure}",
            hint="torch.utils._pytree.tree_map(torch.ones_like, primals) has the structure",
        )
    interpreter = TangentInterpreter(source_info.user_frame())
    duals = [JVPTracer(interpreter, unwrap(x), match_tangent(t, x)) for x, t in zip(leaves, given)]
    with opened(interpreter):
        tape = InnerTape(interpreter.site)
        outside = OuterPrimals(tape, [*leaves, *given], interpreter)
        with opened(tape):
            inputs = [outside.note(make_tensor(tape, d), x) for d, x in zip(duals, leaves)]
            call = outside.restrict(func, args, kwargs, places)
            result = outside.collect(call(*structure.unflatten(inputs)), JVP, has_aux)
            ensure_output(result.leaves, JVP)
    outside.write_back_arguments()
    pairs = [interpreter.primal_and_tangent(v) for v in result.values]
    if strict and any(t is None for _, t in pairs):
        raise TensorError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True.",
            hint="strict=False, which gives zeros; or compute from the inputs, without detach() and item()",
        )
    output, *aux = outside.release_results()
    ts = [wrap_tree(ops.zeros_like(y) if t is None else t) for y, t in pairs]
    return output, result.structure.unflatten([separate_memory(t, outside.used_ids) for t in ts]), *aux


class OuterPrimals(OuterTensors):
    """The outer Tensors for which the primals inside `jvp` stand."""

    def __init__(self, tape: InnerTape, given: Sequence[Any], interpreter: TangentInterpreter):
        super().__init__(tape, given)
        self.interpreter = interpreter

    def release(self, result, value, place: int | None = None) -> Any:
        """See `OuterTensors.release`. A primal is a view of the dual, also where that is an outer Tensor."""
        made = super().release(result, value, place)
        known = self.found.get(id(result))
        return alias(made) if known is not None and known.stamp is not None else made

    def wrap_outer(self, value, place: int | None) -> Any:
        return wrap_tree(self.interpreter.primal_and_tangent(value)[0])


def match_tangent(tangent, primal: Tensor) -> Any:
    """Check a tangent against its primal, and convert it to the primal's dtype."""
    if not isinstance(tangent, Tensor):
        raise TensorError(
            f"{JVP}: Expected tangents to only contain Tensors, got {type(tangent)}",
            hint="torch.zeros_like(primal) for an argument that does not move",
        )
    ensure_floating(primal, "primal")
    ensure_floating(tangent, "tangent")
    check_tangent(tangent, primal)
    value, dtype = unwrap(tangent), aval_of(primal._fx_value).dtype
    return value if aval_of(value).dtype == dtype else ops.convert(value, dtype=dtype)


@entry_point
def linearize(func: Callable[..., Any], *primals) -> tuple[Any, Callable[..., Any]]:
    """The output of `func` and its derivative at `primals` as a linear function of the tangents.

    The output is computed once; the linear function carries out only what depends on the tangents.

    Args:
        func: a function of pytrees of Tensors.
        primals: its arguments.

    Returns:
        (output, jvp_fn): `jvp_fn(*tangents)` gives the tangent of the output.

    Raises:
        RuntimeError: by `jvp_fn`, the tangents have another structure, shape or dtype than the primals.
        ValueError: Tensors of integers or booleans.

    >>> y, jvp_fn = torch.func.linearize(torch.mul, torch.tensor(3.0), torch.tensor(4.0))
    >>> jvp_fn(torch.tensor(1.0), torch.tensor(0.0)).numpy()
    array(4., dtype=float32)
    """
    ensure_no_dual_level()
    name = "linearize(f, *primals)"
    leaves, structure = flatten_primals(primals, name)
    for x in leaves:
        ensure_floating(x, "primal")
    box: dict[str, Any] = {}
    site = source_info.user_frame()

    def call_on_values(*values) -> list[Any]:
        tape = InnerTape(site)
        with opened(tape):
            inputs = structure.unflatten([make_tensor(tape, v) for v in values])
            results, box["structure"] = flatten_tree(func(*inputs))
            ensure_tensors(results, name)
            return [to_outer_result(r, tape) for r in results]

    outputs, push = linearize_values(call_on_values, *[unwrap(x) for x in leaves])
    then = next_serial()
    avals = [aval_of(x._fx_value) for x in leaves]

    @api_boundary
    def jvp_fn(*tangents) -> Any:
        given, given_structure = flatten_tree(tangents)
        if given_structure != structure:
            raise TensorError(
                f"Expected the tangents {given_structure} to have the same argspec as the primals {structure}",
                hint="one tangent for each primal, in the same containers",
            )
        for i, (t, aval) in enumerate(zip(given, avals)):
            for what, mine, theirs in (
                ("shape", t.shape, Size(aval.shape)),
                ("dtype", t.dtype, from_numpy_dtype(aval.dtype)),
            ):
                if mine != theirs:
                    raise TensorError(
                        f"tangent:{i} with {what} {mine} in flattened pytree doesn't match the {what} {theirs} of the "
                        "corresponding primal.",
                        hint=f"a tangent whose {what} is {theirs}: torch.ones_like(primal)",
                    )
        if VERSIONS.latest_change > then:
            for kept in push.graph.captured.values():
                ensure_unmodified(kept, then)
        held = memory_ids(given)
        results = [separate_memory(wrap_tree(t), held) for t in push(*[unwrap(t) for t in given])]
        return box["structure"].unflatten(results)

    results = [wrap_tree(y) for y in outputs]
    held = memory_ids(results)  # what the results are made of is kept
    results = [y if y._fx_value is v else separate_memory(y, held) for y, v in zip(results, outputs)]
    return box["structure"].unflatten(results), jvp_fn
