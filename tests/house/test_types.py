"""Types: the files that pyproject.toml names for strict checking exist. What pyright knows is asked by `nox -s types`."""

import tomllib

from tests.house.imports import ROOT


def test_files_with_strict_types_exist():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert [p for p in settings["tool"]["pyright"]["strict"] if not (ROOT / p).exists()] == []
