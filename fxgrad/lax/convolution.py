"""Convolutions under the names of jax.lax: correlations of images with kernels, in any order of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from string import ascii_letters
from typing import Any, NamedTuple

from .. import numpy as fnp
from .. import ops
from ..core.errors import ShapeError
from ..core.interpreter import api_boundary
from ..core.typing import Array, ArrayLike, DType
from ..numpy.composite import composite
from ..numpy.composite import operand as array
from .reductions import multiply_in_dtype
from .shaping import pad

Padding = str | Sequence[tuple[int, int]]


class ConvDimensionNumbers(NamedTuple):
    """The axes of a convolution: those of the batch, the channels and the image in an operand (`lhs_spec`) and in the
    result (`out_spec`), and those of the features, the channels and the image in a kernel (`rhs_spec`).

    >>> fx.lax.ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)).out_spec
    (0, 3, 1, 2)
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


@api_boundary
def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """The axes of a convolution, given by strings that name each axis by a letter.

    Args:
        lhs_shape, rhs_shape: the shapes of the operands.
        dimension_numbers: three strings such as ("NHWC", "HWIO", "NHWC"): N is the batch, C are the channels, O the
            features, I the channels of the kernel. None stands for ("NCHW", "OIHW", "NCHW"), or as many axes as
            there are. What is a ConvDimensionNumbers already stays as it is.

    Raises:
        ShapeError: if strings are not as long as the shapes, or do not name the same axes.

    >>> fx.lax.conv_dimension_numbers((8, 28, 28, 3), (5, 5, 3, 16), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if len(rhs_shape) != rank or rank < 2:
        raise ShapeError(
            "convolution: lhs and rhs must have the same number of axes, at least 2, not shapes "
            f"{tuple(lhs_shape)} and {tuple(rhs_shape)}",
            hint="lhs[None] where the batch axis is missing",
        )
    given = (None,) * 3 if dimension_numbers is None else tuple(dimension_numbers)
    letters = "".join(c for c in "HWDXYZ" + ascii_letters if c not in "NCOI")[: rank - 2]
    standard = (f"NC{letters}", f"OI{letters}", f"NC{letters}")
    if len(given) != 3:
        raise ShapeError(
            f"convolution: dimension_numbers are three strings, not {dimension_numbers!r}",
            hint='("NCHW", "OIHW", "NCHW"), say: of the image, the kernel and the result',
        )
    names = [own if s is None else s for s, own in zip(given, standard)]
    found = []
    for s, first in zip(names, ("NC", "OI", "NC")):
        image = set(names[1]) - set("OI")
        if not isinstance(s, str) or len(s) != rank or set(s) != image | set(first):
            raise ShapeError(
                f"convolution: dimension_numbers {dimension_numbers!r} do not name the axes of operands of shapes "
                f"{tuple(lhs_shape)} and {tuple(rhs_shape)}",
                hint=f"{rank} letters each, the same for the image in all three, as in {standard}",
            )
        order = [c for c in names[1] if c in image]
        found.append(tuple(s.index(c) for c in (*first, *order)))
    return ConvDimensionNumbers(*found)


@api_boundary
def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """The padding (low, high) of each axis for a padding type such as "SAME".

    Args:
        in_shape, window_shape, window_strides: sizes of the operand and of the windows, and the steps between these.
        padding: "VALID" for none; "SAME" so that there are ⌈n / stride⌉ windows, the odd entry at the end, or with
            "SAME_LOWER" at the beginning.

    Raises:
        ShapeError: there is no such padding.

    >>> fx.lax.padtype_to_pads((6,), (4,), (3,), "SAME")
    [(0, 1)]
    """
    word = padding.upper() if isinstance(padding, str) else padding
    if word == "VALID":
        return [(0, 0)] * len(in_shape)
    if word not in ("SAME", "SAME_LOWER"):
        raise ShapeError(
            f"padding is 'VALID', 'SAME', 'SAME_LOWER' or pairs of numbers, not {padding!r}",
            hint="[(low, high), …], a pair for each spatial axis",
        )
    totals = [
        max((-(-n // step) - 1) * step + size - n, 0)
        for n, size, step in zip(in_shape, window_shape, window_strides)
    ]
    return [(n // 2, n - n // 2) if word == "SAME" else (n - n // 2, n // 2) for n in totals]


def numbers_per_axis(name: str, given: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """Return a parameter as one number for each axis; None stands for ones."""
    numbers = (1,) * rank if given is None else tuple(map(index, given))
    if len(numbers) != rank or any(n < least for n in numbers):
        raise ShapeError(
            f"{name} must be {rank} numbers, one for each spatial axis, and at least {least}, not {given!r}",
            hint=f"{(max(least, 1),) * rank}, say",
        )
    return numbers


def pads_per_axis(
    padding: Padding, shape: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Return the padding of each axis, given as pairs or by a word."""
    if isinstance(padding, str):
        return tuple(padtype_to_pads(shape, sizes, steps, padding))
    pairs = tuple((index(low), index(high)) for low, high in padding)
    if len(pairs) != len(shape):
        raise ShapeError(
            f"padding must be {len(shape)} pairs (low, high), one for each spatial axis, not {padding!r}",
            hint=f'"SAME", "VALID", or {[(0, 0)] * len(shape)}',
        )
    return pairs


def dilated_sizes(sizes: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Return how far windows reach with dilation − 1 entries between each two of theirs."""
    return [(n - 1) * d + 1 if n else 0 for n, d in zip(sizes, dilations)]


def invert(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse permutation."""
    return tuple(axes.index(i) for i in range(len(axes)))


@composite()
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The correlation of images with kernels: sums of products with each window, over one or any number of spatial
    axes.

    Args:
        lhs: images, (N, C, *image) unless `dimension_numbers` say otherwise.
        rhs: kernels, (O, C / feature_group_count, *window).
        window_strides: the steps between windows, one number for each spatial axis, as of all that follows.
        padding: "VALID", "SAME", "SAME_LOWER", or zeros (before, after); negative numbers cut entries off.
        lhs_dilation, rhs_dilation: put dilation − 1 zeros between the entries of images, of kernels.
        dimension_numbers: see `conv_dimension_numbers`.
        feature_group_count: of so many groups of channels each has its own features.
        batch_group_count: of so many groups of images each has its own features.
        precision: has no effect.
        preferred_element_type: the dtype of the computation and of the result.

    Returns:
        An array (N / batch_group_count, O, *image), in the dtype to which the operands promote.

    Raises:
        ShapeError: if channels, groups or the numbers of axes do not fit.

    >>> x, w = fnp.arange(5.0).reshape(1, 1, 5), fnp.ones((1, 1, 3))
    >>> fx.lax.conv_general_dilated(x, w, (2,), "SAME").ravel()
    array([1., 6., 7.])
    >>> fx.grad(lambda w: fx.lax.conv_general_dilated(x, w, (1,), "VALID").sum())(w).ravel()
    array([3., 6., 9.])
    """
    lhs, rhs = array(lhs), array(rhs)
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    rank = lhs.ndim - 2
    steps = numbers_per_axis("window_strides", window_strides, rank)
    x_dilations = numbers_per_axis("lhs_dilation", lhs_dilation, rank)
    w_dilations = numbers_per_axis("rhs_dilation", rhs_dilation, rank)
    (n, c, *image), (o, i, *window) = ([v.shape[k] for k in s] for v, s in zip((lhs, rhs), axes))
    if isinstance(padding, str) and any(d > 1 for d in x_dilations):
        raise ShapeError(
            f"conv_general_dilated: what {padding!r} means with lhs_dilation {x_dilations} is not defined",
            hint="pairs of numbers, or lax.conv_transpose",
        )
    pads = pads_per_axis(padding, image, dilated_sizes(window, w_dilations), steps)
    groups, batches = index(feature_group_count), index(batch_group_count)
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        raise ShapeError(
            f"conv_general_dilated: feature_group_count {groups} and batch_group_count {batches} must be at least 1, "
            "and one of them 1",
            hint="feature_group_count=1, batch_group_count=1, the default of both",
        )
    if c != groups * i or o % (groups * batches) or n % batches:
        raise ShapeError(
            f"conv_general_dilated: lhs of shape {lhs.shape} and rhs of shape {rhs.shape} do not fit: {c} channels in "
            f"{groups} groups, {n} images in {batches}, kernels for {i} channels and {o} features",
            hint=f"a kernel with {c // groups} input channels, or other dimension_numbers, which say where "
            "channels are",
        )

    def product(x: Any, w: Any) -> Any:
        x, w = fnp.transpose(x, axes.lhs_spec), fnp.transpose(w, axes.rhs_spec)
        inner = tuple(image) or (1,)  # without spatial axes, products of matrices
        if batches > 1:
            x = ops.reshape(x, shape=(batches, n // batches, c, *inner))
            x = ops.permute(x, axes=(1, 0, *range(2, 3 + len(inner))))
        else:
            x = ops.reshape(x, shape=(n, groups, i, *inner))
        count = groups * batches
        w = ops.reshape(w, shape=(count, o // count, i, *(tuple(window) or (1,))))
        y = ops.correlate(
            x,
            w,
            steps=steps or (1,),
            pads=pads or ((0, 0),),
            x_dilations=x_dilations or (1,),
            w_dilations=w_dilations or (1,),
        )
        y = ops.reshape(y, shape=(n // batches, o, *y.shape[3:][: rank or -1]))
        return fnp.transpose(y, invert(axes.out_spec))

    return multiply_in_dtype(lhs, rhs, preferred_element_type, product)


@composite()
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The correlation of images (N, C, *image) with kernels (O, C, *window): a case of `conv_general_dilated`.

    Args:
        lhs, rhs: images and kernels.
        window_strides, padding: as of `conv_general_dilated`.
        precision: has no effect.
        preferred_element_type: the dtype of the computation and of the result.

    >>> fx.lax.conv(fnp.ones((1, 3, 8, 8)), fnp.ones((16, 3, 3, 3)), (1, 1), "SAME").shape
    (1, 16, 8, 8)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@composite()
def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The correlation of images (N, C, *image) with kernels (O, C, *window): a case of `conv_general_dilated`.

    Args:
        lhs, rhs: images and kernels.
        window_strides, padding, lhs_dilation, rhs_dilation: as of `conv_general_dilated`.
        precision: has no effect.
        preferred_element_type: the dtype of the computation and of the result.

    >>> x, w = fnp.ones((1, 1, 4)), fnp.ones((1, 1, 2))
    >>> fx.lax.conv_with_general_padding(x, w, (1,), [(1, 0)], (1,), (2,)).ravel()
    array([1., 2., 2.])
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def transposed_pads(size: int, step: int, padding: str) -> tuple[int, int]:
    """Return the padding with which the transpose of a convolution gives the images that it takes: ⌈n / step⌉ windows
    with "SAME", of n = step times as many; with "VALID" the longest images that have no more windows."""
    low = size - 1
    if padding.upper() == "VALID":
        return low, low + max(step - size, 0)
    total = size + step - 2
    low = low if step > size - 1 else -(-total // 2)
    return low, total - low


@composite()
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: DType = None,
    use_consistent_padding: bool = False,
) -> Array:
    """The correlation of images with strides − 1 zeros between their entries, as the transpose of a convolution is one.

    Args:
        lhs: images, (N, *image, C) unless `dimension_numbers` say otherwise.
        rhs: kernels, (*window, C, O).
        strides: those of the convolution that is transposed.
        padding: "SAME" or "VALID": that of this convolution; pairs (low, high) pad the image with its zeros, or
            with `use_consistent_padding` are those of the convolution as well.
        rhs_dilation: puts dilation − 1 zeros between the entries of kernels.
        dimension_numbers: see `conv_dimension_numbers`; None stands for ("NHWC", "HWIO", "NHWC") or alike.
        transpose_kernel: reverses the kernel and swaps its channels and features, for the very transpose.
        precision: has no effect.
        preferred_element_type: the dtype of the computation and of the result.

    Raises:
        ShapeError: not one stride, dilation or pair of paddings for each spatial axis.

    >>> x, w = fnp.array([1.0, 2.0, 3.0]).reshape(1, 3, 1), fnp.array([1.0, 10.0]).reshape(2, 1, 1)
    >>> fx.lax.conv_transpose(x, w, (2,), "SAME").ravel()
    array([10.,  1., 20.,  2., 30.,  3.])
    """
    lhs, rhs = array(lhs), array(rhs)
    rank = lhs.ndim - 2
    if dimension_numbers is None:
        letters = ("HWD" + ascii_letters[:20])[: max(rank, 0)]
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    steps = numbers_per_axis("strides", strides, rank)
    dilations = numbers_per_axis("rhs_dilation", rhs_dilation, rank)
    features, channels, *image = axes.rhs_spec
    sizes = dilated_sizes([rhs.shape[i] for i in image], dilations)
    if isinstance(padding, str):
        padtype_to_pads((), (), (), padding)  # refuses other words
        pads = [transposed_pads(size, step, padding) for size, step in zip(sizes, steps)]
    else:
        pads = list(pads_per_axis(padding, image, sizes, steps))
        if use_consistent_padding:
            pads = [(size - 1 - low, size - 1 - high) for size, (low, high) in zip(sizes, pads)]
    if transpose_kernel:
        rhs = fnp.swapaxes(fnp.flip(rhs, tuple(image)), features, channels)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * rank,
        pads,
        lhs_dilation=steps,
        rhs_dilation=dilations,
        dimension_numbers=axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@composite()
def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The windows of images, each as the channels of one place of the result: the entries of each channel in order.

    Args:
        filter_shape: the sizes of the windows.
        lhs, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as of `conv_general_dilated`.
        precision: has no effect.
        preferred_element_type: the dtype of the result.

    Raises:
        ShapeError: not one stride, dilation or pair of paddings for each spatial axis.

    >>> fx.lax.conv_general_dilated_patches(fnp.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    array([[[0., 1., 2.],
            [1., 2., 3.]]])
    """
    lhs = array(lhs)
    rank = lhs.ndim - 2
    sizes = numbers_per_axis("filter_shape", filter_shape, rank, least=0)
    axes = conv_dimension_numbers(lhs.shape, (1, 1, *sizes), dimension_numbers)
    steps = numbers_per_axis("window_strides", window_strides, rank)
    x_dilations = numbers_per_axis("lhs_dilation", lhs_dilation, rank)
    dilations = numbers_per_axis("rhs_dilation", rhs_dilation, rank)
    x = fnp.transpose(lhs, axes.lhs_spec)
    image = dilated_sizes(x.shape[2:], x_dilations)
    pads = pads_per_axis(padding, image, dilated_sizes(sizes, dilations), steps)
    widths = [(low, high, d - 1) for (low, high), d in zip(pads, x_dilations)]
    x = pad(x, 0, [(0, 0, 0), (0, 0, 0), *widths])
    y = ops.windows(x, sizes=sizes, steps=steps, dilations=dilations)
    y = ops.reshape(y, shape=(x.shape[0], x.shape[1] * prod(sizes), *y.shape[2 + rank :]))
    y = fnp.transpose(y, invert(axes.out_spec))
    return y if preferred_element_type is None else fnp.astype(y, preferred_element_type)


@composite()
def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Array:
    """The correlation of images with kernels that differ from place to place.

    Args:
        rhs: the kernels, (O, C · product of filter_shape, *places of the result), the entries of windows in the
            order of `conv_general_dilated_patches`.
        filter_shape: the sizes of the windows.
        lhs, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as of `conv_general_dilated`.
        precision: has no effect.

    Raises:
        ShapeError: the kernels do not fit the windows.

    >>> x, w = fnp.arange(4.0).reshape(1, 1, 4), fnp.arange(6.0).reshape(1, 2, 3)
    >>> fx.lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    array([[[ 3.,  9., 19.]]])
    """
    lhs, rhs = array(lhs), array(rhs)
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, axes
    )
    x, w = fnp.transpose(patches, axes.out_spec), fnp.transpose(rhs, axes.rhs_spec)
    if x.shape[1:] != w.shape[1:]:
        raise ShapeError(
            f"conv_general_dilated_local: rhs of shape {rhs.shape} does not fit windows of shape {patches.shape}",
            hint="rhs with a kernel for each place: the shape of the windows but for its first axis",
        )
    image = ascii_letters[3 : x.ndim + 1]
    y = ops.contract(x, w, spec=f"ac{image},bc{image}->ab{image}")
    return fnp.transpose(y, invert(axes.out_spec))


__all__ = [
    "ConvDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_transpose",
    "conv_with_general_padding",
    "padtype_to_pads",
]
