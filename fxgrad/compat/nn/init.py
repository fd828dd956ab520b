"""Initial values of parameters. All functions write into their Tensor, without recording, and return it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps

from .._core.tensor import Tensor
from .._declare import generated, packages
from .._make.creation import empty_like
from .._make.sampling import randperm
from ..autograd.grad_mode import no_grad
from ..errors import ArgumentValueError
from ..ops.arguments import divisors
from ..ops.comparison import where
from ..ops.decompositions import linalg_qr

GAINS = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
LINEAR = {f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3)} | {"linear", "sigmoid"}


def initializer(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Decorate a function, so that what it writes is not recorded.

    Returns:
        A function.

    >>> @torch.nn.init.initializer
    ... def fill(tensor, value):
    ...     return tensor.fill_(value)
    >>> fill(torch.zeros(2, requires_grad=True), 1.0).detach()
    tensor([1., 1.])
    """

    @generated.show_parameters
    @wraps(function)
    def wrapper(*args, **kwargs) -> Tensor:
        with no_grad():
            return function(*args, **kwargs)

    packages.complete_by_package(wrapper, "nn.init")
    return wrapper


def calculate_gain(nonlinearity: str, param=None) -> float:
    """The factor by which the standard deviation of weights makes up for a nonlinearity.

    Source: K. He et al., Delving deep into rectifiers, ICCV 2015.

    Args:
        param: the parameter of the function, such as the slope of a leaky ReLU.

    Returns:
        A float.

    Raises:
        ValueError: there is no such nonlinearity, or `param` is no number.

    >>> torch.nn.init.calculate_gain("relu") ** 2
    2.0000000000000004
    """
    if nonlinearity in LINEAR:
        return 1
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ArgumentValueError(
                f"negative_slope {param} not a valid number",
                hint="param=0.01, the slope of leaky_relu for x < 0",
            )
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in GAINS:
        raise ArgumentValueError(
            f"Unsupported nonlinearity {nonlinearity}",
            hint=f"one of {', '.join(sorted([*LINEAR, 'leaky_relu', *GAINS]))}",
        )
    return GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return (fan in, fan out): the numbers that go into each output of a layer, and the outputs of each number."""
    shape = tensor.shape
    if len(shape) < 2:
        raise ArgumentValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
            hint="torch.nn.init.normal_(x, std=…) or zeros_(x), for biases and other vectors",
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The fan that is named "fan_in" or "fan_out"."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ArgumentValueError(
            f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']",
            hint='mode="fan_in", or "fan_out"',
        )
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


# -- one distribution ------------------------------------------
@initializer
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator=None) -> Tensor:
    """Fill a Tensor with uniform numbers in [a, b).

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.uniform_(torch.empty(3))
    tensor([0.4963, 0.7682, 0.0885])
    """
    return tensor.uniform_(a, b, generator=generator)


@initializer
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator=None) -> Tensor:
    """Fill a Tensor with normal numbers.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    return tensor.normal_(mean, std, generator=generator)


@initializer
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator=None
) -> Tensor:
    """Fill a Tensor with normal numbers truncated to [a, b].

    Numbers are drawn until all lie inside: normal ones where three tenths of them do, and otherwise uniform ones, which
    are taken with a probability in proportion to the density (von Neumann, "Various techniques used in connection with
    random digits", 1951).

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.trunc_normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    if tensor.is_meta:
        return tensor
    shares = [math.erf((bound - mean) / (std * math.sqrt(2))) / 2 for bound in (a, b)]
    if shares[1] - shares[0] > 0.3:
        low, high = tensor.new_tensor([a, b], device="cpu").tolist()

        def draw(x: Tensor) -> Tensor:
            return x.normal_(mean, std, generator=generator)

        def is_outside(x: Tensor) -> Tensor:
            return (x < low) | (x > high)
    else:
        peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

        def draw(x: Tensor) -> Tensor:
            return x.uniform_(a, b, generator=generator)

        def is_outside(x: Tensor) -> Tensor:
            height = ((x - mean) / std) ** 2 * -0.5 - peak
            return empty_like(x).uniform_(generator=generator).log() > height

    pending = is_outside(draw(tensor))
    while pending.any():
        drawn = draw(empty_like(tensor))
        tensor.copy_(where(pending, drawn, tensor))
        pending = pending & is_outside(drawn)
    return tensor


@initializer
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a Tensor with one number.

    Args:
        val: the number.

    >>> torch.nn.init.constant_(torch.empty(2, 3), 3.0)
    tensor([[3., 3., 3.],
            [3., 3., 3.]])
    """
    return tensor.fill_(val)


@initializer
def ones_(tensor: Tensor) -> Tensor:
    """Fill a Tensor with ones.

    >>> torch.nn.init.ones_(torch.empty(2, 3))
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    return tensor.fill_(1)


@initializer
def zeros_(tensor: Tensor) -> Tensor:
    """Fill a Tensor with zeros.

    >>> torch.nn.init.zeros_(torch.empty(2, 3))
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return tensor.fill_(0)


# -- matched to the size of the layer ------------------------------------------
@initializer
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Fill a Tensor with uniform numbers of the variance 2 · gain² / (fan_in + fan_out).

    Source: X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural networks, AISTATS
    2010.

    Args:
        gain: a factor.

    Raises:
        ValueError: the Tensor has fewer than two dimensions.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.xavier_uniform_(torch.empty(1, 2))
    tensor([[-0.0106,  0.7586]])
    """
    bound = math.sqrt(3) * gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


@initializer
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Fill a Tensor with normal numbers of the variance 2 · gain² / (fan_in + fan_out).

    Source: X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural networks, AISTATS
    2010.

    Args:
        gain: a factor.

    Raises:
        ValueError: the Tensor has fewer than two dimensions.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.xavier_normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation gain / √fan.

    Source: K. He et al., Delving deep into rectifiers, ICCV 2015.

    Args:
        tensor: the Tensor that is filled, in place; nothing is recorded.
        a: the slope of a leaky ReLU.
        mode: "fan_in" or "fan_out": what decides the variance.
        nonlinearity: the name of the function that follows, such as "relu".

    Returns:
        A float.

    Raises:
        ValueError: the Tensor has fewer than two dimensions, or there is no such `mode`.

    >>> torch.nn.init.kaiming_std(torch.empty(3, 4), 0, "fan_in", "linear")
    0.5
    """
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@initializer
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None
) -> Tensor:
    """Fill a Tensor with uniform numbers of the variance gain² / fan; `a` is the slope of a leaky ReLU.

    Source: K. He et al., Delving deep into rectifiers, ICCV 2015.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.kaiming_uniform_(torch.empty(1, 2))
    tensor([[-0.0130,  0.9291]])
    """
    if warn_if_empty(tensor):
        return tensor
    bound = math.sqrt(3) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


@initializer
def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None
) -> Tensor:
    """Fill a Tensor with normal numbers of the variance gain² / fan; `a` is the slope of a leaky ReLU.

    Source: K. He et al., Delving deep into rectifiers, ICCV 2015.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.kaiming_normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    if warn_if_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity), generator)


def warn_if_empty(tensor: Tensor) -> bool:
    """Warn about a Tensor without entries, and return whether it is one.

    Args:
        tensor: the Tensor that is filled, in place; nothing is recorded.

    >>> torch.nn.init.warn_if_empty(torch.zeros(2))
    False
    """
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", UserWarning, stacklevel=4)
    return True


# -- matrices ------------------------------------------
def _check_matrix(tensor: Tensor) -> None:
    """Raise unless a Tensor has two dimensions."""
    ndim = len(tensor.shape)
    if ndim != 2:
        raise ArgumentValueError(
            "Only tensors with 2 dimensions are supported",
            hint="tensor.flatten(1), a view, which is filled as a matrix"
            if ndim > 2
            else "torch.nn.init.normal_, for vectors",
        )


@initializer
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere.

    Raises:
        ValueError: the Tensor is no matrix.

    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    _check_matrix(tensor)
    tensor.zero_().diagonal().fill_(1)
    return tensor


@initializer
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a Tensor with kernels of convolutions that return their input, in each of so many groups.

    Raises:
        ValueError: the Tensor has not 3 to 5 dimensions, or the first is not divisible by `groups`.

    >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    shape = tensor.shape
    if len(shape) not in (3, 4, 5):
        raise ArgumentValueError(
            "Only tensors with 3, 4, or 5 dimensions are supported", hint="torch.nn.init.eye_ for a matrix"
        )
    if shape[0] % groups:
        raise ArgumentValueError(
            "dim 0 must be divisible by groups", hint=f"groups: one of {divisors(shape[0])}"
        )
    tensor.zero_()
    count = shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for d in range(min(count, shape[1])):
            tensor[(group * count + d, d, *middle)] = 1
    return tensor


@initializer
def orthogonal_(tensor: Tensor, gain: float = 1, generator=None) -> Tensor:
    """Fill a Tensor with a random matrix of orthonormal rows or columns, times `gain`; later dimensions are one.

    Source: A. M. Saxe, J. L. McClelland, S. Ganguli, Exact solutions to the nonlinear dynamics of learning in deep
    linear neural networks, ICLR 2014.

    Raises:
        ValueError: the Tensor has fewer than two dimensions.

    >>> _ = torch.manual_seed(0)
    >>> w = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
    True
    """
    if len(tensor.shape) < 2:
        raise ArgumentValueError(
            "Only tensors with 2 or more dimensions are supported", hint="torch.nn.init.normal_, for vectors"
        )
    if 0 in tensor.shape:
        return tensor
    count = tensor.shape[0]
    flat = tensor.new_empty((count, math.prod(tensor.shape[1:]))).normal_(generator=generator)
    tall = flat.T if flat.shape[0] < flat.shape[1] else flat
    q, r = linalg_qr(tall)
    q = q * r.diagonal().sgn()  # distributed uniformly
    made = q.T if flat.shape[0] < flat.shape[1] else q
    return tensor.copy_(made.reshape(tensor.shape)).mul_(gain)


@initializer
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator=None) -> Tensor:
    """Fill a matrix with normal numbers, and this fraction of zeros in each column.

    Source: J. Martens, Deep learning via Hessian-free optimization, ICML 2010.

    Args:
        sparsity: the part of zeros in each column, from 0 to 1.

    Raises:
        ValueError: the Tensor is no matrix.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.sparse_(torch.empty(2, 3), 0.5).shape
    torch.Size([2, 3])
    """
    _check_matrix(tensor)
    rows, columns = tensor.shape
    normal_(tensor, 0, std, generator)
    for column in range(columns):
        tensor[randperm(rows, generator=generator)[: math.ceil(sparsity * rows)], column] = 0
    return tensor


# -- older names ------------------------------------------
def under_older_name(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function under its name without the underscore, which warns of that.

    Returns:
        A function.

    >>> torch.nn.init.under_older_name(torch.nn.init.zeros_).__name__
    'zeros'
    """
    new = function.__name__
    old = new.removesuffix("_")

    def wrapper(*args, **kwargs) -> Tensor:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    wrapper.__name__ = wrapper.__qualname__ = old
    wrapper.__doc__ = f"""The older name of `{new}`.

    Args:
        args, kwargs: those of `{new}`.

    Returns:
        The Tensor.

    >>> x = torch.nn.init.{old}({OF_OLDER_NAMES.get(old, "torch.empty(2, 3)")})
    >>> x.requires_grad
    False
    """
    return wrapper


# What the examples of older names call them with.
OF_OLDER_NAMES = {
    "constant": "torch.empty(2), 3.0",
    "dirac": "torch.empty(1, 1, 3)",
    "sparse": "torch.empty(2, 3), 0.5",
}


uniform, normal, constant = map(under_older_name, (uniform_, normal_, constant_))
eye, dirac, orthogonal, sparse = map(under_older_name, (eye_, dirac_, orthogonal_, sparse_))
xavier_uniform, xavier_normal = map(under_older_name, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(under_older_name, (kaiming_uniform_, kaiming_normal_))
