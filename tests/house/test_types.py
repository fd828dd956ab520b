"""Types: what users name is known to type checkers."""

import tomllib

import pytest

from tests.house import type_completeness


def test_types_of_public_names_are_known():
    pytest.importorskip("pyright")
    found = type_completeness.completeness(type_completeness.verify())
    assert type_completeness.share(found) >= type_completeness.THRESHOLD


def test_files_with_strict_types_exist():
    settings = tomllib.loads((type_completeness.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert [
        p for p in settings["tool"]["pyright"]["strict"] if not (type_completeness.ROOT / p).exists()
    ] == []
