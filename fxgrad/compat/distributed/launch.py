"""The environment variables by which torchrun or mpirun describe the group to a process."""

from __future__ import annotations

import os

# torchrun's names, and those of MPICH and Open MPI for the same.
VARIABLES = {
    "RANK": ("PMI_RANK", "OMPI_COMM_WORLD_RANK"),
    "WORLD_SIZE": ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"),
    "LOCAL_RANK": ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "LOCAL_WORLD_SIZE": ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"),
}


def find_variable(name: str) -> int | None:
    """Return a number of the environment by torchrun's name for it, or None.

    Raises:
        ValueError: it is no number.
    """
    text = next((os.environ[n] for n in (name, *VARIABLES[name]) if os.environ.get(n)), None)
    return None if text is None else int(text)


def adopt_names() -> None:
    """Set the environment variables of torchrun, which programs read, to the values of mpirun."""
    for name in VARIABLES:
        found = find_variable(name)
        if found is not None:
            os.environ.setdefault(name, str(found))
