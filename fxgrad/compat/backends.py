"""torch.backends: the libraries below torch, of which none is here. Their switches are remembered, no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Backend(SimpleNamespace):
    """The switches of a library that is not installed here."""

    def is_available(self) -> bool:
        """Whether the library can be used: never."""
        return False

    def is_built(self) -> bool:
        """Whether the library is supported: never."""
        return False

    def version(self) -> Any:
        """The version of the library: None."""
        return None


cudnn = Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10)
cuda = Backend(
    matmul=SimpleNamespace(
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
    )
)
mps, mkl, mkldnn, openmp = Backend(), Backend(), Backend(enabled=True), Backend()
