"""Operations at the edges of what they take: lists of dimensions that are empty, out of range or of two alike, counts
that are negative or zero, operands without dimensions or entries, whole numbers and truth values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import attempt, check_same

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def agree(call) -> None:
    """The call gives the same under both libraries, or raises an error of the same class."""
    ours, theirs = (attempt(lambda library=library: call(library)) for library in (fxt, torch))
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
    else:
        check_same(ours, theirs, 1e-6)


OPERANDS = {
    "matrix": lambda t: t.arange(6.0).view(2, 3),
    "number": lambda t: t.tensor(3.0),
    "empty": lambda t: t.zeros(0, 3),
    "mask": lambda t: t.arange(6).view(2, 3) > 2,
    "whole": lambda t: t.arange(6).view(2, 3),
    "complex": lambda t: t.arange(6.0).view(2, 3) * (1 - 2j),
}
DIMS = ((), (0,), (0, 1), (-1,), (0, 0), (2,), 0, -1, -3)
# Functions of one dimension, and of several.
ONE = "argmax argmin cumsum cumprod softmax log_softmax median mode max min sort argsort squeeze unbind unsqueeze"
SEVERAL = "sum mean amax amin std var any all nansum nanmean std_mean var_mean count_nonzero prod"
FOURIER = "fftn ifftn rfftn irfftn fft2"
# Where the libraries differ, by the operand.
DECIDED = {
    ("median", "mask"),  # truth values have a middle here
    ("amax", "empty"),  # the classes of the errors differ
    ("amin", "empty"),
    ("roll", "empty"),  # torch does not look at dimensions then
}


# Functions that have none of complex numbers.
REAL = "argmax argmin softmax log_softmax median mode max min sort argsort amax amin nansum nanmean"


def operands(name: str) -> list:
    """The operands on which the libraries agree."""
    return [
        make
        for operand, make in OPERANDS.items()
        if (name, operand) not in DECIDED and not (operand == "complex" and name in REAL.split())
    ]


@pytest.mark.parametrize("name", REAL.split())
def test_complex_numbers_are_refused(name):
    agree(lambda t: getattr(t, name)(OPERANDS["complex"](t), 0))


def as_one(dims):
    return dims[0] if isinstance(dims, tuple) and len(dims) == 1 else dims


@pytest.mark.parametrize("dims", DIMS, ids=str)
@pytest.mark.parametrize("name", ONE.split())
def test_one_dimension(name, dims):
    if not isinstance(as_one(dims), int):
        return
    for make in operands(name):
        agree(lambda t, make=make: getattr(t, name)(make(t), as_one(dims)))


@pytest.mark.parametrize("dims", DIMS, ids=str)
@pytest.mark.parametrize("name", SEVERAL.split())
def test_several_dimensions(name, dims):
    for make in operands(name):
        agree(lambda t, make=make: getattr(t, name)(make(t), dims))


@pytest.mark.parametrize("dims", DIMS, ids=str)
def test_order_of_entries(dims):
    for operand, make in OPERANDS.items():
        if isinstance(dims, tuple):
            agree(lambda t, make=make: t.flip(make(t), dims))
        if ("roll", operand) not in DECIDED:
            count = len(dims) if isinstance(dims, tuple) else 1
            agree(lambda t, make=make, count=count: t.roll(make(t), (1,) * count, dims))
    agree(lambda t: t.roll(OPERANDS["matrix"](t), 1, None))


@pytest.mark.parametrize("dims", [d for d in DIMS if isinstance(d, tuple)], ids=str)
@pytest.mark.parametrize("name", FOURIER.split())
def test_fourier(name, dims):
    for operand in ("matrix", "number", "complex"):
        agree(lambda t, operand=operand: getattr(t.fft, name)(OPERANDS[operand](t), dim=dims))


# Functions of a matrix x, whole numbers i and a count k.
COUNTS = {
    "split": lambda t, x, i, k: t.split(x, k),
    "chunk": lambda t, x, i, k: t.chunk(x, k, 1),
    "tensor_split": lambda t, x, i, k: t.tensor_split(x, k, 1),
    "hsplit": lambda t, x, i, k: t.hsplit(x, k),
    "topk": lambda t, x, i, k: t.topk(x, k),
    "kthvalue": lambda t, x, i, k: t.kthvalue(x, k),
    "combinations": lambda t, x, i, k: t.combinations(x[0], k),
    "combinations with replacement": lambda t, x, i, k: t.combinations(x[0], k, True),
    "diff": lambda t, x, i, k: t.diff(x, k),
    "diag": lambda t, x, i, k: t.diag(x, k),
    "diagonal": lambda t, x, i, k: t.diagonal(x, k),
    "tril": lambda t, x, i, k: t.tril(x, k),
    "narrow": lambda t, x, i, k: t.narrow(x, 1, 0, k),
    "narrow from": lambda t, x, i, k: t.narrow(x, 1, k, 1),
    "unfold": lambda t, x, i, k: x.unfold(1, k, 1),
    "unfold by": lambda t, x, i, k: x.unfold(1, 1, k),
    "one_hot": lambda t, x, i, k: t.nn.functional.one_hot(i, k),
    "vander": lambda t, x, i, k: t.vander(x[0], k),
    "linalg.vander": lambda t, x, i, k: t.linalg.vander(x, N=k),
    "eye": lambda t, x, i, k: t.eye(k),
    "linspace": lambda t, x, i, k: t.linspace(0, 1, k),
    "matrix_power": lambda t, x, i, k: t.matrix_power(x[:, 1:], k),
    "repeat": lambda t, x, i, k: x.repeat(k, 1),
    "repeat without dimensions": lambda t, x, i, k: x[0, 0].repeat(k),
    "repeat_interleave": lambda t, x, i, k: x.repeat_interleave(k),
    "tile": lambda t, x, i, k: x.tile(k),
    "expand": lambda t, x, i, k: x.expand(k, 2, 3),
    "reshape": lambda t, x, i, k: x.reshape(k, 3),
    "bincount": lambda t, x, i, k: t.bincount(i.view(-1), minlength=k),
    "histc": lambda t, x, i, k: t.histc(x, k),
    "pixel_shuffle": lambda t, x, i, k: t.nn.functional.pixel_shuffle(
        x[:1, :1, None, None].repeat(1, 4, 1, 1), k
    ),
    "avg_pool1d": lambda t, x, i, k: t.nn.functional.avg_pool1d(x[None], k),
    "max_pool1d": lambda t, x, i, k: t.nn.functional.max_pool1d(x[None], k),
    "adaptive_avg_pool1d": lambda t, x, i, k: t.nn.functional.adaptive_avg_pool1d(x[None], k),
    "adaptive_max_pool1d": lambda t, x, i, k: t.nn.functional.adaptive_max_pool1d(x[None], k),
    "interpolate": lambda t, x, i, k: t.nn.functional.interpolate(x[None], size=k),
    "interpolate by": lambda t, x, i, k: t.nn.functional.interpolate(x[None], scale_factor=k),
    "glu": lambda t, x, i, k: t.nn.functional.glu(x[:, :2], k),
    "cosine_similarity": lambda t, x, i, k: t.cosine_similarity(x, x, k),
    "normalize": lambda t, x, i, k: t.nn.functional.normalize(x, dim=k),
    "trapezoid": lambda t, x, i, k: t.trapezoid(x, dim=k),
    "quantile": lambda t, x, i, k: t.quantile(x, 0.5, k),
    "renorm": lambda t, x, i, k: t.renorm(x, 2, k, 1.0),
    "layer_norm": lambda t, x, i, k: t.nn.functional.layer_norm(x, (k,)),
}
OTHERWISE = {("adaptive_max_pool1d", -1)}  # torch has no Tensor of negative size


@pytest.mark.parametrize("k", [-1, 0, 1, 2, 3, 7])
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name, k):
    if (name, k) not in OTHERWISE:
        agree(lambda t: COUNTS[name](t, OPERANDS["matrix"](t), OPERANDS["whole"](t), k))


PADS = [
    (0, 0), (1, -1), (-1, 1), (-1, -1), (3, 0), (-3, 0), (4, 0), (-1, -2), (1, 1, -1, 1), (-1, 0, 0, -1), (1,),
    (1, 2, 3),
]  # fmt: skip


@pytest.mark.parametrize("pad", PADS, ids=str)
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding(mode, pad):
    for shape in ((2, 3), (1, 3, 4), (1, 1, 3, 4)):
        agree(lambda t, s=shape: t.nn.functional.pad(t.arange(12.0)[: t.ones(s).numel()].view(s), pad, mode))


# Functions of a library, of what has no dimensions, whole numbers, and sizes of one.
OTHERS = {
    "norm of order 0 of a number": lambda t: t.linalg.vector_norm(t.tensor(0.5), 0),
    "norm of a number along dimension 0": lambda t: t.linalg.norm(t.tensor(-0.5), 3, 0),
    "vecdot of numbers": lambda t: t.linalg.vecdot(t.tensor(2.0), t.tensor(3.0)),
    "cosine of numbers": lambda t: t.cosine_similarity(t.tensor(2.0), t.tensor(3.0), dim=0),
    "glu of a number": lambda t: t.nn.functional.glu(t.tensor(1.0)),
    "vander of a number": lambda t: t.linalg.vander(t.tensor(1.0)),
    "kl_div of numbers": lambda t: t.nn.functional.kl_div(
        t.tensor(0.5), t.tensor(0.5), reduction="batchmean"
    ),
    "softmax of whole numbers": lambda t: t.softmax(t.tensor([1, 2]), 0),
    "softmax of whole numbers in a dtype": lambda t: t.softmax(t.tensor([1, 2]), 0, dtype=t.float64),
    "logcumsumexp of whole numbers": lambda t: t.logcumsumexp(t.tensor([1, 2]), 0),
    "logaddexp of whole numbers": lambda t: t.logaddexp(t.tensor([1]), t.tensor([2])),
    "logaddexp2 of complex numbers": lambda t: t.logaddexp2(t.tensor([1j]), t.tensor([2j])),
    "poisson_nll_loss of whole numbers": lambda t: t.nn.functional.poisson_nll_loss(
        t.tensor([1]), t.tensor([2])
    ),
    "trapezoid of whole numbers": lambda t: t.trapezoid(t.tensor([1, 2]), t.tensor([1, 4])),
    "repeats that are not whole": lambda t: t.repeat_interleave(t.ones(1), t.ones(1)),
    "a table of repeats": lambda t: t.repeat_interleave(t.ones(1), t.tensor([[1]])),
    "repeats of another sum": lambda t: t.repeat_interleave(t.ones(2), t.tensor([1, 2]), output_size=4),
    "triangular systems of a batch of one": lambda t: t.linalg.solve_triangular(
        t.eye(2)[None], t.ones(1, 2), upper=True
    ),
    "a vector for a triangular system": lambda t: t.linalg.solve_triangular(t.eye(2), t.ones(2), upper=True),
    "cholesky_solve for a batch of one": lambda t: t.cholesky_solve(t.ones(1, 1), t.ones(1, 1, 1)),
    "batch_norm of a vector": lambda t: t.nn.functional.batch_norm(t.ones(3), None, None, training=True),
    "ends of linspace with dimensions": lambda t: t.linspace(t.ones(1), 2, 3),
    "binomial counts that are whole": lambda t: t.binomial(t.tensor([1]), t.tensor([0.5])),
    "binomial of two dtypes": lambda t: t.binomial(t.ones(1), t.ones(1, dtype=t.float64)),
    "a dense Tensor": lambda t: [t.ones(2).to_dense(), t.ones(2).to_dense(t.float64, masked_grad=True)],
    "a gradient that torch keeps sparse": lambda t: sparse_gradient(t),
    "products that overflow on the way": lambda t: t.cumprod(t.tensor([1e30, 1e30, 0.0, 2.0]), 0),
    "sums of single precision": lambda t: t.cumsum(t.full((3000,), 0.1), 0),
    "gradient of products beside a zero": lambda t: products(t),
    "index_select of entries": lambda t: [
        t.vmap(lambda x, i: t.index_select(x, 0, i), in_dims=dims)(
            t.ones(2) if dims[0] == 0 else t.tensor(3.0),
            t.zeros(2, 1, dtype=t.long) if dims[1] == 0 else t.tensor([0]),
        )
        for dims in ((0, 0), (0, None), (None, 0))
    ],
    "gradient of index_select of a number": lambda t: number_gradient(t),
    "gradient of an empty part": lambda t: part_gradients(t),
    "gradient of a small power": lambda t: power_gradients(t),
    "gradient of 0·log(NaN)": lambda t: slopes(t, lambda y: t.xlogy(0.0, y), [float("nan"), 2.0])[0],
    "second derivative of x·log(x) near 0": lambda t: slopes(t, lambda x: t.xlogy(x, x), [1e-30])[1],
    "gradient of the angle of NaN": lambda t: slopes(t, lambda x: x.angle(), [float("nan"), -2.0])[0],
    "a normal loss of infinite variance": lambda t: t.nn.functional.gaussian_nll_loss(
        t.zeros(2), t.ones(2), t.tensor([float("inf"), 1.0]), reduction="none"
    ),
    "half precision and a number, with a factor": lambda t: [
        f(t.ones(2, dtype=t.bfloat16), 2.0, alpha=3) for f in (t.sub, t.add, t.rsub)
    ],
    "the sum of a loss of bytes": lambda t: t.nn.functional.l1_loss(
        t.tensor([3, 2], dtype=t.uint8), t.tensor([1, 1], dtype=t.uint8), reduction="sum"
    ),
    "spectra of a window of truth values": lambda t: t.istft(
        t.ones(5, 6) * (1 + 2j), 8, window=t.ones(8, dtype=t.bool)
    ),
    "no difference of truth values": lambda t: t.diff(t.tensor([True, False]), 0),
}


def slopes(t, function, entries):
    """The first and second derivatives of an elementwise function."""
    x = t.tensor(entries, requires_grad=True)
    (first,) = t.autograd.grad(function(x).sum(), x, create_graph=True)
    return first, t.autograd.grad(first.sum(), x)[0] if first.requires_grad else None


def sparse_gradient(t):
    """The gradient of what was gathered."""
    x = t.ones(3, requires_grad=True)
    t.gather(x, 0, t.tensor([0, 0]), sparse_grad=True).sum().backward()
    return x.grad.to_dense()


def products(t):
    """The gradient of running products, one of whose factors is 0."""
    x = t.tensor([1e30, 0.0, 1e30, 1e30], requires_grad=True)
    return t.autograd.grad(t.cumprod(x, 0).sum(), x)[0]


def number_gradient(t):
    """The gradients of numbers that were selected."""
    return t.vmap(t.func.grad(lambda x, i: 3 * t.index_select(x, 0, i)))(
        t.ones(2), t.zeros(2, 1, dtype=t.long)
    )


def part_gradients(t):
    """The gradients of a join of a matrix and an empty vector."""
    parts = [t.ones(2, 3, requires_grad=True), t.ones(0, requires_grad=True)]
    return t.autograd.grad(t.cat(parts).sum(), parts)


def power_gradients(t):
    """The gradients of norms of an order below 1 where an entry is 0."""
    x = t.tensor([[0.0, 2.0]], requires_grad=True)
    results = [t.linalg.vector_norm(x, 0.5), t.norm(x, 0.5), t.cdist(x, t.zeros(1, 2), 0.5).sum()]
    return [t.autograd.grad(r, x)[0] for r in results]


# Arguments of kinds that torch refuses, or that are numbers of NumPy's, of a matrix x and an image y.
ARGUMENTS = {
    "limits that are a Tensor and a number": lambda t, x, y: t.clamp(x, t.zeros(3), 3.0),
    "limits by name that are a number and a Tensor": lambda t, x, y: x.clamp(min=0.0, max=t.ones(3)),
    "limits that are a number and a Tensor without dimensions": lambda t, x, y: t.clamp(
        x, t.tensor(1.0), 3.0
    ),
    "limits that are a Tensor and none": lambda t, x, y: t.clamp(x, t.ones(3)),
    "a float as dimension": lambda t, x, y: x.sum(1.0),
    "a truth value as dimension": lambda t, x, y: x.cumsum(True),
    "truth values as dimensions": lambda t, x, y: x.amax([True]),
    "a truth value as dimension of a join": lambda t, x, y: t.cat([x, x], dim=True),
    "a truth value as size": lambda t, x, y: x.reshape(True, 6),
    "a list of dimensions for one": lambda t, x, y: x.cumsum([1]),
    "text as dimension": lambda t, x, y: x.softmax("1"),
    "a number for whether dimensions are kept": lambda t, x, y: x.sum(1, keepdim=1),
    "a Tensor for whether dimensions are kept": lambda t, x, y: x.amax(1, keepdim=t.tensor(True)),
    "None for whether dimensions are kept": lambda t, x, y: x.mean(1, keepdim=None),
    "a float as count": lambda t, x, y: x.topk(1.0),
    "a list as slope": lambda t, x, y: t.nn.functional.elu(x, [1.0]),
    "a complex slope": lambda t, x, y: t.nn.functional.elu(x, 1j),
    "a float as stride": lambda t, x, y: t.conv2d(y, t.ones(1, 1, 2, 2), stride=1.5),
    "floats as padding": lambda t, x, y: t.conv2d(y, t.ones(1, 1, 2, 2), padding=(1.0, 1.0)),
    "a float as kernel size": lambda t, x, y: t.nn.functional.max_pool2d(y, 2.0),
    "a truth value as kernel size": lambda t, x, y: t.nn.functional.avg_pool2d(y, True),
    "floats as output size": lambda t, x, y: t.nn.functional.adaptive_avg_pool2d(y, (2.0, 2.0)),
    "a float as size": lambda t, x, y: t.nn.functional.interpolate(y, size=2.5),
    "a dimension of NumPy's": lambda t, x, y: [
        f(np.int64(1)) for f in (x.sum, x.amax, x.mean, x.std, x.all, x.squeeze, x.softmax, x.logsumexp)
    ],
    "dimensions of NumPy's": lambda t, x, y: x.sum((np.int32(0), np.int64(1)), keepdim=True),
    "a count of NumPy's": lambda t, x, y: [x.topk(np.int64(2)), t.pixel_unshuffle(y, np.int64(2))],
    "groups of NumPy's": lambda t, x, y: t.conv2d(y, t.ones(1, 1, 2, 2), groups=np.int64(1)),
    "a slope of NumPy's": lambda t, x, y: t.nn.functional.elu(x - 3, np.float32(0.5)),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_kinds_of_arguments(name):
    agree(lambda t: ARGUMENTS[name](t, OPERANDS["matrix"](t), t.arange(16.0).view(1, 1, 4, 4)))


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    agree(OTHERS[name])


# Functions of a matrix of what has no such function in torch: whole numbers or complex numbers.
FLOATING = {
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (3,)),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 3),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x),
    "huber_loss": lambda t, x: t.nn.functional.huber_loss(x, x),
    "smooth_l1_loss": lambda t, x: t.nn.functional.smooth_l1_loss(x, x),
    "multi_margin_loss": lambda t, x: t.nn.functional.multi_margin_loss(x, t.tensor([0, 1])),
    "cosine_similarity": lambda t, x: t.cosine_similarity(x, x),
    "cdist": lambda t, x: t.cdist(x, x),
    "pdist": lambda t, x: t.pdist(x),
    "histc": lambda t, x: t.histc(x),
    "histogram": lambda t, x: t.histogram(x, 3),
    "softmax": lambda t, x: t.softmax(x, 0),
}
ORDERED = {
    "cummax": lambda t, x: t.cummax(x, 0),
    "fmax": lambda t, x: t.fmax(x, x),
    "amax": lambda t, x: t.amax(x),
    "aminmax": lambda t, x: t.aminmax(x),
}


@pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
@pytest.mark.parametrize("operand", ["whole", "complex"])
def test_dtypes_that_have_no_such_function(operand, library):
    functions = FLOATING | (ORDERED if operand == "complex" else {})
    for function in functions.values():
        with pytest.raises(RuntimeError):
            function(library, OPERANDS[operand](library))


# Shapes of which batch_norm has no statistics, or which are none of a batch.
@pytest.mark.parametrize(
    "shape", [(0,), (1,), (3,), (), (2, 0), (0, 2), (1, 0), (2, 1, 0), (0, 2, 3)], ids=str
)
@pytest.mark.parametrize("training", [True, False], ids=["training", "not training"])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_batch_norm_of_shapes(shape, training, count):
    def run(t):
        weight, bias = t.full((count,), 2.0, requires_grad=True), t.full((count,), 3.0, requires_grad=True)
        x, mean, variance = t.ones(shape, requires_grad=True), t.zeros(count), t.ones(count)
        y = t.nn.functional.batch_norm(x, mean, variance, weight, bias, training)
        y.sum().backward()
        return [y, x.grad, weight.grad, bias.grad, mean, variance]

    if shape or count:  # of a number without statistics torch allocates too much
        agree(run)
    agree(lambda t: t.nn.functional.batch_norm(t.ones(shape), None, None, training=True))
    if shape and shape != (0, 2, 3):  # which torch cannot map
        agree(
            lambda t: t.vmap(lambda x: t.nn.functional.batch_norm(x, None, None, training=True))(
                t.ones(shape)
            )
        )
