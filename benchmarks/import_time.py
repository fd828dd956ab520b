"""What `import fxgrad` costs above `import numpy`, and what its peers cost there.

Decides what may be imported at start and what only when it is first used. The aim: 40 ms at most. Laziness
only moves the cost, so the second line shows what a program pays that uses `grad` and `fxgrad.numpy`.
"""

import measure  # isort: skip  (it sets the number of threads)

import os
import statistics
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import time, numpy
start = time.process_time()
{statement}
print(time.process_time() - start)
"""
ROUNDS = 11


def seconds(statement: str) -> float:
    """CPU seconds of an import statement in a fresh Python that has imported numpy."""
    # The checkout is measured, installed or not, and with byte code cached, as users have it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM.format(statement=statement)]
    root = Path(__file__).resolve().parent.parent
    result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    return float(result.stdout)


def main() -> None:
    peers = [f"import {name}" for name in measure.installed("autograd", "torch", "jax")]
    statements = ["import fxgrad", "import fxgrad.numpy; fxgrad.grad", *peers]
    for statement in statements:
        seconds(statement)  # writes byte code, fills the file cache
    rounds = [[seconds(statement) for statement in statements] for _ in range(ROUNDS)]
    print(f"above numpy (median of {ROUNDS} fresh processes each, taking turns):")
    for statement, times in zip(statements, zip(*rounds)):
        print(f"  {statement:34} {1e3 * statistics.median(times):8.1f} ms")


if __name__ == "__main__":
    main()
