"""Misuse of nn.functional: the class and the first line of torch's errors."""

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import ERRORS


def ones(t, *shape, dtype="float32"):
    return t.ones(shape, dtype=getattr(t, dtype))


def classes(t, *values):
    return t.tensor(values, dtype=t.int64)


# Calls that torch refuses in words that are ours, too.
SAME_WORDS = {
    "conv_channels": lambda t, F: F.conv2d(ones(t, 1, 3, 5, 5), ones(t, 2, 4, 3, 3)),
    "conv_dtypes": lambda t, F: F.conv2d(ones(t, 1, 3, 5, 5, dtype="float64"), ones(t, 2, 3, 3, 3)),
    "conv_rank": lambda t, F: F.conv2d(ones(t, 5, 5), ones(t, 2, 3, 3, 3)),
    "conv_bias": lambda t, F: F.conv1d(ones(t, 1, 3, 5), ones(t, 2, 3, 3), ones(t, 3)),
    "conv_kernel_too_large": lambda t, F: F.conv2d(ones(t, 1, 3, 2, 5), ones(t, 2, 3, 3, 3)),
    "conv_stride": lambda t, F: F.conv1d(ones(t, 1, 3, 5), ones(t, 2, 3, 3), stride=0),
    "conv_same_strided": lambda t, F: F.conv1d(ones(t, 1, 3, 5), ones(t, 2, 3, 3), stride=2, padding="same"),
    "fold_blocks": lambda t, F: F.fold(ones(t, 1, 8, 7), (4, 5), 2),
    "fold_channels": lambda t, F: F.fold(ones(t, 1, 7, 12), (4, 5), 2),
    "linear_shapes": lambda t, F: F.linear(ones(t, 2, 3), ones(t, 4, 5)),
    "bilinear_size": lambda t, F: F.bilinear(ones(t, 2, 3), ones(t, 2, 4), ones(t, 5, 3, 3)),
    "cross_entropy_batch": lambda t, F: F.cross_entropy(ones(t, 2, 3), classes(t, 0, 1, 2)),
    "cross_entropy_class": lambda t, F: F.cross_entropy(ones(t, 2, 3), classes(t, 0, 3)),
    "cross_entropy_smoothing": lambda t, F: F.cross_entropy(
        ones(t, 1, 3), classes(t, 0), label_smoothing=2.0
    ),
    "loss_reduction": lambda t, F: F.mse_loss(ones(t, 2), ones(t, 2), reduction="average"),
    "loss_shapes": lambda t, F: F.l1_loss(ones(t, 2), ones(t, 3)),
    "smooth_l1_beta": lambda t, F: F.smooth_l1_loss(ones(t, 2), ones(t, 2), beta=-1.0),
    "huber_delta": lambda t, F: F.huber_loss(ones(t, 2), ones(t, 2), delta=0.0),
    "entropy_range": lambda t, F: F.binary_cross_entropy(ones(t, 2) * 2, ones(t, 2)),
    "entropy_shapes": lambda t, F: F.binary_cross_entropy_with_logits(ones(t, 2), ones(t, 3)),
    "gaussian_variance": lambda t, F: F.gaussian_nll_loss(ones(t, 2), ones(t, 2), -ones(t, 2)),
    "one_hot_dtype": lambda t, F: F.one_hot(ones(t, 2)),
    "one_hot_negative": lambda t, F: F.one_hot(classes(t, -1, 2)),
    "one_hot_too_few": lambda t, F: F.one_hot(classes(t, 1, 2), 2),
    "embedding_range": lambda t, F: F.embedding(classes(t, 0, 4), ones(t, 4, 2)),
    "embedding_bag_mode": lambda t, F: F.embedding_bag(
        classes(t, 0), ones(t, 4, 2), classes(t, 0), mode="min"
    ),
    "embedding_bag_offsets": lambda t, F: F.embedding_bag(classes(t, 0), ones(t, 4, 2)),
    "pad_odd": lambda t, F: F.pad(ones(t, 2, 3), (1, 1, 1)),
    "pad_many": lambda t, F: F.pad(ones(t, 2), (1, 1, 1, 1)),
    "pad_reflect_far": lambda t, F: F.pad(ones(t, 1, 2, 3), (3, 0), "reflect"),
    "pad_circular_far": lambda t, F: F.pad(ones(t, 1, 2, 3), (4, 0), "circular"),
    "pad_value": lambda t, F: F.pad(ones(t, 1, 2, 3), (1, 0), "reflect", 1.0),
    "dropout_probability": lambda t, F: F.dropout(ones(t, 2), 1.5),
    "glu_odd": lambda t, F: F.glu(ones(t, 3)),
    "gelu_approximate": lambda t, F: F.gelu(ones(t, 3), approximate="exact"),
    "softmax_dim": lambda t, F: t.softmax(ones(t, 3), 1),
    "layer_norm_shape": lambda t, F: F.layer_norm(ones(t, 2, 3), (4,)),
    "layer_norm_weight": lambda t, F: F.layer_norm(ones(t, 2, 3), (3,), ones(t, 2)),
    "batch_norm_single": lambda t, F: F.batch_norm(ones(t, 1, 3), None, None, training=True),
    "batch_norm_statistics": lambda t, F: F.batch_norm(ones(t, 2, 3), None, None),
    "batch_norm_size": lambda t, F: F.batch_norm(ones(t, 2, 3), ones(t, 4), ones(t, 3)),
    "pixel_shuffle": lambda t, F: F.pixel_shuffle(ones(t, 1, 3, 2, 2), 2),
    "interpolate_nothing": lambda t, F: F.interpolate(ones(t, 1, 1, 2)),
    "interpolate_both": lambda t, F: F.interpolate(ones(t, 1, 1, 2), 3, 2.0),
    "interpolate_corners": lambda t, F: F.interpolate(ones(t, 1, 1, 2), 3, align_corners=True),
    "pdist_rank": lambda t, F: F.pdist(ones(t, 3)),
    "inplace_leaf": lambda t, F: F.relu(ones(t, 3).requires_grad_(), inplace=True),
}
# Calls of which the class of the error is torch's, but not the words.
SAME_CLASS = {
    "linear_dtypes": lambda t, F: F.linear(ones(t, 2, 3), ones(t, 4, 3, dtype="float64")),
    "group_norm_groups": lambda t, F: F.group_norm(ones(t, 2, 4), 3),
    "max_pool_padding": lambda t, F: F.max_pool1d(ones(t, 1, 4), 2, padding=2),
    "pool_too_small": lambda t, F: F.max_pool2d(ones(t, 1, 1, 1), 3),
    "interpolate_mode": lambda t, F: F.interpolate(ones(t, 1, 1, 2), 3, mode="bilinear"),
    "pad_mode": lambda t, F: F.pad(ones(t, 1, 2, 3), (1, 0), "mirror"),
    "rrelu_bounds": lambda t, F: F.rrelu(ones(t, 3), 0.5, 0.1, training=True),
    "attention_dtypes": lambda t, F: F.scaled_dot_product_attention(
        ones(t, 2, 3), ones(t, 2, 3), ones(t, 2, 3, dtype="float64")
    ),
}


def refused(call, library):
    """(class, first line) of the error of a call."""
    with pytest.raises(ERRORS) as caught:
        call(library, library.nn.functional)
    kind = next(cls for cls in ERRORS if isinstance(caught.value, cls))
    return kind, str(caught.value).partition("\n")[0].strip()


@pytest.mark.filterwarnings("ignore:Using a target size")  # of torch, before it refuses
@pytest.mark.parametrize("name", SAME_WORDS)
def test_refusals_are_in_the_same_words(name):
    call = SAME_WORDS[name]
    assert refused(call, fxt) == refused(call, torch)


@pytest.mark.parametrize("name", SAME_CLASS)
def test_refusals_have_the_same_class(name):
    call = SAME_CLASS[name]
    assert refused(call, fxt)[0] is refused(call, torch)[0]
