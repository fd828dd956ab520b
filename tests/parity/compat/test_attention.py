"""Attention with several heads, and transformers, against torch: all options and masks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy
from tests.parity.compat.test_creation import built_in
from tests.parity.compat.test_modules import LIBRARIES, both

pytestmark = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor:UserWarning", "ignore:Support for mismatched:UserWarning"
)
LENGTH, BATCH, SIZE, HEADS = 3, 2, 4, 2
HIDDEN = "T.tensor([[False, True, False]] * 3)"
CAUSAL = "T.nn.Transformer.generate_square_subsequent_mask(3).double()"
PADDING = "T.tensor([[False, False, True], [False, True, False]])"
# (how the module is made, how it is called)
CALLS = [
    ({}, {}),
    ({"batch_first": True, "bias": False}, {"need_weights": "False"}),
    ({"add_bias_kv": True}, {"attn_mask": HIDDEN}),
    ({"add_zero_attn": True, "batch_first": True}, {"key_padding_mask": PADDING}),
    ({"kdim": 3, "vdim": 5, "add_bias_kv": True}, {"average_attn_weights": "False"}),
    ({}, {"attn_mask": "numbers(3, 3)", "key_padding_mask": "numbers(2, 3)", "need_weights": "False"}),
    (
        {"add_bias_kv": True, "add_zero_attn": True},
        {"attn_mask": "numbers(4, 3, 3)", "key_padding_mask": PADDING},
    ),
    ({}, {"attn_mask": CAUSAL, "is_causal": "True", "need_weights": "False"}),
    ({}, {"attn_mask": CAUSAL, "is_causal": "True", "key_padding_mask": PADDING}),
    ({"dropout": 1.0}, {"attn_mask": HIDDEN}),
]


def numbers_of(T):
    """A function that draws the same numbers in every library."""
    rng = np.random.default_rng(0)
    return lambda *shape: T.from_numpy(rng.standard_normal(shape))


def results_of(T, module, arguments, **masks):
    """The results, and gradients of inputs and parameters."""
    for x in arguments:
        x.requires_grad_()
    results = [y for y in module(*arguments, **masks) if y is not None]
    leaves = [*dict.fromkeys(arguments), *module.parameters()]
    return [*results, *T.autograd.grad((results[0] ** 2).sum(), leaves, allow_unused=True)]


def check_alike(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(as_numpy(a), as_numpy(b), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("made", "called"), CALLS, ids=range(len(CALLS)))
def test_options_and_masks(made, called):
    options = ", ".join(f"{name}={value}" for name, value in made.items())
    modules = dict(zip((fxt, torch), both(f"MultiheadAttention({SIZE}, {HEADS}, {options})")))
    found = []
    for T in LIBRARIES:
        numbers = numbers_of(T)
        sizes = (SIZE, made.get("kdim", SIZE), made.get("vdim", SIZE))
        lead = (BATCH, LENGTH) if made.get("batch_first") else (LENGTH, BATCH)
        masks = {name: eval(text, {"T": T, "numbers": numbers}) for name, text in called.items()}
        found.append(results_of(T, modules[T], [numbers(*lead, n) for n in sizes], **masks))
    check_alike(*found)


def test_the_same_input_thrice_and_without_a_batch():
    ours, theirs = both(f"MultiheadAttention({SIZE}, {HEADS}, batch_first=True)")
    for shape in ((BATCH, LENGTH, SIZE), (LENGTH, SIZE)):
        found = []
        for T, module in ((torch, theirs), (fxt, ours)):
            found.append(results_of(T, module, [numbers_of(T)(*shape)] * 3))
        check_alike(*found)


ATTENTION_MISUSE = [
    "m(q, q, q[0])",
    "m(q[0, 0], q, q)",
    "m(q, q, q, attn_mask=T.ones(2, 3).bool())",
    "m(q, q, q, attn_mask=T.ones(3, 3).long())",
    "m(q, q, q, attn_mask=T.ones(3, 3, 3).bool())",
    "m(q, q, q, attn_mask=T.ones(3).bool())",
    "m(q, q, q, key_padding_mask=T.ones(3, 3).bool())",
    "m(q, q, q, key_padding_mask=T.ones(3).bool())",
    "m(q, q, q, is_causal=True)",
    "m(q[..., :2], q, q)",
    "m(q, q, q[:2])",
    "T.nn.MultiheadAttention(3, 2)",
    "T.nn.MultiheadAttention(0, 2)",
    "T.nn.TransformerEncoderLayer(4, 2, activation='sine')",
    "T.nn.Transformer(4, 2, 1, 1, 5)(q, q[:, :1])",
    "T.nn.Transformer(4, 2, 1, 1, 5)(q, q[..., :2])",
]


@pytest.mark.parametrize("code", ATTENTION_MISUSE)
def test_misuse(code):
    errors = []
    for T in (fxt, torch):
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T, "m": T.nn.MultiheadAttention(4, 2), "q": T.ones(3, 2, 4)})
        errors.append(caught.value)
    assert isinstance(errors[0], built_in(errors[1]))
    assert str(errors[0]).partition("\n  at:")[0] == str(errors[1])


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_with_masks(norm_first):
    ours, theirs = both(f"Transformer(4, 2, 2, 2, 5, 0.0, 'gelu', norm_first={norm_first}, batch_first=True)")
    found = []
    for T, module in ((torch, theirs), (fxt, ours)):
        numbers = numbers_of(T)
        arguments = [numbers(2, 3, 4), numbers(2, 3, 4)]
        masks = {
            "tgt_mask": module.generate_square_subsequent_mask(3, dtype=T.float64),
            "src_key_padding_mask": eval(PADDING, {"T": T}),
            "memory_mask": numbers(3, 3),
        }
        for x in arguments:
            x.requires_grad_()
        result = module(*arguments, **masks)
        leaves = [*arguments, *module.parameters()]
        found.append([result, *T.autograd.grad((result**2).sum(), leaves)])
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
    check_alike(*found)


def test_layers_are_copies():
    for T in LIBRARIES:
        layer = T.nn.TransformerDecoderLayer(4, 2, 5)
        decoder = T.nn.TransformerDecoder(layer, 2)
        weights = [one.linear1.weight for one in (layer, *decoder.layers)]
        assert len({id(w) for w in weights}) == 3 and all(T.equal(w, weights[0]) for w in weights)
        assert layer.activation is T.nn.functional.relu and not isinstance(
            decoder.layers[0].dropout1, type(layer)
        )


@pytest.mark.parametrize("mask", ["T.tensor([[True, False, True]] * 3)", "T.tensor([[0.0, -1e9, 0.5]] * 3)"])
def test_a_mask_beside_causal_attention(mask):
    found = []
    for T in LIBRARIES:
        q = numbers_of(T)(1, 2, 3, 4)
        attend = T.nn.functional.scaled_dot_product_attention
        found.append(attend(q, q, q, attn_mask=eval(mask, {"T": T}), is_causal=True))
    check_alike(*found)
