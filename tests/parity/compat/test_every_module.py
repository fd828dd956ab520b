"""Every class of torch.nn: the same parameters give the same results, gradients, states and texts as in torch."""

from __future__ import annotations

import re
from io import BytesIO

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy, flat
from tests.parity.compat.test_modules import LIBRARIES, both, data

# A module (T.nn. is left out) and its inputs: shapes, or what is computed. What is computed of `x` is so of the shape
# that follows.
MODULES = [
    # linear maps, shapes
    ("Identity(3)", (2, 3)),
    ("Linear(3, 2)", (4, 3)),
    ("Linear(3, 2, bias=False)", (3,)),
    ("Bilinear(3, 2, 4)", (5, 3), (5, 2)),
    ("Flatten()", (2, 3, 4)),
    ("Unflatten(1, (2, 3))", (2, 6)),
    ("Fold((4, 4), 2)", (1, 4, 9)),
    ("Fold((4, 5), (2, 3), dilation=1, padding=1, stride=2)", (6, 9)),
    ("Unfold(2, stride=2)", (1, 2, 4, 4)),
    ("PixelShuffle(2)", (1, 4, 2, 2)),
    ("PixelUnshuffle(2)", (1, 1, 4, 4)),
    ("ChannelShuffle(2)", (1, 4, 2, 2)),
    # convolutions
    ("Conv1d(2, 4, 3, stride=2, padding=1)", (2, 2, 7)),
    ("Conv2d(2, 4, 3, padding='same', groups=2)", (2, 2, 5, 5)),
    ("Conv2d(2, 3, (2, 3), dilation=2, bias=False)", (1, 2, 6, 7)),
    ("Conv2d(2, 3, 3, padding=1, padding_mode='circular')", (1, 2, 5, 5)),
    ("Conv2d(2, 3, 3, padding='same', padding_mode='reflect')", (1, 2, 5, 5)),
    ("Conv3d(1, 2, 2)", (1, 1, 3, 3, 3)),
    ("ConvTranspose1d(2, 3, 3, stride=2, output_padding=1)", (2, 2, 4)),
    ("ConvTranspose2d(2, 4, 3, 2, padding=1, groups=2)", (1, 2, 4, 4)),
    ("ConvTranspose3d(1, 2, 2)", (1, 2, 2, 2)),
    # normalization
    ("LayerNorm((3, 4))", (2, 3, 4)),
    ("LayerNorm(4, bias=False)", (2, 4)),
    ("LayerNorm(4, elementwise_affine=False)", (2, 4)),
    ("RMSNorm(4)", (2, 4)),
    ("GroupNorm(2, 4)", (2, 4, 3)),
    ("LocalResponseNorm(2, 0.1, k=2.0)", (2, 4, 3)),
    # of one channel: torch's running sums over several keep the first one for good
    ("CrossMapLRN2d(3, 0.1, 0.5, 2)", (2, 1, 2, 3)),
    ("BatchNorm1d(3)", (5, 3)),
    ("BatchNorm1d(3, momentum=None)", (5, 3, 2)),
    ("BatchNorm2d(3, affine=False, momentum=0.3)", (2, 3, 2, 2)),
    ("BatchNorm2d(3, track_running_stats=False)", (2, 3, 2, 2)),
    ("BatchNorm3d(2)", (2, 2, 2, 1, 2)),
    ("SyncBatchNorm(3)", (5, 3)),
    ("InstanceNorm1d(3)", (2, 3, 5)),
    ("InstanceNorm2d(3, affine=True)", (3, 4, 4)),
    ("InstanceNorm3d(2, track_running_stats=True)", (2, 2, 2, 2, 2)),
    # activations
    ("PReLU(3)", (2, 3)),
    ("ReLU()", (2, 3)),
    ("ReLU6()", (2, 3)),
    ("SELU()", (2, 3)),
    ("CELU(0.7)", (2, 3)),
    ("LeakyReLU(0.2)", (2, 3)),
    ("ELU(alpha=0.5)", (2, 3)),
    ("GELU('tanh')", (2, 3)),
    ("SiLU()", (2, 3)),
    ("Mish()", (2, 3)),
    ("Softplus(2.0)", (2, 3)),
    ("Threshold(0.1, 20)", (2, 3)),
    ("Hardtanh(-0.5, 0.5)", (2, 3)),
    ("Hardswish()", (2, 3)),
    ("Hardsigmoid()", (2, 3)),
    ("Hardshrink()", (2, 3)),
    ("Softshrink(0.3)", (2, 3)),
    ("Tanhshrink()", (2, 3)),
    ("Softsign()", (2, 3)),
    ("LogSigmoid()", (2, 3)),
    ("Softmax(1)", (2, 3)),
    ("Softmax2d()", (2, 3, 2, 2)),
    ("Softmin(1)", (2, 3)),
    ("LogSoftmax(dim=-1)", (2, 3)),
    ("Tanh()", (2, 3)),
    ("Sigmoid()", (2, 3)),
    ("GLU()", (2, 4)),
    ("RReLU(0.2, 0.2)", (2, 3)),
    # pooling
    ("MaxPool1d(3, stride=1, padding=1)", (1, 2, 5)),
    ("MaxPool2d(2, return_indices=True)", (1, 2, 4, 4)),
    ("MaxPool3d(2, ceil_mode=True)", (1, 1, 3, 3, 3)),
    ("MaxUnpool1d(2)", (1, 2), "T.tensor([[1, 2]])"),
    ("MaxUnpool2d(2, stride=2)", (1, 1, 2, 2), "T.tensor([[[[0, 2], [9, 15]]]])"),
    ("MaxUnpool3d((1, 2, 2))", (1, 1, 1, 1, 1), "T.tensor([[[[[2]]]]])"),
    ("AvgPool1d(2)", (1, 2, 5)),
    ("AvgPool2d(2, padding=1, divisor_override=3)", (1, 2, 4, 4)),
    ("AvgPool3d(2, count_include_pad=False)", (1, 1, 2, 3, 2)),
    ("AdaptiveAvgPool1d(2)", (1, 2, 4)),
    ("AdaptiveAvgPool2d((1, None))", (1, 2, 4, 4)),
    ("AdaptiveAvgPool3d(2)", (1, 2, 3, 2, 2)),
    ("AdaptiveMaxPool1d(2)", (1, 2, 4)),
    ("AdaptiveMaxPool2d(2, return_indices=True)", (1, 2, 4, 3)),
    ("AdaptiveMaxPool3d(1)", (1, 2, 3, 2, 2)),
    ("LPPool1d(2, 3)", (1, 2, 7)),
    ("LPPool2d(2, 2)", (1, 2, 4, 4)),
    ("LPPool3d(3.0, 2)", (1, 2, 2, 2, 2)),
    ("FractionalMaxPool2d(2, output_size=(2, 3), _random_samples=T.tensor([[[0.1, 0.7]]]).double())", (1, 1, 5, 6)),
    ("FractionalMaxPool3d(2, output_ratio=0.5, return_indices=True, "
     "_random_samples=T.tensor([[[0.1, 0.7, 0.4]]]).double())", (1, 1, 5, 6, 4)),
    # padding
    ("ZeroPad1d(1)", (1, 1, 3)),
    ("ZeroPad2d((1, 0, 2, -1))", (1, 1, 2, 2)),
    ("ZeroPad3d(1)", (1, 1, 2, 2, 2)),
    ("ConstantPad1d(2, 1.5)", (1, 1, 3)),
    ("ConstantPad2d((1, 0, 2, 1), 1.5)", (2, 2)),
    ("ConstantPad3d(1, 1.5)", (1, 2, 2, 2)),
    ("ReflectionPad1d(2)", (1, 3)),
    ("ReflectionPad2d(1)", (1, 1, 3, 3)),
    ("ReflectionPad3d(1)", (1, 1, 2, 3, 3)),
    ("ReplicationPad1d((1, -1))", (1, 1, 3)),
    ("ReplicationPad2d(2)", (1, 1, 3, 3)),
    ("ReplicationPad3d(1)", (1, 1, 2, 3, 3)),
    ("CircularPad1d((1, -1))", (1, 1, 3)),
    ("CircularPad2d(1)", (1, 1, 3, 3)),
    ("CircularPad3d(1)", (1, 1, 2, 3, 3)),
    # images of another size
    ("Upsample(scale_factor=2)", (1, 2, 3)),
    ("Upsample((4, 5), mode='bicubic')", (1, 1, 3, 3)),
    ("Upsample(scale_factor=(1.5, 2.2, 1.0), mode='trilinear', recompute_scale_factor=True)", (1, 1, 3, 3, 2)),
    ("UpsamplingNearest2d(scale_factor=2)", (1, 1, 2, 3)),
    ("UpsamplingBilinear2d(size=5)", (1, 1, 2, 3)),
    # what draws random numbers, here none
    ("Dropout(0.0)", (2, 3)),
    ("Dropout1d(0.0)", (2, 3, 2)),
    ("Dropout2d(0.0, inplace=False)", (2, 3, 2, 2)),
    ("Dropout3d(1.0)", (2, 3, 1, 2, 2)),
    ("AlphaDropout(0.0)", (2, 3)),
    ("FeatureAlphaDropout(0.0)", (2, 3, 4)),
    # distances, losses
    ("CosineSimilarity()", (2, 3), (2, 3)),
    ("PairwiseDistance(1.0, keepdim=True)", (2, 3), (2, 3)),
    ("L1Loss()", (2, 3), (3,)),
    ("MSELoss(reduction='sum')", (2, 3), (2, 3)),
    ("SmoothL1Loss(beta=0.5)", (2, 3), (2, 3)),
    ("HuberLoss(delta=0.3)", (2, 3), (2, 3)),
    ("PoissonNLLLoss()", (2, 3), (2, 3)),
    ("GaussianNLLLoss(full=True)", (2, 3), (2, 3), "T.full((2, 3), 0.7).double()"),
    ("KLDivLoss(log_target=True, reduction='batchmean')", (2, 3), (2, 3)),
    ("BCELoss(T.tensor([0.5, 1.0, 2.0]).double())", "x.sigmoid()", (2, 3), "T.ones(2, 3).double()"),
    ("BCEWithLogitsLoss(pos_weight=T.tensor([0.5, 1.0, 2.0]).double())", (2, 3), "T.ones(2, 3).double()"),
    ("CrossEntropyLoss(label_smoothing=0.1)", (4, 3), "T.tensor([0, 2, 1, 0])"),
    ("CrossEntropyLoss(T.tensor([0.2, 0.3, 0.5]).double(), ignore_index=1)", (4, 3), "T.tensor([0, 2, 1, 0])"),
    ("NLLLoss(reduction='none')", (4, 3), "T.tensor([0, 2, 1, 0])"),
    ("NLLLoss2d()", (2, 3, 1, 2), "T.tensor([[[0, 2]], [[1, 0]]])"),
    ("LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True)", (2, 3), "T.tensor([[0, 3], [1, 2]])"),
    ("MultiMarginLoss(weight=T.tensor([0.2, 0.3, 0.5]).double())", (4, 3), "T.tensor([0, 2, 1, 0])"),
    ("MultiLabelMarginLoss()", (2, 3), "T.tensor([[0, 2, -1], [1, -1, 0]])"),
    ("MultiLabelSoftMarginLoss()", (2, 3), "T.ones(2, 3).double()"),
    ("SoftMarginLoss()", (2, 3), "-T.ones(2, 3).double()"),
    ("HingeEmbeddingLoss(0.5)", (2, 3), "-T.ones(2, 3).double()"),
    ("MarginRankingLoss(0.1)", (3,), (3,), "-T.ones(3).double()"),
    ("CosineEmbeddingLoss(-0.5)", (2, 3), (2, 3), "T.tensor([1, -1])"),
    ("TripletMarginLoss(margin=0.5)", (2, 3), (2, 3), (2, 3)),
    ("TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().amax(-1), swap=True)",
     (2, 3), (2, 3), (2, 3)),
    ("CTCLoss()", "x.log_softmax(-1)", (5, 1, 3), "T.tensor([[1, 2]])", "T.tensor([5])", "T.tensor([2])"),
    ("AdaptiveLogSoftmaxWithLoss(8, 9, [2, 5], div_value=2.0, head_bias=True)", (4, 8), "T.tensor([0, 8, 3, 1])"),
    # tables
    ("Embedding(5, 3, padding_idx=1)", "T.tensor([[0, 1], [4, 2]])"),
    ("EmbeddingBag(5, 3, mode='max')", "T.tensor([[0, 1], [4, 2]])"),
    # recurrent networks
    ("RNN(3, 4, 2, 'relu', bidirectional=True)", (5, 2, 3), (4, 2, 4)),
    ("LSTM(3, 4, proj_size=2, batch_first=True)", (2, 5, 3)),
    ("GRU(3, 4, bias=False)", (5, 3)),
    ("RNNCell(3, 4, nonlinearity='relu')", (2, 3), (2, 4)),
    ("LSTMCell(3, 4, bias=False)", (3,)),
    ("GRUCell(3, 4)", (2, 3), (2, 4)),
    # attention
    ("MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)", (3, 2, 4), (5, 2, 4), (5, 2, 4)),
    ("TransformerEncoderLayer(4, 2, 5, 0.0, 'gelu', norm_first=True)", (3, 2, 4)),
    ("TransformerDecoderLayer(4, 2, 5, 0.0, batch_first=True, bias=False)", (2, 3, 4), (2, 5, 4)),
    ("TransformerEncoder(T.nn.TransformerEncoderLayer(4, 2, 5, 0.0), 2, T.nn.LayerNorm(4))", (3, 2, 4)),
    ("TransformerDecoder(T.nn.TransformerDecoderLayer(4, 2, 5, 0.0), 2)", (3, 4), (5, 4)),
    ("Transformer(4, 2, 1, 1, 5, 0.0)", (3, 2, 4), (5, 2, 4)),
    # lazy modules
    ("LazyLinear(2)", (4, 3)),
    ("LazyConv1d(2, 2, 1, 1)", (2, 3, 5)),
    ("LazyConv2d(2, 2, bias=False)", (1, 3, 5, 5)),
    ("LazyConv3d(2, 2)", (3, 2, 2, 2)),
    ("LazyConvTranspose1d(2, 2, stride=2)", (2, 3, 5)),
    ("LazyConvTranspose2d(2, 2)", (1, 3, 5, 5)),
    ("LazyConvTranspose3d(2, 2)", (1, 3, 2, 2, 2)),
    ("LazyBatchNorm1d()", (5, 3)),
    ("LazyBatchNorm2d(momentum=0.2)", (2, 3, 2, 2)),
    ("LazyBatchNorm3d(affine=False)", (2, 3, 2, 2, 1)),
    ("LazyInstanceNorm1d()", (2, 3, 4)),
    ("LazyInstanceNorm2d(affine=False)", (2, 3, 2, 2)),
    ("LazyInstanceNorm3d()", (2, 3, 2, 2, 1)),
    # containers
    ("Sequential(T.nn.Linear(3, 4), T.nn.BatchNorm1d(4), T.nn.Tanh(), T.nn.Linear(4, 2))", (5, 3)),
]  # fmt: skip

# Those without a row: they hold others, and are bases; or they are tested by their own (`test_modules.py`).
WITHOUT = {
    "Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase",
}  # fmt: skip
# Machinery of torch's: for several devices, and for options of memory.
NOT_HERE = {"DataParallel"}


def public_modules(T) -> set[str]:
    """The names of all classes of modules of torch.nn."""
    return {
        name
        for name in dir(T.nn)
        if isinstance(getattr(T.nn, name), type) and issubclass(getattr(T.nn, name), T.nn.Module)
    }


def test_every_module_is_there_and_has_a_row():
    theirs = public_modules(torch) - NOT_HERE
    assert theirs <= public_modules(fxt)
    assert theirs - {re.match(r"\w+", code)[0] for code, *_ in MODULES} == WITHOUT


def make_inputs(T, inputs) -> tuple[list, list]:
    """(the arguments, the leaves among them)."""
    arguments, leaves = [], []
    change = None
    for given in inputs:
        if isinstance(given, tuple):
            leaves.append(data(T, *given).requires_grad_())
            arguments.append(leaves[-1] if change is None else eval(change, {"T": T, "x": leaves[-1]}))
            change = None
        elif re.match(r"x\b", given):
            change = given
        else:
            arguments.append(eval(given, {"T": T}))
    return arguments, leaves


def used(module, T, inputs):
    """Results, and gradients of inputs and parameters, in training and then in evaluation, and the state afterwards."""
    found = {}
    for mode in (True, False):
        module.train(mode)
        arguments, leaves = make_inputs(T, inputs)
        results = flat(module(*arguments))
        found |= {("result", i, mode): y for i, y in enumerate(results)}
        leaves += list(module.parameters())
        total = sum(
            (y * T.from_numpy(np.cos(np.arange(y.numel()) + 0.5).reshape(tuple(y.shape)))).sum()
            for y in results
            if y.requires_grad
        )
        for i, g in enumerate(T.autograd.grad(total, leaves, allow_unused=True)):
            found[i, mode] = g
    return found | dict(module.state_dict())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore:`NLLLoss2d`:FutureWarning")
@pytest.mark.parametrize("row", MODULES, ids=[code for code, *_ in MODULES])
def test_results_gradients_and_state(row):
    code, *inputs = row
    if code.startswith("Lazy"):
        theirs, ours = (eval(f"T.nn.{code}", {"T": T}).double() for T in LIBRARIES)
        assert repr(ours) == repr(theirs)
        for T, module in ((torch, theirs), (fxt, ours)):
            module(*make_inputs(T, inputs)[0])
        ours.load_state_dict(
            {name: fxt.from_numpy(v.detach().numpy().copy()) for name, v in theirs.state_dict().items()}
        )
    else:
        ours, theirs = both(code)
        assert repr(ours) == repr(theirs)
    # torch's hardsigmoid multiplies by the 1/6 of single precision.
    tol = 1e-7 if code == "Hardsigmoid()" else 1e-8
    check_use(theirs, ours, inputs, tol)


def check_use(theirs, ours, inputs, tol):
    """Assert that a module of torch's and one of ours print, compute and become the same."""
    expected, found = used(theirs, torch, inputs), used(ours, fxt, inputs)
    assert repr(ours) == repr(theirs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert found[name] is None
        else:
            assert str(found[name].dtype) == str(value.dtype)
            np.testing.assert_allclose(
                as_numpy(found[name]), as_numpy(value), rtol=tol, atol=1e-9, err_msg=str(name)
            )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore:`NLLLoss2d`:FutureWarning")
@pytest.mark.parametrize("legacy", [False, True], ids=["archive", "legacy"])
@pytest.mark.parametrize("row", MODULES, ids=[code for code, *_ in MODULES])
def test_whole_modules_are_loaded_from_files_of_torch_and_of_ours(row, legacy):
    code, *inputs = row
    if "lambda" in code:
        pytest.skip("a function without a name is in no file")
    theirs = eval(f"T.nn.{code}", {"T": torch}).double()
    if code.startswith("Lazy"):
        theirs(*make_inputs(torch, inputs)[0])
    first = load_module(save_module(torch, theirs, legacy))
    second = load_module(save_module(fxt, first, legacy))
    assert type(second) is type(first)
    check_use(theirs, second, inputs, 1e-7 if code == "Hardsigmoid()" else 1e-8)


def save_module(library, module, legacy):
    file = BytesIO()
    library.save(module, file, _use_new_zipfile_serialization=not legacy)
    file.seek(0)
    return file


def load_module(file):
    with pytest.raises(fxt.errors.UnpicklingError, match="Unsupported global"):
        fxt.load(file)
    file.seek(0)
    return fxt.load(file, weights_only=False)
