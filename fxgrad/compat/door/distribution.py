"""The distribution metadata (`importlib.metadata`) of torch while this package replaces it."""

from __future__ import annotations

from importlib.metadata import Distribution
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from pathlib import Path


class TorchDistribution(Distribution):
    """A distribution with the name torch and a version, and without files."""

    def read_text(self, filename: str) -> str | None:
        """The file METADATA; there are no others."""
        return (
            f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n"
            if filename == "METADATA"
            else None
        )

    def locate_file(self, path: Any) -> Path:
        """Return None, because the distribution has no files."""
        raise FileNotFoundError(path)
