"""Native code announces its kernels: all of them exist, and none is loaded before it is asked for."""

import subprocess
import sys

import pytest

from fxgrad.kernels import registry


@pytest.mark.parametrize("name", sorted(registry._homes))
def test_what_is_announced_is_there(name):
    assert callable(registry.native_function(name))


def test_kernels_over_numpy_load_no_native_kernel():
    modules = "contraction, convolution, philox, selection, special, windows"
    source = f"import sys; from fxgrad.kernels import {modules}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    native = {name for name in run.stdout.split() if name.startswith("fxgrad.kernels.native")}
    assert native == {"fxgrad.kernels.native"}
