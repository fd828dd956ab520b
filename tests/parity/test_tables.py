"""The tables of names are about the peers as they are: their names, and what they answer to the programs."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import answers, modules, namespaces, signatures
from tests.tables.documented import VERSIONS
from tests.tables.peers import AUTOGRAD, TABLES
from tests.tables.row import is_same

import jax  # isort: skip
import torch  # isort: skip

from tests.parity.compat.test_coverage import public_names  # isort: skip

ROOT = Path(__file__).parent.parent.parent
BY_PAGE = {table.page: table for table in TABLES}
PROGRAMS = [(page, row) for page, table in BY_PAGE.items() for row in answers.programs(table)]
# Modules of torch.autograd whose public names have rows.
TORCH_MODULES = "anomaly_mode forward_ad function functional grad_mode graph profiler profiler_util"


@pytest.mark.parametrize("page, row", PROGRAMS, ids=lambda value: getattr(value, "name", value))
def test_the_peer_answers_so(page, row):
    table = BY_PAGE[page]
    if table.peer is AUTOGRAD:
        pytest.importorskip("autograd")
    kept = answers.read()[page][row.name]
    assert is_same(table.ask_there(row), kept, table.peer.tolerance), answers.COMMAND


@pytest.mark.parametrize("space", namespaces.kept_names("jax"))
def test_the_names_of_a_namespace_are_jaxs(space):
    assert namespaces.names_of_jax(space) == namespaces.kept_names("jax")[space], answers.COMMAND


@pytest.mark.parametrize("space", namespaces.kept_names("torch"))
def test_the_names_of_a_namespace_are_torchs(space):
    assert sorted(public_names(space)) == namespaces.kept_names("torch")[space], answers.COMMAND


def test_the_parameters_are_torchs():
    kept = signatures.FILE.read_text(encoding="utf-8")
    assert signatures.compose_table().splitlines() == kept.splitlines(), answers.COMMAND


def test_the_modules_are_torchs(tmp_path):
    """In a process of its own, since all modules of torch are imported."""
    program = "import sys; from pathlib import Path; from tests.tables import modules\n"
    program += "Path(sys.argv[1]).write_text(modules.compose_table(), encoding='utf-8')"
    table = tmp_path / "modules.txt"
    subprocess.run(
        [sys.executable, "-c", program, table], cwd=ROOT, check=True, capture_output=True, timeout=300
    )
    kept = modules.FILE.read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8").splitlines() == kept.splitlines(), answers.COMMAND


def rows(page):
    return {row.name.partition(",")[0] for row in BY_PAGE[page].rows.every()}


def test_every_public_name_of_torchs_autograd_has_a_row():
    names = {*torch.autograd.__all__}.union(
        *(getattr(torch.autograd, module).__all__ for module in TORCH_MODULES.split())
    )
    assert sorted(names - {name.rpartition(".")[2] for name in rows("torch_autograd")}) == []


def test_every_public_name_of_torchs_func_has_a_row():
    assert sorted({*torch.func.__all__} ^ rows("torch_func")) == []


def test_every_public_name_of_jax_has_a_row():
    named = {name.partition(".")[0] for name in rows("jax")}
    assert sorted({name for name in dir(jax) if not name.startswith("_")} - named) == []


def test_every_public_name_of_autograd_has_a_row():
    autograd = pytest.importorskip("autograd")
    extend = importlib.import_module("autograd.extend")
    names = {name for name in dir(autograd) if not inspect.ismodule(getattr(autograd, name))}
    names |= {f"extend.{name}" for name in dir(extend)}
    public = {name for name in names if not name.rpartition(".")[2].startswith("_")}
    assert sorted(public - rows("autograd") - {name.partition(".")[2] for name in rows("autograd")}) == []


def test_no_version_of_the_documents_is_without_its_names():
    assert {version for versions in VERSIONS.values() for version in versions.split(", ")} == {
        "1.8",
        "1.10",
        "2.0",
        "2.8",
    }
