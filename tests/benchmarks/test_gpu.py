"""The benchmark of GPUs runs, and its results are NumPy's; without a GPU it says so in one line."""

import importlib.util

import pytest

from benchmarks import gpu
from tests.kernels.cuda.carry_out import needs_compiler


@needs_compiler
def test_every_program_is_in_the_table(stand_in, tmp_path, capsys):
    gpu.main(["--small", "--to", str(tmp_path)])
    [path] = tmp_path.iterdir()
    text = path.read_text()
    assert path.name == "gpu-NumPy-standing-in-for-a-GPU.md" and text in capsys.readouterr().out
    for name in gpu.PROGRAMS:
        assert f"| {name} | fxgrad |" in text and f"| {name} | fxgrad, CUDA graph |" in text


def test_another_result_ends_it():
    with pytest.raises(SystemExit, match=r"sums, torch: 5.0e-01 from NumPy's result"):
        gpu.check_equal("sums, torch", [gpu.np.array([1.0, 3.0])], [gpu.np.array([1.0, 2.0])])


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_a_gpu_it_says_so(tmp_path, capsys):
    gpu.main(["--to", str(tmp_path)])
    assert capsys.readouterr().out.count("\n") == 1 and not list(tmp_path.iterdir())
