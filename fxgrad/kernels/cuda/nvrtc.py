"""NVIDIA's run-time compiler, from its wheel or from the loader's path. It checks sources if there is no GPU; where
there is one, CuPy compiles.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from .source import OPTIONS

ARCHITECTURE = "compute_75"  # Turing, the oldest that recent toolkits know


class CompilationError(RuntimeError):
    """NVRTC does not compile a source; the message is its log."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, or None if it is not installed."""
    package = find_spec("nvidia")  # the folder of NVIDIA's wheels, each with its own inside
    folders = package.submodule_search_locations if package else None
    found = [str(path) for f in folders or () for path in sorted(Path(f).glob("*/lib/libnvrtc.so.*"))]
    for name in (*found, "libnvrtc.so.12", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def compile_source(text: str, options: Sequence[str] = OPTIONS, architecture: str = ARCHITECTURE) -> str:
    """Return the PTX of a CUDA C++ source.

    Raises:
        CompilationError: the source is not right; or NVRTC is not installed.
    """
    nvrtc = library()
    if nvrtc is None:
        raise CompilationError("NVRTC is not installed: pip install 'fxgrad[cuda-build]'")
    program = ctypes.c_void_p()
    arguments = [f"--gpu-architecture={architecture}".encode(), *(o.encode() for o in options)]
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"group.cu", 0, None, None))
    try:
        status = nvrtc.nvrtcCompileProgram(
            program, len(arguments), (ctypes.c_char_p * len(arguments))(*arguments)
        )
        if status:
            raise CompilationError(read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program))
        return read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def check(status: int) -> None:
    if status:
        raise CompilationError(f"NVRTC failed with status {status}")


def read(get_size: Callable[..., int], get: Callable[..., int], program: ctypes.c_void_p) -> str:
    """Return a text that the compiler has made."""
    size = ctypes.c_size_t()
    check(get_size(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    check(get(program, text))
    return text.value.decode()
