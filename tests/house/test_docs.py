"""The examples of the pages in docs/ are run: doctests, and the cells of pages that are notebooks."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^:.*$", re.MULTILINE)  # a line such as `:tags: [hide-input]` at the top of a cell
NOTEBOOKS = [page for page in PAGES if CELL.search(page.read_text())]

by_path = {"ids": lambda page: str(page.relative_to(DOCS.parent))}


@pytest.mark.parametrize("page", PAGES, **by_path)
def test_examples_run(page):
    assert doctest.testfile(str(page), module_relative=False, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("page", NOTEBOOKS, **by_path)
def test_cells_run(page, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    for number, cell in enumerate(CELL.findall(page.read_text())):
        source = OPTION.sub("", cell) if cell.startswith(":") else cell
        exec(compile(source, f"{page.name}, cell {number}", "exec"), namespace)
