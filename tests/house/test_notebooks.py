"""Every notebook in notebooks/ runs from top to bottom in a fresh kernel, and is stored without outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat: pip install 'fxgrad[docs]'")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient: pip install 'fxgrad[docs]'")
pytest.importorskip("ipykernel", reason="notebooks need ipykernel: pip install 'fxgrad[docs]'")
pytest.importorskip("matplotlib", reason="notebooks need matplotlib: pip install 'fxgrad[docs]'")

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.notebook

by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_notebooks():
    assert NOTEBOOKS


@by_name
def test_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    # In the checkout's folder, so that the kernel imports the package that is being tested.
    resources = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    printed = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [
        output.text for output in printed if output.get("name") == "stderr"
    ]  # warnings, too, are faults


@by_name
def test_notebook_is_stored_without_outputs(path):
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None
