"""Native code announces its kernels: all of them exist, and none is loaded before it is asked for."""

import subprocess
import sys

import pytest

from fxgrad.kernels.native.announcement import FUNCTIONS
from fxgrad.kernels.registry import native_function


@pytest.mark.parametrize("name", [f"{file}.{name}" for file in FUNCTIONS for name in FUNCTIONS[file].split()])
def test_what_is_announced_is_there(name):
    assert callable(native_function(name))


def test_what_is_not_announced_is_an_error():
    with pytest.raises(KeyError):
        native_function("pool.pic")


def test_kernels_over_numpy_load_no_native_kernel():
    modules = "contraction, convolution, philox, selection, special, windows"
    source = f"import sys; from fxgrad.kernels import {modules}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert not any(name.startswith("fxgrad.kernels.native") for name in run.stdout.split())
