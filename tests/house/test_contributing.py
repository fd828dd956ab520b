"""CONTRIBUTING.md keeps its promises: its blocks are written into a copy of the tree, and its commands run there."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".nox", ".venv*", ".*cache", ".hypothesis", "__pycache__")
GUIDE, KINDS = "CONTRIBUTING.md", "docs/contributing/operations.md"
BLOCK = re.compile(r"^(```+)\w+\n# (\S+/\S+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a block adds lines to: a table, a list, an import, names of the reference.
HEAD = r"(\w+) = [\[{]|from \S+ import \(|if TYPE_CHECKING:|```\{names\} \S+"
CONTAINER = re.compile(rf"^({HEAD})\n((?: +\S.*\n|\w+\n)+)(?:[\]}})]\n|```\n)?", re.MULTILINE)


def section(title):
    """The text under a heading of CONTRIBUTING.md."""
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    return re.search(rf"^## {title}\n(.*?)\n\n## ", text + "\n\n## ", re.MULTILINE | re.DOTALL)[1] + "\n"


def run(copy, *command):
    """What a program prints that runs in the copy, with no environment of these tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command,
        cwd=copy,
        env=environment | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def follow(copy, text):
    """Run the commands of a text that need nothing that is not installed; return what they print."""
    printed = []
    for line in "".join(COMMANDS.findall(text)).splitlines():
        for command in line.partition("#")[0].split("&&"):
            program, *arguments = shlex.split(command)
            if program == "pip" or ("answers" in command and not find_spec("torch")):
                continue
            if program == "ruff":
                if not find_spec("ruff"):
                    continue
                arguments = ["-m", "ruff", *arguments]
            if "pytest" in arguments:
                arguments += ["-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
            printed.append(run(copy, sys.executable, *arguments))
    return "".join(printed)


def enter_all(copy, text):
    """Write the blocks of a text into the files that they name."""
    for _, path, block in BLOCK.findall(text):
        enter(copy / path, block)


def enter(path, block):
    """Write a block into a file: lines of tables, lists and imports go into those that it has, all else above these, or
    at the end."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    place = len(text)
    for found in CONTAINER.finditer(block):
        head, name, lines = found.groups()
        head = rf"{name}\b[^\n]*= [\[{{]" if name else re.escape(head)
        if opened := re.search(rf"^{head}\n", text, re.MULTILINE):
            text = text[: opened.end()] + lines + text[opened.end() :]
            place, block = opened.start(), block.replace(found[0], "")
    if block.strip():
        text = f"{text[:place]}\n\n{block.strip()}\n\n\n{text[place:]}".lstrip()
    path.write_text(text, encoding="utf-8")


def take_out(copy, name):
    """Remove an operation of torch's, so that it can be added."""
    source = copy / "fxgrad/compat/ops/arithmetic.py"
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    [function] = [f for f in ast.parse("".join(lines)).body if getattr(f, "name", None) == name]
    del lines[function.decorator_list[0].lineno - 1 : function.end_lineno]
    source.write_text("".join(lines), encoding="utf-8")
    for path, pattern in {
        "fxgrad/compat/texts/arithmetic.txt": rf"^## {name}\n(?:.+\n)+\n",
        "tests/parity/compat/cases_arithmetic.py": rf'^    case\("{name}",.*\n',
        "docs/reference/compat/pointwise.md": rf"^{name}: .*\n",
        "docs/reference/compat/tensor_methods.md": rf"^{name}_?: .*\n",
    }.items():
        text, count = re.subn(pattern, "", (copy / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert count, path
        (copy / path).write_text(text, encoding="utf-8")


SECTIONS = "Add an operation", "Add a transform", "Add an operation of torch's"


def make_copy(folder):
    return Path(shutil.copytree(ROOT, folder / "fxgrad", ignore=LEFT_OUT))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the tree in which the three sections have been followed."""
    made = make_copy(tmp_path_factory.mktemp("followed"))
    take_out(made, "addcmul")
    for title in SECTIONS:
        enter_all(made, section(title))
    return made


@pytest.mark.parametrize("title, least", [*zip(SECTIONS, (15, 12, 170)), ("A change", 160)])
def test_what_a_section_adds_passes_the_tests_that_it_names(copy, title, least):
    passed = re.findall(r"(\d+) passed", follow(copy, section(title)))
    assert sum(map(int, passed)) >= least


def test_an_operation_of_each_kind_is_what_the_page_about_them_shows(tmp_path):
    copy = make_copy(tmp_path)
    enter_all(copy, (ROOT / KINDS).read_text(encoding="utf-8"))
    command = "python -m pytest tests/ops tests/core/test_backends.py -k 'huber or ring or running_norm'"
    assert int(re.search(r"(\d+) passed", follow(copy, f"```sh\n{command}\n```"))[1]) > 40
    program = """
import numpy as np
import fxgrad as fx
from fxgrad import ops
f = fx.jit(lambda x: ops.huber(-x, 1.0))
print([e.primitive.name for e in f.lower(np.ones(3)).passes["algebra"].equations])
print(fx.grad(lambda x: np.sum(fx.nn.activations.ring_slope(x) ** 2))(np.array([1.0, 2.0, 4.0])).tolist())
"""
    assert run(copy, sys.executable, "-c", program) == "['huber']\n[-8.0, -2.0, 10.0]\n"
