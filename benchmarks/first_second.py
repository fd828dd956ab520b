"""What does a program of a few lines cost in a fresh process, imports included?

    python -m benchmarks.first_second [--rounds 9] [--only maml] [--tree ../other]

Every program runs in a process of its own, and libraries take turns. The table has the processor time of the whole
process, its median, and the number of modules that it has loaded, which does not depend on the machine. NumPy alone is
the first line, since every library has loaded it.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from . import machine
from .measure import limit_threads

ROOT = Path(__file__).resolve().parent.parent
REPORT = "\nimport sys, time\nprint('', time.process_time(), len(sys.modules))"

# Where a text says LIBRARY, each library puts its name; JAX's style comes first, torch's below.
FUNCTIONAL = {
    "grad of a polynomial": "import LIBRARY as fx; fx.grad(lambda x: x**3 - 2 * x + 1)(2.0)",
    "jit of a small function": """
import numpy as np, LIBRARY as fx, LIBRARY.numpy as fnp
np.asarray(fx.jit(lambda x: fnp.sin(x) * x + 1.0)(np.ones(3)))
""",
    "jit of grad": """
import numpy as np, LIBRARY as fx, LIBRARY.numpy as fnp
np.asarray(fx.jit(fx.grad(lambda x: fnp.sum(fnp.sin(x) * x)))(np.ones(3)))
""",
    "vmap of grad": """
import numpy as np, LIBRARY as fx, LIBRARY.numpy as fnp
np.asarray(fx.vmap(fx.grad(lambda x: fnp.tanh(x) ** 2))(np.ones(3)))
""",
    "training step of an MLP": """
import numpy as np, LIBRARY as fx, LIBRARY.numpy as fnp

def loss(params):
    h = x
    for w, b in params[:-1]:
        h = fnp.tanh(h @ w + b)
    return fnp.mean((h @ params[-1][0] + params[-1][1]) ** 2)

x = np.linspace(-1, 1, 32 * 64).reshape(32, 64)
params = [(np.eye(64), np.zeros(64)), (np.eye(64, 10), np.zeros(10))]
params = [tuple(p - 0.1 * g for p, g in zip(*pair)) for pair in zip(params, fx.grad(loss)(params))]
""",
}
IN_TORCH = {
    "backward of a Tensor": """
import LIBRARY as torch
x = torch.ones(3, requires_grad=True)
(x.exp() * x).sum().backward()
""",
    "step of a Module by Adam": """
import LIBRARY as torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
torch.nn.functional.mse_loss(model(torch.ones(3, 4)), torch.zeros(3, 2)).backward()
optimizer.step()
""",
    "four steps of MAML": """
import math, LIBRARY as torch

def net(params, x):
    for w, b in zip(params[:-2:2], params[1:-2:2]):
        x = torch.relu(torch.nn.functional.linear(x, w, b))
    return torch.nn.functional.linear(x, *params[-2:])

def loss(params, x, y):
    return torch.nn.functional.mse_loss(net(params, x), y)

torch.manual_seed(0)
shapes = [(40, 1), (40,), (40, 40), (40,), (1, 40), (1,)]
params = [(0.3 * torch.randn(*shape)).requires_grad_() for shape in shapes]
for _ in range(4):
    total = 0.0
    for _ in range(4):
        amplitude, phase = 0.1 + 4.9 * torch.rand(1), math.pi * torch.rand(1)
        x = 10 * torch.rand(20, 1) - 5
        y = amplitude * torch.sin(x + phase)
        grads = torch.autograd.grad(loss(params, x[:10], y[:10]), params, create_graph=True)
        total = total + loss([p - 0.01 * g for p, g in zip(params, grads)], x[10:], y[10:])
    (total / 4).backward()
    with torch.no_grad():
        for p in params:
            p -= 0.01 * p.grad
            p.grad = None
""",
}


def programs() -> dict[str, dict[str, str]]:
    """The texts by title and library."""
    found = {"NumPy alone": {"numpy": "import numpy"}}
    for texts, libraries in ((FUNCTIONAL, ("fxgrad", "jax")), (IN_TORCH, ("fxgrad.compat", "torch"))):
        for title, text in texts.items():
            found[title] = {library: text.replace("LIBRARY", library) for library in libraries}
    return found


def run(text: str, tree: Path) -> tuple[float, int]:
    """Seconds of a process's work, and how many modules it has loaded. Byte code is cached, as users have it."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= limit_threads(1) | {"PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", text + REPORT]
    answer = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=True)
    *_, seconds, modules = answer.stdout.split()
    return float(seconds), int(modules)


def measure(wanted: str, rounds: int, tree: Path) -> dict[str, dict[str, list[tuple[float, int]]]]:
    """What every round gives, by title and library. The first round, which fills caches of files, is left out."""
    chosen = {title: texts for title, texts in programs().items() if wanted in title}
    found: dict[str, dict[str, list[tuple[float, int]]]] = {title: {} for title in chosen}
    for number in range(rounds + 1):
        for title, texts in chosen.items():
            for library, text in texts.items():
                if importlib.util.find_spec(library.partition(".")[0]) is not None:
                    answer = run(text, tree)
                    found[title].setdefault(library, []).extend([answer] if number else [])
    return found


def row(title: str, answers: Mapping[str, list[tuple[float, int]]]) -> str:
    """A line of the table: ours, then the peer's, then the ratio of the medians."""
    cells, medians = [], []
    for rounds in answers.values():
        medians.append(statistics.median(seconds for seconds, _ in rounds))
        cells += [f"{medians[-1] * 1e3:.0f} ms", str(rounds[-1][1])]
    cells += ["–"] * (4 - len(cells))
    return (
        f"| {title} | {' | '.join(cells)} | {f'{medians[0] / medians[1]:.2f}' if len(medians) > 1 else '–'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="processes of each library")
    parser.add_argument("--only", default="", help="programs whose titles have this text")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout that is measured")
    options = parser.parse_args()
    print(f"{machine.describe()}\n")
    print(
        "| program | fxgrad | its modules | JAX or torch | its modules | ratio |\n|---|---|---|---|---|---|"
    )
    for title, answers in measure(options.only, options.rounds, options.tree.resolve()).items():
        print(row(title, answers))


if __name__ == "__main__":
    main()
