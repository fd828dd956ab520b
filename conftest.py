"""The names that examples in docstrings use without an import."""

from importlib import import_module

import pytest

from fxgrad.core.docstrings import EXAMPLE_NAMES


@pytest.fixture(autouse=True, scope="session")
def give_examples_their_names(doctest_namespace):
    doctest_namespace.update({name: import_module(module) for name, module in EXAMPLE_NAMES.items()})
