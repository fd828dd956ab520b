"""Small functions that libraries take from torch's rooms, some of them private, answer as torch's."""

import importlib

import numpy as np
import pytest
import torch

import fxgrad.compat as fxc
from fxgrad.compat.door.modules import find_namespace

LIBRARIES = {"ours": fxc, "torch": torch}


def find(library, path: str):
    """A module of torch's under either library."""
    return importlib.import_module(f"torch.{path}") if library is torch else find_namespace(path)


def test_normal_distributions_lend_their_algebra():
    a = np.sin(np.arange(18.0)).reshape(2, 3, 3)
    matrix = a @ a.swapaxes(-1, -2) + np.eye(3)
    x = np.cos(np.arange(24.0)).reshape(4, 2, 3)
    found = []
    for library in LIBRARIES.values():
        normal = find(library, "distributions.multivariate_normal")
        m, v = library.from_numpy(matrix), library.from_numpy(x)
        factor = normal._precision_to_scale_tril(m)
        found.append((factor, normal._batch_mahalanobis(factor, v), normal._batch_mv(m, v)))
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_relaxed_distributions_are_found_before_their_transform(library):
    bernoulli = find(library, "distributions.relaxed_bernoulli").LogitRelaxedBernoulli
    categorical = find(library, "distributions.relaxed_categorical").ExpRelaxedCategorical
    half, zeros = library.tensor(0.5), library.zeros(2)
    one = bernoulli(half, logits=zeros[0]).log_prob(library.tensor(1.0))
    shares = categorical(half, logits=zeros).log_prob(half.log().expand(2))
    wanted = [-np.log(2) - 0.5 - 2 * np.log1p(np.exp(-0.5)), -3 * np.log(2)]
    np.testing.assert_allclose([one.item(), shares.item()], wanted, rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_random_states_are_taken_along_by_code_that_computes_again(library):
    checkpoint = library.utils.checkpoint
    x = library.ones(3)
    devices, states = checkpoint.get_device_states(x, [x, 2], None)
    assert (devices, states) == ([], [])
    checkpoint.set_device_states(devices, states, device_type="cuda")
    before = library.get_rng_state()
    first = library.rand(3)
    library.set_rng_state(before)
    assert library.rand(3).tolist() == first.tolist()


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_attention_takes_kernels_by_name_and_masks_of_what_precedes(library):
    attention, bias = find(library, "nn.attention"), find(library, "nn.attention.bias")
    q, k = library.ones(1, 2, 3), library.ones(1, 4, 3)
    v = library.arange(12.0).reshape(1, 4, 3)
    attend = library.nn.functional.scaled_dot_product_attention
    with attention.sdpa_kernel([attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION]):
        upper = attend(q, k, v, attn_mask=bias.causal_upper_left(2, 4))
    lower = attend(q, k, v, attn_mask=bias.causal_lower_right(2, 4))
    assert upper.tolist() == [[[0, 1, 2], [1.5, 2.5, 3.5]]]
    assert lower.tolist() == [[[3, 4, 5], [4.5, 5.5, 6.5]]]
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend or a list"):
        attention.sdpa_kernel(3).__enter__()
