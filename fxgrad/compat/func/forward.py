"""Forward mode: `jvp`, and `linearize`, which keeps its derivative as a Graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ops
from ...core import where
from ...core.aval import aval_of
from ...core.interpreter import boundary, opened
from ...transforms import jvp as forward
from ...transforms.jvp import JVPTracer
from ..dtypes import from_numpy_dtype
from ..duals import ensure_outermost
from ..errors import TensorError
from ..tensor import Size, Tensor, current, lower, make, unwrap, wrap
from .levels import (
    InnerTape,
    PushInterpreter,
    ensure_tensors,
    flatten,
    left,
    pair,
    restore,
    returned,
)

if TYPE_CHECKING:
    from collections.abc import Callable


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
    func: Callable[..., Any], primals: tuple, tangents: tuple, strict: bool = False, has_aux: bool = False
) -> Any:
    """See `jvp`."""
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
    interpreter = PushInterpreter(where.caller())
    duals = [JVPTracer(interpreter, unwrap(x), fitting(t, x)) for x, t in zip(leaves, given)]
    with opened(interpreter):
        tape = InnerTape(interpreter.site)
        with opened(tape):
            inputs = [make(tape, d) for d in duals]
            result = func(*structure.unflatten(inputs))
            result, aux = pair(result, name) if has_aux else (result, None)
            results, out_structure = flatten(result)
            ensure_tensors(results, f"{name}: expected f(*primals) to return only tensors")
            pairs = [interpreter.pair(lower(r, tape)) for r in results]
            aux = left(tape, aux)
            written = [current(x).value for x in inputs]
    for x, before, after in zip(leaves, duals, written):
        if after is not before:
            restore(x, interpreter.pair(after)[0])
    if strict and any(t is None for _, t in pairs):
        raise TensorError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    out = [returned(y) for y, _ in pairs], [returned(ops.zeros_like(y) if t is None else t) for y, t in pairs]
    values, derivatives = (out_structure.unflatten(part) for part in out)
    if not has_aux:
        return values, derivatives
    leaves, structure = flatten(aux)
    return values, derivatives, structure.unflatten([returned(interpreter.pair(v)[0]) for v in leaves])


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
        return box["structure"].unflatten([returned(t) for t in push(*[unwrap(t) for t in given])])

    return box["structure"].unflatten([returned(y) for y in outputs]), jvp_fn
