"""Backends: names under which programs request communication. CPUs always use MPI, and GPUs NCCL."""

from __future__ import annotations

import os
from enum import Enum
from importlib.util import find_spec
from typing import Any, ClassVar

from .._declare.packages import complete_module
from .._make.devices import device_count
from ..errors import (
    ArgumentValueError,
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
    TensorError,
)

# Served by the communicator on CPUs; "undefined" is what torch calls the choice by itself.
ON_CPUS = ("gloo", "mpi", "ucc", "undefined")


class Backend(str):
    """The name of a backend, in lower case.

    Raises:
        ValueError: the name is no text.

    >>> dist.Backend("GLOO")
    'gloo'
    """

    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE = "undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"
    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ArgumentValueError("Backend constructor parameter must be string-ish", hint='"gloo"')
        return str.__new__(cls, name.lower())


class BackendConfig:
    """Which backend serves which device.

    Raises:
        ValueError: a pair is not "device:backend".

    >>> dist.BackendConfig("gloo").device_backend_map["cpu"]
    'gloo'
    """

    def __init__(self, backend: str):
        name = Backend(backend)
        if ":" in name:
            self.device_backend_map = {}
            for pair in name.split(","):
                device, found, chosen = pair.partition(":")
                if not found or not chosen or device in self.device_backend_map:
                    raise ArgumentValueError(
                        f"Invalid device:backend pairing: {pair}", hint='backend="cpu:gloo,cuda:nccl"'
                    )
                self.device_backend_map[device] = Backend(chosen)
        elif name == Backend.UNDEFINED:
            self.device_backend_map = {"cpu": Backend("gloo")}
            if is_nccl_available():
                self.device_backend_map["cuda"] = Backend("nccl")
        else:
            self.device_backend_map = {"cpu": name, "cuda": name}

    def get_device_backend_map(self) -> dict[str, str]:
        """The names of the backends by device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())


def ensure_served(backend: Backend) -> None:
    """Raise for a backend that is not there."""
    config = BackendConfig(backend).device_backend_map
    for device, name in config.items():
        if name in ON_CPUS or (name == "nccl" and is_nccl_available()):
            continue
        if name == "nccl":
            if device == "cuda" and "cpu" in config and config["cpu"] != "nccl":
                continue  # one of two: it is not used without a GPU
            raise TensorError(
                "Distributed package doesn't have NCCL built in",
                hint='no GPU of CuPy\'s is here; backend="gloo" or "mpi", and mpirun, communicate between CPUs',
            )
        raise ArgumentValueError(
            f"Unknown backend type {name}", hint='backend="gloo" or "mpi"; "nccl" between GPUs'
        )


def is_available() -> bool:
    """Whether processes can work together: always. Where there is no MPI the group is of one process.

    >>> torch.cuda.is_available() in (True, False)
    True
    """
    return True


def is_mpi_available() -> bool:
    """Whether MPI is installed, with mpi4py.

    >>> dist.is_mpi_available() in (True, False)
    True
    """
    return find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """Whether a group may be asked for by the name "gloo": always.

    >>> dist.is_gloo_available()
    True
    """
    return True


def is_nccl_available() -> bool:
    """Whether GPUs can communicate: whether there is one.

    >>> dist.is_nccl_available() in (True, False)
    True
    """
    return device_count() > 0


def is_ucc_available() -> bool:
    """Whether UCC is there: a group of that name is one of MPI's.

    >>> dist.is_ucc_available() in (True, False)
    True
    """
    return False


is_xccl_available = is_ucc_available


def is_torchelastic_launched() -> bool:
    """Whether the process was started by `torchrun`.

    >>> dist.is_torchelastic_launched() in (True, False)
    True
    """
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_backend_available(backend: str) -> bool:
    """Whether a group may be asked for by a name.

    Args:
        backend: the name.

    >>> dist.is_backend_available("gloo"), dist.is_backend_available("carrier pigeons")
    (True, False)
    """
    ask = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}.get(backend.lower())
    return ask is not None and ask()


def get_default_backend_for_device(device: Any) -> str:
    """Return the name of the backend that serves a device.

    Raises:
        ArgumentValueError: there is none.

    >>> dist.get_default_backend_for_device("cpu")
    'gloo'
    """
    name = str(device).partition(":")[0]
    if name not in Backend.default_device_backend_map:
        raise ArgumentValueError(
            f"Default backend not registered for device : {device}", hint='"cpu" or "cuda"'
        )
    return Backend.default_device_backend_map[name]


class DebugLevel(Enum):
    """How much is checked and told of: see `get_debug_level`.

    >>> dist.DebugLevel.OFF.name
    'OFF'
    """

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __str__(self) -> str:
        return f"DebugLevel.{self.name}"


LEVEL: list[DebugLevel] = []  # once it was asked for


def get_debug_level() -> DebugLevel:
    """Return the level that was set, or that of the environment's TORCH_DISTRIBUTED_DEBUG.

    >>> print(dist.get_debug_level())
    DebugLevel.OFF
    """
    if not LEVEL:
        set_debug_level_from_env()
    return LEVEL[0]


def set_debug_level(level: DebugLevel) -> None:
    """Set the level.

    >>> dist.set_debug_level(dist.get_debug_level())
    """
    LEVEL[:] = [level]


def set_debug_level_from_env() -> None:
    """Set the level to that of the environment's TORCH_DISTRIBUTED_DEBUG.

    Raises:
        TensorError: it is none of OFF, INFO and DETAIL.

    >>> dist.set_debug_level_from_env()
    """
    text = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if text not in DebugLevel.__members__:
        raise TensorError(
            f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL; it is {text!r}",
            hint="unset it, or TORCH_DISTRIBUTED_DEBUG=DETAIL",
        )
    set_debug_level(DebugLevel[text])


__all__ = [
    "Backend",
    "BackendConfig",
    "DebugLevel",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "QueueEmptyError",
    "get_debug_level",
    "get_default_backend_for_device",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "set_debug_level",
    "set_debug_level_from_env",
]

complete_module(globals(), "distributed")
