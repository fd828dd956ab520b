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
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (least,) = re.findall(r'requires-python = ">=(3\.\d+)"', project)
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert promised[0] == least
    (tried,) = re.findall(
        r"@nox\.session\(python=\[(.*?)\]\)", (ROOT / "noxfile.py").read_text(encoding="utf-8")
    )
    assert re.findall(r'"(3\.\d+)"', tried) == promised
    (sought,) = re.findall(
        r"^SUPPORTED = .*", (ROOT / ".ci/other_python.py").read_text(encoding="utf-8"), re.M
    )
    assert re.findall(r'"(3\.\d+)"', sought) == promised[::-1]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {promised[0]} to {promised[-1]}" in readme
