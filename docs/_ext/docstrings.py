"""Docstrings as Markdown: sections of Google's style become lists of fields, examples become blocks of code."""

from __future__ import annotations

import inspect
import re
from textwrap import dedent, indent
from typing import Any

from fxgrad.core.docstrings import example_names

SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Warns):[ ]*$")
TITLES = {"Args": "Parameters"}
ITEM = re.compile(r"^(?P<name>[*\w][\w*.]*(?:, [*\w][\w*.]*)*): +(?P<text>.*)$")
SENTENCE = re.compile(r"^(.+?[.!?])(?=\s+[^a-z\s]|$)", re.DOTALL)
TEXTS_OF_PYTHON = {
    inspect.getdoc(kind) for kind in (int, float, bool, str, tuple, list, dict, property, object)
}
CODE = re.compile(r"(`+[^`]+`+)")
ADDRESS = re.compile(r"https?://[^\s)>]*[^\s)>.,;:]")
VERBATIM = re.compile(rf"(`+[^`]+`+|(?<![(<\]])\b{ADDRESS.pattern})")


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    found = SENTENCE.match(paragraph)
    return escape(found[1] if found else paragraph)


def as_markdown(text: str) -> str:
    """Write a docstring, without its indentation, as Markdown."""
    parts: list[str] = []
    body: list[str] = []
    lines = iter([*text.split("\n"), ""])
    title = ""
    for line in lines:
        section = SECTION.match(line)
        if section or (title and line and not line.startswith(" ")):
            parts.append(write_section(title, body))
            title, body = section[1] if section else "", []
            if section:
                continue
        body.append(line)
    parts.append(write_section(title, body))
    return "\n\n".join(part for part in parts if part)


def write_section(title: str, body: list[str]) -> str:
    """Write the text in front of all sections, whose title is empty, or a section as a field."""
    text = dedent("\n".join(body)).strip("\n")
    if not title:
        return write_text(text)
    if title not in ("Returns", "Yields"):
        text = write_items(text, code=title in ("Raises", "Warns"))
    else:
        text = write_text(text)
    return f":{TITLES.get(title, title)}:\n" + indent(text, "    ") if text else ""


def write_items(text: str, *, code: bool) -> str:
    """Write `name: what it is` as items of a list; what is no item, in front of them, stays as it is."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.split("\n"):
        item = ITEM.match(line)
        if item:
            names = item["name"].split(", ")
            shown = ", ".join(f"`{name}`" if code else f"**{escape_name(name)}**" for name in names)
            parts.append((f"- {shown}: ", [item["text"]]))
        else:
            parts[-1][1].append(line)
    return "\n".join(write_item(mark, lines) for mark, lines in parts if lines)


def write_item(mark: str, lines: list[str]) -> str:
    """Write an item of a list, whose further lines may be indented by anything."""
    text = write_text("\n".join([lines[0], dedent("\n".join(lines[1:]))]))
    return mark + indent(text, "  ").lstrip() if mark else text


def write_text(text: str) -> str:
    """Write paragraphs, lists and examples."""
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    return "\n\n".join(write_block(block) for block in join_examples(blocks) if block.strip())


def join_examples(blocks: list[str]) -> list[str]:
    """Join examples that only a blank line separates."""
    joined: list[str] = []
    for block in blocks:
        if joined and is_example(joined[-1]) and is_example(block):
            joined[-1] += "\n\n" + block
        else:
            joined.append(block)
    return joined


def is_example(block: str) -> bool:
    return block.lstrip().startswith(">>> ")


def write_block(block: str) -> str:
    """Write a paragraph, a list, an example, or what is indented, which is code or a formula."""
    if is_example(block):
        return f"```python-console\n{dedent(block)}\n```"  # a name under which Ruff lets it be
    head, prompt, example = block.partition("\n>>> ")
    if prompt:  # without a blank line in between
        return f"{write_block(head)}\n\n{write_block('>>> ' + example)}"
    if all(line.startswith("    ") for line in block.split("\n")):
        code = dedent(block)
        return f"```{'python' if is_python(code) else 'text'}\n{code}\n```"
    lines = [
        re.sub(r"^( *)(`[^`]+`:? )", r"\1- \2", line) if len(named_lines(block)) > 1 else line
        for line in block.split("\n")
    ]
    return escape("\n".join(lines))


def named_lines(block: str) -> list[str]:
    """The lines of a block that begin with the name of what they explain."""
    return [line for line in block.split("\n") if re.match(r" *`[^`]+`: ", line)]


def is_python(text: str) -> bool:
    """Whether text is a program that does something, and no formula or sentence."""
    try:
        compile(text, "example", "exec")
    except SyntaxError:
        return False
    return re.search(r"\w\(|import |:$| = ", text) is not None


def escape(text: str) -> str:
    """Keep signs outside of code from being taken for markup, and make links of addresses."""
    return "".join(
        part if part.startswith("`") else write_link(part) if ADDRESS.fullmatch(part) else escape_prose(part)
        for part in VERBATIM.split(text)
    )


def escape_name(name: str) -> str:
    """Keep the signs of a parameter, such as **kwargs, from being taken for markup."""
    return re.sub(r"([*_])", r"\\\1", name)


def escape_prose(text: str) -> str:
    """Escape what is no markup in prose: products such as x*y, names such as __call__, and the delimiters of formulas,
    tags and tables."""
    text = re.sub(r"([<$|])|\](?=\((?!https?:|\.|#))", r"\\\g<0>", text)
    text = re.sub(r"(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)", lambda match: match[0].replace("_", r"\_"), text)
    text = re.sub(
        r"(?<=\w)\*(?=\w)|(?<!\w)\*{1,2}(?=\w*args\b)", lambda match: match[0].replace("*", r"\*"), text
    )
    return text


def write_link(address: str) -> str:
    """Write a link; one to a function in the manual of another library by its name."""
    page = re.search(r"/([\w.]+)\.html(#[\w.]+)?$", address)
    if page is None or "." not in page[1]:
        return f"<{address}>"
    library = {"numpy": "NumPy", "scipy": "SciPy", "torch": "torch", "jax": "JAX"}.get(
        page[1].partition(".")[0]
    )
    return f"[`{page[1]}` in {library}'s manual]({address})" if library else f"<{address}>"


def signature_of(value: Any, *, bound: bool = False) -> str:
    """The parameters of a function or class as text, with defaults and without types; "" if nobody knows them."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [
        p.replace(annotation=p.empty, default=Shown.of(p.default)) for p in signature.parameters.values()
    ]
    if bound and parameters and parameters[0].name in ("self", "cls", "input"):
        parameters = parameters[1:]
    try:
        return str(inspect.Signature(parameters))
    except ValueError:  # a parameter without a default behind one whose default is `Parameter.empty`
        return f"({', '.join(map(str, parameters))})"


class Shown(str):
    """A default as it is shown, which `repr` gives: of an object without a text of its own, its name."""

    @staticmethod
    def of(default: Any) -> Any:
        if default is inspect.Parameter.empty:
            return default
        text = repr(default)
        if text.startswith("<") or "\n" in text or len(text) > 60:
            text = getattr(default, "__name__", "…")
        return Shown(text)

    def __repr__(self) -> str:
        return str(self)


def docstring_of(value: Any) -> str:
    """The docstring of an object, without indentation; "" where it is that of one of Python's own types."""
    text = inspect.getdoc(value) or ""
    module = getattr(value.fget if isinstance(value, property) else value, "__module__", None) or ""
    return "" if text in TEXTS_OF_PYTHON else add_imports(text, module)


def add_imports(text: str, module: str) -> str:
    """Begin the first example of a docstring with the import of the given names that its examples use."""
    code = "\n".join(re.findall(r"^ *(?:>>>|\.\.\.) (.*)$", text, re.MULTILINE))
    used = {
        name: module
        for name, module in example_names(module).items()
        if re.search(rf"(?<![\w.]){name}\.", code) and not re.search(rf"\bimport .*\b{name}\b", code)
    }
    renamed = [f"{module} as {name}" for name, module in used.items() if not module.endswith(f".{name}")]
    lines = [f">>> import {', '.join(renamed)}"] if renamed else []
    lines += [
        f">>> from {module.rpartition('.')[0]} import {name}"
        for name, module in used.items()
        if module.endswith(f".{name}")
    ]
    first = re.search(r"^ *(?=>>> )", text, re.MULTILINE)
    if first is None:
        return text
    return text[: first.start()] + "".join(f"{first[0]}{line}\n" for line in lines) + text[first.start() :]


def in_table(text: str) -> str:
    """Text for a cell of a table, where code may have no bare bar."""
    return "".join(part.replace("|", r"\|") if part.startswith("`") else part for part in CODE.split(text))
