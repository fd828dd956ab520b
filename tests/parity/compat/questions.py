"""What is asked about the cases, of torch and of fxgrad.compat alike.

A question is a function of (case, library). Its answer is made of Tensors, None, numbers, names of nodes, and lists of
these; or it is the name of the class of the error that is raised.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from tests.parity.compat.case import T, gathered
from tests.parity.compat.comparison import attempt, flat, from_numpy, gradients, leaves_of, weighted

QUESTIONS: dict = {}  # by name: (what is asked, whether it is asked about a case)


def question(of=lambda case: True):
    """Declare what is asked about the cases of which `of` is true."""

    def declare(ask):
        QUESTIONS[ask.__name__] = ask, of
        return ask

    return declare


def differentiable(case) -> bool:
    return case.backward and any(spec.grad for spec in case.specs)


# -- values -----------------------------------------------------------------------------------------------------------
@question()
def value(case, library) -> list:
    return flat(case.call(library, case.tensors(library)))


def transpose(case):
    """Operands that are not contiguous."""
    return case.changed(lambda spec: spec.but(layout="F"))


def single_precision(case):
    """Operands of single precision."""
    return case.changed(
        lambda spec: spec.but(dtype=spec.dtype.replace("float64", "float32").replace("128", "64"))
    )


def empty(case):
    """Operands without entries: the first size is 0 wherever it occurs."""
    first = next((n for spec in case.specs for n in spec.shape if n > 1), None)
    sizes = lambda spec: tuple(0 if n == first else n for n in spec.shape)  # noqa: E731
    given = any(spec.values is not None for spec in case.specs)
    return case if given else case.changed(lambda spec: spec.but(shape=sizes(spec)))


CHANGES = (transpose, single_precision, empty)


@question(lambda case: case.specs)
def value_of_other_operands(case, library) -> list:
    """For each of the CHANGES."""
    return [attempt(lambda change=change: value(change(case), library)) for change in CHANGES]


# The first case of each operation that has operands of double precision.
FIRST = {
    case.name: case for case in reversed(gathered()) if any(spec.dtype == "float64" for spec in case.specs)
}


def is_first(case) -> bool:
    return case is FIRST.get(case.name)


OTHER_DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "complex64", "complex128",
)  # fmt: skip


def in_dtype(spec: T, dtype: str) -> T:
    """An operand of another dtype for one of double precision; whole numbers are small ones."""
    if spec.dtype != "float64":
        return spec
    if "int" not in dtype and dtype != "bool":
        return spec.but(dtype=dtype)
    low = {"bool": 0, "uint8": 0}.get(dtype, -3)
    low, high = max(low, math.floor(spec.low)), 2 if dtype == "bool" else 5
    values = None if spec.values is None else np.nan_to_num(spec.values).clip(low, high)
    return spec.but(dtype=dtype, low=low, high=high, values=values)


@question(is_first)
def value_of_other_dtypes(case, library) -> list:
    """For each of the OTHER_DTYPES; the complex dtype of half precision is single."""
    return [
        attempt(
            lambda dtype=dtype: [
                widen(r) for r in value(case.changed(lambda spec: in_dtype(spec, dtype)), library)
            ]
        )
        for dtype in OTHER_DTYPES
    ]


def widen(result):
    return result.cfloat() if str(result.dtype) == "torch.complex32" else result


@question(is_first)
def contiguous(case, library) -> list[bool]:
    """Whether the results are in the order of rows."""
    return [result.is_contiguous() for result in value(case, library)]


@question(is_first)
def half_precision(case, library) -> list:
    """(dtype, shape) of the results, and of the gradients, which are there where None is not."""
    case = case.changed(lambda spec: spec.but(dtype="bfloat16") if spec.dtype == "float64" else spec)
    tensors = leaves_of(case, library)
    results = flat(case.call(library, tensors))
    total = weighted(results, library) if case.backward else None
    leaves = [t for t in tensors if t.requires_grad]
    grads = [] if total is None else library.autograd.grad(total, leaves, allow_unused=True)
    return [None if r is None else [str(r.dtype), list(r.shape)] for r in [*results, *grads]]


# -- derivatives ------------------------------------------------------------------------------------------------------
@question(differentiable)
def backward(case, library) -> list | None:
    return gradients(case, library, 1)


@question(lambda case: differentiable(case) and case.double)
def double_backward(case, library) -> list | None:
    return gradients(case, library, 2)


@question(differentiable)
def nodes(case, library) -> list[str | None]:
    """The names of the nodes of the results, without torch's counters."""
    results = flat(replace(case, then=None).call(library, leaves_of(case, library)))
    return [None if r.grad_fn is None else re.sub(r"\d+$", "", r.grad_fn.name()) for r in results]


def tangents(case) -> list:
    """A direction for each operand, of the same form, such as symmetric; None for one that takes no gradient."""
    return [
        spec.but(values=None, low=-1.0, high=1.0).array(seed + 1000) if spec.grad else None
        for seed, spec in case.specifications()
    ]


@question(lambda case: differentiable(case) and case.forward)
def forward(case, library) -> list:
    """Value and tangent of every result by forward mode."""
    forward_ad = library.autograd.forward_ad
    with forward_ad.dual_level():
        duals = [
            t if d is None else forward_ad.make_dual(t, from_numpy(d, t.dtype, library))
            for t, d in zip(case.tensors(library), tangents(case))
        ]
        return [list(forward_ad.unpack_dual(r)) for r in flat(case.call(library, duals))]


# -- in place and out= ------------------------------------------------------------------------------------------------
def may_have_method_in_place(case) -> bool:
    return isinstance(next(iter(case.args), None), T) and "." not in case.name


@question(may_have_method_in_place)
def in_place(case, library) -> list:
    """[result, gradients, change of the version] of the method in place, which returns its Tensor."""
    tensors = leaves_of(case, library)
    target = tensors[0].clone()
    args, kwargs = case.filled(library, [target, *tensors[1:]])
    version = target._version
    result = getattr(target, f"{case.name}_")(*args[1:], **kwargs)
    assert result is target
    total = weighted(result, library)
    leaves = [t for t in tensors if t.requires_grad]
    grads = [] if total is None else library.autograd.grad(total, leaves, allow_unused=True)
    return [result, list(grads), target._version - version]


@question(lambda case: not case.name.startswith(".") and case.then is None)
def out(case, library) -> list:
    """What is written into `out=`."""
    return write(case, library, case.tensors(library))


def write(case, library, tensors) -> list:
    """Targets of `out=`, which are returned, after the call with these operands."""
    results = value(case, library)
    targets = [library.empty(tuple(r.shape), dtype=r.dtype) for r in results]
    returned = flat(case.call(library, tensors, out=targets[0] if len(targets) == 1 else tuple(targets)))
    assert all(r is t for r, t in zip(returned, targets, strict=True))
    return targets
