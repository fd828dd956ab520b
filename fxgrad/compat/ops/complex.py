"""Operations on complex numbers: their construction from parts or from modulus and angle, conjugates and angles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import aval_of, kind_of, ops
from .._core.bits import CONJ, NEG, has_bit
from .._core.dtypes import from_numpy_dtype, short_name
from .._core.memory import is_array, restride
from .._core.tensor import Tensor
from .._declare.operation import operation
from .._declare.rearrangement import Rearrangement
from .._declare.spaces import expose
from ..errors import TensorError
from .declarers import check_same_dtype, kind, unary


def check_parts(first, second) -> None:
    """Raise unless both have one real floating dtype."""
    names = [short_name(aval_of(x).dtype) for x in (first, second)]
    if not {*names} <= {"Half", "Float", "Double"}:
        raise TensorError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}",
            hint="x.float(); torch.promote_types(a.dtype, b.dtype) is the dtype that both fit into",
        )
    words = "Expected object of scalar type {} but got scalar type {} for second argument"
    check_same_dtype(first, second, words)


@operation("real imag", spaces="function")
def complex(real, imag) -> Any:
    """The complex numbers real + i·imag.

    >>> torch.complex(torch.tensor(1.0), torch.tensor(2.0)).item()
    (1+2j)
    """
    check_parts(real, imag)
    return ops.make_complex(real, imag)


@operation("abs angle", spaces="function", copies_operands=True)
def polar(abs, angle) -> Any:
    """The complex numbers of given modulus and angle: abs·(cos(angle) + i·sin(angle))."""
    check_parts(abs, angle)
    return ops.make_complex(abs * ops.cos(angle), abs * ops.sin(angle))


@operation(
    "input",
    name="conj",
    spaces="",
    composite=Rearrangement,
    bit=CONJ,
    view=lambda x, view: ops.conjugate(view),
    out=False,
)
def conj_values(input) -> Any:
    """The complex conjugate."""
    return ops.conjugate, (input,), {}


@expose("function method")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view: what is written into it is written into `input`; a real Tensor itself.

    >>> x = torch.tensor([1 + 2j])
    >>> x.conj()[0] = 3j
    >>> x
    tensor([0.-3.j])
    """
    return conj_values(input) if input.dtype.is_complex else input


@operation(
    "input",
    name="_neg_view",
    node="NegViewBackward0",
    composite=Rearrangement,
    bit=NEG,
    view=lambda x, view: ops.negative(view),
    out=False,
)
def negative_view(input) -> Any:
    """A view of the negatives: a value written into it is negated and written into `input`."""
    return ops.negative, (input,), {}


def conjugate_or_copy(input) -> Any:
    """The conjugates of complex numbers, or a copy of real numbers."""
    return ops.conjugate(input) if kind(input) == "c" else ops.positive(input)


conj_physical_values = unary(
    "conj_physical", conjugate_or_copy, "The complex conjugate.", promote=None, spaces=""
)


@expose("function method")
def conj_physical(input, *, out=None) -> Any:
    """The complex conjugate; a real Tensor itself."""
    return conj_physical_values(input, out=out) if input.dtype.is_complex or out is not None else input


def view_memory(input: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply a view function to the memory of a Tensor; the result has the conjugate and negative bits of the Tensor."""
    for bit, flip in ((CONJ, conj), (NEG, negative_view)):
        if has_bit(input, bit):
            return flip(view_memory(flip(input), function))
    return function(input)


@expose("function method")
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of a conjugate view, with the conjugates in its memory; any other Tensor unchanged."""
    return input.clone() if is_conj(input) else input


@expose("function method")
def resolve_neg(input: Tensor) -> Tensor:
    """A copy of a negative view, with the negatives in its memory; any other Tensor unchanged."""
    return input.clone() if is_neg(input) else input


@expose("function method")
def is_conj(input: Tensor) -> bool:
    """Whether the Tensor is the conjugate of its memory."""
    return has_bit(input, CONJ)


@expose("function method")
def is_neg(input: Tensor) -> bool:
    """Whether the Tensor is the negative of its memory."""
    return has_bit(input, NEG)


def angle_values(x) -> Any:
    """The argument of complex numbers, whose derivative at 0 is 0; for real numbers 0, π or NaN."""
    if kind(x) != "c":
        turned = ops.where(ops.less(x, 0), np.pi, 0.0)
        return ops.convert(ops.where(ops.isnan(x), np.nan, turned), dtype=aval_of(x).dtype)
    zero = ops.equal(x, 0)
    return ops.where(zero, ops.angle(ops.stop_gradient(x)), ops.angle(ops.where(zero, 1, x)))


angle = unary(
    "angle", angle_values, "The angle (argument) of each complex number; of real ones 0 or π.", inplace=False
)


# -- parts ------------------------------------------
@operation(
    "input",
    out=False,
    view=lambda x, view: ops.make_complex(view, ops.imag(x)),
    spaces="",
    name="real",
    node="SelectBackward0",
)
def real_part(input) -> Any:
    """The real parts."""
    return input.real if is_array(input) else ops.real(input)


@operation(
    "input",
    out=False,
    view=lambda x, view: ops.make_complex(ops.real(x), view),
    spaces="",
    name="imag",
    node="SelectBackward0",
)
def imaginary_part(input) -> Any:
    """The imaginary parts."""
    return input.imag if is_array(input) else ops.imag(input)


@expose("function")
def real(input: Tensor) -> Tensor:
    """A view of the real parts of complex numbers; other Tensors are returned unchanged."""
    if not input.dtype.is_complex:
        return input
    return real_part(conj(input) if is_conj(input) else input)


@expose("function")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of complex numbers, a view."""
    if not input.dtype.is_complex:
        raise TensorError(
            "imag is not implemented for tensors with non-complex dtypes.",
            hint="torch.zeros_like(x), which the imaginary part is; x.to(torch.complex64) has one",
        )
    return imaginary_part(negative_view(conj(input)) if is_conj(input) else input)


def part_setter(part) -> Any:
    """Make the setter of `real` or `imag`."""

    def put(self: Tensor, value) -> None:
        part(self).copy_(value)

    return put


expose("method", "real")(property(real, part_setter(real)))
expose("method", "imag")(property(imag, part_setter(imag)))


def pairs_to_complex(pairs) -> Any:
    """Make complex numbers of the real and imaginary parts in the last dimension of traced values."""
    return ops.make_complex(pairs[..., 0], pairs[..., 1])


def complex_to_pairs(numbers) -> Any:
    """Stack the real and imaginary parts of traced values along a new last dimension."""
    return ops.stack([ops.real(numbers), ops.imag(numbers)], axis=len(numbers.shape))


@operation("input", name="view_as_real", out=False, view=lambda x, view: pairs_to_complex(view), spaces="")
def pair_parts(input) -> Any:
    """Complex numbers as pairs of real numbers in a last dimension."""
    if kind_of(input.dtype) != "c":
        raise TensorError(
            "view_as_real is only supported for complex tensors",
            hint="x.to(torch.complex64); torch.stack([x, torch.zeros_like(x)], -1) is the result for real x",
        )
    if not is_array(input):
        return complex_to_pairs(input)
    half = input.real.dtype.itemsize
    return restride(input.real, (*input.shape, 2), (*input.strides, half))


@expose()
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones in a last dimension, a view.

    Raises:
        RuntimeError: they are not complex; or it is a conjugate view, whose imaginary parts are not in memory.

    >>> torch.view_as_real(torch.tensor([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """
    if is_conj(input):
        raise TensorError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original.",
            hint="torch.view_as_real(x.resolve_conj()), of a copy",
        )
    return pair_parts(input)


@operation("input", out=False, view=lambda x, view: complex_to_pairs(view), spaces="function")
def view_as_complex(input) -> Any:
    """Pairs of real numbers in the last dimension as complex numbers."""
    if kind_of(input.dtype) != "f" or input.dtype.itemsize == 2:
        name = from_numpy_dtype(input.dtype)
        raise TensorError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{name}",
            hint="x is complex" if kind_of(input.dtype) == "c" else "torch.view_as_complex(x.float())",
        )
    if not input.ndim or input.shape[-1] != 2:
        raise TensorError(
            "Tensor must have a last dimension of size 2",
            hint="torch.complex(real, imag); pairs lie along the last dimension: x.movedim(dim, -1).contiguous()",
        )
    if not is_array(input):
        return pairs_to_complex(input)
    if input.size and (
        input.strides[-1] != input.itemsize or any(s % (2 * input.itemsize) for s in input.strides[:-1])
    ):
        raise TensorError(
            "Tensor must have a last dimension with stride 1",
            hint="torch.view_as_complex(x.contiguous()), of a copy",
        )
    return input.view(np.dtype(f"c{2 * input.itemsize}"))[..., 0]
