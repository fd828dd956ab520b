"""Forward mode: `jvp`, and `linearize`, which keeps its derivative as a Graph."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ... import ops
from ...core import pytree, source_info
from ...core.aval import aval_of
from ...core.interpreter import boundary, opened
from ...transforms import jvp as forward
from ...transforms.jvp import JVPTracer
from .._core.backward.accumulation import apart, memories
from .._core.dtypes import from_numpy_dtype
from .._core.duals import ensure_outermost
from .._core.errors import TensorError
from .._core.memory import MEMORIES, ensure_unmodified
from .._core.tape import serial
from .._core.tensor import Size, Tensor, lower, make, unwrap, wrap
from .sharing import Outside
from .transform_levels import (
    InnerTape,
    PushInterpreter,
    ensure_tensors,
    entering,
    flatten,
    is_none,
    left,
    pair,
    returned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@boundary
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
    return pushed(func, primals, tangents, strict, has_aux)


def pushed(
    func: Callable[..., Any],
    primals: tuple,
    tangents: tuple,
    strict: bool = False,
    has_aux: bool = False,
    constants: tuple = (),
) -> Any:
    """See `jvp`. `constants` are arguments in front of the primals that are not differentiated."""
    ensure_outermost()
    name = "jvp(f, primals, tangents)"
    leaves, structure = checked_primals(primals, name)
    given, tangent_structure = flatten(tangents)
    if tangent_structure != structure:
        raise TensorError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {tangent_structure}"
        )
    interpreter = PushInterpreter(source_info.caller())
    duals = [JVPTracer(interpreter, unwrap(x), fitting(t, x)) for x, t in zip(leaves, given)]
    with opened(interpreter):
        tape = InnerTape(interpreter.site)
        with opened(tape):
            inputs = [make(tape, d) for d in duals]
            others = pytree.map(partial(entering, tape), constants, is_leaf=is_none)
            outside = OutsideTangents(tape, [*leaves, *given, *flatten(constants)[0]], interpreter)
            for x, stand_in in zip([*leaves, *flatten(constants)[0]], [*inputs, *flatten(others)[0]]):
                outside.note(stand_in, x)
            result = func(*others, *structure.unflatten(inputs))
            result, aux = pair(result, name) if has_aux else (result, None)
            results, out_structure = flatten(result)
            ensure_tensors(results, f"{name}: expected f(*primals) to return only tensors")
            values, aux_values = [lower(r, tape) for r in results], left(tape, aux)
    outside.restore()
    ts = [interpreter.pair(v)[1] for v in values]
    if strict and any(t is None for t in ts):
        raise TensorError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    ys = [outside.release(r, v) for r, v in zip(results, values)]
    ts = [
        apart(returned(ops.zeros_like(interpreter.pair(v)[0]) if t is None else t), outside.taken)
        for v, t in zip(values, ts)
    ]
    out = out_structure.unflatten(ys), out_structure.unflatten(ts)
    return (*out, outside.released(aux, aux_values)) if has_aux else out


class OutsideTangents(Outside):
    """What the Tensors with tangents that a function gets have to do with its results."""

    def __init__(self, tape: InnerTape, given: Sequence[Any], interpreter: PushInterpreter):
        super().__init__(tape, given)
        self.interpreter = interpreter

    def tensor_of(self, value: Any, place: int | None) -> Any:
        return returned(self.interpreter.pair(value)[0])


def checked_primals(primals: Any, name: str) -> tuple[list[Tensor], Any]:
    """The leaves and the structure of a tuple of arguments, all of them Tensors."""
    if not isinstance(primals, tuple):
        raise TensorError(
            f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    leaves, structure = flatten(primals)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise TensorError(f"{name}: Expected primals to only contain Tensors, got {type(x)}")
    if not leaves:
        raise TensorError(f"{name}: Expected primals to contain at least one Tensor.")
    return leaves, structure


def fitting(tangent: Any, primal: Tensor) -> Any:
    """A tangent as a value of the primal's dtype."""
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


@boundary
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
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
    ensure_outermost()
    leaves, structure = checked_primals(primals, "linearize(f, *primals)")
    box: dict[str, Any] = {}

    def on_values(*values: Any) -> list[Any]:
        results, box["structure"] = flatten(func(*structure.unflatten([wrap(v) for v in values])))
        ensure_tensors(results, "linearize(f, *primals): expected f(*primals) to return only tensors")
        return [unwrap(r) for r in results]

    outputs, push = forward.linearize(on_values, *[unwrap(x) for x in leaves])
    then = serial()
    avals = [aval_of(x.value) for x in leaves]

    @boundary
    def jvp_fn(*tangents: Any) -> Any:
        given, given_structure = flatten(tangents)
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
        if MEMORIES.latest > then:
            for kept in push.graph.captured.values():
                ensure_unmodified(kept, then)
        held = memories(given)
        results = [apart(returned(t), held) for t in push(*[unwrap(t) for t in given])]
        return box["structure"].unflatten(results)

    results = [returned(y) for y in outputs]
    held = memories(results)  # what the results are made of is kept
    results = [y if y.value is v else apart(y, held) for y, v in zip(results, outputs)]
    return box["structure"].unflatten(results), jvp_fn
