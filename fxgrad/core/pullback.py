"""PullbackRule: the pullback of one operation, with all that a tape may ask about its residuals.

`Primitive.vjp` returns (result, rule, residuals); the residuals are kept between the forward and the backward pass. A
tape that goes back once needs only `pull`. A tape that records its own backward pass, or that watches memory which
may be modified, must also know where residuals come from: `saved_from` and `map_residuals`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .primitive import Primitive


class PullbackRule:
    """A rule that maps cotangents of the results of an operation to cotangents of its operands.

    pull(ct, *residuals) gives a cotangent, or None, for every operand. `ct` may be traced or masked; where there are
    several results it is a dict of the present cotangents, by position.
    pull_plain(ct, residuals) is a faster form of it for NumPy values, or None.
    `saved_from` says which residuals are values of the operation: 0 is its result, i + 1 its operand i; an empty
    one that there are none. None says that residuals are intermediate values, which are neither: see `RematPullback`.
    map_residuals(residuals, operand, result) gives the residuals with result(i, value) in place of a saved result i,
    and operand(i, value) in place of a saved operand i.
    """

    __slots__ = ()
    pull_plain: Any = None
    saved_from: Sequence[int] | None = None
    rules_run_user_code = False  # as of a Primitive: its errors are the user's

    def pull(self, ct: Any, *residuals: Any) -> Sequence[Any]:
        """See the class."""
        raise NotImplementedError

    def map_residuals(self, residuals: Any, operand: Callable[..., Any], result: Callable[..., Any]) -> Any:
        """See the class; the residuals as they are, where nothing is kept."""
        if self.saved_from is None:
            raise NotImplementedError(f"{type(self).__name__} saves intermediate values: see RematPullback")
        return residuals


class OperandPullback(PullbackRule):
    """A rule whose first residual is the list of all operands; others are no values of the operation."""

    __slots__ = ()
    saved_from = (1,)

    def map_residuals(
        self, residuals: Any, operand: Callable[..., Any], result: Callable[..., Any]
    ) -> tuple[Any, ...]:
        """Map the operands."""
        values, *others = residuals
        return [operand(i, v) for i, v in enumerate(values)], *others


class RematPullback(PullbackRule):
    """The rule of one application of a primitive whose own rule saves intermediate values, for tapes that map
    residuals. Operands and results are saved beside it. Where others are put in place of operands, the intermediate
    values are let go, and computed again by `pull`."""

    saved_from = (0, 1)

    def __init__(
        self,
        primitive: Primitive,
        needed: Sequence[Any],
        params: dict[str, Any],
        snapshot: Callable[[Any], Any],
    ):
        self.primitive, self.needed, self.params, self.snapshot = primitive, needed, params, snapshot

    def map_residuals(self, residuals: Any, operand: Callable[..., Any], result: Callable[..., Any]) -> Any:
        """Map the residuals (results, operands, rule, residuals of that rule)."""
        ys, values, rule, made = residuals
        ys = [result(i, y) for i, y in enumerate(ys)]
        given = [operand(i, v) for i, v in enumerate(values)]
        if any(g is not v for g, v in zip(given, values)):
            rule = made = None
        return ys, given, rule, made

    def pull(self, ct: Any, *residuals: Any) -> Sequence[Any]:
        """Pull back by the primitive's own rule."""
        _, values, rule, made = residuals
        if rule is None:
            primitive = self.primitive
            _, rule, made = primitive.vjp(primitive.call, values, self.needed, self.params, self.snapshot)
        return rule.pull(ct, *made)
