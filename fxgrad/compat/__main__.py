"""`python -m fxgrad.compat script.py`: run a program written for torch unchanged. See `fxgrad.compat.install`."""

import sys

from fxgrad.compat.door.program import run_program

if __name__ == "__main__":
    run_program(sys.argv[1:])
