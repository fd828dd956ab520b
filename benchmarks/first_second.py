"""What a process and a first call cost: `python -m benchmarks.first_second`.

Decides what is loaded, written and compiled before it pays. Processor time of fresh processes, byte code cached, one
thread: a script of four steps of MAML (inner steps with `create_graph`), a first gradient of the functional API, and
first calls of several hundred operations of torch's, forward and backward, as a test-suite makes them. The aims: the
whole script in less than torch's time, a first call in one and a half times torch's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from importlib import import_module
from typing import Any

import tests.parity.compat.case as declared_cases

THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "FXGRAD_NUM_THREADS")}
MAML = """\
import {library} as torch

torch.manual_seed(0)
F = torch.nn.functional
net = torch.nn.Sequential(
    torch.nn.Linear(1, 20), torch.nn.Tanh(), torch.nn.Linear(20, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1)
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
params = [*net.parameters()]


def forward(p, x):
    h = torch.tanh(F.linear(x, p[0], p[1]))
    h = torch.tanh(F.linear(h, p[2], p[3]))
    return F.linear(h, p[4], p[5])


for _ in range(4):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(4):
        x = torch.rand(10, 1) * 10 - 5
        y = (torch.rand(1) * 4 + 0.1) * torch.sin(x + torch.rand(1) * 3.14)
        fast = params
        for _ in range(2):
            loss = F.mse_loss(forward(fast, x[:5]), y[:5])
            fast = [p - 0.05 * g for p, g in zip(fast, torch.autograd.grad(loss, fast, create_graph=True))]
        total = total + F.mse_loss(forward(fast, x[5:]), y[5:])
    total.backward()
    optimizer.step()
"""
GRADIENT = """\
import numpy as np
import {library} as api

api.grad(lambda x: ({numpy}.sin(x) * x).sum())(np.ones(3))
"""
SCRIPTS = {
    "four steps of MAML": {library: MAML.format(library=library) for library in ("fxgrad.compat", "torch")},
    "a first gradient": {
        "fxgrad": GRADIENT.format(library="fxgrad", numpy="np"),
        "jax": GRADIENT.format(library="jax", numpy="api.numpy"),
    },
}
REPORT = "\nimport time\nprint(time.process_time())\n"


def run(*arguments: str) -> Any:
    """What a fresh process prints at last, read as JSON."""
    given = [sys.executable, "-W", "ignore", *arguments]
    done = subprocess.run(given, env=os.environ | THREADS, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def time_first_calls(library: str) -> dict[str, list[float]]:
    """Microseconds of the first and the second call of every operation, in a process that has used the library."""
    torch = import_module(library)
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    spent: dict[str, list[float]] = {}
    given = {case.name: (case, case.tensors(torch)) for case in reversed(find_cases())}
    for _ in range(2):
        for name, (case, tensors) in given.items():
            start = time.process_time_ns()
            call_once(torch, case, tensors)
            spent.setdefault(name, []).append((time.process_time_ns() - start) / 1e3)
    return spent


def find_cases() -> list[declared_cases.Case]:
    """The cases of operations with a derivative."""
    return [
        case
        for case in declared_cases.gathered()
        if case.backward and any(spec.grad and spec.dtype == "float64" for spec in case.specs)
    ]


def call_once(torch: Any, case: declared_cases.Case, tensors: list) -> None:
    """Compute forward, and backward from ones."""
    given = [t.detach().requires_grad_() if spec.grad else t for t, spec in zip(tensors, case.specs)]
    results = case.call(torch, given)
    results = results if isinstance(results, tuple | list) else [results]
    results = [y for y in results if isinstance(y, torch.Tensor) and y.requires_grad]
    if results:
        torch.autograd.backward(results, [torch.ones_like(y) for y in results])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_second", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument(
        "--details", action="store_true", help="the operations whose first call takes longest"
    )
    parser.add_argument("--child", metavar="LIBRARY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(time_first_calls(options.child)))
        return
    for title, scripts in SCRIPTS.items():
        taken: dict[str, list[float]] = {}
        for _ in range(options.rounds):
            for library, script in scripts.items():
                taken.setdefault(library, []).append(run("-c", script + REPORT))
        print(title + ":", ", ".join(f"{library} {min(times):.3f} s" for library, times in taken.items()))
    runs: dict[str, list] = {}
    for _ in range(options.rounds):
        for library in ("fxgrad.compat", "torch"):
            runs.setdefault(library, []).append(run("-m", "benchmarks.first_second", "--child", library))
    print("first calls of operations, forward and backward:")
    best: dict[str, dict[str, list[float]]] = {}
    for library, found in runs.items():
        best[library] = {name: [*map(min, zip(*(r[name] for r in found)))] for name in found[0]}
        first, second = zip(*best[library].values())
        print(
            f"  {library:14} {len(first)} operations, together {sum(first) / 1e3:.0f} ms, median "
            f"{statistics.median(first):.0f} µs; second calls {sum(second) / 1e3:.0f} ms"
        )
    if options.details:
        ours, theirs = best.values()
        for name in sorted(ours, key=lambda name: theirs[name][0] - ours[name][0])[:30]:
            print(f"  {name:40} {ours[name][0]:9.0f} µs, torch {theirs[name][0]:9.0f} µs")


if __name__ == "__main__":
    main()
