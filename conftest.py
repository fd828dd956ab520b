"""Examples in docstrings are run with the names that they take as given."""

import pytest

from tests.given_names import given_names


@pytest.fixture
def doctest_namespace(request):
    test = request.node.dtest
    with given_names(test.globs["__name__"], test.docstring) as names:
        yield names
