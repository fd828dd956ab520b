"""Modules without parameters, each declared in one line: a function of nn.functional and its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._declare.constructors import make_constructor, parameters_of
from ..._declare.late_text import complete_late
from ...errors import ArgumentValueError
from ...ops.nn.dropout import check_probability
from .. import functional
from .module import Module


class FunctionalModule(Module):
    """The base of Modules that call a function of nn.functional with the arguments of their constructor."""

    _fx_function: str
    _fx_names: Sequence[str]

    def _fx_start(self, given: dict[str, Any]) -> None:
        super().__init__()
        for name, value in given.items():
            setattr(self, name, value)

    def forward(self, *inputs) -> Any:
        return getattr(functional, self._fx_function)(*inputs, **self._fx_options())

    def _fx_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fx_names}

    def extra_repr(self) -> str:
        text = super().extra_repr()
        if "inplace" in self._fx_names and "inplace" not in self._fx_shown and self.inplace:
            return f"{text}, inplace=True" if text else "inplace=True"
        return text


class RandomModule(FunctionalModule):
    """The base of modules that draw random numbers in training."""

    def _fx_options(self) -> dict[str, Any]:
        return {**super()._fx_options(), "training": self.training}


class NormModule(FunctionalModule):
    """The base of distances in the p-norm, which have `p` as `norm`."""

    norm: float

    def _fx_start(self, given: dict[str, Any]) -> None:
        super()._fx_start({"norm" if name == "p" else name: value for name, value in given.items()})

    def _fx_options(self) -> dict[str, Any]:
        return {name: getattr(self, "norm" if name == "p" else name) for name in self._fx_names}


class _DropoutNd(RandomModule):
    """The base of modules that drop entries in training, with probability `p`.

    Raises:
        ValueError: `p` is not between 0 and 1.
    """

    p: float
    inplace: bool

    def _fx_start(self, given: dict[str, Any]) -> None:
        check_probability(given["p"])
        super()._fx_start(given)


def functional_module(
    name: str,
    function: str,
    parameters: str = "",
    shown: str = "",
    base: type[FunctionalModule] = FunctionalModule,
    place: str = __name__,
) -> type:
    """Make the class of Modules that call nn.functional.`function` with the arguments of their constructor.

    Args:
        name: of the Module.
        function: of nn.functional.
        parameters: those of the Module, which are among those of the function.
        shown: which of them `repr` shows, by name; those in brackets by their values alone.
        base: its base class.
        place: the name of the file where it is found.
    """
    constructor = make_constructor(parameters, base._fx_start)
    members = {
        "__init__": constructor,
        "__module__": place,
        "_fx_function": function,
        "_fx_names": parameters_of(constructor),
        "_fx_shown": shown,
    }
    made = type(name, (base,), members)
    complete_late(made)
    return made


WINDOW = "kernel_size dilation padding stride"
# -- activations and the like: name, function, parameters, what repr shows ------------------------------------------
ACTIVATIONS = [
    ("ReLU", "relu", "inplace=False"),
    ("ReLU6", "relu6", "inplace=False"),
    ("SELU", "selu", "inplace=False"),
    ("SiLU", "silu", "inplace=False"),
    ("Mish", "mish", "inplace=False"),
    ("Hardswish", "hardswish", "inplace=False"),
    ("Hardsigmoid", "hardsigmoid", "inplace=False"),
    ("Hardtanh", "hardtanh", "min_val=-1.0, max_val=1.0, inplace=False", "min_val max_val"),
    ("ELU", "elu", "alpha=1.0, inplace=False", "alpha"),
    ("CELU", "celu", "alpha=1.0, inplace=False", "alpha"),
    ("LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False", "negative_slope"),
    ("Threshold", "threshold", "threshold, value, inplace=False", "threshold value"),
    ("GELU", "gelu", "approximate='none'", "approximate"),
    ("Softplus", "softplus", "beta=1.0, threshold=20.0", "beta threshold"),
    ("Softshrink", "softshrink", "lambd=0.5", "[lambd]"),
    ("Hardshrink", "hardshrink", "lambd=0.5", "[lambd]"),
    ("GLU", "glu", "dim=-1", "dim"),
    ("Softmax", "softmax", "dim=None", "dim"),
    ("Softmin", "softmin", "dim=None", "dim"),
    ("LogSoftmax", "log_softmax", "dim=None", "dim"),
    ("Tanh", "tanh"),
    ("Sigmoid", "sigmoid"),
    ("LogSigmoid", "logsigmoid"),
    ("Softsign", "softsign"),
    ("Tanhshrink", "tanhshrink"),
    ("CosineSimilarity", "cosine_similarity", "dim=1, eps=1e-8"),
    ("Fold", "fold", "output_size, kernel_size, dilation=1, padding=0, stride=1", "output_size " + WINDOW),
    ("Unfold", "unfold", "kernel_size, dilation=1, padding=0, stride=1", WINDOW),
    ("PixelShuffle", "pixel_shuffle", "upscale_factor", "upscale_factor"),
    ("PixelUnshuffle", "pixel_unshuffle", "downscale_factor", "downscale_factor"),
    ("ChannelShuffle", "channel_shuffle", "groups", "groups"),
    ("LocalResponseNorm", "local_response_norm", "size, alpha=1e-4, beta=0.75, k=1.0", "[size] alpha beta k"),
]

# -- those that draw random numbers in training ------------------------------------------
RANDOM = [
    ("RReLU", "rrelu", "lower=1 / 8, upper=1 / 3, inplace=False", "lower upper"),
    *((f"Dropout{n}", f"dropout{n}", "p=0.5, inplace=False", "p inplace") for n in ("", "1d", "2d", "3d")),
    ("AlphaDropout", "alpha_dropout", "p=0.5, inplace=False", "p inplace"),
    ("FeatureAlphaDropout", "feature_alpha_dropout", "p=0.5, inplace=False", "p inplace"),
]

# -- all of them ------------------------------------------
MODULES = {name: functional_module(name, *rest) for name, *rest in ACTIVATIONS}
MODULES |= {name: functional_module(name, *rest, base=RandomModule) for name, *rest in RANDOM[:1]}
MODULES |= {name: functional_module(name, *rest, base=_DropoutNd) for name, *rest in RANDOM[1:]}
MODULES["PairwiseDistance"] = functional_module(
    "PairwiseDistance", "pairwise_distance", "p=2.0, eps=1e-6, keepdim=False", base=NormModule
)
globals().update(MODULES)


class Softmax2d(Module):
    """The softmax over the channels of images (N, C, H, W) or (C, H, W).

    Args:
        args: nothing.
        kwargs: nothing.

    Raises:
        ValueError: the input has another number of dimensions.

    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).view(-1)
    tensor([0.5000, 0.5000])
    """

    def forward(self, input) -> Any:
        """The softmax over the channels of (N, C, H, W) or (C, H, W); ValueError of other shapes."""
        if input.dim() not in (3, 4):
            raise ArgumentValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead",
                hint="torch.nn.Softmax(dim=-3), for any number of dimensions",
            )
        return functional.softmax(input, -3)


class CrossMapLRN2d(Module):
    """The response normalization x/(k + alpha·m)^beta for images, with the sum m of the squares of the neighbouring
    channels divided by `size`. There are (size − 1) // 2 neighbours on each side.

    Source: A. Krizhevsky, I. Sutskever, G. E. Hinton, ImageNet classification with deep convolutional neural
    networks, NeurIPS 2012.

    Args:
        size: of the neighbourhood.
        alpha, beta, k: see above.

    >>> torch.nn.CrossMapLRN2d(3)(torch.ones(1, 4, 2, 2)).shape
    torch.Size([1, 4, 2, 2])
    """

    _fx_shown = "[size] alpha beta k"

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input) -> Any:
        width = 2 * ((self.size - 1) // 2) + 1  # of size alike where that is odd
        return functional.local_response_norm(input, width, self.alpha * width / self.size, self.beta, self.k)
