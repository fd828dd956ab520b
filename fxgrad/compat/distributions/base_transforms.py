"""Transform, the base class of transforms, and combinations: inverses, compositions, several events."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Sequence
from typing import Any

from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError
from . import constraints
from .constraints import Constraint
from .utils import absent_member, attribute_of, insert_arguments, is_ours, known_truth, sum_rightmost, torch


def are_equal(a: Any, b: Any) -> bool:
    """Whether two settings of a transform are equal: Tensors in all entries."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return a is b or known_truth(torch.as_tensor(a == b)) is True
    return bool(a == b)


class Transform:
    """The base of transforms. One of your own defines `_call`, `_inverse` and `log_abs_det_jacobian`, and says its
    `domain`, its `codomain` and whether it is `bijective`.

    Args:
        cache_size: 1 keeps the last pair of argument and result, so that the inverse of what has just been computed
            is exact and costs nothing; 0 keeps nothing.

    Raises:
        ArgumentValueError: another cache size.

    >>> exp = torch.distributions.ExpTransform()
    >>> x = torch.tensor([0.0, 1.0])
    >>> exp(x), exp.inv(torch.tensor(1.0)), exp.log_abs_det_jacobian(x, exp(x))
    (tensor([1.0000, 2.7183]), tensor(0.), tensor([0., 1.]))
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    # The attributes that decide whether two of a class are equal; None: one equals itself alone.
    _fx_settings: tuple[str, ...] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if is_ours(cls) and cls.__doc__:
            cls.__doc__ = insert_arguments(cls.__doc__, "    cache_size: see `Transform`.")

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ArgumentValueError("cache_size must be 0 or 1", hint=f"not {cache_size!r}")
        self._cache_size = cache_size
        self._fx_forget()
        super().__init__()

    def _fx_forget(self) -> None:
        """Forget the inverse, and the pair that is kept."""
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None, "_cached_x_y": (None, None)}

    @property
    def event_dim(self) -> int:
        """How many dimensions from the right are transformed together, where that is the same before and after.

        Raises:
            ValueError: those of domain and codomain differ.
        """
        if self.domain.event_dim != self.codomain.event_dim:
            raise ArgumentValueError(
                "Please use either .domain.event_dim or .codomain.event_dim",
                hint=f"{self.domain.event_dim} before, .domain.event_dim; {self.codomain.event_dim} after, "
                ".codomain.event_dim",
            )
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse, whose inverse is this transform."""
        found = None if self._inv is None else self._inv()
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """The sign of the derivative of a bijection of numbers: 1 if it rises everywhere, -1 if it falls."""
        raise absent_member(self, "sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the same transform with another cache size."""
        if cache_size == self._cache_size:
            return self
        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        return new

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or self._fx_settings is None:
            return False
        return all(are_equal(getattr(self, name), getattr(other, name)) for name in self._fx_settings)

    def __call__(self, x: Tensor) -> Tensor:
        """Transform a value."""
        if not self._cache_size:
            return self._call(x)
        known_x, known_y = self._cached_x_y
        if x is known_x:
            return known_y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        """Transform a value back."""
        if not self._cache_size:
            return self._inverse(y)
        known_x, known_y = self._cached_x_y
        if y is known_y:
            return known_x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise absent_member(self, "_call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise absent_member(self, "_inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det ∂y/∂x| at x, where y is what x becomes: one number for an event."""
        raise absent_member(self, "log_abs_det_jacobian")

    def forward_shape(self, shape) -> Size:
        """The shape that a value of a shape gets.

        Raises:
            ValueError: there is no event of such a shape.
        """
        return shape

    def inverse_shape(self, shape) -> Size:
        """The shape of what gets a shape.

        Raises:
            ValueError: there is no event of such a shape.
        """
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform."""

    _fx_settings = ("_inv",)

    def __init__(self, transform: Transform):
        super().__init__(transform._cache_size)
        self._inv: Transform = transform

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    domain = attribute_of("_inv.codomain")
    codomain = attribute_of("_inv.domain")
    bijective = attribute_of("_inv.bijective")
    sign = attribute_of("_inv.sign")
    inv = attribute_of("_inv")

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape) -> Size:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


def widen(constraint: Constraint, event_dim: int) -> Constraint:
    """Return the constraint on events of so many dimensions, at least those that it has."""
    missing = event_dim - constraint.event_dim
    return constraints.independent(constraint, missing) if missing > 0 else constraint


class ComposeTransform(Transform):
    """Several transforms, one after another.

    Args:
        parts: the transforms, the first one first.

    >>> parts = [torch.distributions.ExpTransform(), torch.distributions.AffineTransform(1.0, 2.0)]
    >>> t = torch.distributions.ComposeTransform(parts)
    >>> x = torch.tensor(0.0)
    >>> t(x), t.inv(t(x))
    (tensor(3.), tensor(0.))
    """

    _fx_settings = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    @property
    def domain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            before, after = part.domain.event_dim, part.codomain.event_dim
            event_dim = max(event_dim + before - after, before)
        return widen(self.parts[0].domain, event_dim)

    @property
    def codomain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            before, after = part.domain.event_dim, part.codomain.event_dim
            event_dim = max(event_dim + after - before, after)
        return widen(self.parts[-1].codomain, event_dim)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        found = None if self._inv is None else self._inv()
        if found is None:
            found = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, found._inv = weakref.ref(found), weakref.ref(self)
        return found

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if cache_size == self._cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total: Any = 0
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            rest = event_dim - part.domain.event_dim
            total = total + sum_rightmost(part.log_abs_det_jacobian(before, after), rest)
            event_dim = rest + part.codomain.event_dim
        return total

    def forward_shape(self, shape) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        shown = ",\n    ".join(map(repr, self.parts))
        return f"ComposeTransform(\n    {shown}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of events that are made of several of another's.

    Args:
        base_transform: the transform of each.
        reinterpreted_batch_ndims: how many dimensions more make an event.

    >>> t = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
    >>> x = torch.tensor([0.0, 1.0])
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor([1.0000, 2.7183]), tensor(1.))
    """

    _fx_settings = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def domain(self) -> Constraint:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = attribute_of("base_transform.bijective")
    sign = attribute_of("base_transform.sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        if cache_size == self._cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _fx_ensure_dims(self, x: Tensor, event_dim: int) -> None:
        if x.dim() < event_dim:
            raise ArgumentValueError("Too few dimensions on input", hint=f"{x.dim()}, not {event_dim}")

    def _call(self, x: Tensor) -> Tensor:
        self._fx_ensure_dims(x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        self._fx_ensure_dims(y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape) -> Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape) -> Size:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


__all__ = ["ComposeTransform", "IndependentTransform", "Transform", "_InverseTransform", "identity_transform"]
