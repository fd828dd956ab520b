"""The examples of the pages in docs/ are run."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_examples_run(page):
    assert doctest.testfile(str(page), module_relative=False, optionflags=FLAGS).failed == 0
