"""Creation and destruction of the group of all processes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ...distributed.communicator import Communicator
from ...distributed.processes import world
from ..errors import ArgumentError, ArgumentValueError, TensorError
from .backends import Backend, DebugLevel, ensure_served, get_debug_level
from .groups import REGISTRY, ProcessGroup, get_default_group
from .launch import find_variable

default_pg_timeout = timedelta(minutes=30)


def find_expected(given: int, variable: str, by_environment: bool) -> int | None:
    """Return what a program says of its launch, by an argument or else by the environment; None if it does not."""
    return given if given != -1 else find_variable(variable) if by_environment else None


def ensure_launched_so(communicator: Communicator, size: int | None, rank: int | None) -> None:
    """Raise where the program expects to be one of other processes than there are."""
    if size is not None and size != communicator.size:
        if communicator.size == 1:
            raise TensorError(
                f"init_process_group: world_size={size}, and this process was started alone: here processes work "
                "together by MPI",
                hint=f"mpirun -n {size} python program.py, in place of torchrun or multiprocessing.spawn",
            )
        raise ArgumentValueError(
            f"init_process_group: world_size={size}, and mpirun has started {communicator.size} processes",
            hint="leave world_size and rank out, and WORLD_SIZE and RANK out of the environment",
        )
    if rank is not None and rank != communicator.rank:
        raise ArgumentValueError(
            f"init_process_group: rank={rank}, and to mpirun this process is number {communicator.rank}",
            hint="leave rank out, and RANK out of the environment",
        )


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Make the group of all processes: those that `mpirun -n 4 python program.py` has started, or this one alone.

    With TORCH_DISTRIBUTED_DEBUG=DETAIL in the environment processes compare what they are about to do before each
    collective, so that a mistake is an error on all of them instead of a deadlock.

    Args:
        backend: "gloo", "mpi" or any other name of communication between CPUs, which is MPI's here; "nccl" between
            GPUs; None: whatever there is.
        init_method, store, pg_options, device_id: accepted; processes find each other by MPI.
        timeout: how long a collective may wait for the others; None: for ever.
        world_size, rank: how many processes there are, and which one this is, to be compared with what MPI says; so
            are WORLD_SIZE and RANK of the environment.
        group_name: kept.

    Raises:
        ArgumentValueError: there is such a group already, `world_size` or `rank` are not MPI's, or no backend has this
            name.
        TensorError: more than one process is expected, and this one was started alone; or "nccl" without a GPU.
        TypeError: `timeout` is no timedelta.
        AssertionError: both `init_method` and `store` are given.

    >>> dist.init_process_group("gloo")
    >>> dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (0, 1, 'gloo')
    >>> dist.destroy_process_group()
    """
    if REGISTRY.default is not None:
        raise ArgumentValueError(
            "trying to initialize the default process group twice!",
            hint="if not dist.is_initialized(): …, or dist.destroy_process_group() before",
        )
    if timeout is not None and not isinstance(timeout, timedelta):
        raise ArgumentError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}",
            hint=f"datetime.timedelta(seconds={timeout})",
        )
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    chosen = Backend(Backend.UNDEFINED if backend is None else backend)
    ensure_served(chosen)
    by_environment = store is None and init_method in (None, "env://")
    checks = get_debug_level() is DebugLevel.DETAIL
    communicator = world(
        timeout=None if timeout is None else timeout.total_seconds(), check=True if checks else None
    )
    ensure_launched_so(
        communicator,
        find_expected(world_size, "WORLD_SIZE", by_environment),
        find_expected(rank, "RANK", by_environment),
    )
    name = group_name or REGISTRY.next_name()
    members = range(communicator.size)
    REGISTRY.default = REGISTRY.add(ProcessGroup(communicator, members, chosen, name, "default_pg"))


def destroy_process_group(group: Any = None) -> None:
    """End a group; None: all of them. The program may begin anew by `init_process_group`.

    Raises:
        AssertionError: there is no group.
        ArgumentValueError: it is none, or has ended.

    >>> dist.init_process_group("gloo")
    >>> dist.is_initialized()
    True
    >>> dist.destroy_process_group()
    """
    if group is None and REGISTRY.default is None:
        raise AssertionError("Process group cannot be None")
    if type(group) is int:  # outside of it
        return
    if group is None or group is REGISTRY.default:
        get_default_group()
        REGISTRY.__init__()
    elif REGISTRY.groups.pop(getattr(group, "group_name", ""), None) is None:
        raise ArgumentValueError(
            "Invalid process group specified or has been destroyed.",
            hint="a group of dist.new_group, once; None for all",
        )


__all__ = ["default_pg_timeout", "destroy_process_group", "init_process_group"]
