"""The programs of the site: pages as Markdown, messages, versions, and the check of what is built."""

import inspect
import json

import pytest

import fxgrad
from docs import versions
from docs._ext import plain_pages, raised_messages
from docs._ext.origin import page_of
from docs.check import pages
from tests.house.test_docs import DOCS


def test_a_page_as_markdown_is_the_file_that_it_shows():
    text = plain_pages.plain_text(DOCS / "contributing/guide.md")
    assert text == (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    page = DOCS / "howto/gpu.md"
    assert plain_pages.plain_text(page) == page.read_text(encoding="utf-8")


def test_a_page_of_the_reference_as_markdown_has_docstrings():
    text = plain_pages.plain_text(DOCS / "reference/fxgrad/batching.md")
    assert "### `fxgrad.vmap(fun, in_axes=0, " in text
    assert inspect.getdoc(fxgrad.vmap).partition("\n")[0] in text
    assert "{names}" not in text


def test_a_notebook_as_markdown_has_its_code_and_what_it_prints():
    text = plain_pages.plain_text(DOCS / "notebooks/13_eight_schools.ipynb")
    assert text.startswith("# Eight schools") and "```python\nimport cases\n" in text
    assert "```text\n4 chains of 2000 draws" in text and "(A picture: " in text and "<Figure" not in text


def test_llms_txt_lists_pages_by_folder():
    titles = {
        "howto/gpu": "GPUs",
        "howto/index": "How-to",
        "howto/speed": "Speed",
        "index": "fxgrad",
        "notebooks": "Notebooks",
        "notebooks/1": "First",
    }
    listed = plain_pages.list_pages("# fxgrad\n\nWhat it\nis.\n\nMore.\n", titles)
    assert listed == (
        "# fxgrad\n\n> What it is.\n\n"
        "## How-to\n\n- [GPUs](howto/gpu.md)\n- [How-to](howto/index.md)\n- [Speed](howto/speed.md)\n"
        "\n## Notebooks\n\n- [First](notebooks/1.md)\n"
    )


def test_pages_of_errors_have_their_messages():
    found = raised_messages.messages()
    assert (
        "a leaf Variable that requires grad is being used in an in-place operation."
        in found["errors/compat/TensorError"]
    )
    assert any("the inner sizes … and … differ" in text for text in found["errors/ShapeError"])
    assert all(text.strip("…: ") for texts in found.values() for text in texts)


@pytest.mark.parametrize(
    "remote, page",
    [
        ("https://example.org/fx/fxgrad.git", "https://example.org/fx/fxgrad"),
        ("https://user:token@example.org/fx/fxgrad", "https://example.org/fx/fxgrad"),
        ("git@example.org:fx/fxgrad.git", "https://example.org/fx/fxgrad"),
        ("ssh://git@example.org/fx/fxgrad/", "https://example.org/fx/fxgrad"),
        ("/srv/fxgrad.git", None),
        ("../fxgrad", None),
    ],
)
def test_the_page_of_a_repository_is_known_from_its_remote(remote, page):
    assert page_of(remote) == page


def test_versions_are_listed_newest_first(tmp_path):
    for name in ("0.9.0", "0.10.0", "drafts"):
        (tmp_path / name).mkdir()
    for name in ("0.9.0", "0.10.0"):
        (tmp_path / name / "objects.inv").touch()
    assert versions.write_versions(tmp_path) == ["0.10.0", "0.9.0"]
    assert json.loads((tmp_path / "versions.json").read_text()) == ["0.10.0", "0.9.0"]
    assert 'href="0.10.0/index.html"' in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize(
    "body, mistakes",
    [
        (
            '<p id="here">text</p><a href="#here">x</a><a href="b.html#there">x</a><a href="https://example.org">x</a>',
            [],
        ),
        ('<a href="c.html">x</a>', ["a.html: c.html leads nowhere"]),
        ('<a href="b.html#nowhere">x</a>', ["a.html: b.html#nowhere leads nowhere"]),
        (
            '<script src="https://example.org/s.js"></script>',
            ["a.html: https://example.org/s.js needs a network"],
        ),
        (r"<p>so \frac{1}{2} is</p>", [r"a.html: \frac is TeX"]),
        ("<p>the sum $x_1 + x_2$ is</p>", ["a.html: $x_1 + x_2$ is TeX"]),
        (r"<pre>\frac{1}{2} $x_1$</pre><p>it costs $3 and $4</p>", []),
    ],
)
def test_mistakes_in_pages_are_found(tmp_path, body, mistakes):
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    assert list(pages.list_mistakes(tmp_path)) == mistakes
