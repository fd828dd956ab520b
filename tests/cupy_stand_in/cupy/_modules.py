"""CUDA C++ in CuPy's classes: NVIDIA's compiler takes it where its wheel is installed, and `cuda_emulator` carries it
out."""

from __future__ import annotations

import ctypes
import functools

import cuda_emulator

from fxgrad.kernels.cuda import nvrtc

from ._array import ndarray, require_current
from ._record import note_launch
from .cuda import get_current_stream


class CompileException(Exception):
    """A source is not right."""


@functools.cache
def compile_source(code: str, options: tuple[str, ...]) -> ctypes.CDLL | None:
    """Compile a source by NVRTC, where it is, and for this machine, where a compiler is."""
    if nvrtc.library() is not None:
        try:
            nvrtc.compile_source(code, options)
        except nvrtc.CompilationError as error:
            raise CompileException(str(error)) from error
    try:
        return None if cuda_emulator.COMPILER is None else cuda_emulator.compile_kernels(code)
    except cuda_emulator.EmulationError as error:
        raise CompileException(str(error)) from error


class RawKernel:
    """A kernel: kernel(grid, block, arrays)."""

    def __init__(self, code: str, name: str, options: tuple[str, ...] = (), **_):
        self.code, self.name, self.options = code, name, tuple(options)

    def compile(self, log_stream=None) -> None:
        compile_source(self.code, self.options)

    def __call__(self, grid, block, args, *, shared_mem: int = 0, stream=None) -> None:
        library = compile_source(self.code, self.options)
        if library is None:
            raise CompileException("no C++ compiler is here that could make the kernel run")
        arrays = [x for x in args if isinstance(x, ndarray)]
        device, stream = require_current(arrays), stream or get_current_stream()
        for x in arrays:
            assert x.flags.c_contiguous, "kernels take contiguous arrays"
        if not grid[0]:
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        note_launch(self.name, device, stream.ptr)

        def launch() -> None:
            addresses = [x.data.ptr if isinstance(x, ndarray) else x for x in args]  # or numbers of NumPy's
            cuda_emulator.launch(library, self.name, grid[0], block[0], addresses)

        launch()
        if stream.captured is not None:
            stream.captured.steps.append(launch)


class RawModule:
    """A source with kernels in it."""

    def __init__(self, code: str | None = None, *, options: tuple[str, ...] = (), **_):
        if code is None:
            raise TypeError("the stand-in takes sources only")
        self.code, self.options = code, tuple(options)

    def compile(self, log_stream=None) -> None:
        compile_source(self.code, self.options)

    def get_function(self, name: str) -> RawKernel:
        self.compile()
        return RawKernel(self.code, name, self.options)
