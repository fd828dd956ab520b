"""Settings at the start of scripts, constants, and windows."""

from __future__ import annotations

import math

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()


@scenario
def threads(torch):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    now = torch.get_num_threads()
    torch.set_num_threads(before)
    return now


@scenario
def threads_are_a_positive_number(torch):
    torch.set_num_threads(0)


@scenario
def threads_are_an_integer(torch):
    torch.set_num_threads(1.0)


@scenario
def determinism(torch):
    found = [torch.are_deterministic_algorithms_enabled()]
    torch.use_deterministic_algorithms(True, warn_only=True)
    found += [
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    ]
    torch.use_deterministic_algorithms(False)
    return *found, torch.are_deterministic_algorithms_enabled()


@scenario
def precision_of_products(torch):
    torch.set_float32_matmul_precision("high")
    found = torch.get_float32_matmul_precision()
    with pytest.warns(UserWarning, match="is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("low")
    torch.set_float32_matmul_precision("highest")
    return found


@scenario
def backends(torch):
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = False
    return torch.backends.mps.is_available(), torch.backends.cudnn.benchmark


@scenario
def constants(torch):
    x = torch.arange(2.0)
    return torch.pi, torch.e, torch.inf, math.isnan(torch.nan), x[torch.newaxis]


@scenario
def functions_in_place(torch):
    x = torch.tensor([0.3, 0.7])
    y = torch.clamp_(torch.exp_(torch.sin_(x)), max=1.5)
    return y is x, x


@scenario
def detaching_function_in_place(torch):
    y = torch.ones(2, requires_grad=True) * 2
    return torch.detach_(y) is y, y


@scenario.each()
def test_alike(scenario):
    check(scenario)


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 5, 6])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_window(name, length, periodic):
    def made(torch):
        make = getattr(torch, f"{name}_window")
        return make(length, periodic), make(length, periodic, dtype=torch.float64, requires_grad=True)

    check(made)


@pytest.mark.parametrize("options", [{"alpha": 0.5}, {"alpha": 0.5, "beta": 0.3}])
def test_hamming_window_of_other_factors(options):
    check(lambda torch: torch.hamming_window(5, True, **options))


def test_windows_of_other_kinds_are_refused():
    check(lambda torch: torch.hann_window(-1))
    for library in (torch, fxt):
        with pytest.raises(RuntimeError, match="expects floating point dtypes"):
            library.hann_window(3, dtype=library.int64)
