"""What a release states in several places agrees."""

import re
from pathlib import Path

import fxgrad

ROOT = Path(__file__).parent.parent.parent


def test_the_version_is_that_of_the_package_everywhere():
    assert f"\nversion: {fxgrad.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[0]
    assert newest == fxgrad.__version__


def test_python_versions_are_those_that_are_tried():
    requires = re.search(
        r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )
    tried = re.search(r"@nox\.session\(python=\[(.*?)\]\)", (ROOT / "noxfile.py").read_text(encoding="utf-8"))
    assert requires and tried and tried[1].startswith(f'"3.{requires[1]}"')
