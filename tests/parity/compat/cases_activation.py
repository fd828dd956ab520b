"""Activation functions, also at their kinks and at large arguments."""

from tests.parity.compat.case import T, case

# Where the pieces of the functions meet, beyond, and where exponentials overflow.
KINKS = T(values=[-800.0, -40.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0, 40.0, 800.0])
X = T(3, 4, low=-4.0, high=4.0)
F = "nn.functional."

PLAIN = [
    "relu",
    "relu6",
    "selu",
    "hardswish",
    "silu",
    "softsign",
    "tanhshrink",
    "logsigmoid",
    "sigmoid",
    "tanh",
]
WITH_OPTIONS = [
    ("hardtanh", {}),
    ("hardtanh", {"min_val": -2.0, "max_val": 0.5}),
    ("leaky_relu", {}),
    ("leaky_relu", {"negative_slope": 0.3}),
    ("threshold", {"threshold": 0.5, "value": -7.0}),
    ("hardshrink", {}),
    ("hardshrink", {"lambd": 1.0}),
    ("softshrink", {}),
    ("softshrink", {"lambd": 1.0}),
    ("elu", {}),
    ("elu", {"alpha": 1.7}),
    ("celu", {}),
    ("softplus", {"beta": 2.0, "threshold": 3.0}),
    ("gelu", {}),
    ("gelu", {"approximate": "tanh"}),
]
IN_PLACE = [
    ("relu_", ()),
    ("elu_", (0.5,)),
    ("selu_", ()),
    ("celu_", (0.5,)),
    ("leaky_relu_", (0.2,)),
    ("hardtanh_", (-0.5, 0.5)),
    ("threshold_", (0.1, 2.0)),
]
CASES = [
    case("special.softmax", T(2, 3), 1),
    case("special.log_softmax", T(2, 3), 0, dtype="torch.float64"),
    *(case(F + name, x) for name in PLAIN for x in (KINKS, X)),
    *(case(F + name, x, **options) for name, options in WITH_OPTIONS for x in (KINKS, X)),
    *(case(F + name, T(2, 3, grad=False), *options) for name, options in IN_PLACE),
    *(case(F + name, T(2, 3, grad=False), inplace=True) for name in ("relu", "elu", "silu", "hardswish")),
    # torch has 1/6 and 1/alpha in single precision, and no second derivative of hardsigmoid.
    *(case(F + "hardsigmoid", x, double=False, tol=1e-7) for x in (KINKS, X)),
    case(F + "celu", X, alpha=0.6, tol=1e-6),
    # torch: where the threshold is reached the second derivative is 0.
    *(case(F + "softplus", x, tol=1e-8) for x in (KINKS, X)),
    *(case(F + "mish", x) for x in (T(values=[-800.0, -40.0, 0.0, 40.0]), X)),  # torch: NaN at 800
    case(F + "relu", T(4, dtype="int64", low=-3, high=3)),
    case(F + "relu", T(values=[float("nan"), -1.0, float("inf")])),
    case("relu", X),
    case("selu", X),
    case("celu", X, alpha=2.0),
    case("threshold", X, 0.5, 1.0),
    case("hardshrink", X),
    case("prelu", T(2, 3, 4), T(3)),
    case("prelu", T(2, 3, 4), T(1)),
    case("prelu", T(), T(1)),
    case(".relu", X),
    case(".relu_", X),
    case(".prelu", T(4), T(1)),
    case(".hardshrink", X, 0.3),
    case(F + "prelu", T(3), T(1)),
    case(F + "glu", T(2, 6)),
    case(F + "glu", T(4, 3), dim=0),
    case(F + "elu", T(values=[float("nan"), -1.0], grad=False)),
    case(F + "selu", T(values=[float("nan"), -1.0], grad=False)),
    case(F + "hardtanh", T(4, dtype="int64", low=-3.0, high=4.0), -1.5, 1.5),
    case(F + "threshold", T(4, dtype="int64"), 1.5, -7.0),
    case(F + "softsign", T(4, dtype="int64")),
]
