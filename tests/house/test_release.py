"""What a release states in several places agrees."""

import re
import tomllib
from pathlib import Path

import fxgrad

ROOT = Path(__file__).parent.parent.parent


def test_the_version_is_that_of_the_package_everywhere():
    assert f"\nversion: {fxgrad.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'\n  version: "{fxgrad.__version__}"\n' in (ROOT / "conda/recipe.yaml").read_text(
        encoding="utf-8"
    )
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
    hosted = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', re.findall(r"^        python: .*", hosted, re.M)[0]) == promised
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {promised[0]} to {promised[-1]}" in readme


def test_the_conda_recipe_requires_what_the_wheel_requires():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    listed = re.findall(r"^    - (\w+) (>=[\d.]+)$", recipe, re.M)
    extras = [extra for name in ("native", "scipy") for extra in project["optional-dependencies"][name]]
    required = [f"python{project['requires-python']}", *project["dependencies"], *extras]
    assert sorted("".join(line) for line in listed) == sorted(required)
    assert f'"{project["description"]}"' in recipe and project["license"] in recipe


def test_workflows_call_sessions_that_are_there():
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        for session in re.findall(r'nox --session "?([a-z]+)', workflow.read_text(encoding="utf-8")):
            assert f"\ndef {session}(session" in noxfile
