"""What `import fxgrad` costs above `import numpy`, and what its peers cost there.

Decides what may be imported at start and what only when it is first used. The aim: 40 ms at most.
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
import {module}
print(time.process_time() - start)
"""
ROUNDS = 11


def import_seconds(module: str) -> float:
    """CPU seconds of `import module` in a fresh Python that has imported numpy."""
    # The checkout is measured, installed or not, and with byte code cached, as users have it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    root = Path(__file__).resolve().parent.parent
    result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    return float(result.stdout)


def main() -> None:
    modules = ["fxgrad", *measure.installed("autograd", "torch", "jax")]
    for module in modules:
        import_seconds(module)  # writes byte code, fills the file cache
    rounds = [[import_seconds(module) for module in modules] for _ in range(ROUNDS)]
    print(f"import, above numpy (median of {ROUNDS} fresh processes each, taking turns):")
    for module, times in zip(modules, zip(*rounds)):
        print(f"  {module:10} {1e3 * statistics.median(times):8.1f} ms")


if __name__ == "__main__":
    main()
