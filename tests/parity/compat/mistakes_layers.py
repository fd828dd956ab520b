"""Mistakes with the functions of layers: losses, attention, normalization, sampling."""

from __future__ import annotations

from tests.parity.compat.scenarios import Scenarios

mistake = Scenarios()


def images(t):
    return t.arange(16.0).reshape(1, 1, 4, 4)


def heads(t):
    return t.ones(2, 2, 4, 8)


# -- losses ------------------------------------------


@mistake
def weights_of_other_classes(t):
    t.nn.functional.cross_entropy(t.ones(3, 3), t.tensor([1, 0, 2]), weight=t.ones(2))


@mistake
def triplets_of_several_ranks(t):
    t.nn.functional.triplet_margin_loss(t.ones(3, 2), t.ones(3, 2), t.tensor(1.0))


@mistake
def ctc_with_longer_labels_than_there_are(t):
    labels = t.tensor([[1, 2, 2], [3, 1, 0]])
    t.nn.functional.ctc_loss(t.ones(6, 2, 4).log_softmax(2), labels, (6, 5), (4, 2))


# -- attention ------------------------------------------


@mistake
def attention_of_a_vector(t):
    t.nn.functional.scaled_dot_product_attention(t.ones(8), heads(t), heads(t))


@mistake
def attention_with_a_mask_of_integers(t):
    mask = t.ones(4, 4, dtype=t.long)
    t.nn.functional.scaled_dot_product_attention(heads(t), heads(t), heads(t), attn_mask=mask)


@mistake
def attention_with_a_mask_of_doubles(t):
    mask = t.ones(4, 4, dtype=t.double)
    t.nn.functional.scaled_dot_product_attention(heads(t), heads(t), heads(t), attn_mask=mask)


@mistake
def attention_that_drops_too_much(t):
    t.nn.functional.scaled_dot_product_attention(heads(t), heads(t), heads(t), dropout_p=2.0)


@mistake
def causal_attention_of_three_dimensions_with_a_mask(t):
    x = heads(t)[0]
    t.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=t.ones(4, 4).bool(), is_causal=True)


# -- others ------------------------------------------


@mistake
def softmax_along_no_dimension(t):
    t.nn.functional.softmax(t.ones(2), dim=3)


@mistake
def groups_of_a_vector(t):
    t.nn.functional.group_norm(t.ones(3), 3)


@mistake
def a_grid_of_another_dtype(t):
    t.nn.functional.grid_sample(images(t).double(), t.zeros(1, 2, 2, 2), align_corners=False)


@mistake
def windows_larger_than_the_image(t):
    t.nn.functional.unfold(images(t), 7)


@mistake
def bags_that_begin_late(t):
    t.nn.functional.embedding_bag(t.tensor([0, 2, 1]), t.ones(5, 2), t.tensor([1, 2]))
