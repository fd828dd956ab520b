"""Constraints: the valid values of parameters and samples.

`check(value)` of a constraint returns a Tensor of booleans, one for each event. `Distribution.arg_constraints` has the
constraints of parameters, `Distribution.support` that of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.tensor import Tensor
from ..errors import ArgumentError, ArgumentValueError, NotSupportedError
from .utils import attribute_of, insert_arguments, is_ours, part_lengths, torch

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """The base of constraints. One of your own defines `check`.

    Attributes:
        is_discrete: whether the values are separate from one another.
        event_dim: how many dimensions from the right make one value.

    >>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _fx_text: tuple[str, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls._fx_text and cls.__doc__ and is_ours(cls):
            lines = [f"    {name}: the {name.replace('_', ' ')}." for name in cls._fx_text]
            cls.__doc__ = insert_arguments(cls.__doc__, "\n".join(lines))

    def check(self, value: Tensor) -> Tensor:
        """Decide for every event of `value` whether it satisfies the constraint: a Tensor of booleans, of the shape of
        `value` without its last `event_dim` dimensions; ValueError where that is not known, or has too few."""
        raise NotSupportedError(f"{type(self).__name__} has no `check`", hint="define check(self, value)")

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._fx_text)
        return f"{type(self).__name__.removeprefix('_')}({shown})"


# -- constraints that depend on others ------------------------------------------
class _Dependent(Constraint):
    """A constraint that depends on other parameters, and can therefore not be checked.

    Args:
        is_discrete, event_dim: of all the constraints that it may be, where they agree; else NotImplemented.
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    is_discrete = property(lambda self: self._fx_stated("is_discrete"))
    event_dim = property(lambda self: self._fx_stated("event_dim"))

    def _fx_stated(self, name: str) -> Any:
        """Return what was stated where the constraint was made."""
        if (value := getattr(self, f"_{name}")) is NotImplemented:
            hint = "d.support of a distribution d knows it"
            raise NotSupportedError(f".{name} cannot be determined statically", hint=hint)
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """Return a dependent constraint of which this much is known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        hint = "d.support.check(x) of a distribution d, whose parameters are known"
        raise ArgumentValueError("Cannot determine validity of dependent constraint", hint=hint)


def is_dependent(constraint) -> bool:
    """Whether a constraint depends on other parameters, and cannot be checked.

    Returns:
        A bool.

    >>> from fxgrad.compat.distributions import constraints
    >>> constraints.is_dependent(constraints.dependent), constraints.is_dependent(constraints.positive)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that returns a constraint; of the class it is a dependent one.

    Args:
        fn: the property's function.

    >>> class Shifted(torch.distributions.Distribution):
    ...     @torch.distributions.constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return torch.distributions.constraints.greater_than(self.low)
    >>> Shifted.support.event_dim
    0
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ):
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A constraint on events that are made of several of another's.

    Args:
        base_constraint: the constraint on each.
        reinterpreted_batch_ndims: how many dimensions more make an event.

    Raises:
        ValueError: `reinterpreted_batch_ndims` is no whole number from 0 on.

    >>> from fxgrad.compat.distributions import constraints
    >>> constraints.independent(constraints.positive, 1).check(torch.tensor([1.0, -1.0]))
    tensor(False)
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise ArgumentValueError(
                f"reinterpreted_batch_ndims is a whole number of dimensions, not {reinterpreted_batch_ndims!r}",
                hint="1 for vectors, 2 for matrices",
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    is_discrete = attribute_of("base_constraint.is_discrete")

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        valid, count = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if valid.dim() < count:
            message = f"Expected value.dim() >= {self.event_dim} but got {value.dim()}"
            raise ArgumentValueError(message, hint="x.unsqueeze(0)")
        return valid.flatten(-count).all(-1) if count else valid

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """A constraint on samples of a mixture: that of its components, of which there is one dimension more.

    Args:
        base_constraint: the support of the components.

    Raises:
        TypeError: `base_constraint` is no Constraint.

    >>> from fxgrad.compat.distributions import constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint):
        if not isinstance(base_constraint, Constraint):
            kind = type(base_constraint).__name__
            raise ArgumentError(f"`base_constraint` is a Constraint, not {kind}", hint="component.support")
        self.base_constraint = base_constraint

    is_discrete = attribute_of("base_constraint.is_discrete")
    event_dim = attribute_of("base_constraint.event_dim")

    def check(self, value: Tensor) -> Tensor:
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return valid.all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


# -- numbers ------------------------------------------
def is_whole(value: Tensor) -> Tensor:
    """Whether numbers are whole."""
    return (value % 1).eq(0)


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return value.eq(0) | value.eq(1)


class _Real(Constraint):
    """Any number but NaN."""

    def check(self, value: Tensor) -> Tensor:
        return ~value.isnan()


class BoundedBelow(Constraint):
    """The base of constraints with a lower bound only."""

    _fx_text = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound


class BoundedAbove(Constraint):
    """The base of constraints with an upper bound only."""

    _fx_text = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound


class Bounded(Constraint):
    """The base of constraints with two bounds."""

    _fx_text = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(BoundedBelow):
    """Numbers above a bound.

    >>> torch.distributions.constraints.greater_than(1.0).check(torch.tensor([0.0, 2.0]))
    tensor([False,  True])
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(BoundedBelow):
    """Numbers not below a bound.

    >>> torch.distributions.constraints.greater_than_eq(1.0).check(torch.tensor([1.0, 0.5]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(BoundedAbove):
    """Numbers below a bound.

    >>> torch.distributions.constraints.less_than(1.0).check(torch.tensor([0.0, 2.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(Bounded):
    """Numbers between two bounds, these included.

    >>> torch.distributions.constraints.interval(0.0, 1.0).check(torch.tensor([1.0, 1.5]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(Bounded):
    """Numbers between two bounds, of which the upper one is not included.

    >>> torch.distributions.constraints.half_open_interval(0.0, 1.0).check(torch.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(Bounded):
    """Whole numbers between two bounds, these included.

    >>> torch.distributions.constraints.integer_interval(0, 2).check(torch.tensor([1.0, 1.5]))
    tensor([ True, False])
    """

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return is_whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(BoundedBelow):
    """Whole numbers not below a bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return is_whole(value) & (self.lower_bound <= value)


class _IntegerLessThan(BoundedAbove):
    """Whole numbers not above a bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return is_whole(value) & (value <= self.upper_bound)


# -- vectors ------------------------------------------
SUM_TOLERANCE = 1e-6


class _OneHot(Constraint):
    """Vectors of zeros and a single one."""

    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and add up to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < SUM_TOLERANCE)


class _Multinomial(Constraint):
    """Vectors of whole numbers that are not negative and add up to a bound.

    Args:
        upper_bound: the upper bound.

    >>> torch.distributions.constraints.multinomial(3).check(torch.tensor([1.0, 2.0]))
    tensor(True)
    """

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# -- matrices ------------------------------------------
MATRIX_TOLERANCE = 1e-6
UNIT_TOLERANCE = 10  # of rounding errors for each entry of a row


class _LowerTriangular(Constraint):
    """Matrices that are 0 above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return value.tril().eq(value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Matrices that are 0 above the diagonal, and positive on it."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Such matrices with rows of length 1: the factors of correlation matrices."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = torch.finfo(value.dtype).eps * value.shape[-1] * UNIT_TOLERANCE
        unit = ((value.square().sum(-1).sqrt() - 1).abs() <= tolerance).all(-1)
        return super().check(value) & unit


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], square, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    """Matrices equal to their transposes, up to rounding."""

    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return torch.isclose(value, value.mT, atol=MATRIX_TOLERANCE).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices with eigenvalues that are not negative."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return symmetric
        return symmetric & (torch.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return symmetric
        return symmetric & (torch.linalg.cholesky_ex(value).info == 0)


# -- several at once ------------------------------------------
class Several(Constraint):
    """The base of constraints that are several others along a dimension."""

    cseq: list[Constraint]

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)


class _Cat(Several):
    """Constraints on parts of a dimension, one after another.

    Args:
        cseq, dim: the constraints, and the dimension.
        lengths: the size of each part, 1 unless given.

    Raises:
        ValueError: not one length for each constraint.

    >>> from fxgrad.compat.distributions import constraints
    >>> constraints.cat([constraints.positive, constraints.real]).check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None):
        self.cseq, self.dim = list(cseq), dim
        self.lengths = part_lengths(lengths, len(self.cseq), "constraints")

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return torch.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(Several):
    """Constraints on the entries of a dimension, one each.

    Args:
        cseq, dim: the constraints, and the dimension.

    >>> from fxgrad.compat.distributions import constraints
    >>> constraints.stack([constraints.positive, constraints.real]).check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0):
        self.cseq, self.dim = list(cseq), dim

    @property
    def event_dim(self) -> int:
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        parts = [value.select(self.dim, i) for i in range(value.shape[self.dim])]
        return torch.stack([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


dependent = _Dependent()
dependent_property: Any = _DependentProperty  # what it returns is a property, and a constraint
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
