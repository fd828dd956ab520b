"""The command `python -m fxgrad.info` prints what a report of a problem needs: versions, BLAS, threads, machine code,
devices, and which extras of this package lack a library.

>>> from fxgrad.info import describe
>>> print(describe().splitlines()[0])  # doctest: +ELLIPSIS
fxgrad ...
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import numpy as np

from . import __version__, devices
from .kernels.native import engine
from .kernels.native.threads import blas_threads, thread_count

LIBRARIES = (
    "scipy", "optree", "attrs", "ml_dtypes", "opt_einsum", "llvmlite", "cupy", "mpi4py", "torch", "jax",
)  # fmt: skip
SETTINGS = "FXGRAD_"  # how the names of our environment variables begin
# What a line of a package's metadata says of a library that belongs to an extra.
REQUIREMENT = re.compile(
    r"""(?P<library>[\w.-]+)[^;]*;\s*\(?(?:sys_platform == ['"](?P<platform>\w+)['"]\)? and )?"""
    r"""extra == ['"](?P<extra>[\w-]+)"""
)


def describe() -> str:
    """Return what the command prints, as one text of several lines."""
    return "\n".join(f"{name:<14}{text}" if text else name for name, text in lines())


def lines() -> Iterator[tuple[str, str]]:
    """Yield pairs of a name and what there is to say of it."""
    built: dict[str, Any] = np.show_config(mode="dicts") or {}  # type: ignore[call-overload,assignment]
    blas = built.get("Build Dependencies", {}).get("blas", {})
    yield f"fxgrad {__version__}", ""
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}), {platform.platform()}"
    yield "NumPy", f"{np.__version__}, with {blas.get('name', 'an unknown BLAS')} {blas.get('version', '')}"
    yield "libraries", ", ".join(f"{name} {v}" for name in LIBRARIES if (v := version_of(name))) or "none"
    yield "processors", f"{os.cpu_count()}; {thread_count()} threads here, {blas_threads()[0]()} of BLAS"
    yield "machine code", machine_code()
    yield "devices", ", ".join(map(str, devices()))
    settings = sorted(name for name in os.environ if name.startswith(SETTINGS))
    yield "settings", ", ".join(f"{name}={os.environ[name]}" for name in settings) or "none"
    for extra, missing in missing_libraries().items():
        cure = f"lacks {', '.join(missing)}: pip install 'fxgrad[{extra}]'"
        yield f"[{extra}]", cure if missing else "complete"


def version_of(library: str) -> str | None:
    """Return the version of an installed distribution; None if there is none of this name."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def machine_code() -> str:
    """Say which processor machine code is made for, or why none is."""
    mode = engine.mode()
    if mode == "never":
        asked = os.environ.get("FXGRAD_NATIVE") == "never"
        return "none, as FXGRAD_NATIVE asks" if asked else "none: llvmlite is not there, or not this Python's"
    from .kernels.native.processor import name, vector_bytes

    use = "where it pays" if mode == "auto" else mode
    return f"for {name()}, with vectors of {8 * vector_bytes()} bits, used {use}"


def missing_libraries() -> dict[str, list[str]]:
    """Return the libraries that each extra of this package would add; of an extra that is complete, none."""
    try:
        found = metadata.metadata("fxgrad")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return {}
    missing: dict[str, list[str]] = {}
    for line in found.get_all("Requires-Dist") or ():
        requirement = REQUIREMENT.match(line)
        if requirement is None or requirement["library"] == "fxgrad":
            continue
        if requirement["platform"] in (None, sys.platform):
            libraries = missing.setdefault(requirement["extra"], [])
            if version_of(requirement["library"]) is None:
                libraries.append(requirement["library"])
    return missing


if __name__ == "__main__":
    print(describe())
