"""How docstrings are completed by the entry of their package: see `packages`."""

from __future__ import annotations

import inspect
import re
from functools import cache
from inspect import Parameter
from typing import Any

from ..texts import read_entries
from .documentation import indent, list_parameters, wrap

ARGS = re.compile(r"(?m)^Args:\n((?: +.*\n?|\n(?= ))+)")
NAMES = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \(.*?\))?: ")
AFTER_ARGS = re.compile(r"(?m)^(?:Attributes|Returns|Yields|Raises|Warns):\n|^>>> |\Z")
SAYS_RESULT = re.compile(r"^(?:Returns|Yields):\n|^\W*Return |\b(?:and return|returns) ", re.MULTILINE)
AFTER_RETURNS = re.compile(r"(?m)^(?:Raises|Warns):\n|^>>> |\Z")

# What a function returns, by the annotation of its result.
RESULTS = {
    "None": "None.",
    "RemovableHandle": "A handle whose `remove()` takes it away again.",
    "bool": "A bool.",
    "int": "An int.",
    "str": "A str.",
}


@cache
def document_by_package(package: str, subject: Any, declared: str) -> str:
    """Return a docstring in which the entry of the package describes the parameters and the result that `declared`
    leaves out, and frames the example."""
    entry = read_entries()[package]
    text = inspect.cleandoc(declared)
    found = ARGS.search(text)
    described = inspect.cleandoc(found[1]) if found else ""
    args = describe_all(list_parameters(subject), described, entry.parameters)
    if args != described:
        text = insert_section(ARGS.sub("", text), "Args", args, AFTER_ARGS)
    annotation = getattr(subject, "__annotations__", {}).get("return", "")
    returns = RESULTS.get(annotation, entry.returns)
    if returns and not SAYS_RESULT.search(text):
        text = insert_section(text, "Returns", wrap(returns), AFTER_RETURNS)
    return frame_example(text, "\n".join(entry.example))


def insert_section(text: str, title: str, body: str, after: re.Pattern[str]) -> str:
    """Put a section into a docstring, above what stands after it."""
    found = after.search(text)
    assert found is not None  # the end is found in any text
    parts = [text[: found.start()].rstrip(), f"{title}:\n{indent(body)}", text[found.start() :]]
    return "\n\n".join(filter(None, parts))


def describe_all(parameters: list[Parameter], described: str, known: dict[str, str]) -> str:
    """Return the descriptions of parameters, those that are given and those that are known, in the order of the
    signature."""
    items = [item.rstrip("\n") for item in re.split(r"(?m)^(?=\S)", described) if item]
    said = {name for item in items for name in names_of(item)}
    lacking = [p.name for p in parameters if p.name in known and p.name not in said]
    items += [wrap(f"{name}: {known[name]}", 1) for name in lacking]
    places = {parameter.name: i for i, parameter in enumerate(parameters)}

    def place(item: str) -> int:
        return min([places.get(name, len(places)) for name in names_of(item)], default=-1)

    return "\n".join(sorted(items, key=place))


def names_of(item: str) -> list[str]:
    """Return the names of the parameters that an item of "Args:" describes."""
    found = NAMES.match(item)
    return [name.strip("*") for name in found[1].split(", ")] if found else []


def frame_example(text: str, frame: str) -> str:
    """Put an example into that of its package if both end with the same question. The lines above that question take
    the place of the frame's line that assigns the same name."""
    prose, prompt, example = text.partition("\n>>> ")
    above, assignment, rest = frame.partition(f">>> {example.partition(' = ')[0]} = ")
    between = rest.partition("\n")[2].rpartition("\n")[0]
    question = between.rpartition("\n")[2]
    made, asked, answer = example.partition(f"\n{question}\n")
    if not (prompt and assignment and asked):
        return text
    return f"{prose}\n{above}>>> {made}\n{between}\n{answer}"
