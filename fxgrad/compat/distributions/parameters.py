"""Parameters of distributions, each stated once: from its declaration follow the attribute, its constraint, and its
line in the docstring."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, overload

from .._core.tensor import Tensor
from .constraints import Constraint
from .utils import insert_arguments, insert_section, lazy_property


class parameter:
    """A parameter of a distribution, which the constructor sets.

    Args:
        text: what it is, for the docstring.
        constraint: which values it has; None: that follows from other parameters, or it is no Tensor.
        read: the function of the distribution that returns it, where the constructor does not set it.
    """

    def __init__(
        self, text: str, constraint: Constraint | None = None, read: Callable[[Any], Any] | None = None
    ):
        self.text, self.constraint, self.read = text, constraint, read

    def __set_name__(self, owner: type, name: str) -> None:
        self._fx_name = name

    @overload
    def __get__(self, instance: None, owner: type) -> parameter: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Tensor: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if self.read is None:
            raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self._fx_name!r}")
        return self.read(instance)

    def within(self, part: str) -> parameter:
        """Return the same parameter, of a part of the distribution."""
        return parameter(self.text, self.constraint, attrgetter(f"{part}.{self._fx_name}"))


class ComputedParameter(lazy_property, parameter):
    """A parameter that follows from others unless the constructor sets it."""

    def __init__(self, compute: Callable[[Any], Any], text: str, constraint: Constraint):
        parameter.__init__(self, text, constraint)
        lazy_property.__init__(self, compute)


def computed_parameter(text: str, constraint: Constraint) -> Callable[[Callable[[Any], Any]], Any]:
    """Return a decorator of the function by which a parameter follows from others; `text` and `constraint` as of
    `parameter`."""
    return lambda compute: ComputedParameter(compute, text, constraint)


def parameters_of(cls: type) -> dict[str, parameter]:
    """The declared parameters that the constructor of a class takes, its own before those of its bases."""
    code: Any = cls.__init__.__code__  # type: ignore[misc]
    found: dict[str, parameter] = {}
    for base in cls.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, parameter) and name in code.co_varnames[: code.co_argcount]:
                found.setdefault(name, member)
    return found


def declare_parameters(cls: type) -> None:
    """Give a class that states its parameters their constraints, and its docstring its source and the list of them."""
    found = parameters_of(cls)
    constraints = {name: p.constraint for name, p in found.items() if p.constraint is not None}
    if constraints and "__init__" in vars(cls) and "arg_constraints" not in vars(cls):
        cls.arg_constraints = constraints  # type: ignore[attr-defined]
    source = vars(cls).get("_fx_source") or getattr(vars(cls).get("_fx_law"), "_source", "")
    if source and cls.__doc__:
        cls.__doc__ = insert_section(cls.__doc__, f"Source: {source}.")
    if found and cls.__doc__:
        code: Any = cls.__init__.__code__  # type: ignore[misc]
        lines = [f"    {name}: {found[name].text}" for name in code.co_varnames if name in found]
        lines = [line if line.endswith(" or") else f"{line}." for line in lines]
        lines.append("    validate_args: see `Distribution`.")
        cls.__doc__ = insert_arguments(cls.__doc__, "\n".join(lines))
