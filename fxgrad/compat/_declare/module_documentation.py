"""The docstrings of Modules: a Module that calls a function of nn.functional repeats its text and its example."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from typing import Any

from ..texts import Entry, read_entries
from .documentation import (
    NOTHING,
    declared_text,
    describe_parameters,
    describe_result,
    document_function,
    entry_example,
    find_entry,
    indent,
    list_parameters,
    split_declared,
    wrap,
)
from .spaces import SPACES


@cache
def document(subject: Any, declared: str) -> str:
    """Return the docstring of a function or Module of which `declared` is what its declaration says."""
    return (document_module if isinstance(subject, type) else document_function)(subject, declared)


def document_module(module: type, declared: str) -> str:
    """Return the docstring of a class of Modules of which `declared` is what its declaration says."""
    entry = read_entries().get(f"nn.{module.__name__}", NOTHING)
    text, sections, example = split_declared(declared)
    paragraphs, known = [text, *entry.paragraphs], read_entries()["nn.modules"].parameters
    name = getattr(module, "_fx_function", "")
    function = SPACES["nn.functional"].get(name) or SPACES["function"].get(name)
    if function is not None:
        of_function = find_entry(function)
        what, described, shown = split_declared(declared_text(function))
        paragraphs[0] = text or f"The module that calls `nn.functional.{name}`: {first_sentence(what)}"
        paragraphs += [p for p in of_function.paragraphs if not entry.paragraphs]
        known = known | parse_parameters(described.get("Args", "")) | of_function.parameters
        example = example or rewrite_for_module(module, function, entry_example(of_function) or shown)
        paragraphs.append(describe_call(function, of_function))
    given = describe_parameters(
        None, list_parameters(module), Entry(parameters=known | entry.parameters), sections.get("Args", "")
    )
    raised = "\n".join(filter(None, [sections.get("Raises", ""), *entry.raises]))
    parts = [*(wrap(p) for p in paragraphs if p)]
    parts += [f"{title}:\n{indent(body)}" for title, body in (("Args", given), ("Raises", raised)) if body]
    return "\n\n".join([*parts, *filter(None, [entry_example(entry) or example])])


def describe_call(function: Any, entry: Entry) -> str:
    """Say what a Module is called with and what it returns, as its function is; "" where that is not said."""
    operand, op = entry.parameters.get("input", "").rstrip("."), getattr(function, "operation", None)
    returns = " ".join((entry.returns or describe_result(op, list_parameters(function))).split())
    if not returns:
        return ""
    return f"Called{f' with {operand},' if operand else ','} it returns {returns[0].lower()}{returns[1:]}"


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, in one line, as it goes on after a colon."""
    return re.sub(r"\s+", " ", re.sub("^The ", "the ", text)).partition(". ")[0].strip(".") + "."


def parse_parameters(text: str) -> dict[str, str]:
    """Return what a section Args says, by the names of the parameters."""
    found = re.findall(r"(?m)^(\w[\w, ]*): ((?:.*)(?:\n +.*)*)", text)
    return {name: re.sub(r"\s+", " ", what) for names, what in found for name in names.split(", ")}


def rewrite_for_module(module: type, function: Any, example: str) -> str:
    """Return the example of a function as one of the Module that calls it: its first call, with the arguments that the
    constructor takes given there."""
    lines = example.split("\n")
    for i, line in enumerate(lines):
        found = re.match(rf">>> (?:torch\.nn\.functional|torch|F)\.{function.__name__}\(", line)
        call = ast.parse(line[4:]).body[0] if found else None
        value = call.value if isinstance(call, ast.Expr) else None
        if not isinstance(value, ast.Call):
            continue
        names = list(inspect.signature(function).parameters)
        given = {name: ast.unparse(x) for name, x in zip(names, value.args)}
        given |= {str(x.arg): ast.unparse(x.value) for x in value.keywords}
        taken = [p.name for p in list_parameters(module)]
        options = ", ".join(f"{name}={x}" for name, x in given.items() if name in taken)
        operands = ", ".join(x for name, x in given.items() if name not in taken)
        shown = lines[i + 1 :]
        end = next((j for j, x in enumerate(shown) if x.startswith(">>>")), len(shown))
        before = [x for x in lines[:i] if "functional as F" not in x]
        return "\n".join([*before, f">>> torch.nn.{module.__name__}({options})({operands})", *shown[:end]])
    return ""
