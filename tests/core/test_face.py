"""Packages that have what they import for type checkers, loaded on first use."""

import compileall
import importlib
import sys

import pytest

FILES = {
    "__init__.py": """
from typing import TYPE_CHECKING

from fxgrad.core.face import LazyPackage

from .real import loaded_at_once

if TYPE_CHECKING:
    from math import tau

    from . import part
    from .inner import deep as renamed
    from .inner import name as name
    from .inner.deepest import module as module
    from .second import *
    from .first import *

LazyPackage.of(__name__)
""",
    "real.py": "loaded_at_once = 0",
    "part.py": "",
    "inner/__init__.py": "name = 1",
    "inner/deep.py": "",
    "inner/deepest.py": "module = 2",
    "first.py": "__all__ = ['both', 'one']\nboth = one = 'first'",
    "second.py": "__all__ = ['both', 'load']\nboth = load = 'second'",
}


@pytest.fixture(params=["source", "bytecode"])
def package(request, tmp_path, monkeypatch):
    """A package, with its sources or, as in a frozen program, without."""
    name = f"lazy_{request.param}"
    for path, text in FILES.items():
        file = tmp_path / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if request.param == "bytecode":
        assert compileall.compile_dir(tmp_path / name, quiet=1, legacy=True)
        for file in (tmp_path / name).rglob("*.py"):
            file.unlink()
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module(name)
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]


def test_names_come_from_where_they_are_imported(package):
    name = package.__name__
    assert {m for m in sys.modules if m.startswith(name)} == {name, f"{name}.real"}
    assert package.name == 1
    assert package.module == 2
    assert package.renamed is sys.modules[f"{name}.inner.deep"]
    assert package.part is sys.modules[f"{name}.part"]
    assert f"{name}.second" not in sys.modules


def test_parts_are_searched_in_their_order(package):
    assert package.load == "second"
    assert f"{package.__name__}.first" not in sys.modules
    assert (package.both, package.one) == ("second", "first")


def test_what_it_imports_itself_and_from_elsewhere_is_not_in_its_list(package):
    names = {"name", "module", "renamed", "part"}
    assert sorted(package.__all__) == sorted([*names, "both", "load", "both", "one"])
    assert {*names, "both", "load", "one"} < {*dir(package)}


def test_an_unknown_name_is_an_error(package):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing
