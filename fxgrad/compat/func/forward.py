"""Forward mode: `jvp`, and `linearize`, which keeps its derivative as a Graph."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ... import ops
from ...core import pytree, source_info
from ...core.aval import aval_of
from ...core.interpreter import api_boundary, opened
from ...transforms import jvp as forward
from ...transforms.jvp import JVPTracer
from .._core.backward.accumulation import memory_ids, separate_memory
from .._core.dtypes import from_numpy_dtype
from .._core.duals import ensure_no_dual_level
from .._core.errors import TensorError
from .._core.memory import VERSIONS, ensure_unmodified
from .._core.tape import next_serial
from .._core.tensor import Size, Tensor, make_tensor, to_outer, unwrap, wrap
from .sharing import OuterTensors
from .transform_levels import (
    InnerTape,
    TangentInterpreter,
    ensure_tensors,
    enter_tape,
    flatten_tree,
    is_none,
    leave_tape,
    output_and_aux,
    wrap_tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@api_boundary
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

    >>> import fxgrad.compat as torch
    >>> y, t = torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    >>> y.numpy(), t.numpy()
    (array(0., dtype=float32), array(2., dtype=float32))
    """
    return jvp_with_constants(func, primals, tangents, strict, has_aux)


def jvp_with_constants(
    func: Callable[..., Any],
    primals: tuple,
    tangents: tuple,
    strict: bool = False,
    has_aux: bool = False,
    constants: tuple = (),
) -> Any:
    """Compute `jvp`; `constants` are arguments in front of the primals that are not differentiated."""
    ensure_no_dual_level()
    name = "jvp(f, primals, tangents)"
    leaves, structure = flatten_primals(primals, name)
    given, tangent_structure = flatten_tree(tangents)
    if tangent_structure != structure:
        raise TensorError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {tangent_structure}"
        )
    interpreter = TangentInterpreter(source_info.user_frame())
    duals = [JVPTracer(interpreter, unwrap(x), match_tangent(t, x)) for x, t in zip(leaves, given)]
    with opened(interpreter):
        tape = InnerTape(interpreter.site)
        with opened(tape):
            inputs = [make_tensor(tape, d) for d in duals]
            others = pytree.map(partial(enter_tape, tape), constants, is_leaf=is_none)
            outside = OuterPrimals(tape, [*leaves, *given, *flatten_tree(constants)[0]], interpreter)
            for x, stand_in in zip(
                [*leaves, *flatten_tree(constants)[0]], [*inputs, *flatten_tree(others)[0]]
            ):
                outside.note(stand_in, x)
            result = func(*others, *structure.unflatten(inputs))
            result, aux = output_and_aux(result, name) if has_aux else (result, None)
            results, out_structure = flatten_tree(result)
            ensure_tensors(results, f"{name}: expected f(*primals) to return only tensors")
            values, aux_values = [to_outer(r, tape) for r in results], leave_tape(tape, aux)
    outside.write_back_arguments()
    ts = [interpreter.primal_and_tangent(v)[1] for v in values]
    if strict and any(t is None for t in ts):
        raise TensorError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    ys = [outside.release(r, v) for r, v in zip(results, values)]
    ts = [
        separate_memory(
            wrap_tree(ops.zeros_like(interpreter.primal_and_tangent(v)[0]) if t is None else t),
            outside.used_ids,
        )
        for v, t in zip(values, ts)
    ]
    out = out_structure.unflatten(ys), out_structure.unflatten(ts)
    return (*out, outside.release_tree(aux, aux_values)) if has_aux else out


class OuterPrimals(OuterTensors):
    """The outer Tensors for which the primals inside `jvp` stand."""

    def __init__(self, tape: InnerTape, given: Sequence[Any], interpreter: TangentInterpreter):
        super().__init__(tape, given)
        self.interpreter = interpreter

    def wrap_outer(self, value, place: int | None) -> Any:
        return wrap_tree(self.interpreter.primal_and_tangent(value)[0])


def flatten_primals(primals, name: str) -> tuple[list[Tensor], Any]:
    """Flatten a tuple of arguments, all of which must be Tensors, to its leaves and its structure."""
    if not isinstance(primals, tuple):
        raise TensorError(
            f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    leaves, structure = flatten_tree(primals)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise TensorError(f"{name}: Expected primals to only contain Tensors, got {type(x)}")
    if not leaves:
        raise TensorError(f"{name}: Expected primals to contain at least one Tensor.")
    return leaves, structure


def match_tangent(tangent, primal: Tensor) -> Any:
    """Check a tangent against its primal, and convert it to the primal's dtype."""
    if not isinstance(tangent, Tensor):
        raise TensorError(
            f"jvp(f, primals, tangents): Expected tangents to only contain Tensors, got {type(tangent)}"
        )
    if tangent.shape != primal.shape:
        raise TensorError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tangent.dtype.is_complex and not primal.dtype.is_complex:
        raise TensorError("Trying to set a complex forward gradient of a real Tensor, this is not supported.")
    value, dtype = unwrap(tangent), aval_of(primal.value).dtype
    return value if aval_of(value).dtype == dtype else ops.convert(value, dtype=dtype)


@api_boundary
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

    >>> import fxgrad.compat as torch
    >>> y, jvp_fn = torch.func.linearize(torch.mul, torch.tensor(3.0), torch.tensor(4.0))
    >>> jvp_fn(torch.tensor(1.0), torch.tensor(0.0)).numpy()
    array(4., dtype=float32)
    """
    ensure_no_dual_level()
    leaves, structure = flatten_primals(primals, "linearize(f, *primals)")
    box: dict[str, Any] = {}

    def call_on_values(*values) -> list[Any]:
        results, box["structure"] = flatten_tree(func(*structure.unflatten([wrap(v) for v in values])))
        ensure_tensors(results, "linearize(f, *primals): expected f(*primals) to return only tensors")
        return [unwrap(r) for r in results]

    outputs, push = forward.linearize(call_on_values, *[unwrap(x) for x in leaves])
    then = next_serial()
    avals = [aval_of(x.value) for x in leaves]

    @api_boundary
    def jvp_fn(*tangents) -> Any:
        given, given_structure = flatten_tree(tangents)
        if given_structure != structure:
            raise TensorError(
                f"Expected the tangents {given_structure} to have the same argspec as the primals {structure}"
            )
        for i, (t, aval) in enumerate(zip(given, avals)):
            for what, mine, theirs in (
                ("shape", t.shape, Size(aval.shape)),
                ("dtype", t.dtype, from_numpy_dtype(aval.dtype)),
            ):
                if mine != theirs:
                    raise TensorError(
                        f"tangent:{i} with {what} {mine} in flattened pytree doesn't match the {what} {theirs} of the "
                        "corresponding primal."
                    )
        if VERSIONS.latest_change > then:
            for kept in push.graph.captured.values():
                ensure_unmodified(kept, then)
        held = memory_ids(given)
        results = [separate_memory(wrap_tree(t), held) for t in push(*[unwrap(t) for t in given])]
        return box["structure"].unflatten(results)

    results = [wrap_tree(y) for y in outputs]
    held = memory_ids(results)  # what the results are made of is kept
    results = [y if y.value is v else separate_memory(y, held) for y, v in zip(results, outputs)]
    return box["structure"].unflatten(results), jvp_fn
