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


def append(path, text):
    path.write_text(path.read_text(encoding="utf-8") + "\n\n" + text, encoding="utf-8")


def test_an_operation_is_one_declaration_and_one_sample(copy):
    declaration, sample = section("Add an operation")
    append(copy / "fxgrad/ops/elementwise.py", declaration)
    samples = copy / "tests/samples/elementwise.py"
    text = samples.read_text(encoding="utf-8")
    for name, lines in re.findall(r"^(\w+) = \{\n(.*?)^\}", sample, re.MULTILINE | re.DOTALL):
        text = re.sub(
            rf"^{name}\b[^\n]*= \{{\n", lambda start, lines=lines: start[0] + lines, text, flags=re.MULTILINE
        )
    samples.write_text(text, encoding="utf-8")
    printed = run(
        copy, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "tests/ops", "-k", "cube"
    )
    assert int(re.search(r"(\d+) passed", printed)[1]) > 30


def test_an_operation_of_torchs_is_one_declaration(copy):
    declaration, _ = section("Add an operation of torch's")
    append(copy / "fxgrad/compat/ops/arithmetic.py", declaration)
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
