"""`python -m fxgrad script.py`: run a program written for JAX, autograd or NumPy unchanged. See `fxgrad.install`."""

import sys

from fxgrad.doors.program import run_program
from fxgrad.peers.door.finder import install

if __name__ == "__main__":
    purpose = "Run a program that says `import jax`, `import autograd`, or `import numpy`, on fxgrad."
    run_program(sys.argv[1:], "python -m fxgrad", purpose, install)
