"""Optional libraries, imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import MissingLibraryError


def load_library(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional library; raise MissingLibraryError where the library is not installed.

    `extra` is the extra of this package that brings it, and `purpose` is what needs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != library:
            raise
        raise MissingLibraryError(
            f"{purpose} needs the library {library}, which is not installed",
            hint=f"pip install 'fxgrad[{extra}]'",
        ) from None
