"""Entries of the reference as Markdown: signature, docstring, and of a class its members."""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from typing import Any

import numpy as np

from docs._ext import catalog
from docs._ext.docstrings import as_markdown, docstring_of, first_sentence, in_table, signature_of

MANUALS = {
    "numpy": "NumPy's own [`numpy.{0}`](https://numpy.org/doc/stable/reference/generated/numpy.{0}.html).",
    "scipy": "SciPy's own [`scipy.{0}`](https://docs.scipy.org/doc/scipy/reference/generated/scipy.{0}.html).",
}
SCALARS = "NumPy's own [`numpy.{0}`](https://numpy.org/doc/stable/reference/arrays.scalars.html#numpy.{0})."


def write_table(full_names: list[str]) -> str:
    """A table of names with their first sentences."""
    rows = [f"| {{py:obj}}`~{name}` | {in_table(summary(name))} |" for name in full_names]
    return fence("{container} summary", "\n".join(["| | |", "|---|---|", *rows]))


def write_entry(full_name: str) -> str:
    """Describe a name of a namespace or of a class."""
    value = catalog.find(full_name)
    owner, _, name = full_name.rpartition(".")
    if inspect.isclass(catalog.find(owner)):
        module, _, class_name = owner.rpartition(".")
        return write_member(module, f"{class_name}.{name}", value)
    kind = "data"
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
    elif inspect.isroutine(value):
        kind = "function"
    signature = "" if kind == "data" else signature_of(value)
    entry = fence(f"{{py:{kind}}} {name}{signature}", f":module: {owner}\n{write_content(full_name, value)}")
    index = [fence(f"{{index}} ! single: {peer}", "") for peer in [name_of_peer(full_name)] if peer]
    return "\n\n".join([*index, entry])


@cache
def names_of_jax() -> frozenset[str]:
    """The names of JAX's large namespaces, as the tables of names know them."""
    listed = json.loads((catalog.REFERENCE.parents[1] / "tests/tables/names.json").read_text("utf-8"))["jax"]
    return frozenset(f"{namespace}.{name}" for namespace, names in listed.items() for name in names.split())


def name_of_peer(full_name: str) -> str:
    """The name in torch or JAX by which a reader may search for one of ours; "" if there is none."""
    rest = full_name.partition(".")[2]
    if rest.startswith("compat.") and not rest.startswith("compat.errors."):
        return f"torch.{rest.removeprefix('compat.')}"
    return f"jax.{rest}" if rest in names_of_jax() else ""


def write_content(full_name: str, value: Any) -> str:
    """The options and the text of an entry."""
    home = catalog.homes().get(id(value), full_name)
    if home != full_name:
        return f"\nThe same as {{py:obj}}`{home}`. {summary(full_name)}"
    if is_number(value):
        return f":value: {value!s}\n"
    if kind := described_kind(value):
        return f"\nOf type {{py:obj}}`{kind}`."
    if manual := manual_of(value):
        return f"\n{manual}"
    parts = [as_markdown(docstring_of(value)), operation_of(value)]
    if inspect.isclass(value) and not any(block.namespace == full_name for block in catalog.blocks()):
        module, _, name = full_name.rpartition(".")
        parts += [
            write_member(module, f"{name}.{member}", inspect.getattr_static(value, member))
            for member in sorted(members_of(value))
        ]
    return "\n" + "\n\n".join(part for part in parts if part)


def write_member(module: str, name: str, value: Any) -> str:
    """Describe an attribute of a class."""
    kinds = {property: "property", classmethod: "classmethod", staticmethod: "staticmethod"}
    kind = next((kind for of, kind in kinds.items() if isinstance(value, of)), "attribute")
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    elif inspect.isroutine(value):
        kind = "method"
    signature = signature_of(value, bound=kind != "staticmethod") if "method" in kind else ""
    return fence(
        f"{{py:{kind}}} {name}{signature}", f":module: {module}\n\n{as_markdown(docstring_of(value))}"
    )


def members_of(owner: type) -> set[str]:
    """The names of the documented public members of a class, but of those that it has from a class with an entry."""
    described = {base for base in owner.__mro__[1:] if id(base) in catalog.homes()}
    inherited = {base for each in described for base in each.__mro__}
    return {
        name
        for base in owner.__mro__
        if base not in inherited and catalog.is_ours(base)
        for name, value in vars(base).items()
        if not name.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod))
        and docstring_of(value)
    }


def summary(full_name: str) -> str:
    """The first sentence on an object; of a constant, what the docstring of its module says."""
    value = catalog.find(full_name)
    owner, _, name = full_name.rpartition(".")
    listed = re.search(rf"^ +{name}: (.+)$", inspect.getdoc(catalog.find(owner)) or "", re.MULTILINE)
    if listed and owner == "fxgrad.extend":
        return listed[1]
    if is_number(value):
        return f"`{value!s}`"
    if kind := described_kind(value):
        return f"Of type {{py:obj}}`{kind}`."
    return manual_of(value) or first_sentence(docstring_of(value))


def is_number(value: Any) -> bool:
    """Whether an object is a constant that its value describes."""
    return value is None or isinstance(value, int | float | str | np.generic)


def described_kind(value: Any) -> str:
    """The name in the reference of the class of an instance, whose docstring it has; "" if there is none."""
    return "" if callable(value) else catalog.homes().get(id(type(value)), "")


def manual_of(value: Any) -> str:
    """A sentence on an object of another library, with a link to its description there; "" for one of ours."""
    home = getattr(value, "__module__", None) or type(value).__module__
    library = home.partition(".")[0]
    if library in ("builtins", "fxgrad", "torch"):
        return ""
    name = getattr(value, "__name__", type(value).__name__)
    if inspect.isclass(value) and issubclass(value, np.generic):
        return SCALARS.format(name)
    if library in MANUALS:
        path = (
            [part for part in home.split(".")[1:] if not part.startswith("_")] if library == "scipy" else []
        )
        return MANUALS[library].format(".".join([*path, name]))
    return f"That of `{library}`."


@cache
def operations() -> dict[str, Any]:
    """The rows of the table of operations, by name."""
    from fxgrad.testing import coverage

    return {row.name: row for row in coverage()}


def operation_of(value: Any) -> str:
    """What the registry says of the operation that a function binds, as a field; "" for other functions."""
    primitive = getattr(value, "primitive", None)
    row = operations().get(getattr(primitive, "name", ""))
    if row is None:
        return ""
    rules = f"Forward mode: {row.jvp}; reverse mode: {row.reverse}; transposition: {row.transpose}"
    further = f"batching: {row.batching}; staging: {row.staging}"
    kernels = ", ".join(name for name, has in row.kernels.items() if has)
    return (
        f":Operation:\n    `{row.name}`, {row.kind}. {rules}; {further}. Kernels for {kernels}. "
        "[The table of rules](/tables/rules.md) has all operations."
    )


def fence(heading: str, content: str) -> str:
    """A directive with content, fenced by more backticks than are inside."""
    marks = "```"
    while marks in content:
        marks += "`"
    return f"{marks}{heading}\n{content}\n{marks}"
