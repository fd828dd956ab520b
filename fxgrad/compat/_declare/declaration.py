"""The declaration of torch's operations: a pure function of values under a torch name.

    @operation("input end weight", promote="arithmetic", inplace=True)
    def lerp(input, end, weight):
        return input + weight * (end - input)

The function computes on arrays and tracers with `fxgrad.ops` and `fxgrad.numpy`, and does not depend on Tensors. The
declaration says which of its parameters are Tensors (`*tensors` is a sequence of them); the others are static. From it
follows the function that users call, on Tensors: with a grad_fn named after it, whose backward is derived and cached,
in every transform, as a method, with `out=`, and as `lerp_` in place.

Whoever adds an operation needs this file alone, and `kinds` where it does not take all dtypes. `operation` describes
what happens when it is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core.tape import node_name
from .composite import Composite, PrivateComposite
from .kinds import ALL, KINDS, takes_dtype

# The dtypes of the fast path.
HALF = np.dtype("f2")
REALS = {np.dtype("f4"), np.dtype("f8"), HALF}
FLOATS = REALS | {np.dtype("c8"), np.dtype("c16")}
INTEGERS = {np.dtype(code) for code in ("?", "u1", "i1", "i2", "i4", "i8")}
# NumPy's functions that torch's are on integers too: they wrap around, and keep the dtype or say whether.
OF_INTEGERS = {
    *(np.add, np.subtract, np.multiply, np.negative, np.maximum, np.minimum),
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert),
}


@dataclass(frozen=True, eq=False, repr=False)
class Declaration:
    """The declaration of an operation by its author.

    Args:
        function: what it computes.
        tensors: the parameters that are Tensors, in their order; `*tensors` for a sequence of Tensors.
        promote: how operands get a common dtype: see `promote_values`.
        primitive: the elementwise primitive that it is on operands of one floating dtype; the fast path.
        composite: the class of its primitives: see `_declare.rearrangement`.
        view: the result is a view of the first operand where that is an array. Where it is more than a choice of
            entries: (first operand, view, **params) → the first operand after the view was given another value.
        bit: the bit of the view: it shows the conjugates or the negatives of what is in memory (`_core.bits`).
        inplace: there is a method `name_`.
        results: what it makes of its several results: tuple, list, a namedtuple, or a function of them.
        constant: the positions of results that never require a gradient.
        keeps_results: its nodes keep results, where its derivative reads them, as torch's do: operands may be modified
            afterwards, and results may not.
        entrywise: its result lies in memory as the first operand of its shape does, not row after row.
        copies_operands: its nodes keep copies of operands, where its derivative reads them: see `PrivateComposite`.
        tangent: (ys, primals, tangents, params) → tangents, where the function's own would not be stable.
        direct: (values, params) → the direct way for plain operands like these, or None: see `prefer`.
        cotangent: (ys, operands, ct, params) → cotangents of all operands, for one of the (first) result, where that
            takes fewer steps than the tangent rule transposed; it reads no more than that.
        name: what it is called: the name of the function, where nothing else is said.
        node: torch's name of its node, where that does not follow from the name.
        spaces: where it is to be found: "function" (torch.name), "method", "linalg" (there without the prefix
            `linalg_` of its name), "nn.functional", …
        out: it takes `out=`.
        by_value: whether the function looks at values, if only to refuse some, so that it is not compiled. Without it
            those do that have operands which are positions or truth values.
        exact_numbers: a number beside half precision is not rounded to it.
        own_precision: it depends on the precision of its operands: see `_core.precision`.
        complex: whether it exists of complex numbers; it matters for `primitive`.
        numbers: the operands for which a number may stand, as in torch.pow(2, x), though not for all of them; "any":
            for all, as in torch.add(1, 2).
        numbers_together: its operands but the first are all numbers, or none is.
        in_range: the numbers, among operands and parameters, that the dtype of the result must be able to hold: half
            precision too, although it is computed in single precision.
        mixed: its keywords, which are numbers, may stand among its operands, as in torch.add(x, alpha, y).
        arguments: the parameters that users see, where they are not those of the function: a function of them that
            returns (operands, params), as in `arguments=lambda input, dim=-1: ((input,), {"axis": dim})`.
        first: a function of the parameters that users see, which is tried first: it returns a result, or None if there
            is more to decide.
        overload: (names of the operands that are numbers, params) → torch's counter in the name of the node, where it
            has several of that name.
    """

    function: Callable[..., Any]
    tensors: str
    name: str
    node: str = ""
    overload: Callable[[set[str], dict[str, Any]], int] | None = None
    promote: str | None = None
    primitive: Any = None
    composite: type[Composite] = Composite
    view: Any = False
    bit: int = 0
    inplace: bool = False
    out: bool = True
    results: Any = None
    constant: tuple[int, ...] = ()
    keeps_results: bool = False
    entrywise: bool = False
    copies_operands: bool = False
    tangent: Any = None
    cotangent: Any = None
    direct: Any = None
    numbers: str = ""
    numbers_together: bool = False
    in_range: str = ""
    mixed: bool = False
    by_value: bool | None = None
    exact_numbers: bool = False
    own_precision: bool = False
    complex: bool = True
    spaces: str = "function method"
    arguments: Any = None
    first: Any = None

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def takes_number(self, name: str) -> bool:
        """Whether a number may stand for the operand of this name."""
        return self.numbers == "any" or name in self.numbers.split()

    # -- what follows from it ------------------------------------------
    @cached_property
    def kinds(self) -> str:
        """The kinds of dtypes that it takes: a view, which may have the name of another operation, takes all."""
        return (ALL if self.view else KINDS.get(self.name, ALL))[0]

    @cached_property
    def node_name(self) -> str:
        """The name of its nodes."""
        return self.node or node_name(self.name)

    @cached_property
    def names(self) -> list[str]:
        """The names of the operands."""
        return self.tensors.replace("*", "").split()

    @cached_property
    def has_sequences(self) -> bool:
        """Whether an operand is a sequence of Tensors."""
        return "*" in self.tensors

    @cached_property
    def full_pattern(self) -> tuple[bool, ...]:
        """The pattern in which all operands are given."""
        return (True,) * len(self.names)

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The parameters that users see."""
        return list(inspect.signature(self.arguments or self.function).parameters.values())

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of static parameters."""
        declared = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in declared if p.default is not p.empty and p.name not in self.names}

    @cached_property
    def words(self) -> dict[str, str]:
        """The static parameters that are declared to be an int, a bool, a float or a str."""
        declared = inspect.signature(self.function).parameters.values()
        given = {p.name: str(p.annotation) for p in declared if p.name not in self.names}
        return {name: word for name, word in given.items() if word in ("int", "bool", "float", "str")}

    @cached_property
    def dtypes(self) -> set[np.dtype]:
        """The floating dtypes for which it is its primitive."""
        dtypes = FLOATS if self.complex else REALS
        dtypes = {d for d in dtypes if takes_dtype(self.kinds, d)}
        if self.primitive is None:
            return dtypes
        primitive = self.primitive.primitive
        rounded = dtypes if rounds_once(primitive) else dtypes - {HALF}
        return {d for d in rounded if exists_for(primitive.kernel, d)}

    @cached_property
    def integers(self) -> set[np.dtype]:
        """The dtypes of integers and truth values for which it is the kernel of its primitive."""
        kernel = None if self.primitive is None else self.primitive.primitive.kernel
        taken = {d for d in INTEGERS if takes_dtype(self.kinds, d)} if kernel in OF_INTEGERS else set()
        return {d for d in taken if exists_for(kernel, d)}

    @cached_property
    def differentiable(self) -> bool:
        """Whether any of its results may require a gradient."""
        return self.results is not None or not self.constant

    @cached_property
    def composite_class(self) -> type[Composite]:
        """The class of its primitives."""
        return PrivateComposite if self.copies_operands else self.composite

    @cached_property
    def computes_in_single(self) -> bool:
        """Whether half precision is computed in single precision."""
        return self.composite.in_single and not (self.own_precision or self.view)


def exists_for(kernel: Any, dtype: np.dtype) -> bool:
    """Whether a kernel computes on a dtype: those of NumPy have a list."""
    return type(kernel) is not np.ufunc or f"{dtype.char * kernel.nin}->" in [
        t[: kernel.nin + 2] for t in kernel.types
    ]


def rounds_once(primitive: Any) -> bool:
    """Whether a primitive rounds half precision once: where its kernel is a function of NumPy's, or rounds nothing, or
    sums in single precision."""
    return type(primitive.kernel) is np.ufunc or primitive.name in ("relu", "mm", "pow")
