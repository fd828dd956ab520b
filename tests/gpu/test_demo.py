"""`python -m fxgrad.demo --device cuda`: the same private model, trained where CuPy's arrays are."""

import re
import sys

import pytest

from fxgrad.demo.training import main

SHORT = ["--short", "--no-progress", "--epochs", "1"]
TIMES = re.compile(r"[\d.]+ (ms|times)")


def report(capsys, *arguments):
    """What the demo prints, but how long things took."""
    main([*SHORT, *arguments])
    return TIMES.sub("", capsys.readouterr().out).splitlines()


def test_it_prints_what_it_prints_on_the_processor(cupy, stays, capsys):
    reported = {("host→device", "array"), ("device→host", "float"), ("device→host", "get")}
    with stays(reported):
        there = report(capsys, "--device", "cuda")
    here = report(capsys)
    assert [line for line in there if "accuracy" in line] == [line for line in here if "accuracy" in line]
    assert len([line for line in there if "ε" in line]) == 1 and len(there) == len(here)


def test_nothing_but_numbers_that_are_reported_comes_back(stand_in, capsys):
    from tests.cupy_stand_in import recording

    with recording() as record:
        report(capsys, "--device", "cuda")
    numbers = [t for t in record.to_host if t.by == "float"]
    norms = [t for t in record.to_host if t.by == "get"]
    assert (
        len(numbers) == 4 + 2 * 2 * 2
    )  # differences of gradients; losses and accuracies of two runs at two steps
    assert [t.nbytes for t in norms] == [1437 * 8] * 2
    assert len(record.to_host) == len(numbers) + len(norms)


def test_a_device_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        main(["--device", "tpu"])
    assert 'there is no device \'tpu\'; "cpu", "cuda" or "cuda:1"' in capsys.readouterr().err


def test_without_cupy_it_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(SystemExit):
        main(["--device", "cuda"])
    error = " ".join(capsys.readouterr().err.split())
    assert "needs the library cupy, which is not installed" in error and "fxgrad[cuda12]" in error
