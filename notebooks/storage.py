"""Where the notebooks are, and the normal form in which they are stored: equal notebooks are equal files."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(path: Path) -> NotebookNode:
    """A notebook as it is stored."""
    return nbformat.read(path, as_version=4)


def write(path: Path, notebook: NotebookNode) -> None:
    """Store a notebook in its normal form."""
    path.write_text(as_text(notebook), encoding="utf-8")


def as_text(notebook: NotebookNode) -> str:
    """The text of a notebook in its normal form."""
    return nbformat.writes(normalize(notebook)) + "\n"


def normalize(notebook: NotebookNode) -> NotebookNode:
    """The notebook without what depends on who executed it when: of metadata only the tags of cells and the texts of
    their pictures are left, and cells are counted from 1."""
    normal = nbformat.v4.new_notebook(metadata=METADATA)
    count = 0
    for cell in notebook.cells:
        cell = nbformat.from_dict(cell)
        cell.metadata = {key: cell.metadata[key] for key in ("tags", "mystnb") if cell.metadata.get(key)}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
        normal.cells.append(cell)
    return normal
