"""References: cells whose value is replaced while a function is transformed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.array_type import Array
from ..core.errors import ImmutableError
from ..core.interpreter import EVAL, PrimalTracer, Tracer, acting_level, api_boundary, levels
from ..core.references import OuterRefError, Reference
from .boxes import Buffer, make_writable
from .cells import ensure_same_body
from .composite import operand
from .entries import entries_at, fit_values, read_key, stretch, unbox


class Ref(Reference):
    """A mutable cell with an array, read by `ref[index]` and written by `ref[index] = value`; `ref[...]` is the whole
    array. `new_ref` creates a reference and `freeze` ends it. Reading returns a value, not a view.

    `grad`, `jvp` and `vmap` go through what is written. Functions of `jit`, `scan`, `fori_loop`, `while_loop`, `cond`
    and `switch` read and write those made outside as well, from call to call and from step to step. `jit` and `vmap`
    take references as arguments; `vmap` maps over them as over arrays. A rule of `fx.custom_vjp` may write a cotangent
    into one. What is differentiated or mapped is written only into those made inside, or mapped over.

    >>> def total(x):
    ...     running = fx.new_ref(0.0)
    ...     for entry in x:
    ...         running[...] += entry**2
    ...     return fx.freeze(running)
    >>> fx.grad(total)(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    __slots__ = ()

    box: Buffer | None

    @api_boundary
    def __init__(self, value: Any):
        self.box = Buffer(value)

    def open_box(self) -> Buffer:
        """Return the box with the value, which must be one of the body that is being staged, if there is one.

        Raises:
            OuterRefError: it was made outside of the function that is staged.
            ImmutableError: it is frozen.
        """
        if self.box is None:
            raise ImmutableError(
                "a reference is used after fx.freeze, or after the function to which it was given has returned",
                hint="the array that fx.freeze has returned, or the reference outside",
            )
        try:
            ensure_same_body(levels(self.box.cell.context), self.box.aval)
        except ImmutableError as error:
            raise OuterRefError(
                error.args[0],
                self,
                hint="make it inside, or hand in its value; what a backward pass writes into needs a loop in Python",
            ) from None
        return self.box

    def renew(self, value: Any) -> None:
        """Hold a value from here on, which belongs to the body that is being staged."""
        self.box = Buffer(value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is fixed."""
        return self.open_box().shape

    @property
    def dtype(self) -> Any:
        """The dtype, which is fixed."""
        return self.open_box().dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.open_box().ndim

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.open_box().size

    def __getitem__(self, key: Any) -> Any:
        value = self.open_box().value
        found = value if key is Ellipsis else entries_at(value, read_key(key)[0])
        if type(found) is np.ndarray and acting_level() is EVAL.interpreter:
            return found.copy()
        return make_writable(found)  # ref[0] += x adds in place

    def __setitem__(self, key: Any, values: Any) -> None:
        box = self.open_box()
        if key is Ellipsis:
            self.assign(stretch(fit_values(values, box.dtype), box.shape))
        else:
            written = Buffer(box.value)
            written[key] = values
            self.assign(written.value)

    def assign(self, value: Any) -> None:
        """Replace the whole value, by one that may outlive the levels inside which it is written.

        Raises:
            ImmutableError: it is differentiated or mapped where the reference is not.
        """
        box = self.open_box()
        known = {*map(id, levels(box.cell.context))}
        for level in levels():
            if id(level) in known:
                break
            if isinstance(level.extent, int):
                raise ImmutableError(
                    f"a reference {box.aval!r} made outside of {level.name} is written into inside, once for all "
                    "entries",
                    hint="make it an argument that vmap maps over, or make it inside and return its value",
                )
            if isinstance(value, Tracer) and value.interpreter is level:
                if not isinstance(value, PrimalTracer) or value.is_differentiated:
                    raise ImmutableError(
                        f"a reference {box.aval!r} made outside of {level.name} is written into inside, with a value "
                        "that belongs to it",
                        hint="make it inside and return its value, or write fx.stop_gradient(value)",
                    )
                value = value.primal
        box.assign(value)

    def __repr__(self) -> str:
        return "Ref(frozen)" if self.box is None else f"Ref({self.box.value!r})"


@api_boundary
def new_ref(value: Any) -> Ref:
    """Make a reference to a copy of a value.

    Args:
        value: an array or a number, plain or traced, whose shape and dtype the reference keeps.

    Returns:
        A `Ref`.

    Raises:
        DTypeError: the value is no array; or, when the reference is written, a derivative would be lost in its dtype.

    >>> def sums(x):
    ...     total = fx.new_ref(np.zeros(2))
    ...     for row in x:
    ...         total[...] += row
    ...         total[0] *= 2.0
    ...     return fx.freeze(total)
    >>> fx.jacobian(sums)(np.ones((2, 2)))[0]
    array([[4., 0.],
           [2., 0.]])
    """
    value = operand(value)
    return Ref(value.copy() if type(value) is np.ndarray else value)


@api_boundary
def freeze(ref: Ref) -> Array:
    """Return the value of a reference, which must not be used any more.

    >>> ref = fx.new_ref(1.0)
    >>> ref[...] = 3.0
    >>> float(fx.freeze(ref))
    3.0
    """
    value = unbox(ref[...])
    ref.end()
    return value
