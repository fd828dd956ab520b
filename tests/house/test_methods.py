"""Methods and properties of public classes say what they do, what their arguments are, and what they raise.

What a base class says of a method holds for the classes derived from it, and what a class says of its methods in its
own docstring need not be said by each of them.
"""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from types import FunctionType

import pytest

from tests.compat.test_examples import GROUPS, documented, group_of
from tests.house.raised_errors import names_of, plain, raised_in
from tests.house.test_docstrings import (
    ELSEWHERE,
    EXCEPTIONS,
    SENTENCE,
    UNSAID,
    documented_functions,
    public_names,
)

# Errors of helpers that cannot come, or that are caught.
IMPOSSIBLE = {
    "fxgrad.distributed.checkpoints.Checkpoints.read": {"ValueError"},
    "fxgrad.compat._core.dtypes.dtype.to_real": {"DTypeError"},
}

Member = FunctionType | property | cached_property


def members_of(kind: type) -> dict[str, Member]:
    """The methods and properties of a class under public names that this library defines."""
    found = {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}
    plain = {name: getattr(member, "__func__", member) for name, member in found.items()}
    return {
        name: member
        for name, member in plain.items()
        if isinstance(member, Member) and is_ours(function_of(member))
    }


def function_of(member: Member) -> object:
    """The function that computes a property, or that a method is."""
    return inspect.unwrap(getattr(member, "fget", None) or getattr(member, "func", member))


def is_ours(function: object) -> bool:
    return str(getattr(function, "__module__", "")).startswith("fxgrad")


def texts_of(kind: type, name: str) -> tuple[str, str]:
    """What a class and its bases say of a method, and what they say of themselves."""
    bases = [base for base in kind.__mro__ if base is not object]
    own = [getattr(vars(base)[name], "__doc__", None) for base in bases if name in vars(base)]
    of_classes = [vars(base).get("__doc__") for base in bases]
    said, of_class = (
        "\n\n".join(inspect.cleandoc(str(text)) for text in texts if text) for texts in (own, of_classes)
    )
    return said, of_class


def lacks(kind: type, name: str, member: Member) -> str:
    """What is not said of a method: nothing at all, no sentence, or these arguments."""
    said, of_class = texts_of(kind, name)
    if not said:
        return "" if re.search(rf"\b{name}\b", of_class) else "everything"
    if not SENTENCE.match(said):
        return "a sentence"
    if not isinstance(member, FunctionType) or ELSEWHERE.search(said):
        return ""
    arguments = [p for p in inspect.signature(member).parameters if p not in UNSAID]
    unsaid = [p for p in arguments if not re.search(rf"\b{re.escape(p)}\b", said + of_class)]
    return ", ".join(unsaid) if len(arguments) > 1 else ""


def lacking_errors(kind: type, name: str, member: Member, public: set[object]) -> set[str]:
    """The errors that a method raises without a word. What is not implemented says so itself."""
    said = set(re.findall(r"\b\w+(?:Error|Exception)\b", "".join(texts_of(kind, name))))
    raised = raised_in(function_of(member), set(public))
    return {
        error.__name__
        for error in raised
        if not issubclass(error, NotImplementedError) and not names_of(error) & said
    }


def members_by_owner(classes: dict[str, object]) -> dict[str, tuple[type, str, Member]]:
    """The methods of these classes, each by the name under which it is defined."""
    return {
        f"{owner.__module__}.{owner.__qualname__}.{name}": (kind, name, member)
        for kind in classes.values()
        if isinstance(kind, type) and is_ours(kind) and not issubclass(kind, BaseException)
        for name, member in members_of(kind).items()
        for owner in [next(base for base in kind.__mro__ if name in vars(base))]
    }


def check_members(classes: dict[str, object], public: set[object]) -> None:
    members = members_by_owner(classes)
    assert {path: lack for path, member in members.items() if (lack := lacks(*member))} == {}
    unsaid = {
        path: lacking_errors(*member, public) - IMPOSSIBLE.get(path, set())
        for path, member in members.items()
    }
    assert {path: errors for path, errors in unsaid.items() if errors} == {}


@pytest.mark.parametrize("namespace", EXCEPTIONS)
def test_methods_of_the_functional_surface_say_what_they_do(namespace):
    check_members(public_names(namespace), documented_functions())


@pytest.mark.parametrize("group", GROUPS)
def test_methods_of_the_torch_surface_say_what_they_do(group):
    classes = {name: found for name, found in documented().items() if group_of(name) == group}
    classes.pop("torch.Tensor", None)  # whose methods have texts of their own
    check_members(classes, {plain(getattr(found, "fget", found)) for found in documented().values()})
