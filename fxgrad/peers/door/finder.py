"""`install`: `import jax` and `import autograd` import this library, and programs see NumPy and SciPy through it."""

from __future__ import annotations

from contextlib import ExitStack

from ...core.errors import UnsupportedError
from ...doors.finder import close_door, open_door
from ...doors.modules import Door
from ..numpy.imports import PROGRAM_DOORS, ProgramDoor


def find_doors(libraries: tuple[str, ...]) -> list[Door | ProgramDoor]:
    """Return the doors of libraries by name; of all if none is named.

    Raises:
        UnsupportedError: there is none for a name.
    """
    from .modules import DOORS

    doors = DOORS | PROGRAM_DOORS
    unknown = [name for name in libraries if name not in doors]
    if unknown:
        raise UnsupportedError(
            f"fx.install({unknown[0]!r}): there is no door for it",
            hint=f"{' or '.join(map(repr, doors))}; fxgrad.compat.install() for programs that say `import torch`",
        )
    return [doors[name] for name in libraries or doors]


def install(*libraries: str) -> ExitStack:
    """Let `import jax` and `import autograd` import this library, under all of their module paths, for code that
    cannot be edited. And let `import numpy` and `import scipy` in modules of the program, which are not those of
    installed packages, give their functions as they are for plain values, and this library's under transforms.

    It holds for the whole process, until `uninstall()`, or until the end of the block if used as a context manager.
    Who has imported a library before that keeps what it has got. Where it holds already, nothing happens.

    Args:
        libraries: "jax", "autograd", "numpy", "scipy"; all if none is given.

    Returns:
        A context manager that uninstalls at its end what was not installed before.

    Raises:
        LoadedError: the real library is loaded already; an ImportError.
        UnsupportedError: there is no such door.

    >>> program = '''
    ... import fxgrad as fx
    ... with fx.install("jax"):
    ...     import jax, jax.numpy as jnp
    ... print(jax.grad(lambda x: jnp.sum(x**2))(jnp.arange(3.0)))
    ... '''
    >>> import subprocess, sys  # since jax may be loaded here
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)
    [0. 2. 4.]
    """
    opened = ExitStack()
    try:
        for door in find_doors(libraries):
            opened.enter_context(door.open() if isinstance(door, ProgramDoor) else open_door(door))
    except BaseException:
        opened.close()
        raise
    return opened


def uninstall(*libraries: str) -> None:
    """End what `install` has begun: `import jax` means the real one again, or fails where there is none.

    Modules that were imported keep theirs. Where nothing is installed, nothing happens.

    Args:
        libraries: as for `install`.

    Returns:
        None.

    Raises:
        UnsupportedError: there is no such door.

    >>> fx.uninstall("jax")
    """
    for door in find_doors(libraries):
        door.close() if isinstance(door, ProgramDoor) else close_door(door)
