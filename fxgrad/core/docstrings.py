"""Docstrings that declarations complete, and what their examples take as given."""

from __future__ import annotations

# The names that examples use without an import, which the pages of the documentation show.
EXAMPLE_NAMES = {"fx": "fxgrad", "fnp": "fxgrad.numpy", "np": "numpy", "torch": "fxgrad.compat"}
# The names of packages that their own examples use as well.
PACKAGE_NAMES = {
    "fxgrad.compat.autograd.forward_ad": "fwAD",
    "fxgrad.compat.distributed": "dist",
    "fxgrad.compat.multiprocessing": "mp",
    "fxgrad.lax": "lax",
    "fxgrad.scipy.fft": "fft",
    "fxgrad.scipy.integrate": "integrate",
    "fxgrad.scipy.interpolate": "interpolate",
    "fxgrad.scipy.linalg": "linalg",
    "fxgrad.scipy.ndimage": "ndimage",
    "fxgrad.scipy.optimize": "optimize",
    "fxgrad.scipy.signal": "signal",
    "fxgrad.scipy.sparse": "sparse",
    "fxgrad.scipy.sparse.linalg": "linalg",
}


def example_names(module: str) -> dict[str, str]:
    """The names that the examples of a module use without an import, with the modules that they stand for."""
    own = {name: package for package, name in PACKAGE_NAMES.items() if f"{module}.".startswith(f"{package}.")}
    return EXAMPLE_NAMES | own


def insert_before_example(text: str, added: str) -> str:
    """Put lines into a docstring, as a paragraph before its example, or at its end where it has none.

    Args:
        text: the docstring.
        added: the lines, without margin: they get that of the docstring. From Python 3.13 on it has none, since the
            compiler takes it away.
    """
    below = text.partition("\n")[2].lstrip("\n")
    margin = below[: len(below) - len(below.lstrip(" "))]
    end = text.find(f"\n\n{margin}>>> ")
    before, example = (text.rstrip(), f"\n{margin}") if end < 0 else (text[:end], text[end:])
    lines = [f"{margin}{line}" if line else "" for line in added.split("\n")]
    return "\n".join([before, "", *lines]) + example
