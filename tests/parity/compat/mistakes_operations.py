"""Mistakes with numbers, shapes, dtypes and dimensions."""

from __future__ import annotations

import numpy as np

from tests.parity.compat.mistakes_autograd import leaf
from tests.parity.compat.scenarios import Scenarios

mistake = Scenarios()


# -- numbers and arrays ------------------------------------------


@mistake
def numpy_of_a_leaf(t):
    leaf(t).numpy()


@mistake
def numpy_function_of_a_leaf(t):
    np.asarray(leaf(t))


@mistake
def item_of_many(t):
    t.ones(2).item()


@mistake
def float_of_many(t):
    float(t.ones(2))


@mistake
def int_of_none(t):
    int(t.ones(0))


@mistake
def truth_of_many(t):
    bool(t.ones(3) > 0)


@mistake
def iteration_over_a_number(t):
    list(t.tensor(1.0))


@mistake
def index_of_a_number(t):
    t.tensor(1.0)[0]


@mistake
def tensor_of_ragged_lists(t):
    t.tensor([[1.0, 2.0], [3.0]])


@mistake
def tensor_of_text(t):
    t.tensor("a")


@mistake
def tensor_of_none(t):
    t.tensor(None)


@mistake
def unknown_attribute(t):
    leaf(t).gard  # noqa: B018


# -- shapes, dtypes, dimensions ------------------------------------------


@mistake
def shapes_that_do_not_broadcast(t):
    leaf(t) + t.ones(4)


@mistake
def shapes_that_do_not_multiply(t):
    t.ones(2, 3, requires_grad=True) @ t.ones(4, 5)


@mistake
def mm_of_vectors(t):
    t.mm(t.ones(3), t.ones(3))


@mistake
def bmm_of_matrices(t):
    t.bmm(t.ones(3, 3), t.ones(3, 3))


@mistake
def vectors_of_different_lengths(t):
    t.dot(t.ones(3), t.ones(4))


@mistake
def matmul_of_a_number(t):
    t.ones(3) @ t.tensor(2.0)


@mistake
def matmul_of_two_dtypes(t):
    t.ones(2, 2) @ t.ones(2, 2, dtype=t.float64)


@mistake
def linear_of_a_wrong_width(t):
    t.nn.functional.linear(t.ones(2, 3), t.ones(5, 4))


@mistake
def reshape_to_another_size(t):
    leaf(t).reshape(2, 2)


@mistake
def view_of_transposed(t):
    t.ones(2, 3).t().view(6)


@mistake
def reshape_with_two_unknowns(t):
    t.ones(6).reshape(-1, -1)


@mistake
def sum_over_a_missing_dimension(t):
    leaf(t).sum(dim=1)


@mistake
def softmax_over_a_missing_dimension(t):
    t.softmax(leaf(t), dim=2)


@mistake
def transpose_of_a_missing_dimension(t):
    leaf(t).transpose(0, 1)


@mistake
def permute_of_too_few(t):
    t.ones(2, 3).permute(0)


@mistake
def cat_of_different_sizes(t):
    t.cat([t.ones(2, 3), t.ones(2, 4)])


@mistake
def cat_of_nothing(t):
    t.cat([])


@mistake
def cat_of_a_tensor(t):
    t.cat(t.ones(3))


@mistake
def stack_of_different_shapes(t):
    t.stack([t.ones(2), t.ones(3)])


@mistake
def index_out_of_range(t):
    leaf(t)[3]


@mistake
def too_many_indices(t):
    leaf(t)[0, 0]


@mistake
def index_by_floats(t):
    leaf(t)[t.tensor([0.5])]


@mistake
def mask_of_another_shape(t):
    leaf(t)[t.tensor([True, False])]


@mistake
def put_of_fewer_entries(t):
    t.zeros(2, 3).put(t.tensor([0, 1]), t.tensor([1.0]))


@mistake
def greatest_of_nothing(t):
    t.tensor([]).max()


@mistake
def gather_of_another_rank(t):
    leaf(t).gather(0, t.tensor([[0]]))


@mistake
def gather_by_floats(t):
    leaf(t).gather(0, t.tensor([0.0]))


@mistake
def gather_out_of_range(t):
    leaf(t).gather(0, t.tensor([5]))


@mistake
def squeeze_of_a_missing_dimension(t):
    leaf(t).squeeze(3)


@mistake
def expand_of_two_to_three(t):
    t.ones(2).expand(3)


@mistake
def mean_of_integers(t):
    t.tensor([1, 2]).mean()


@mistake
def another_device(t):
    leaf(t).to("nonsense")


@mistake
def singular_inverse(t):
    t.linalg.inv(t.zeros(2, 2, requires_grad=True))


@mistake
def cholesky_of_an_indefinite(t):
    t.linalg.cholesky(-t.eye(2))


@mistake
def inverse_of_a_rectangle(t):
    t.linalg.inv(t.ones(2, 3))


@mistake
def loss_of_float_classes(t):
    t.nn.functional.cross_entropy(t.ones(2, 3), t.ones(2))


@mistake
def class_out_of_range(t):
    t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3]))


@mistake
def nll_of_a_wrong_batch(t):
    t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([0]))


@mistake
def embedding_by_floats(t):
    t.nn.functional.embedding(t.tensor([0.0]), t.ones(2, 3))


@mistake
def conv_of_wrong_channels(t):
    t.nn.functional.conv2d(t.ones(1, 3, 5, 5), t.ones(2, 4, 3, 3))


@mistake
def kernel_larger_than_the_image(t):
    t.nn.functional.conv2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 3, 3))


@mistake
def dropout_of_a_wrong_probability(t):
    t.nn.functional.dropout(t.ones(2), 1.5)


@mistake
def layer_norm_of_a_wrong_shape(t):
    t.nn.functional.layer_norm(t.ones(2, 3), (4,))


@mistake
def einsum_of_different_sizes(t):
    t.einsum("ij,jk->ik", t.ones(2, 3), t.ones(4, 2))


@mistake
def einsum_of_too_few(t):
    t.einsum("ij,jk->ik", t.ones(2, 3))
