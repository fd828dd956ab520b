"""Kernels, CUDA graphs and the profiler on a GPU: what tests/kernels/cuda asks CuPy's stand-in, asked CuPy."""

import pytest

from tests.kernels.cuda.test_capture import (  # noqa: F401
    test_a_training_loop_is_that_without_a_graph,
    test_other_shapes_have_graphs_of_their_own,
    test_python_numbers_are_refused,
    test_what_takes_the_host_is_refused,
)
from tests.kernels.cuda.test_cuda import (  # noqa: F401
    test_a_group_gives_what_its_equations_give,
    test_every_function_gives_what_numpy_gives,
    test_every_reduction_of_every_dtype,
    test_gradients_of_rows,
    test_long_reductions_are_taken_by_many_threads,
    test_nothing_is_launched_for_no_entries,
    test_operands_of_any_layout,
    test_rows_are_reduced_by_threads_that_wait_for_one_another,
    test_rows_over_several_axes,
)

from .conftest import find_cupy

if find_cupy() is None:
    pytest.skip("there is no GPU that CuPy finds", allow_module_level=True)


@pytest.fixture
def stand_in():
    """CuPy itself."""
    return find_cupy()
