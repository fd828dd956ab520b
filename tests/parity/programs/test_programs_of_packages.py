"""Programs in the style of packages: whichever library `import torch` means, they return the same."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

HERE = Path(__file__).parent
RUNNER = HERE / "runner.py"
PROGRAMS = sorted(p.stem for p in HERE.glob("*.py") if "\ndef run(folder)" in p.read_text())
# The seconds after which what does not come to an end is stopped.
LIMIT = 240


def start(folder, *options):
    """Run all programs in a process of their own, where Python is given these options; return the process and the file
    of results."""
    results = folder / ("ours.json" if options else "torchs.json")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", *options, RUNNER, folder, results, *PROGRAMS]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True), results


def finish(process, results):
    """Return what the programs have returned."""
    try:
        _, errors = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return json.loads(results.read_text())


def differences(torchs, ours, path=""):
    """Say where two results differ: numbers by more than rounding, all else at all."""
    if isinstance(torchs, dict) and isinstance(ours, dict):
        keys = [*torchs, *(k for k in ours if k not in torchs)]
        return [d for k in keys for d in differences(torchs.get(k), ours.get(k), f"{path}[{k!r}]")]
    if isinstance(torchs, list) and isinstance(ours, list) and len(torchs) == len(ours):
        return [d for i, pair in enumerate(zip(torchs, ours)) for d in differences(*pair, f"{path}[{i}]")]
    if isinstance(torchs, float) and isinstance(ours, float):
        # float64 throughout; steps of optimizers and of solvers add up what each operation rounds
        same = np.isclose(ours, torchs, rtol=1e-7, atol=1e-9, equal_nan=True)
    elif isinstance(torchs, str) and isinstance(ours, str):
        same = without_addresses(torchs) == without_addresses(ours)
    else:
        same = torchs == ours
    return [] if same else [f"{path}: torch {torchs!r}, here {ours!r}"]


def without_addresses(text):
    return re.sub("0x[0-9a-f]+", "0x…", text)


def test_twelve_programs_return_the_same_under_torch_and_here(tmp_path):
    """The import is the only difference. The file that a program resumes from is torch's. It is one test, so that each
    library is started once."""
    prepare = f"import resumed_checkpoint; resumed_checkpoint.prepare({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", prepare], cwd=HERE, check=True, timeout=LIMIT)
    started = [start(tmp_path), start(tmp_path, "-m", "fxgrad.compat")]
    torchs, ours = [finish(*each) for each in started]
    assert list(torchs) == list(ours) == PROGRAMS
    assert len(PROGRAMS) == 12
    failed = [
        result["error of the program"] for result in torchs.values() if "error of the program" in result
    ]
    assert not failed, "\n".join(failed)
    found = differences(torchs, ours)
    assert not found, "\n".join(found[:20])
