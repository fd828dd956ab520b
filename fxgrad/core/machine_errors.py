"""Errors about the environment of a program: libraries, devices, processes, files."""

from __future__ import annotations

from .message import FxgradError


class MissingLibraryError(FxgradError, ImportError):
    """An optional library that is not installed; the hint names the extra that installs it.

    `fxgrad.scipy` needs SciPy, arrays on a GPU CuPy, groups of processes mpi4py, pictures matplotlib,
    `fxgrad.testing`'s strategies hypothesis. `import fxgrad` needs none of them: the error comes when the first
    function does.

    >>> from fxgrad.core.library import load_library
    >>> load_library("no_such_library", "scipy", "fxgrad.scipy")
    Traceback (most recent call last):
        ...
    fxgrad.core.machine_errors.MissingLibraryError: fxgrad.scipy needs the library no_such_library, which is not ...
      at:  ...
      try: pip install 'fxgrad[scipy]'
      see: errors/MissingLibraryError, or help(fx.MissingLibraryError)

    After that command, here of a library that is there:

    >>> load_library("math", "scipy", "fxgrad.scipy").__name__
    'math'
    """


class LoadedError(FxgradError, ImportError):
    """A library that is loaded already, where `install` is to let its name mean this one: Python would go on with it.

    >>> program = '''
    ... import sys, types
    ... import fxgrad as fx
    ... sys.modules["jax"] = types.ModuleType("jax")
    ... try:
    ...     fx.install("jax")
    ... except ImportError as error:
    ...     print(error)
    ... '''
    >>> import subprocess, sys  # since a library that is loaded here has to stay
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)
    fxgrad cannot stand for jax: 'jax' (without a file) is loaded already
      at:  ...
      try: call fxgrad.install("jax") before anything imports jax, or run the program by ...
      see: errors/LoadedError, or help(fx.LoadedError)

    Install it before:

    >>> program = '''
    ... import fxgrad as fx
    ... with fx.install("jax"):
    ...     import jax.numpy as jnp
    ... print(jnp.ones(2))
    ... '''
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)
    [1. 1.]
    """


class DeviceError(FxgradError, RuntimeError):
    """A device that does not exist, or operands on different devices.

    It comes from a name that no device has ("cuda:3" on a machine with two GPUs, "cuda" without CuPy), and from an
    operation with one operand on each of two devices. Nothing is copied between devices unless you say so.

    >>> fx.device_put(1.0, "tpu")
    Traceback (most recent call last):
        ...
    fxgrad.core.machine_errors.DeviceError: there is no device 'tpu'
      at:  ...
      try: "cpu", "cuda" or "cuda:1"
      see: errors/DeviceError, or help(fx.DeviceError)

    `fx.devices()` lists those that are there.

    >>> fx.device_put(1.0, "cpu")
    array(1.)
    """


class CollectiveMismatchError(FxgradError, RuntimeError):
    """Processes that call different collectives, or the same one with operands that do not match, or a process that has
    ended while others wait for it.

    The usual reason is a branch that only some of the processes take: `if rank == 0: comm.allreduce(…)`. With checks on
    (`FXGRAD_COMM_CHECK=1`) the message says what each of them was about to do, and on which line; without them it does
    so for reductions and gathers of different shapes or dtypes.

    >>> alone = fx.distributed.Communicator()
    >>> alone.recv(np.empty(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.machine_errors.CollectiveMismatchError: recv: a group of one, and nothing was sent with tag 0
      at:  ...
      try: comm.send(x, target=0) before, or start several processes: mpirun -n 2 python program.py
      see: errors/CollectiveMismatchError, or help(fx.CollectiveMismatchError)

    Every message that is awaited must be sent:

    >>> alone.send(np.ones(3), target=0)
    >>> alone.recv(np.empty(3))
    array([1., 1., 1.])
    """


class CollectiveTimeoutError(FxgradError, TimeoutError):
    """Other processes that have not joined a collective within the time limit.

    The time is `timeout` of `fx.distributed.world`, or `FXGRAD_COMM_TIMEOUT`, in seconds. Either the others are slow,
    and the time is to be longer, or they will never come: they wait elsewhere, or have taken another branch.

    A program that `mpirun -n 2 python program.py` starts, in which rank 1 waits for what rank 0 does not send:

    >>> comm = fx.distributed.world(timeout=2.0)  # doctest: +SKIP
    >>> if comm.rank == 1:  # doctest: +SKIP
    ...     comm.recv(np.empty(3), source=0)
    Traceback (most recent call last):
        ...
    fxgrad.core.machine_errors.CollectiveTimeoutError: recv: rank 1 has waited 2 s for the others ...
      see: errors/CollectiveTimeoutError, or help(fx.CollectiveTimeoutError)

    Both have their part in it:

    >>> def pass_on(comm, x):
    ...     if comm.rank == 0:
    ...         comm.send(x, target=comm.size - 1)
    ...     if comm.rank == comm.size - 1:
    ...         return comm.recv(np.empty_like(x), source=0)
    >>> pass_on(fx.distributed.Communicator(), np.ones(3))
    array([1., 1., 1.])
    """


class CheckpointError(FxgradError, OSError):
    """Files of a training run that cannot be written, or that are all incomplete.

    A folder that is not there or not writable, a full disk, files that were cut off. Every process raises it, whichever
    of them could not write; what was saved before is untouched.

    >>> fx.distributed.Checkpoints("/dev/null/run").save(0, {"w": 1.0})
    Traceback (most recent call last):
        ...
    fxgrad.core.machine_errors.CheckpointError: save: rank 0: ...
      at:  ...
      try: what was saved before is untouched
      see: errors/CheckpointError, or help(fx.CheckpointError)

    Name a folder in which this process may write:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fx.distributed.Checkpoints(folder).save(0, {"w": 1.0})
    """
