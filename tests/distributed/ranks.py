"""Tests on several processes: `mpirun` runs the functions `on_ranks_…` of a module of tests on every one of them.

def on_ranks_the_sum(world):
    assert world.all_reduce(1.0) == world.size

def test_on_ranks():
    run_on_ranks(__name__, 4)
"""

import faulthandler
import os
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parent.parent.parent
PREFIX = "on_ranks_"


def mpirun():
    """The command that starts processes: that of the environment, or the machine's."""
    return which("mpirun", path=os.path.dirname(sys.executable)) or which("mpirun")


def run_on_ranks(module: str, count: int, timeout: float = 240, **environment: str) -> str:
    """Run all `on_ranks_` functions of a module on `count` processes; fail with what they print where one fails."""
    pytest.importorskip("mpi4py", reason="needs mpi4py (fxgrad[mpi])")
    if mpirun() is None:
        pytest.skip("needs mpirun, of the package mpich for instance")
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "FXGRAD_NUM_THREADS"), "1")
    result = subprocess.run(
        [mpirun(), "-n", str(count), sys.executable, "-W", "error", "-m", "tests.distributed.ranks", module],
        cwd=ROOT,
        env={**os.environ, **threads, "RANKS_TIMEOUT": str(timeout), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


def main(name: str) -> None:
    """Run the functions of a module on this process; the first that fails ends all of them. Where they wait for each
    other for ever, each says where it waits."""
    import fxgrad as fx

    faulthandler.dump_traceback_later(float(os.environ["RANKS_TIMEOUT"]) * 0.8, exit=True)

    world = fx.distributed.world()
    module = import_module(name)
    for key, function in list(vars(module).items()):
        if key.startswith(PREFIX):
            try:
                function(world)
            except BaseException:
                print(f"rank {world.rank}, {key}:\n{traceback.format_exc()}", flush=True)
                world.comm.Abort(1)
            world.barrier()


if __name__ == "__main__":
    main(sys.argv[1])
