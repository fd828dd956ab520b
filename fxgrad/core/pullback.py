"""PullbackRule: what reverse mode gets from an operation beside its result, and what every tape may ask of it.

`Primitive.linearize` gives (result, rule, residuals): what the rule will read is kept between the forward and the
backward pass. A tape that goes back once needs no more than `pull`. One that records its own backward pass, or watches
over memory that may be modified, has to know what the residuals are: `kept` and `refill`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .primitive import Primitive


class PullbackRule:
    """The way from cotangents of the results of an operation to those of its operands.

    pull(ct, *residuals) gives a cotangent, or None, for every operand. `ct` may be traced or masked; where there are
    several results it is a dict of the cotangents that there are, by position.
    plain(ct, residuals) is a faster form of it for NumPy values, or None.
    `kept` tells the residuals that are values: 0 a result, i + 1 the operand i; an empty one that there are none. None
    says that the residuals are values made on the way, which are neither: see `Remade`.
    refill(residuals, operand, result) gives residuals with result(i, value) in place of the result i that is kept, and
    operand(i, value) in place of the operand i.
    """

    __slots__ = ()
    plain: Any = None
    kept: Sequence[int] | None = None
    rules_run_user_code = False  # as of a Primitive: its errors are the user's

    def pull(self, ct: Any, *residuals: Any) -> Sequence[Any]:
        """See the class."""
        raise NotImplementedError

    def refill(self, residuals: Any, operand: Callable, result: Callable) -> Any:
        """See the class; the residuals as they are, where nothing is kept."""
        if self.kept is None:
            raise NotImplementedError(f"{type(self).__name__} keeps what was made on the way: see Remade")
        return residuals


class Remade(PullbackRule):
    """The rule of one application of a primitive whose own rule keeps values made on the way, for tapes that refill.
    Operands and results are kept beside it, and the way is gone again from the operands that are put in their place."""

    kept = (0, 1)

    def __init__(self, primitive: Primitive, needed: Sequence[Any], params: dict, own: Callable[[Any], Any]):
        self.primitive, self.needed, self.params, self.own = primitive, needed, params, own

    def refill(self, residuals: Any, operand: Callable, result: Callable) -> Any:
        """Residuals (results, operands, rule, residuals of that rule)."""
        ys, values, rule, made = residuals
        ys = [result(i, y) for i, y in enumerate(ys)]
        given = [operand(i, v) for i, v in enumerate(values)]
        if any(g is not v for g, v in zip(given, values)):
            call = self.primitive.call
            _, rule, made = self.primitive.linearize(call, given, self.needed, self.params, self.own)
        return ys, given, rule, made

    def pull(self, ct: Any, *residuals: Any) -> Sequence[Any]:
        """That of the primitive's own rule."""
        _, _, rule, made = residuals
        return rule.pull(ct, *made)
