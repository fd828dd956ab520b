"""Every notebook runs from top to bottom in a fresh kernel, and gives what is stored with it."""

import re
from urllib.parse import urlparse

import pytest

for needed in ("nbclient", "nbformat", "ipykernel", "matplotlib", "graphviz", "scipy", "llvmlite", "mpi4py"):
    pytest.importorskip(needed, reason=f"notebooks need {needed}: pip install 'fxgrad[test]'")

from notebooks import execution, storage  # noqa: E402  (they need all this)

by_name = pytest.mark.parametrize("path", storage.PATHS, ids=lambda path: path.stem)
pytestmark = pytest.mark.notebook


def renewal(path):
    return f"python -m notebooks {path.stem}  executes it and stores what it gives"


def markdown(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def test_there_are_notebooks():
    assert storage.PATHS


# -- the notebooks ----------------------------------------
@by_name
def test_notebook_gives_what_is_stored(path):
    stored = storage.read(path)
    found = list(execution.differences(stored, execution.execute(stored)))
    assert not found, "\n\n".join([*found, renewal(path)])


@by_name
def test_notebook_is_stored_in_its_normal_form_and_small(path):
    stored = path.read_text(encoding="utf-8")
    assert stored == storage.as_text(storage.read(path)), renewal(path)
    assert len(stored) < 300_000


@by_name
def test_notebook_has_one_title_and_its_links_lead_somewhere(path):
    text = "\n\n".join(markdown(storage.read(path)))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert text.startswith("# ") and len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not urlparse(target).scheme:
            assert (path.parent / target.partition("#")[0]).exists(), target


# -- the comparison ----------------------------------------
def notebook(*outputs, tags=()):
    """A notebook of one cell that gives these outputs."""
    cell = storage.nbformat.v4.new_code_cell(
        "f()", metadata={"tags": list(tags)}, outputs=list(outputs), id="a"
    )
    return storage.nbformat.v4.new_notebook(cells=[cell])


def printed(text, name="stdout"):
    return storage.nbformat.v4.new_output("stream", name=name, text=text)


def drawn(kind="image/png"):
    return storage.nbformat.v4.new_output("display_data", data={kind: "…", "text/plain": "<Figure>"})


@pytest.mark.parametrize(
    "old, new",
    [
        ("0.1234 m", "0.1235 m"),
        ("[0.5403023058681398]", "[0.5403023058681397]"),
        ("array([ 1.,  0.25])", "array([1.00000001, 0.25])"),
        ("[ 0. 1.]", "[-0. 1.]"),
        ("3.1e-09", "3.2e-09"),
    ],
)
def test_last_digits_may_differ(old, new):
    assert not list(execution.differences(notebook(printed(old)), notebook(printed(new))))


@pytest.mark.parametrize(
    "old, new",
    [
        ("0.1234 m", "0.1236 m"),
        ("0.1234 m", "0.1234 s"),
        ("3 steps", "4 steps"),
        ("3.", "4."),
        ("1.5", "-1.5"),
        ("3.1e-09", "3.1e-08"),
        ("1.5 2.5", "1.5"),
    ],
)
def test_anything_else_may_not(old, new):
    assert list(execution.differences(notebook(printed(old)), notebook(printed(new))))


def test_cells_whose_text_varies_may_not_warn_either():
    old, new = notebook(printed("3 ms"), tags=["varies"]), notebook(printed("4 ms"), tags=["varies"])
    assert not list(execution.differences(old, new))
    new = notebook(printed("4 ms"), printed("a warning", "stderr"), tags=["varies"])
    assert list(execution.differences(old, new)) == ["a warns: a warning"]


def test_a_picture_must_be_there_where_there_was_one(monkeypatch):
    assert not list(execution.differences(notebook(drawn()), notebook(drawn())))
    without = storage.nbformat.v4.new_output("display_data", data={"text/plain": "<Figure>"})
    assert list(execution.differences(notebook(drawn()), notebook(without)))
    monkeypatch.setattr(execution, "which", lambda name: None)
    assert list(execution.differences(notebook(drawn()), notebook(without)))
    assert not list(execution.differences(notebook(drawn("image/svg+xml")), notebook(without)))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("100%|██████████| 301/301 [00:00<00:00, 812.55it/s]\n", True),
        (
            "\rstep:   0%|          | 0/60 [00:00<?, ?it/s]\rstep: 100%|██| 60/60 [00:01<00:00, 52.1it/s]\n",
            True,
        ),
        ("12it [00:03,  3.70s/it]", True),
        ("RuntimeWarning: overflow encountered in exp\n", False),
        ("100%|██████████| 3/3 [00:00<00:00, 9.00it/s]\na warning\n", False),
    ],
)
def test_progress_bars_are_no_warnings(text, expected):
    assert execution.is_bar(printed(text, "stderr")) == expected
    assert not execution.is_bar(printed(text))


def test_the_normal_form_has_no_trace_of_the_run():
    cell = storage.nbformat.v4.new_code_cell(
        "1", execution_count=7, metadata={"execution": {}, "tags": ["varies"]}
    )
    found = storage.normalize(
        storage.nbformat.v4.new_notebook(
            cells=[cell], metadata={"language_info": {"name": "python", "version": "3.0"}}
        )
    )
    assert (found.cells[0].execution_count, found.cells[0].metadata) == (1, {"tags": ["varies"]})
    assert found.metadata == storage.METADATA
