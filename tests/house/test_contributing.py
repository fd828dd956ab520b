"""Who follows CONTRIBUTING.md gets what it promises: its declarations are written into a copy, and are tested there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "docs", "notebooks", "benchmarks")


def section(title):
    """The blocks of Python under a heading."""
    text = re.search(
        rf"^## {title}\n(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL
    )
    return re.findall(r"```python\n(.*?)```", text[1], re.DOTALL)


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(ROOT, tmp_path / "fxgrad", ignore=LEFT_OUT))


def run(copy, *command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


TABLE = r"^(\w+) = \{\n(.*?)^\}\n"
IMPORT = r"^(from \S+ import) \(\n(.*?)^\)\n"


def enter(path, block):
    """Write a block into a file: the lines of tables and imports go into those that it has, all else above these, or
    at the end."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    place = len(text)
    for found in re.finditer(f"{TABLE}|{IMPORT}", block, re.MULTILINE | re.DOTALL):
        name, lines, origin, names = found.groups()
        head = rf"^{name}\b[^\n]*= \{{\n" if name else rf"^{re.escape(origin)} \(\n"
        opened = re.search(head, text, re.MULTILINE)
        text = text[: opened.end()] + (lines or names) + text[opened.end() :]
        place, block = opened.start(), block.replace(found[0], "")
    path.write_text(f"{text[:place]}\n\n{block.strip()}\n\n\n{text[place:]}", encoding="utf-8")


def count_passed(copy, names, *paths):
    """How many tests of these names pass, and no other."""
    printed = run(
        copy, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *paths, "-k", names
    )
    return int(re.search(r"(\d+) passed", printed)[1])


def test_an_operation_is_one_declaration_and_one_sample(copy):
    declaration, sample = section("Add an operation")
    enter(copy / "fxgrad/ops/elementwise.py", declaration)
    enter(copy / "tests/samples/elementwise.py", sample)
    assert count_passed(copy, "cube", "tests/ops") > 15


def test_an_operation_of_each_kind_is_what_the_page_about_them_shows(copy):
    page = (ROOT / "docs/contributing/operations.md").read_text(encoding="utf-8")
    for path, text in re.findall(r"```python\n# (\S+)\n(.*?)```", page, re.DOTALL):
        enter(copy / path, text)
    assert (
        count_passed(copy, "huber or ring or running_norm", "tests/ops", "tests/core/test_backends.py") > 40
    )
    program = """
import numpy as np
import fxgrad as fx
from fxgrad import ops
f = fx.jit(lambda x: ops.huber(-x, 1.0))
print([e.primitive.name for e in f.lower(np.ones(3)).passes["algebra"].equations])
print(fx.grad(lambda x: np.sum(fx.nn.activations.ring_slope(x) ** 2))(np.array([1.0, 2.0, 4.0])).tolist())
"""
    assert run(copy, "-c", program) == "['huber']\n[-8.0, -2.0, 10.0]\n"


def test_an_operation_of_torchs_is_one_declaration(copy):
    declaration, _ = section("Add an operation of torch's")
    enter(copy / "fxgrad/compat/ops/arithmetic.py", declaration)
    program = """
import fxgrad.compat as torch
a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0)
torch.cubic_mean(a, b).sum().backward()
step = 1e-4
difference = (torch.cubic_mean(a.detach() + step, b) - torch.cubic_mean(a.detach() - step, b)) / (2 * step)
assert torch.allclose(a.grad, difference, atol=1e-2)
assert torch.equal(a.detach().clone().cubic_mean_(b), a.cubic_mean(b))
assert torch.vmap(torch.cubic_mean, (0, None))(a, b).shape == (2,)
print(torch.cubic_mean(a, b).grad_fn.name())
"""
    assert run(copy, "-c", program) == "CubicMeanBackward0\n"
