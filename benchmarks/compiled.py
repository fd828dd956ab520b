"""C by the machine's compiler: what a loop written by hand would take."""

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np


def compiled(source: str, function: str) -> Callable[..., None]:
    """A function of C, which takes ints as long and arrays by their address."""
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder) / "kernel.o", Path(folder) / "kernel.so"
        # Linked apart from -Ofast: what that adds would have the whole process flush subnormal numbers to zero.
        for command, text in (
            (["cc", "-Ofast", "-march=native", "-fPIC", "-x", "c", "-c", "-", "-o", str(code)], source),
            (["cc", "-shared", str(code), "-o", str(library), "-lm"], None),
        ):
            subprocess.run(command, input=text, text=True, check=True, timeout=60)
        entry = getattr(ctypes.CDLL(str(library)), function)
    entry.restype = None

    def call(*arguments: int | np.ndarray) -> None:
        entry(
            *(
                ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_long(a)
                for a in arguments
            )
        )

    return call
