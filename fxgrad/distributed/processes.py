"""The group of all processes that were started together, as the environment describes it."""

from __future__ import annotations

import os
from functools import cache

from ..core.errors import FxgradError, MissingLibraryError
from ..core.interpreter import api_boundary
from .communicator import Communicator
from .mpi import MPICommunicator
from .requests import load_mpi

# What starts processes tells each of them how many there are.
COUNTS_OF_PROCESSES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")


@api_boundary
def world(*, timeout: float | None = None, check: bool | None = None) -> Communicator:
    """The group of all processes that were started together, such as by `mpirun -n 4 python train.py`.

    It is one process where MPI is not installed and nothing says that there are others. A process of several that
    fails, or ends while others wait for it, ends them all, with one message. MPI is started with its highest level of
    threads; the collectives of one group are to be called by one thread at a time, and by no process that was forked.

    Args:
        timeout: after how many seconds of waiting a collective raises CollectiveTimeoutError; the environment's
            FXGRAD_COMM_TIMEOUT unless given, for ever without either.
        check: whether the members compare before each collective what they are about to do; FXGRAD_COMM_CHECK=1 unless
            given. Both stay in force, and all processes are to give the same.

    Returns:
        the same communicator in every call.

    Raises:
        MissingLibraryError: there are several processes, and mpi4py is not installed.

    >>> fx.distributed.world().size
    1
    """
    group = group_of_all()
    if timeout is not None:
        group.timeout = timeout
    if check is not None:
        group.check = check
    return group


@cache
def group_of_all() -> Communicator:
    """Return the group of all processes, as the environment wants it."""
    group = join_all()
    if "FXGRAD_COMM_TIMEOUT" in os.environ:
        try:
            group.timeout = float(os.environ["FXGRAD_COMM_TIMEOUT"])
        except ValueError as error:
            raise FxgradError(f"FXGRAD_COMM_TIMEOUT is {error}", hint="a number of seconds") from None
    group.check = os.environ.get("FXGRAD_COMM_CHECK", "0") not in ("", "0")
    return group


def join_all() -> Communicator:
    """Return the group of all processes, of one alone where there is no MPI and nothing says that there are others."""
    started = [os.environ.get(name, "1") for name in COUNTS_OF_PROCESSES]
    alone = not any(count.isdigit() and int(count) > 1 for count in started)
    try:
        mpi = load_mpi()
    except (MissingLibraryError, RuntimeError):  # mpi4py is not there, or finds no library of MPI
        if not alone:
            raise
        return Communicator()
    group = MPICommunicator(mpi.COMM_WORLD)
    if group.size > 1:
        group.watch.install()
    return group


__all__ = ["world"]
