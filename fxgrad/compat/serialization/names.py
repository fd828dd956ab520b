"""Names in files: torch's names for our objects, and the names of Python 2."""

from __future__ import annotations

from ..door.modules import TORCH

COMPAT = __name__.removesuffix(".serialization.names")
OLD_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}
OLD_NAMES = {("__builtin__", "unicode"): ("builtins", "str"), ("__builtin__", "long"): ("builtins", "int")}


def torch_name(module: str, name: str) -> tuple[str, str]:
    """Return the module and name under which torch has a class or function of ours, and any other one as it is.

    >>> torch_name("fxgrad.compat.nn.modules.linear", "Linear")
    ('torch.nn.modules.linear', 'Linear')
    """
    if not is_inside(module, COMPAT):
        return module, name
    space = module.removeprefix(COMPAT).split(".")[1]
    if space.startswith("_"):  # what is at the top of torch is in rooms here
        return "torch", name
    found = next(
        (
            path
            for path in TORCH.layout
            if is_inside(path, f"torch.{space}") and name in TORCH.names_elsewhere(path)
        ),
        None,
    )
    return found or f"torch{module.removeprefix(COMPAT)}", name


def is_inside(module: str, package: str) -> bool:
    """Whether a module is a package or inside it."""
    return module == package or module.startswith(f"{package}.")
