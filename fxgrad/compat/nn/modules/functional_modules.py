"""Modules without parameters, each declared in one line: a function of nn.functional and its arguments."""

from __future__ import annotations

import inspect
from typing import Any

from .. import functional
from .module import Module


def parse_signature(signature: str) -> inspect.Signature:
    """Parse a signature such as "self, p=0.5, inplace=False"."""
    namespace: dict[str, Any] = {}
    exec(f"def function({signature}): pass", namespace)
    return inspect.signature(namespace["function"])


def functional_module(
    name: str, function: str, signature: str = "", shown: str = "", base: type = Module, trains: bool = False
) -> type:
    """Make the class of Modules that call nn.functional.`function` with the arguments of their constructor.

    Args:
        name: of the Module.
        function: of nn.functional.
        signature: the parameters of the Module, which are among those of the function.
        shown: which of them `repr` shows, by name; those in brackets by their values alone.
        base: its base class.
        trains: the function takes `training=`.
    """
    expected = parse_signature(f"self, {signature}")
    names = list(expected.parameters)[1:]

    def __init__(self, *args, **kwargs) -> None:
        try:
            given = expected.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}.__init__() {error}") from None
        given.apply_defaults()
        base.__init__(self)
        for key in names:
            setattr(self, key, given.arguments[key])

    def forward(self, *inputs) -> Any:
        options = {key: getattr(self, key) for key in names}
        if trains:
            options["training"] = self.training
        return getattr(functional, function)(*inputs, **options)

    def extra_repr(self) -> str:
        parts = [
            str(getattr(self, key[1:-1])) if key.startswith("[") else f"{key}={getattr(self, key)!r}"
            for key in shown.split()
        ]
        if "inplace" in names and "inplace" not in shown and self.inplace:
            parts.append("inplace=True")
        return ", ".join(parts)

    __init__.__signature__ = expected
    members = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__module__": __name__}
    return type(name, (base,), {**members, "__doc__": f"`nn.functional.{function}` as a Module."})


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
DROPOUTS = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]
FUNCTIONS = {"AlphaDropout": "alpha_dropout", "FeatureAlphaDropout": "feature_alpha_dropout"}

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


class PoolModule(Module):
    """A pooling window, which moves by its own size where nothing else is said."""

    stride: Any

    def __setattr__(self, name: str, value) -> None:
        super().__setattr__(name, self.kernel_size if name == "stride" and value is None else value)


PADDINGS = {"zero": "constant", "reflection": "reflect", "replication": "replicate"}


def padding_module(name: str, dims: int, mode: str, value: str = "") -> type:
    """Make the class of Modules that pad so many dimensions by `mode`; `value` is a further argument."""

    def __init__(self, padding, *given) -> None:
        Module.__init__(self)
        self.padding = (padding,) * (2 * dims) if isinstance(padding, int) else tuple(padding)
        if value:
            (self.value,) = given

    def forward(self, input) -> Any:
        return functional.pad(input, self.padding, mode, self.value if value else None)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}" if value else str(self.padding)

    members = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__module__": __name__}
    return type(
        name, (Module,), {**members, "__doc__": f"`nn.functional.pad` in the mode {mode!r} as a Module."}
    )


MODULES = {name: functional_module(name, *rest) for name, *rest in ACTIVATIONS}
MODULES["RReLU"] = functional_module(
    "RReLU", "rrelu", "lower=1 / 8, upper=1 / 3, inplace=False", "lower upper", trains=True
)
for name in DROPOUTS:
    function = FUNCTIONS.get(name, name.lower())
    MODULES[name] = functional_module(name, function, "p=0.5, inplace=False", "p inplace", trains=True)
for n in (1, 2, 3):
    for name, function, signature, shown in POOLING:
        base = PoolModule if name == "MaxPool" else Module  # LPPool is shown as it was made
        MODULES[f"{name}{n}d"] = functional_module(f"{name}{n}d", f"{function}{n}d", signature, shown, base)
    divisor = "" if n == 1 else ", divisor_override=None"
    shown = "kernel_size stride padding"
    MODULES[f"AvgPool{n}d"] = functional_module(
        f"AvgPool{n}d", f"avg_pool{n}d", AVERAGE + divisor, shown, PoolModule
    )

    MODULES[f"ConstantPad{n}d"] = padding_module(f"ConstantPad{n}d", n, "constant", "value")
    for mode in ("zero", "reflection", "replication", "circular"):
        name = f"{mode.title()}Pad{n}d"
        MODULES[name] = padding_module(name, n, PADDINGS.get(mode, mode))
globals().update(MODULES)
