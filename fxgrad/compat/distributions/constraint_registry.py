"""Transforms to constrained values: `biject_to` and `transform_to`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, NotSupportedError
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """A table of functions from constraints to transforms, by the class of the constraint.

    >>> from fxgrad.compat.distributions import constraints, transform_to
    >>> transform_to(constraints.positive)(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self):
        self._registry: dict[type, Factory] = {}

    def register(self, constraint, factory: Factory | None = None) -> Any:
        """Enter the function that makes the transform for a class of constraints.

        Args:
            constraint: a subclass of Constraint, or an object of it.
            factory: constraint → Transform; without it a decorator of such a function is returned.

        Raises:
            ArgumentError: it is no constraint. It is a TypeError.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise ArgumentError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}",
                hint="constraints.positive, type(constraints.positive), or a class of your own",
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint) -> transforms.Transform:
        """Make the transform whose results satisfy a constraint.

        Raises:
            NotSupportedError: there is none for such constraints. It is a NotImplementedError.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotSupportedError(
                f"Cannot transform {type(constraint).__name__} constraints",
                hint="register(constraint, factory)",
            )
        return factory(constraint)


# Bijections, which have a density; and transforms that are good to optimize through, which need not be one to one.
biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def register_both(*kinds) -> Callable[[Factory], Factory]:
    """Decorate the factory of constraints that have one transform for both purposes."""

    def enter(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return enter


@register_both(constraints.real)
def transform_to_real(constraint) -> transforms.Transform:
    return transforms.identity_transform


@register_both(constraints.positive, constraints.nonnegative)
def transform_to_greater_than(constraint) -> transforms.Transform:
    """exp, and then up to the bound."""
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@register_both(constraints.less_than)
def transform_to_less_than(constraint) -> transforms.Transform:
    """exp, and then from the bound downwards."""
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@register_both(constraints.interval, constraints.half_open_interval)
def transform_to_interval(constraint) -> transforms.Transform:
    """A sigmoid, stretched from one bound to the other."""
    bounds = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(b, int | float) for b in bounds) and bounds == (0, 1):
        return transforms.SigmoidTransform()
    low, size = constraint.lower_bound, constraint.upper_bound - constraint.lower_bound
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, size)])


@register_both(constraints.corr_cholesky)
def transform_to_corr_cholesky(constraint) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def biject_to_simplex(constraint) -> transforms.Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def transform_to_simplex(constraint) -> transforms.Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def transform_to_lower_cholesky(constraint) -> transforms.Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def transform_to_positive_definite(constraint) -> transforms.Transform:
    return transforms.PositiveDefiniteTransform()


def register_combinations(registry: ConstraintRegistry) -> None:
    """Register composed constraints, with the transforms of their parts from the same registry."""

    @registry.register(constraints.independent)
    def transform_independent(constraint) -> transforms.Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def transform_cat(constraint) -> transforms.Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def transform_stack(constraint) -> transforms.Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


for registry in (biject_to, transform_to):
    register_combinations(registry)
