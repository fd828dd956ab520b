"""What type checkers know of the functions that transforms return. Nothing here is loaded when a program runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar, TypeVarTuple, overload

from numpy.typing import ArrayLike

from ..core.graph import Graph
from ..core.typing import Array, P

Argument = TypeVar("Argument")
Result = TypeVar("Result")
Argument2 = TypeVar("Argument2", bound=Any)  # see `R`
Aux = TypeVar("Aux")
X = TypeVar("X")
Y = TypeVar("Y", covariant=True)
Arguments = TypeVarTuple("Arguments")

First: TypeAlias = Literal[0]  # `argnums` of the first argument alone
FirstTwo: TypeAlias = tuple[Literal[0], Literal[1]]
NoAux: TypeAlias = Literal[False]  # `has_aux`
WithAux: TypeAlias = Literal[True]


class Unannotated:
    """A type that stands for nothing: only a function without an annotation takes an argument of it."""


class Derivative(ABC, Generic[Argument, P]):
    """What `grad` returns: the derivative has the type of the argument, which is the one that the function declares,
    or else that of the call."""

    @overload
    @abstractmethod
    def __call__(
        self: Derivative[Unannotated, P] | Derivative[ArrayLike, P],
        x: X,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> X: ...
    @overload
    @abstractmethod
    def __call__(self, x: Argument, /, *args: P.args, **kwargs: P.kwargs) -> Argument: ...


class ValueAndDerivative(ABC, Generic[Argument, P, Result]):
    """What `value_and_grad` returns: the result of the function, and what `Derivative` gives."""

    @overload
    @abstractmethod
    def __call__(
        self: ValueAndDerivative[Unannotated, P, Result] | ValueAndDerivative[ArrayLike, P, Result],
        x: X,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Result, X]: ...
    @overload
    @abstractmethod
    def __call__(self, x: Argument, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Result, Argument]: ...


class Jacobian(ABC, Generic[Argument, P, Result]):
    """What `jacobian` and `hessian` return: an array for functions from an array to one, or to a number."""

    @overload
    @abstractmethod
    def __call__(
        self: Jacobian[Argument, P, Unannotated], x: Argument, /, *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    @overload
    @abstractmethod
    def __call__(
        self: Jacobian[Argument, P, Array] | Jacobian[Argument, P, float],
        x: Array,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Array: ...
    @overload
    @abstractmethod
    def __call__(self, x: Argument, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...


class Pullback(Protocol[*Arguments]):
    """What `vjp` and `linear_transpose` return: a function from a cotangent to those of the arguments."""

    def __call__(self, cotangent: Any, /) -> tuple[*Arguments]: ...


class Linearized(Protocol[Y]):
    """What `linearize` returns: a linear function of tangents."""

    @property
    def graph(self) -> Graph: ...
    def __call__(self, *tangents: Any) -> Y: ...


class GradOptions(TypedDict, total=False):
    """Options that do not change the type of what `grad` and `value_and_grad` return."""

    holomorphic: bool
    allow_int: bool
    check: bool


class JacobianOptions(TypedDict, total=False):
    """Options that do not change the type of what `jacfwd`, `jacrev`, `jacobian` and `hessian` return."""

    holomorphic: bool
    chunk_size: int | str | None
    memory_limit: int | float | str | None
    progress: bool | str
    check: bool
