"""Misuse as users make it: what each mistake raises, and what it tells."""

from __future__ import annotations

import re
import traceback

import pytest
import torch

import fxgrad.compat as fxt
from fxgrad.core.errors import FxgradError
from tests.parity.compat import mistakes_autograd, mistakes_layers, mistakes_operations, mistakes_transforms

TABLES = mistakes_autograd, mistakes_layers, mistakes_operations, mistakes_transforms
MISTAKES = [scenario for table in TABLES for scenario in table.mistake.found]
each = pytest.mark.parametrize("scenario", MISTAKES, ids=[f.__name__ for f in MISTAKES])

# What torch says there is of torch: its devices, structures, batching rules, the name of the operation that came last.
OWN_WORDS = {
    mistakes_operations.another_device,
    mistakes_autograd.batched_gradients_of_a_wrong_shape,
    mistakes_autograd.gradient_of_another_dtype,
    mistakes_autograd.modified_after_it_was_saved,
    mistakes_autograd.part_modified_after_the_whole_was_saved,
    mistakes_autograd.requires_grad_of_booleans,
    mistakes_transforms.vmap_in_place_into_what_is_not_batched,
    mistakes_transforms.vmap_nonzero,
    mistakes_transforms.vmap_with_too_few_in_dims,
    mistakes_transforms.vmap_with_wrong_out_dims,
}
# Where torch sends its users, which is not said here.
ELSEWHERE = re.compile(
    r" Hint: enable anomaly| ?See https| For more details| \(Example: |, please file an issue| If error is occurring"
)
INTERNAL = re.compile(r"Composite|Tape|Plan|Expr|numpy\.linalg|object at 0x")


def failure(scenario, library) -> Exception:
    with pytest.raises(Exception) as caught:
        scenario(library)
    return caught.value


def first_line(error: Exception) -> str:
    return ELSEWHERE.split(str(error).partition("\n")[0])[0].strip().rstrip(".")


@each
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_the_error_is_torch_s(scenario):
    theirs, ours = failure(scenario, torch), failure(scenario, fxt)
    assert isinstance(ours, next(c for c in type(theirs).__mro__ if c.__module__ == "builtins"))
    if scenario not in OWN_WORDS:
        assert first_line(ours) == first_line(theirs)


@each
def test_the_error_tells_the_user_s_line(scenario):
    """And nothing of the library: the traceback ends where the user called it."""
    error = failure(scenario, fxt)
    assert traceback.extract_tb(error.__traceback__)[-1].filename == scenario.__code__.co_filename
    assert not INTERNAL.search(str(error))
    if isinstance(error, FxgradError):
        assert "compat/mistakes_" in str(error)
    else:  # Python's own
        assert type(error) in (TypeError, AttributeError)


@pytest.mark.parametrize(
    ("scenario", "saved", "modified"),
    [
        (mistakes_autograd.modified_after_it_was_saved, "z = y * y", "y += 1"),
        (mistakes_autograd.result_modified_after_it_was_saved, "y = leaf(t).exp()", "y.mul_(2)"),
        (mistakes_autograd.part_modified_after_the_whole_was_saved, "z = y.sin()", "y[0] = 5.0"),
        (mistakes_autograd.constant_modified_after_it_was_saved, "y = leaf(t) * w", "w.zero_()"),
        (mistakes_autograd.weights_modified_before_backward, "y = (t.ones(2, 3) @ w) @ w", "w -= 0.1"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_what_was_modified_is_told_with_both_lines(scenario, saved, modified):
    lines = str(failure(scenario, fxt)).splitlines()
    assert lines[1].endswith(saved)
    assert lines[2].endswith(modified)
