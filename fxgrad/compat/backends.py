"""torch.backends: the libraries below torch. None is used here, so their switches have no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class Backend(SimpleNamespace):
    """The switches of a library that is not installed here."""

    def is_available(self) -> bool:
        """Whether the library can be used: never."""
        return False

    is_built = is_available

    def version(self) -> None:
        """The version of the library: None."""

    def set_flags(self, **switches: Any) -> tuple[Any, ...]:
        """Set switches by their names, without the underscore with which torch begins some, and return what they
        were."""
        names = {name.removeprefix("_"): value for name, value in switches.items()}
        before = tuple(getattr(self, name, None) for name in names)
        vars(self).update(names)
        return before

    @contextmanager
    def flags(self, **switches: Any) -> Iterator[None]:
        """Context manager that sets switches, and sets them back at its end."""
        before = dict(vars(self))
        self.set_flags(**switches)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


def remember(kernel: str) -> tuple[Callable[[Any, bool], None], Callable[[Any], bool]]:
    """Make the methods that set and ask whether attention may use one of torch's kernels; there is one kind here."""

    def enable(self: Any, enabled: bool) -> None:
        """Remember whether attention may use a kernel of torch's."""
        self.kernels[kernel] = enabled

    def is_enabled(self: Any) -> bool:
        """Whether attention might use a kernel of torch's."""
        return self.kernels[kernel]

    return enable, is_enabled


class CUDALibraries(Backend):
    """The switches of the libraries that torch uses on CUDA devices."""

    def __init__(self) -> None:
        super().__init__(
            matmul=SimpleNamespace(
                allow_tf32=False,
                allow_fp16_reduced_precision_reduction=True,
                allow_bf16_reduced_precision_reduction=True,
                fp32_precision="none",
            ),
            cufft_plan_cache=SimpleNamespace(size=0, max_size=0, clear=lambda: None),
            kernels={"flash": True, "mem_efficient": True, "math": True, "cudnn": True},
        )

    enable_flash_sdp, flash_sdp_enabled = remember("flash")
    enable_mem_efficient_sdp, mem_efficient_sdp_enabled = remember("mem_efficient")
    enable_math_sdp, math_sdp_enabled = remember("math")
    enable_cudnn_sdp, cudnn_sdp_enabled = remember("cudnn")

    @contextmanager
    def sdp_kernel(
        self,
        enable_flash: bool = True,
        enable_math: bool = True,
        enable_mem_efficient: bool = True,
        enable_cudnn: bool = True,
    ) -> Iterator[None]:
        """Context manager that remembers which of torch's kernels attention may use."""
        before = dict(self.kernels)
        self.kernels.update(
            flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
        )
        try:
            yield
        finally:
            self.kernels.update(before)

    def preferred_linalg_library(self, backend: str | None = None) -> str:
        """The library of decompositions: the one there is."""
        return "default"

    preferred_blas_library = preferred_linalg_library


class FusedAttention(Backend):
    """The switch of torch's fused attention in modules, which is not here."""

    def get_fastpath_enabled(self) -> bool:
        """The value set by `set_fastpath_enabled`; initially True. It has no effect."""
        return self.enabled

    def set_fastpath_enabled(self, value: bool) -> None:
        """Remember whether modules may use it."""
        self.enabled = value


class Processor(SimpleNamespace):
    """The instructions of the processor."""

    def get_cpu_capability(self) -> str:
        """The instructions that are used, which LLVM and NumPy choose."""
        return "DEFAULT"


cpu = Processor()
cuda = CUDALibraries()
cudnn = Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10)
mha = FusedAttention(enabled=True)
mps, mkl, openmp, nnpack = Backend(), Backend(), Backend(), Backend()
mkldnn = Backend(enabled=True, deterministic=False, allow_tf32=True)
opt_einsum = Backend(enabled=True, strategy="auto")

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
