"""What examples in docstrings take as given: names, and in `compat.distributed` a group of one process."""

from importlib import import_module

import pytest

from fxgrad.core.docstrings import example_names


@pytest.fixture
def doctest_namespace(request):
    """The names that the examples of a docstring use without an import."""
    test = request.node.dtest
    names = {name: import_module(module) for name, module in example_names(test.globs["__name__"]).items()}
    group = names.get("dist")
    opens_none = "init_process_group(" not in test.docstring
    if group and opens_none:
        group.init_process_group("gloo")
    yield names
    if group and opens_none:
        group.destroy_process_group()
