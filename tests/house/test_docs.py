"""The examples of the pages in docs/ are run: doctests, and the cells of pages that are notebooks."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DOCSTRINGS = {*(DOCS / "errors").rglob("*Error.md")}  # the same text, whose examples are run there
PAGES = [DOCS.parent / "README.md", *sorted({*DOCS.rglob("*.md")} - DOCSTRINGS)]
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


TOUR = DOCS / "explanation" / "tour.md"
STEP = re.compile(r"^\| (?P<step>[^|]+) \|[^|]*\| (?P<lines>\d+) \|", re.MULTILINE)


def test_the_tour_says_how_many_lines_each_step_takes():
    beginning, *sections = re.split(r"^## ", TOUR.read_text(), flags=re.MULTILINE)
    said = {match["step"]: int(match["lines"]) for match in STEP.finditer(beginning)}
    found = {section.partition("\n")[0]: lines_of_code(section) for section in sections}
    steps = {"(the comparison)": lines_of_code(beginning)} | {step: n for step, n in found.items() if n}
    assert said == steps | {"altogether": sum(steps.values())}


def lines_of_code(text):
    return sum(line.strip() != "" for cell in CELL.findall(text) for line in cell.splitlines())


def test_every_variable_of_the_environment_is_explained():
    sources = " ".join(file.read_text(encoding="utf-8") for file in (DOCS.parent / "fxgrad").rglob("*.py"))
    explained = re.findall(r"^\| `(FXGRAD_\w+)` \|", (DOCS / "howto" / "speed.md").read_text(), re.MULTILINE)
    assert sorted(set(re.findall(r"FXGRAD_[A-Z_]+", sources))) == sorted(explained)
