"""Errors that teach: every class has a page, which is its docstring: when it comes, what fails, what does not.
(That the pages are those docstrings is a test of test_reference.py.)"""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import fxgrad as fx
import fxgrad.compat.errors
from docs._ext import repeated

PAGES = Path(__file__).parent.parent.parent / "docs" / "errors"
FOLDERS = {"fxgrad": PAGES, "fxgrad.compat.errors": PAGES / "compat"}

# Public name → class.
CLASSES = {
    f"{namespace}.{name}": getattr(importlib.import_module(namespace), name)
    for namespace in FOLDERS
    for name in importlib.import_module(namespace).__all__
    if name.endswith("Error")
}


@pytest.mark.parametrize("name", [name for name in CLASSES if name.startswith("fxgrad.compat.")])
def test_an_error_of_compat_is_defined_where_messages_show_it(name):
    kind = CLASSES[name]
    assert f"{kind.__module__}.{kind.__qualname__}" == name
    assert f"class {kind.__name__}(" in inspect.getsource(kind)


def derived(kind):
    return {kind}.union(*map(derived, kind.__subclasses__()))


def test_every_class_can_be_named_by_users():
    for package in (fx.core, fx.numpy, fxgrad.compat):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.rpartition(".")[2] in ("errors", "references", "missing"):
                importlib.import_module(module.name)
    found = {kind for kind in derived(fx.FxgradError) if kind.__module__.startswith("fxgrad.")}
    ours = {kind for kind in found if not kind.__module__.startswith("fxgrad.peers.")}  # caught as JAX's, too
    assert ours == {*CLASSES.values()}


@pytest.mark.parametrize("name", CLASSES)
def test_the_docstring_has_a_program_that_fails_and_one_that_does_not(name):
    kind = CLASSES[name]
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(kind))
    last_line = f"see: errors/{'compat/' * ('.compat.' in name)}"
    failing = [i for i, example in enumerate(examples) if last_line in example.want]
    assert failing and failing[0] < len(examples) - 1, "a cure follows"
    shown = (
        examples[failing[-1]].exc_msg or examples[failing[-1]].want
    )  # which a program of its own may print
    assert re.match(r"([\w.]+Error: )?\S*\w", shown), "what the message says"


@pytest.mark.parametrize("name", CLASSES)
def test_a_message_ends_with_the_name_of_a_page(name):
    namespace, _, short = name.rpartition(".")
    page = FOLDERS[namespace] / f"{short}.md"
    assert page.exists(), "python -m docs writes it"
    try:
        raise make(CLASSES[name])
    except fx.FxgradError as error:
        last = str(error).splitlines()[-1]
    there, called, shown = last.partition(", or help(")
    assert there == f"  see: {page.relative_to(PAGES.parent).with_suffix('')}"
    assert called and eval(shown.removesuffix(")"), {"fx": fx, "fxgrad": fx}) is CLASSES[name]


def make(kind):
    needed = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty and p.kind < 2]
    return kind("wrong", *[None] * (len(needed) - 1))


@pytest.mark.parametrize("namespace", FOLDERS)
def test_the_index_lists_every_page_once(namespace):
    folder = FOLDERS[namespace]
    text = (folder / "index.md").read_text(encoding="utf-8")
    listed = sorted(match["name"] for match in repeated.ROW.finditer(text))
    assert listed == sorted(page.stem for page in folder.glob("*Error.md"))
    assert listed == sorted(n.rpartition(".")[2] for n in CLASSES if n.rpartition(".")[0] == namespace)


def test_a_class_of_the_users_own_has_the_page_of_its_base():
    class OurError(fx.ShapeError):
        pass

    assert str(OurError("wrong")).endswith("  see: errors/ShapeError, or help(fx.ShapeError)")


@pytest.mark.parametrize("name", CLASSES)
def test_a_message_leads_to_the_page(name, monkeypatch):
    kind = CLASSES[name]
    if issubclass(kind, fx.FxgradError):
        page, shown = kind.page().split(", or ")
        assert (PAGES.parent / f"{page}.md").exists()
        assert eval(shown, {"fx": fx, "fxgrad": fxgrad, "help": lambda found: found}) is kind
        monkeypatch.setattr(fxgrad.core.message, "SITE", "https://docs.example/")
        assert kind.page() == f"https://docs.example/{page}.html"
