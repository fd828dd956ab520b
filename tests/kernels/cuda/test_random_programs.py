"""Random programs, their derivatives and batches: the groups that are made of them for GPUs give what NumPy gives, and
NVIDIA's compiler takes each of them for all processors."""

import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad as fx
from tests.kernels.native.random_programs import check_results, draw_program

from .carry_out import compile_everywhere, fuse_groups, needs_compiler, run_on_stand_in

SOME = settings(
    max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)


def check(seed, library):
    function, operands = draw_program(random.Random(seed), False)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy's, about dtypes
        try:
            before = fx.make_graph(function)(*operands)
            want = before(*operands)
        except (TypeError, ValueError, OverflowError, fx.FxgradError):  # the program is none
            return
        graph, groups = fuse_groups(before)
        compile_everywhere(groups)
        warnings.simplefilter("error", RuntimeWarning)  # kernels that do not compile
        got = run_on_stand_in(graph, library, operands)
        want = [np.asarray(w) for w in (want if isinstance(want, list | tuple) else [want])]
        check_results(got, want, before, operands)


@needs_compiler
@SOME
@given(seed=st.integers(0, 2**32))
def test_random_programs(stand_in, seed):
    check(seed, stand_in)


@needs_compiler
@pytest.mark.parametrize("seed", [331, 417])
def test_programs_that_once_failed(stand_in, seed):
    check(seed, stand_in)
