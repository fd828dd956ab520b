"""The machine and the libraries that were measured, in one line."""

import importlib.metadata
import os
import platform
from pathlib import Path

LIBRARIES = "numpy scipy llvmlite torch jax autograd"


def describe(libraries: str = LIBRARIES) -> str:
    """Describe the processor, its cores, Python and the libraries that are installed."""
    versions = [f"{name} {found}" for name in libraries.split() if (found := version(name))]
    cores = f"{core_count()} of {os.cpu_count()} cores"
    return ", ".join([processor(), cores, f"Python {platform.python_version()}", *versions, blas()])


def version(name: str) -> str:
    """Return the version of a distribution that is installed, else nothing."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def processor() -> str:
    """Return the name of this machine's processor, and its kind of vectors where the system tells."""
    path = Path("/proc/cpuinfo")
    fields = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    told = {name.strip(): text.strip() for name, _, text in (field.partition(":") for field in fields)}
    name = told.get("model name") or platform.processor() or platform.machine()
    kinds = [kind for kind in ("avx512f", "avx2", "sve", "asimd") if kind in told.get("flags", "").split()]
    return f"{name} ({kinds[0]})" if kinds else name


def core_count() -> int:
    """Return the number of cores that are available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blas() -> str:
    """Return the name and version of NumPy's BLAS."""
    import numpy as np

    told = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{told['name']} {told['version']}"
