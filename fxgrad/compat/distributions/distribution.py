"""Distribution, the base class: shapes, parameters, validation, and methods derived from other methods."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError, NotSupportedError
from . import constraints
from .parameters import declare_parameters
from .utils import (
    absent_member,
    absent_property,
    broadcast_all,
    is_ours,
    known_truth,
    lazy_property,
    show,
    torch,
)

__all__ = ["Distribution"]


class Distribution:
    """The base of probability distributions.

    A distribution is a batch of independent ones, of shape `batch_shape`, of events of shape `event_shape`; a sample
    of shape `sample_shape` has the shape sample_shape + batch_shape + event_shape, what `log_prob`, `entropy` and the
    like return sample_shape + batch_shape.

    Args:
        batch_shape, event_shape: see above.
        validate_args: whether parameters and samples are checked against `arg_constraints` and `support`; True unless
            set otherwise by `set_default_validate_args`. Under `vmap` all entries of the batch are looked at; what is
            staged cannot be.

    Raises:
        ArgumentValueError: a parameter does not satisfy its constraint. It is a ValueError.

    >>> normal = torch.distributions.Normal(torch.zeros(3), 2.0)
    >>> normal.sample((5,)).shape, normal.log_prob(torch.zeros(3)).shape
    (torch.Size([5, 3]), torch.Size([3]))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _fx_kept: tuple[str, ...] = ()  # Tensors that `expand` leaves as they are

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._fx_validate_parameters()
        super().__init__()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if is_ours(cls):
            declare_parameters(cls)
            if "rsample" in vars(cls) and "has_rsample" not in vars(cls):
                cls.has_rsample = True

    def _fx_start_with(self, validate_args: bool | None, **parameters) -> None:
        """Set parameters of single numbers, broadcast against one another, and start with their shape."""
        values = broadcast_all(*parameters.values())
        vars(self).update(zip(parameters, values))
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions validate that are not told otherwise.

        Raises:
            ArgumentValueError: it is neither True nor False.
        """
        if value not in (True, False):
            raise ArgumentValueError(
                f"validate_args is True or False, not {value!r}",
                hint="torch.distributions.Distribution.set_default_validate_args(False)",
            )
        Distribution._validate_args = bool(value)

    # -- validation ------------------------------------------
    def _fx_constraint_hint(self, name: str, constraint: constraints.Constraint, value: Tensor) -> str:
        """Return how to come by values that satisfy a constraint."""
        if known_truth(value.isnan().any()):
            return "torch.isnan(x).any() of what it is computed from: one of these is the first with NaN"
        if constraint.is_discrete:
            return f"whole numbers in {constraint!r}; validate_args=False computes without the check"
        return f"torch.distributions.transform_to(d.{name})(x), which is there for any x"

    def _fx_validate_parameters(self) -> None:
        """Raise unless the parameters satisfy their constraints."""
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, constraint in arg_constraints.items():
            computed = isinstance(getattr(type(self), name, None), lazy_property) and name not in vars(self)
            if constraints.is_dependent(constraint) or computed:
                continue
            value = getattr(self, name)
            if known_truth(constraint.check(value)) is False:
                raise ArgumentValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{show(value)}",
                    hint=self._fx_constraint_hint(f"arg_constraints[{name!r}]", constraint, value),
                )

    def _validate_sample(self, value) -> None:
        """Raise unless `value` can be a sample: a Tensor, of a shape that broadcasts, inside of the support."""
        if not isinstance(value, Tensor):
            raise ArgumentValueError(
                "The value argument to log_prob must be a Tensor",
                hint=f"torch.as_tensor makes one of {type(value).__name__}",
            )
        trailing = len(self._event_shape)
        if value.shape[value.dim() - trailing :] != self._event_shape:
            raise ArgumentValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.",
                hint=f"a value of shape (…, {', '.join(map(str, self._event_shape))})",
            )
        expected = self._batch_shape + self._event_shape
        for given, wanted in zip(reversed(value.shape), reversed(expected)):
            if given not in (1, wanted) and wanted != 1:
                raise ArgumentValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.",
                    hint=f"a value of shape {tuple(expected)}, or with further dimensions in front: d.sample().shape",
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if known_truth(support.check(value)) is False:
            raise ArgumentValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{show(value)}",
                hint=self._fx_constraint_hint("support", support, value),
            )

    # -- shapes ------------------------------------------
    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one of them."""
        return self._event_shape

    def _extended_shape(self, sample_shape=()) -> Size:
        """The shape of samples."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape, _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters expanded to a batch shape. Nothing is copied.

        Args:
            batch_shape: to which that of the distribution broadcasts.
            _instance: what is to become that distribution, for subclasses.

        Raises:
            NotSupportedError: a subclass with an `__init__` of its own does not say how. It is a NotImplementedError.
        """
        ours = next(filter(is_ours, type(self).__mro__))
        if ours is Distribution:
            raise NotSupportedError(
                f"{type(self).__name__} has no `expand`",
                hint="define expand(self, batch_shape, _instance=None)",
            )
        new = self._get_checked_instance(ours, _instance)
        batch_shape = Size(batch_shape)
        self._fx_expand_parameters(new, batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _fx_expand_parameters(self, new: Any, batch_shape: Size) -> None:
        """Give another distribution what this one is made of, expanded: parameters that are there, and distributions.
        Other Tensors follow from these, and what is no Tensor has no shape."""
        for name, value in vars(self).items():
            declared = getattr(type(self), name, None)
            constraint = self.arg_constraints.get(name, getattr(declared, "constraint", None))
            if constraint is not None and isinstance(value, Tensor):
                event = value.shape[value.dim() - constraint.event_dim :]
                vars(new)[name] = value.expand(batch_shape + event)
            elif isinstance(value, Distribution):
                vars(new)[name] = value.expand(batch_shape)
            elif name in self._fx_kept or not isinstance(value, Tensor):
                vars(new)[name] = value

    def _get_checked_instance(self, cls: type, _instance: Distribution | None = None) -> Any:
        """Return what `expand` fills: `_instance`, or an empty distribution of the same class."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotSupportedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method.",
                hint="define expand(self, batch_shape, _instance=None) in the subclass",
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # -- what a distribution defines ------------------------------------------
    arg_constraints: ClassVar[Mapping[str, constraints.Constraint]] = absent_property(
        "arg_constraints", "The constraint on each parameter, by its name."
    )
    support: Any = absent_property("support", "The constraint on samples.")
    mean: Any = absent_property("mean", "The mean.")
    mode: Any = absent_property("mode", "The most probable value.")
    variance: Any = absent_property("variance", "The variance.")
    stddev: Any = property(lambda self: self.variance.sqrt(), doc="The standard deviation.")

    def sample(self, sample_shape=()) -> Tensor:
        """Draw samples, through which no gradients flow.

        Args:
            sample_shape: how many, as the leading sizes of the result.

        Returns:
            A Tensor of shape sample_shape + batch_shape + event_shape.
        """
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()) -> Tensor:
        """Draw samples that are differentiable in the parameters, where `has_rsample` says that there are such.

        Args:
            sample_shape: see `sample`.

        Raises:
            NotSupportedError: there are none. It is a NotImplementedError.
        """
        raise absent_member(self, "rsample")

    def sample_n(self, n: int) -> Tensor:
        """Draw n samples. Deprecated: use sample((n,))."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density at a value, or of the probability of it.

        Args:
            value: of a shape that broadcasts against batch_shape + event_shape.

        Raises:
            ArgumentValueError: `value` is no Tensor, does not broadcast, or is outside of the support. It is a
                ValueError.
        """
        if self._validate_args:
            self._validate_sample(value)
        return self._fx_log_prob(value)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        """`log_prob` of a value that is checked."""
        raise absent_member(self, "log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of samples that are not above a value; arguments and errors as of `log_prob`."""
        if self._validate_args:
            self._validate_sample(value)
        return self._fx_cdf(value)

    def _fx_cdf(self, value: Tensor) -> Tensor:
        """`cdf` of a value that is checked."""
        raise absent_member(self, "cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`: the quantiles at these probabilities."""
        raise absent_member(self, "icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """List all values that samples of a discrete distribution can have, along a new first dimension.

        Args:
            expand: whether they are expanded over the batch; else its dimensions have size 1.
        """
        raise absent_member(self, "enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy, in nats: a Tensor of shape batch_shape."""
        raise absent_member(self, "entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _fx_enumerate(self, values: Tensor, expand: bool) -> Tensor:
        """Give values (n, *event_shape) the dimensions of the batch, behind the first one."""
        event = values.shape[1:]
        values = values.reshape((-1, *(1,) * len(self._batch_shape), *event))
        return values.expand((-1, *self._batch_shape, *event)) if expand else values

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = ", ".join(f"{n}: {show(v) if v.numel() == 1 else v.size()}" for n, v in given.items())
        return f"{type(self).__name__}({shown})"
