"""The docstrings of torch's functions: the declared text, facts derived from the declaration, and the text of
`compat.texts`.

The derived facts are the forms (function, method, in place, `out=`), the parameters, the shape and dtype of the result,
whether it is a view, and whether it is differentiable.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable
from functools import cache
from inspect import Parameter
from typing import Any

from ..texts import Entry, common_parameters, read_entries
from .kinds import ALL, KINDS
from .late_text import LateText
from .spaces import SPACES

WIDTH = 100
NOTHING = Entry()
SECTIONS = ("Args", "Returns", "Raises", "Yields")
# What a declaration's `promote` means for the dtype of the result.
PROMOTED = {
    "arithmetic": "the common dtype of the operands (`torch.result_type`)",
    "choice": "the common dtype of the operands (`torch.result_type`)",
    "number": "the dtype of `input`, int64 where that is bool",
    "float": "the common dtype of the operands, the default dtype where that is no floating one",
    "comparison": "dtype bool",
}
# Operands that are not differentiated, whatever their dtype is.
PLACES = {
    "batch_sizes",
    "condition",
    "index",
    "indices",
    "mask",
    "offsets",
    "pivots",
    "sorter",
    "test_elements",
}
KIND_WORDS = {
    "b": "bool",
    **dict.fromkeys("iu", "integer"),
    "l": "int64",
    "f": "floating",
    "F": "float32 or float64",
    "h": "float16",
    "c": "complex",
}
NO_SHAPES = "RuntimeError: the shapes of the operands do not broadcast."
# The errors of functions that make Tensors with options.
NO_OPTIONS = [
    "RuntimeError: a gradient is required of integers or truth values, or a size is negative.",
    "TypeError: `dtype` is no `torch.dtype`.",
]


def document_function(subject: Any, declared: str) -> str:
    """Return the docstring of a function of which `declared` is what its declaration says."""
    base = getattr(subject, "in_place_of", None)
    if base is not None:
        return document_in_place(subject, base)
    op, entry = getattr(subject, "operation", None), find_entry(subject)
    text, sections, example = split_declared(declared)
    paragraphs = [text, *entry.paragraphs]
    if op is not None:
        said = any(p.startswith("Derivative") for p in entry.paragraphs)
        paragraphs += describe_derivatives(op, entry.returns, said)
    paragraphs.append(describe_forms(subject))
    parameters = list_parameters(subject)
    given = describe_parameters(op, parameters, entry, sections.pop("Args", ""))
    returns = wrap(entry.returns) or sections.pop("Returns", "") or describe_result(op, parameters)
    raised = "\n".join(
        filter(None, [sections.pop("Raises", ""), *(wrap(error, 1) for error in entry.raises)])
    )
    for error in describe_errors(op, parameters, given, " ".join(returns.split())):
        if f"{error.partition(':')[0]}:" not in raised:
            raised = "\n".join(filter(None, [raised, wrap(error, 1)]))
    parts = [*(wrap(p) for p in paragraphs if p)]
    parts += [f"{name}:\n{indent(body)}" for name, body in (("Args", given), ("Returns", returns)) if body]
    parts += [f"{name}:\n{indent(body)}" for name, body in [*sections.items(), ("Raises", raised)] if body]
    parts.append(entry_example(entry) or example)
    return "\n\n".join(part for part in parts if part)


def document_in_place(method: Any, base: Any) -> str:
    """Return the docstring of the method that writes what `base` returns into its first operand."""
    entry, of_base = find_entry(method), find_entry(base)
    text, sections, declared_example = split_declared(declared_text(base))
    forms = list_forms(base)
    known = forms[0] if forms else f"Tensor.{base.__name__}"
    parts = [
        wrap(f"The in-place form of `{known}`: the result is written into the Tensor."),
        wrap(text.partition("\n\n")[0]),
        *(wrap(p) for p in entry.paragraphs),
        describe_forms(method),
    ]
    parameters, op = list_parameters(method), getattr(base, "operation", None)
    if op is None:
        parameters = [p for p in list_parameters(base) if p.name != "out"]
    args = describe_parameters(
        op, parameters, of_base if not entry.parameters else entry, sections.get("Args", "")
    )
    raises = (
        "RuntimeError: the Tensor is a leaf that requires a gradient (`torch.no_grad()` allows it), has memory in "
        "which several entries are the same, or cannot hold the shape or dtype of the result."
    )
    raised = "\n".join([wrap(error, 1) for error in (raises, *of_base.raises)])
    example = entry_example(entry) or rewrite_in_place(
        method.__name__, entry_example(of_base) or declared_example
    )
    parts += [f"Args:\n{indent(args)}"] if args else []
    parts += [
        f"Returns:\n{indent(entry.returns or 'The Tensor itself.')}",
        f"Raises:\n{indent(raised)}",
        example,
    ]
    return "\n\n".join(part for part in parts if part)


# -- what is written ------------------------------------------
def find_entry(subject: Any) -> Entry:
    """Find what `compat.texts` says of a function."""
    entries = read_entries()
    names = [form.removeprefix("torch.") for form in list_forms(subject)]
    names += [form.removeprefix("Tensor.") for form in names if form.startswith("Tensor.")]
    return next((entries[name] for name in names if name in entries), NOTHING)


def split_declared(declared: str | None) -> tuple[str, dict[str, str], str]:
    """Split a docstring: its prose, its sections by name, and its example."""
    text, mark, example = inspect.cleandoc(str(declared or "")).partition(">>> ")
    sections: dict[str, str] = {}
    blocks = re.split(rf"(?m)^({'|'.join(SECTIONS)}):\n", text)
    for name, body in zip(blocks[1::2], blocks[2::2]):
        sections[name] = textwrap.dedent(body).strip()
    return blocks[0].strip(), sections, (mark + example).strip()


def declared_text(function: Any) -> str:
    """Return what the declaration of a function says."""
    text = function.__doc__
    return text.declared if isinstance(text, LateText) else text or ""


def entry_example(entry: Entry) -> str:
    """Return the example of an entry, with the imports that it takes."""
    if not entry.example:
        return ""
    text = "\n".join(entry.example)
    lines = [">>> import fxgrad.compat as torch"]
    lines += [">>> import fxgrad.compat.nn.functional as F"] * bool(re.search(r"\bF\.", text))
    lines += [">>> import numpy as np"] * bool(re.search(r"\bnp\.", text))
    return "\n".join([*lines, text])


def rewrite_in_place(name: str, example: str) -> str:
    """Return the example of the function, its first call, as one of the method `name` that works in place."""
    lines = example.split("\n")
    for i, line in enumerate(lines):
        found = re.match(rf">>> torch\.(?:\w+\.)*{name[:-1]}\(", line)
        call = ast.parse(line[4:]).body[0] if found else None
        value = call.value if isinstance(call, ast.Expr) else None
        if isinstance(value, ast.Call) and value.args:
            first, *rest = [ast.unparse(x) for x in [*value.args, *value.keywords]]
            shown = lines[i + 1 :]
            end = next((j for j, x in enumerate(shown) if x.startswith(">>>")), len(shown))
            given = [x for x in lines[:i] if x.startswith((">>> import", ">>> x = ", ">>> y = "))]
            target = [f">>> x = {first}"] if first != "x" else []
            return "\n".join([*given, *target, f">>> x.{name}({', '.join(rest)})", *shown[:end]])
    return ""


# -- what follows from the declaration ------------------------------------------
def root_of(function: Any) -> Any:
    """Return the function that an entrance calls: several entrances of one are one thing."""
    return inspect.unwrap(function) if callable(function) else function


@cache
def known_forms() -> dict[int, list[str]]:
    """The public names of every function in a namespace, by the identity of its root."""
    forms: dict[int, list[str]] = {}
    for space, members in SPACES.items():
        prefix = {"function": "torch", "method": "Tensor"}.get(space, f"torch.{space}")
        for name, function in members.items():
            forms.setdefault(id(root_of(function)), []).append(f"{prefix}.{name}")
    return forms


def list_forms(subject: Any) -> list[str]:
    """List the public names of a function, the one that it was declared with first."""
    found = known_forms().get(id(root_of(subject)), [])
    name = getattr(subject, "__name__", "")
    return sorted(found, key=lambda form: form.rpartition(".")[2] != name)


def describe_forms(subject: Any) -> str:
    """List the names of a function, if there are several."""
    found = list_forms(subject)
    name = getattr(subject, "__name__", "")
    has_inplace = f"{name}_" in SPACES["method"] and not name.endswith("_")
    words = ", ".join(f"`{form}`" for form in found)
    words += f"; in place `Tensor.{name}_`" if has_inplace else ""
    return f"Forms: {words}." if len(found) > 1 or has_inplace else ""


def list_parameters(subject: Any) -> list[Parameter]:
    """List the parameters that users see."""
    if isinstance(subject, property):
        return []
    try:
        return list(inspect.signature(subject).parameters.values())
    except (TypeError, ValueError):
        return []


def describe_parameters(op: Any, parameters: Iterable[Parameter], entry: Entry, declared: str) -> str:
    """Describe the parameters, each in a line: as the entry, the declaration or what is common says."""
    lines = [declared] if declared else []
    said = set(re.findall(r"(?m)^\*{0,2}(\w[\w, *]*?)(?: \(.*?\))?:", declared))
    said = {name.strip("* ") for names in said for name in names.split(",")}
    for p in parameters:
        text = entry.parameters.get(p.name)
        if text is None and p.name not in said:
            text = common_parameters().get(p.name)
        if text is None and p.name not in said and op is not None and p.name in op.names:
            text = "a Tensor."
        if text is not None:
            stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(p.kind, "")
            lines.append(wrap(f"{stars}{p.name}: {text}", 1))
    return "\n".join(lines)


def describe_result(op: Any, parameters: Iterable[Parameter]) -> str:
    """Describe the shape and dtype of the result, as far as they follow from the declaration."""
    if op is None:
        return ""
    names = {p.name for p in parameters}
    dtype = PROMOTED.get(op.promote, "the dtype of `input`")
    if "reduction" in names:
        return wrap(
            'A number (a Tensor without dimensions) for the reductions "mean" and "sum"; for "none" a Tensor of the '
            f"shape to which the operands broadcast. It has {dtype}."
        )
    if {"dim", "keepdim"} <= names:
        return wrap(
            "A Tensor without the dimensions that are reduced (of size 1 with `keepdim`), of "
            f"{'the dtype of `input`' if op.promote is None else dtype}."
        )
    if op.view:
        return wrap(
            "A view: it shares its memory with `input`, so that what is written into one is seen in the other, and "
            "gradients go through it."
        )
    if op.results is not None:
        return ""
    if len(op.names) == 1 and (op.promote is not None or op.inplace or op.primitive is not None):
        dtype = dtype.replace("the common dtype of the operands", "the dtype of `input`")
        return wrap(f"A Tensor of the shape of `input`, of {dtype}.")
    if op.promote is not None:
        return wrap(f"A Tensor of the shape to which the operands broadcast, of {dtype}.")
    return ""


def describe_derivatives(op: Any, returns: str, said: bool) -> list[str]:
    """State whether derivatives flow through an operation that returns this; `said`: the entry says more about it."""
    discrete = re.search(r"\b(dtype|of) (bool|int64)\b", returns) and "tuple" not in returns
    all_constant = len(op.constant) == len(getattr(op.results, "_fields", [None]))
    if not op.differentiable or op.promote == "comparison" or discrete or all_constant:
        return ["It is not differentiable: the result never requires a gradient."]
    operands = [f"`{name}`" for name in op.names if name not in PLACES]
    if said or not operands:
        return []
    return [f"It is differentiable with respect to {join_words(operands)}, in both modes and to all orders."]


def describe_errors(op: Any, parameters: Iterable[Parameter], given: str, returns: str) -> list[str]:
    """List the errors that follow from the declaration, and from what is said of parameters and result."""
    if op is None:
        return NO_OPTIONS if "requires_grad" in given else []
    errors = []
    if "the operands broadcast" in returns or (op.promote is not None and len(op.names) > 1):
        errors.append(NO_SHAPES)
    if any(p.name in ("dim", "dim0") for p in parameters):
        errors.append("IndexError: there is no such dimension.")
    kinds, words = KINDS.get(op.name, ALL)
    if op.kinds != ALL[0]:
        allowed = join_words(list(dict.fromkeys(KIND_WORDS[kind] for kind in kinds)), "or")
        error = "RuntimeError" if " " in words else "NotImplementedError"
        errors.append(f"{error}: the dtype of `{op.names[0]}` is not {allowed}.")
    return errors


# -- words ------------------------------------------
def join_words(words: list[str], last: str = "and") -> str:
    """Join words as in a sentence."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def wrap(text: str, hanging: int = 0) -> str:
    """Fill the lines of each paragraph; one with indented lines, such as a list, stays as it is."""
    paragraphs = [
        p
        if "\n " in p or p.startswith(" ")
        else textwrap.fill(
            p, WIDTH, subsequent_indent="    " * hanging, break_long_words=False, break_on_hyphens=False
        )
        for p in text.split("\n\n")
    ]
    return "\n\n".join(paragraphs)


def indent(text: str) -> str:
    """Indent the lines of a section."""
    return textwrap.indent(text, "    ")
