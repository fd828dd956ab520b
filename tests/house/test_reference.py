"""The reference in docs/reference has every public name of the namespaces that it describes, once, and no others;
docstrings become Markdown that says the same, and what pages repeat of them is current."""

from collections import Counter

import pytest

from docs._ext import catalog, docstrings, repeated

NAMESPACES = sorted({block.namespace for block in catalog.blocks()})

# Namespaces that must be among them.
EXPECTED = """
    fxgrad fxgrad.lax fxgrad.random fxgrad.nn fxgrad.optim fxgrad.per_sample fxgrad.tree fxgrad.distributed
    fxgrad.testing fxgrad.debug fxgrad.numpy fxgrad.numpy.linalg fxgrad.numpy.fft fxgrad.scipy.special
    fxgrad.scipy.stats fxgrad.scipy.linalg fxgrad.scipy.signal fxgrad.scipy.ndimage fxgrad.scipy.interpolate
    fxgrad.scipy.integrate fxgrad.scipy.optimize fxgrad.scipy.sparse fxgrad.scipy.fft fxgrad.compat
    fxgrad.compat.Tensor fxgrad.compat.autograd fxgrad.compat.func fxgrad.compat.nn fxgrad.compat.nn.functional
    fxgrad.compat.optim fxgrad.compat.distributions fxgrad.compat.linalg
"""


def test_the_reference_describes_the_public_namespaces():
    assert set(EXPECTED.split()) <= set(NAMESPACES)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_public_name_is_in_the_reference_and_every_name_in_it_exists(namespace):
    described = {name for block in catalog.blocks() if block.namespace == namespace for name in block.names}
    public = set(catalog.public_names(namespace))
    assert sorted(public - described) == [], f"not in docs/reference: names of {namespace}"
    assert sorted(described - public) == [], f"in docs/reference, but no names of {namespace}"


def test_no_name_is_described_twice():
    counts = Counter(f"{block.namespace}.{name}" for block in catalog.blocks() for name in block.names)
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_page_of_names_is_in_a_table_of_contents():
    pages = {page for page in catalog.REFERENCE.rglob("*.md") if catalog.BLOCK.search(page.read_text())}
    assert sorted(pages - set(catalog.pages(catalog.REFERENCE / "index.md"))) == []


def test_what_pages_repeat_of_docstrings_is_what_these_say():
    old = [page for page, text in repeated.renewed().items() if page.read_text(encoding="utf-8") != text]
    assert old == [], "`python -m docs` writes these pages anew"


DOCSTRING = """The sum of `x | y` and *args, as in __init__.

Args:
    x: the first,
        on two lines.
    y, z: the others.

Returns:
    A number.

Raises:
    ShapeError: they differ.

>>> 1 + 1
2
"""


def test_a_docstring_becomes_fields_and_examples():
    written = docstrings.as_markdown(DOCSTRING)
    assert written.startswith(r"The sum of `x | y` and \*args, as in \_\_init\_\_.")
    assert (
        ":Parameters:\n    - **x**: the first,\n      on two lines.\n    - **y**, **z**: the others."
        in written
    )
    assert ":Returns:\n    A number." in written
    assert ":Raises:\n    - `ShapeError`: they differ." in written
    assert written.endswith("```python-console\n>>> 1 + 1\n2\n```")


def test_an_example_begins_with_the_imports_of_what_it_takes_as_given():
    text = "Text.\n\n>>> linalg.inv(np.eye(2)), fx.scipy.fft\n"
    imports = ">>> import fxgrad as fx, numpy as np\n>>> from fxgrad.scipy import linalg\n"
    assert docstrings.add_imports(text, "fxgrad.scipy.linalg.systems") == text.replace(
        ">>> ", f"{imports}>>> "
    )
    assert docstrings.add_imports("Text.", "fxgrad.lax") == "Text."


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One line", "One line"),
        ("It ends. Another begins.", "It ends."),
        ("It is e.g. this, on\ntwo lines. Then more.", "It is e.g. this, on two lines."),
        ("The paragraph\n\nis over. Here.", "The paragraph"),
    ],
)
def test_the_first_sentence_of_a_docstring_is_told_from_the_rest(text, first):
    assert docstrings.first_sentence(text) == first


def test_signs_that_are_no_markup_are_kept():
    assert docstrings.as_markdown("a*b < c[i](*x), $d and `e_<f>`") == r"a\*b \< c[i\](*x), \$d and `e_<f>`"


def test_links_into_manuals_are_shown_by_the_name_of_the_function():
    address = "https://numpy.org/doc/stable/reference/generated/numpy.ix_.html"
    assert docstrings.as_markdown(address) == f"[`numpy.ix_` in NumPy's manual]({address})"


def test_signatures_have_defaults_and_no_types():
    def function(a: int, *, act=len, b: "str" = "x") -> None: ...

    assert docstrings.signature_of(function) == "(a, *, act=len, b='x')"
