"""The examples in what operations of the torch surface say of themselves."""

from __future__ import annotations

import doctest

import pytest

import fxgrad.compat  # noqa: F401  which declares them
from fxgrad.compat._declare.spaces import SPACES


@pytest.mark.parametrize("space", SPACES)
def test_examples_run(space):
    """Operations are made by their declarations, so that pytest does not find their examples in the modules."""
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for name, function in SPACES[space].items():
        if getattr(function, "operation", None) is not None:
            for example in finder.find(function, name, globs={}):
                runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
