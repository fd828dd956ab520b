"""Each page is also there as Markdown, and `llms.txt` lists them (https://llmstxt.org): what programs read that answer
questions.

A page that includes a file of the checkout is that file; names of the reference are followed by their docstrings, and
cells of notebooks by what they print. A notebook is also there as it is, for Jupyter.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from docs._ext import catalog
from docs._ext.docstrings import docstring_of, signature_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INCLUDE = re.compile(r"```\{include\} (\S+)\n```\n")


def write_plain_pages(app: Sphinx, failure: Exception | None) -> None:
    """Write the Markdown of all pages, and their list."""
    if failure is not None or app.builder.name != "html":
        return
    titles = {page: title.astext() for page, title in sorted(app.env.titles.items())}
    sources = {page: Path(str(app.env.doc2path(page))) for page in titles}
    texts = {page: plain_text(source) for page, source in sources.items()}
    for page, text in texts.items():
        target = Path(app.outdir, f"{page}.md")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        if sources[page].suffix == ".ipynb":
            shutil.copyfile(sources[page], target.with_suffix(".ipynb"))
    listed = list_pages(texts["index"], titles)
    Path(app.outdir, "llms.txt").write_text(listed, encoding="utf-8")


def plain_text(source: Path) -> str:
    """The text of a page, with the files that it includes, or the docstrings of the names that it lists."""
    if source.suffix == ".ipynb":
        cells = nbformat.read(source, as_version=4).cells
        return "\n\n".join(part for cell in cells for part in parts_of(cell)) + "\n"
    text = source.read_text(encoding="utf-8")
    if source.is_relative_to(catalog.REFERENCE):
        return catalog.BLOCK.sub(describe_block, text)
    return INCLUDE.sub(lambda found: (source.parent / found[1]).read_text(encoding="utf-8"), text)


def describe_block(block: re.Match[str]) -> str:
    """The names of a block of the reference."""
    names = catalog.names_in(block["names"])
    return "\n\n".join(describe(f"{block['namespace']}.{name}") for name in names)


def describe(full_name: str) -> str:
    """A name with its signature, and its docstring."""
    value = catalog.find(full_name)
    signature = signature_of(value) if callable(value) else ""
    return f"### `{full_name}{signature}`\n\n{docstring_of(value)}".strip()


def parts_of(cell: nbformat.NotebookNode) -> Iterator[str]:
    """The source of a cell, and the text that it gives."""
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        text = output.text if "text" in output else output.data["text/plain"]
        if not text.startswith("<Figure"):
            yield f"```text\n{text.rstrip()}\n```"
    if alternative := cell.metadata.get("mystnb", {}).get("image", {}).get("alt"):
        yield f"(A picture: {alternative})"


def list_pages(start: str, titles: dict[str, str]) -> str:
    """The list of pages: the first words of the start page, and a section for each folder with a page about it."""
    name, summary = start.split("\n\n")[:2]
    parts = [f"{name}\n\n> {' '.join(summary.split())}"]
    for folder in dict.fromkeys(page.split("/")[0] for page in titles if "/" in page):
        lines = [f"- [{title}]({page}.md)" for page, title in titles.items() if page.startswith(f"{folder}/")]
        heading = titles.get(f"{folder}/index") or titles.get(folder, folder)
        parts.append("\n".join([f"## {heading}", "", *lines]))
    return "\n\n".join(parts) + "\n"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_plain_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
