"""The pages of docs/tables/ are what a run gives: every program is run, and compared with the peer's kept answer."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from tests.tables import answers, features, namespaces
from tests.tables.__main__ import COMMAND, DOCS, ROOT
from tests.tables.documented import VERSIONS
from tests.tables.pages import SPACES
from tests.tables.peers import TABLES, Table
from tests.tables.row import ABSENT, Row

PROGRAMS = [(table, row) for table in TABLES for row in answers.programs(table)]
ABSENTEES = [(table, row) for table in TABLES for row in table.rows.every() if row.state == ABSENT]
SPACES_OF_PEERS = [(peer, space) for peer in SPACES for space in namespaces.kept_names(peer)]


def called(value):
    return (
        f"{value.page}-"
        if isinstance(value, Table)
        else value.name
        if isinstance(value, Row)
        else value or "itself"
    )


@pytest.mark.parametrize("table, row", PROGRAMS, ids=called)
def test_a_program_gives_what_its_row_says(table, row):
    answers.check(table, row)


@pytest.mark.parametrize("table, row", ABSENTEES, ids=called)
def test_an_absent_name_is_not_there(table, row):
    name = ".".join(filter(None, [table.space, row.name]))
    with pytest.raises((AttributeError, ImportError)):
        namespaces.find(import_module(table.peer.here), name)


@pytest.mark.parametrize("table", TABLES, ids=called)
def test_a_name_has_one_row(table):
    names = [row.name for row in table.rows.every()]
    assert sorted(names) == sorted(set(names))
    assert answers.read()[table.page].keys() == {row.name for row in answers.programs(table)}


def test_every_documented_name_of_torch_has_a_row():
    table = next(table for table in TABLES if table.page == "torch_autograd")
    assert sorted(VERSIONS.keys() - {row.name for row in table.rows.every()}) == []


@pytest.mark.parametrize("peer, space", SPACES_OF_PEERS, ids=called)
def test_a_name_of_a_namespace_is_there_or_has_a_reason(peer, space):
    reasons = [name for names in namespaces.reasons(peer)[space].values() for name in names]
    assert sorted(namespaces.missing_names(peer, space)) == sorted(reasons)


def test_every_feature_has_a_program_and_an_answer_of_each_library():
    assert features.answers().keys() == features.every().keys()
    for name, programs in features.every().items():
        assert tuple(programs) == features.LIBRARIES and {*features.answers()[name]} == {*features.PEERS}


def test_the_pages_are_what_a_run_writes(tmp_path):
    """In a process of its own, where no test has declared operations."""
    subprocess.run(
        [sys.executable, "-m", "tests.tables", "--to", tmp_path], cwd=ROOT, check=True, capture_output=True
    )
    stale = [
        page.name for page in sorted(tmp_path.iterdir()) if page.read_text() != (DOCS / page.name).read_text()
    ]
    assert stale == [], f"written anew by {COMMAND}"
