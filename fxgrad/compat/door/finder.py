"""`install`: `import torch` imports this package."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import LoadedError
from .modules import ROOTS, explain, open_module, say_homes

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder


class TorchFinder:
    """Python's import system asks this finder first while it is in `sys.meta_path`. It knows torch and functorch, and
    torch's version for `importlib.metadata`; the rest is left to others. It is the loader of what it finds as well."""

    def __init__(self) -> None:
        self.tree: dict[str, Any] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Say that a module of torch's is here.

        Raises:
            ModuleNotFoundError: it is not, and no other torch is to be found instead.
        """
        if fullname.partition(".")[0] not in ROOTS:
            return None
        if open_module(fullname, self.tree) is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}{explain(fullname)}", name=fullname)
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python makes an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of this name in the place of the empty one that Python made."""
        sys.modules[module.__name__] = self.tree[module.__name__]

    def find_distributions(self, context: DistributionFinder.Context) -> list[Distribution]:
        """Find the distribution of torch, if its name is asked for."""
        from .distribution import TorchDistribution

        return [TorchDistribution()] if context.name in (None, "torch") else []


class Installation:
    """The result of `install`: a context manager that undoes the call."""

    def __init__(self, finder: TorchFinder | None):
        self.finder = finder

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.finder in sys.meta_path:
            uninstall()


def installed() -> TorchFinder | None:
    """Return the finder that replaces torch at present, or None."""
    return next((finder for finder in sys.meta_path if isinstance(finder, TorchFinder)), None)


def loaded_modules() -> list[str]:
    """Return the names of torch's modules that are loaded."""
    return [name for name in sys.modules if name.partition(".")[0] in ROOTS]


def install() -> Installation:
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
    if installed() is not None:
        return Installation(None)
    loaded = loaded_modules()
    if loaded:
        origin = getattr(sys.modules[loaded[0]], "__file__", None) or "without a file"
        raise LoadedError(
            f"fxgrad.compat cannot stand for torch: {loaded[0]!r} ({origin}) is loaded already",
            hint="call fxgrad.compat.install() before anything imports torch, "
            "or run the program by `python -m fxgrad.compat script.py`",
        )
    finder = TorchFinder()
    sys.meta_path.insert(0, finder)
    return Installation(finder)


def uninstall() -> None:
    """End what `install` has begun: `import torch` means the real one again, or fails where there is none.

    Modules that were imported keep theirs. Where nothing is installed, nothing happens.

    Returns:
        None.

    >>> import fxgrad.compat
    >>> fxgrad.compat.uninstall()
    """
    finder = installed()
    if finder is None:
        return
    sys.meta_path.remove(finder)
    say_homes()
    for name in loaded_modules():
        del sys.modules[name]
