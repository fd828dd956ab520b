"""`install`: `import torch` imports this package."""

from __future__ import annotations

from ...doors.finder import Opening, close_door, open_door
from .modules import TORCH


def install() -> Opening:
    """Let `import torch` and `import functorch` import `fxgrad.compat`, under all of torch's module paths, for
    code that cannot be edited.

    It holds for the whole process, until `uninstall()`, or until the end of the block if used as a context manager.
    Who has imported torch before that keeps what it has got. Where it holds already, nothing happens. A torch that is
    installed as well is not found meanwhile; a process that is started anew (`multiprocessing` with "spawn") has to
    install again.

    Returns:
        A context manager that uninstalls at its end, unless it was installed before.

    Raises:
        LoadedError: the real torch is loaded already; an ImportError.

    >>> program = '''
    ... import fxgrad.compat
    ... with fxgrad.compat.install():
    ...     import torch
    ...     import torch.nn.functional as F
    ...     from torch.optim.sgd import SGD
    ... print(F.relu(torch.tensor([-1.0, 2.0])), SGD is fxgrad.compat.optim.SGD)
    ... '''
    >>> import subprocess, sys  # since torch may be loaded here
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)
    tensor([0., 2.]) True
    """
    from .distribution import TorchDistribution

    return open_door(TORCH, TorchDistribution())


def uninstall() -> None:
    """End what `install` has begun: `import torch` means the real one again, or fails if there is none.

    Modules that were imported keep theirs. Where nothing is installed, nothing happens.

    Returns:
        None.

    >>> import fxgrad.compat
    >>> fxgrad.compat.uninstall()
    """
    close_door(TORCH)
