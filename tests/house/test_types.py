"""Types: the files that are to be checked strictly exist. What pyright knows of them is asked by `nox -s types`."""

import tomllib

from tests.house.imports import ROOT


def test_files_with_strict_types_exist():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert [p for p in settings["tool"]["pyright"]["strict"] if not (ROOT / p).exists()] == []
