"""Modules without parameters, each declared in one line: a function of nn.functional and its arguments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from .. import functional
from .module import Module

if TYPE_CHECKING:
    from collections.abc import Callable


def make_constructor(parameters: str, start: Callable[[Any, dict[str, Any]], None]) -> Callable[..., None]:
    """Make the `__init__` with these parameters, as in "p=0.5, inplace=False", of which start(self, options) gets the
    values by name."""
    namespace: dict[str, Any] = {}
    exec(f"def function(self, {parameters}): pass", namespace)
    signature = inspect.signature(namespace["function"])

    def __init__(self, *args, **kwargs) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__() {error}") from None
        bound.apply_defaults()
        start(self, {name: value for name, value in bound.arguments.items() if name != "self"})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def parameters_of(constructor) -> list[str]:
    """The names of the parameters of a constructor that was made so."""
    return list(constructor.__signature__.parameters)[1:]


class FunctionalModule(Module):
    """The base of Modules that call a function of nn.functional with the arguments of their constructor."""

    _function: str
    _names: list[str]
    _shown: str

    def _start(self, given: dict[str, Any]) -> None:
        super().__init__()
        for name, value in given.items():
            setattr(self, name, value)

    def forward(self, *inputs) -> Any:
        return getattr(functional, self._function)(*inputs, **self._options())

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def extra_repr(self) -> str:
        parts = [
            str(getattr(self, name[1:-1])) if name.startswith("[") else f"{name}={getattr(self, name)!r}"
            for name in self._shown.split()
        ]
        if "inplace" in self._names and "inplace" not in self._shown and self.inplace:
            parts.append("inplace=True")
        return ", ".join(parts)


class RandomModule(FunctionalModule):
    """The base of those that draw random numbers in training."""

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "training": self.training}


def functional_module(
    name: str,
    function: str,
    parameters: str = "",
    shown: str = "",
    base: type[FunctionalModule] = FunctionalModule,
) -> type:
    """Make the class of Modules that call nn.functional.`function` with the arguments of their constructor.

    Args:
        name: of the Module.
        function: of nn.functional.
        parameters: those of the Module, which are among those of the function.
        shown: which of them `repr` shows, by name; those in brackets by their values alone.
        base: its base class.
    """
    constructor = make_constructor(parameters, FunctionalModule._start)
    members = {
        "__init__": constructor,
        "__module__": __name__,
        "__doc__": f"`nn.functional.{function}` as a Module.",
        "_function": function,
        "_names": parameters_of(constructor),
        "_shown": shown,
    }
    return type(name, (base,), members)


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
    ("PairwiseDistance", "pairwise_distance", "p=2.0, eps=1e-6, keepdim=False"),
    ("Fold", "fold", "output_size, kernel_size, dilation=1, padding=0, stride=1", "output_size " + WINDOW),
    ("Unfold", "unfold", "kernel_size, dilation=1, padding=0, stride=1", WINDOW),
    ("PixelShuffle", "pixel_shuffle", "upscale_factor", "upscale_factor"),
    ("PixelUnshuffle", "pixel_unshuffle", "downscale_factor", "downscale_factor"),
]

# -- those that draw random numbers in training ------------------------------------------
RANDOM = [
    ("RReLU", "rrelu", "lower=1 / 8, upper=1 / 3, inplace=False", "lower upper"),
    *((f"Dropout{n}", f"dropout{n}", "p=0.5, inplace=False", "p inplace") for n in ("", "1d", "2d", "3d")),
    ("AlphaDropout", "alpha_dropout", "p=0.5, inplace=False", "p inplace"),
    ("FeatureAlphaDropout", "feature_alpha_dropout", "p=0.5, inplace=False", "p inplace"),
]

# -- pooling in one, two and three dimensions ------------------------------------------
POOLING = [
    (
        "MaxPool",
        "max_pool",
        "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False",
        "kernel_size stride padding dilation ceil_mode",
    ),
    ("AdaptiveAvgPool", "adaptive_avg_pool", "output_size", "output_size"),
    ("AdaptiveMaxPool", "adaptive_max_pool", "output_size, return_indices=False", "output_size"),
    (
        "LPPool",
        "lp_pool",
        "norm_type, kernel_size, stride=None, ceil_mode=False",
        "norm_type kernel_size stride ceil_mode",
    ),
]
AVERAGE = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"


class PoolModule(FunctionalModule):
    """A pooling window, which moves by its own size where nothing else is said."""

    stride: Any

    def __setattr__(self, name: str, value) -> None:
        super().__setattr__(name, self.kernel_size if name == "stride" and value is None else value)


PADDINGS = [
    ("Constant", "constant"),
    ("Zero", "constant"),
    ("Reflection", "reflect"),
    ("Replication", "replicate"),
    ("Circular", "circular"),
]


class PadModule(FunctionalModule):
    """Padding before and after the last dimensions; one number stands for all."""

    _dims: int
    _mode: str
    padding: Any

    def __setattr__(self, name: str, value) -> None:
        if name == "padding":
            value = (value,) * (2 * self._dims) if isinstance(value, int) else tuple(value)
        super().__setattr__(name, value)

    def forward(self, input) -> Any:
        return functional.pad(input, self.padding, self._mode, getattr(self, "value", None))


def pad_module(kind: str, mode: str, dims: int) -> type:
    """Make the class of Modules that pad so many dimensions."""
    base = type("PadModule", (PadModule,), {"_dims": dims, "_mode": mode})
    row = ("padding, value", "padding value") if kind == "Constant" else ("padding", "[padding]")
    return functional_module(f"{kind}Pad{dims}d", "pad", *row, base)


# -- all of them ------------------------------------------
MODULES = {name: functional_module(name, *rest) for name, *rest in ACTIVATIONS}
MODULES |= {name: functional_module(name, *rest, base=RandomModule) for name, *rest in RANDOM}
for n in (1, 2, 3):
    for name, function, parameters, shown in POOLING:
        base = PoolModule if name == "MaxPool" else FunctionalModule  # LPPool is shown as it was made
        MODULES[f"{name}{n}d"] = functional_module(f"{name}{n}d", f"{function}{n}d", parameters, shown, base)
    divisor = "" if n == 1 else ", divisor_override=None"
    shown = "kernel_size stride padding"
    MODULES[f"AvgPool{n}d"] = functional_module(
        f"AvgPool{n}d", f"avg_pool{n}d", AVERAGE + divisor, shown, PoolModule
    )

    for kind, mode in PADDINGS:
        MODULES[f"{kind}Pad{n}d"] = pad_module(kind, mode, n)
globals().update(MODULES)
