"""`python -m fxgrad.compat script.py`: run a program written for torch unchanged. See `fxgrad.compat.install`.

Where mpirun has started it, the program finds RANK, WORLD_SIZE and LOCAL_RANK in its environment, as under torchrun.
"""

import sys

from fxgrad.compat.distributed.launch import adopt_names
from fxgrad.compat.door.finder import install
from fxgrad.doors.program import run_program


def prepare() -> None:
    """Let `import torch` import `fxgrad.compat`."""
    install()
    adopt_names()


if __name__ == "__main__":
    purpose = "Run a program that says `import torch` on fxgrad.compat."
    run_program(sys.argv[1:], "python -m fxgrad.compat", purpose, prepare)
