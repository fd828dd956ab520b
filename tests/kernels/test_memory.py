"""What was freed stays with the process up to a bound, once it differentiates."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fxgrad.kernels import memory

RESIDENT = """
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 >> 20
"""
on_glibc = pytest.mark.skipif(not memory.has_glibc(), reason="this is asked of glibc")


def answer(code, **environment):
    """What a program in a process of its own prints."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    plain.pop("FXGRAD_MEMORY", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=plain | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_allocated_arrays_have_shape_and_dtype():
    x = memory.allocate((3, 4), np.float32)
    assert (x.shape, x.dtype, x.flags.c_contiguous, x.flags.writeable) == ((3, 4), np.float32, True, True)


ASKED = "from fxgrad.kernels.memory import keep_freed_memory as k; print(k.cache_info().currsize)\n"


@on_glibc
def test_only_who_differentiates_asks():
    code = (
        "import numpy as np, fxgrad as fx, fxgrad.numpy as fnp\n"
        "fx.vmap(fnp.sin)(np.ones(3)); fx.jit(fnp.sin)(np.ones(3))\n"
        f"{ASKED}import fxgrad.compat as torch\n"
        f"torch.exp(torch.ones(3)).sum()\n{ASKED}"
    )
    leaf = f"x = torch.ones(3, requires_grad=True); x * x\n{ASKED}"
    assert answer(code) == ["0", "0"]
    assert answer(code + leaf) == ["0", "0", "1"]
    assert answer(code + f"fx.grad(fnp.sin)(1.0)\n{ASKED}") == ["0", "0", "1"]


@on_glibc
@pytest.mark.parametrize(
    ("environment", "kept"),
    [
        ({}, "True"),
        ({"FXGRAD_MEMORY": "system"}, "False"),
        ({"MALLOC_TRIM_THRESHOLD_": "1000000"}, "False"),
        ({"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1000000"}, "False"),
    ],
)
def test_the_environment_decides(environment, kept):
    code = "from fxgrad.kernels import memory; print(memory.keep_freed_memory())"
    assert answer(code, **environment) == [kept]


@on_glibc
def test_what_stays_is_bounded_and_steps_do_not_grow():
    code = f"""{RESIDENT}
import os
import numpy as np, fxgrad as fx, fxgrad.numpy as fnp

def step(x):
    return fx.grad(lambda x: fnp.sum(fnp.sin(x) * x))(x)

x = np.ones(40_000)
for _ in range(50):
    step(x)
before = resident()
for _ in range(2000):
    step(x)
grown = resident() - before
pieces = [np.ones((size << 20) // 8) for size in [4] * 128 + [64] * 4 + [256]]
assert resident() - before > 1000
del pieces
print(int(resident() - before <= 256 + 16 + 8), int(grown <= 8))
child = os.fork()
if not child:
    os._exit(int(step(x).shape != x.shape))
print(os.waitpid(child, 0)[1])
"""
    # LLVM would be loaded on the way, and stay.
    assert answer(code, FXGRAD_NATIVE="never") == ["1", "1", "0"]


@pytest.mark.parametrize("shape", [(), (5,), (300, 400), (3, 300, 400), (300, 3, 400), (600, 1, 600)])
def test_arrays_are_stored_in_another_order(shape):
    x = np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)
    for turned in (x, x.T, np.moveaxis(x, 0, -1) if shape else x, x.T[::-1] if shape else x):
        stored = np.empty(turned.shape, "f4")
        memory.store(stored, turned)
        np.testing.assert_array_equal(stored, turned)
