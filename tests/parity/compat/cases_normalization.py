"""Normalization and attention."""

from tests.parity.compat.case import T, case

F = "nn.functional."
BATCH = (3, 4, 5)
MEAN, VAR = T(4, grad=False), T(4, low=0.5, high=2.0, grad=False)
CASES = [
    case(F + "layer_norm", T(3, 4), (4,)),
    case(F + "layer_norm", T(3, 4), (4,), T(4), T(4)),
    case(F + "layer_norm", T(3, 4), (4,), T(4)),
    case(F + "layer_norm", T(2, 3, 4), (3, 4), T(3, 4), T(3, 4), 0.1),
    case(
        F + "layer_norm", T(3, 4, dtype="float32"), [4], bias=T(4, dtype="float32"), double=False
    ),  # an internal error of torch
    case("layer_norm", T(3, 4), (4,)),
    case(F + "layer_norm", T(values=[[1e8, 1e8 + 1, 1e8 + 2]]), (3,), tol=1e-6),
    case(F + "layer_norm", T(3, 1), (1,), T(1), T(1), 0.1),
    case(F + "rms_norm", T(3, 4), (4,), T(4)),
    case(F + "rms_norm", T(2, 3, 4), (3, 4), eps=0.1),
    case("rms_norm", T(3, 4), (4,)),
    case(F + "batch_norm", T(*BATCH), None, None, T(4), T(4), True),
    case(F + "batch_norm", T(3, 4), None, None, training=True, eps=0.1),
    case(
        F + "batch_norm", T(*BATCH), MEAN, VAR, T(4), T(4), True, 0.3, vmap=False
    ),  # what is not mapped cannot be moved by what is
    case(F + "batch_norm", T(6, 4), None, None, T(4), T(4), True),
    case(F + "batch_norm", T(2, 1, 3, 2), None, None, T(1), T(1), True),
    case(F + "batch_norm", T(*BATCH), MEAN, VAR, T(4), T(4)),
    case(F + "batch_norm", T(*BATCH), MEAN, VAR),
    case(F + "instance_norm", T(*BATCH)),
    case(F + "instance_norm", T(*BATCH), MEAN, VAR, T(4), T(4), momentum=0.3, vmap=False),
    case(F + "instance_norm", T(*BATCH), MEAN, VAR, T(4), T(4), use_input_stats=False),
    case(F + "group_norm", T(2, 6, 3), 2),
    case(F + "group_norm", T(2, 6, 3, 2), 3, T(6), T(6)),
    case("group_norm", T(2, 6), 2, T(6)),
    case(F + "group_norm", T(2, 4, 3), 4, T(4), T(4)),
    case(F + "local_response_norm", T(2, 5, 3), 3),
    case(F + "local_response_norm", T(2, 5, 3, 2), 2, alpha=0.5, beta=0.5, k=2.0),
]
