"""Random programs, their derivatives and batches: machine code, tiles and NumPy's functions give the same."""

import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad as fx
from fxgrad.kernels.native import engine

from .random_programs import check_results, draw_program, set_way

WAYS = ["always", "never"] if engine.mode() != "never" else ["never"]
SEEDS = st.integers(0, 2**32)
SOME = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def check(seed, mode, with_complex):
    function, operands = draw_program(random.Random(seed), with_complex)
    with np.errstate(all="ignore"), warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of NumPy's, about dtypes
        try:
            *_, before, _ = fx.jit(function).lower(*operands).passes.values()
            want = before(*operands)
        except (TypeError, ValueError, OverflowError, fx.FxgradError):  # the program is none
            return
        set_way(patch, mode)
        got = fx.jit(function)(*operands)
        check_results(fx.tree.leaves(got), want, before, operands)


@pytest.mark.parametrize("with_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("mode", WAYS)
@SOME
@given(seed=SEEDS)
def test_random_programs(mode, with_complex, seed):
    check(seed, mode, with_complex)
