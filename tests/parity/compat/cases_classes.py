"""Losses of scores and classes, softmax."""

from tests.parity.compat.case import T, case

F = "nn.functional."
REDUCTIONS = ("mean", "sum", "none")
CLASSES = T(values=[1, 0, 3], dtype="int64")
SPATIAL = T(values=[[[0, 1], [2, 2]], [[3, 0], [1, -100]]], dtype="int64")
WEIGHT = T(4, low=0.2, grad=False)
INFINITE = T(values=[[0.0, -float("inf"), 2.0], [900.0, -900.0, 0.0]])
CASES = [
    *(
        case(name, x, dim)
        for name in ("softmax", "log_softmax", F + "softmax", F + "log_softmax", F + "softmin", ".softmax")
        for x, dim in ((T(2, 3), 1), (T(2, 3, 2), 0), (T(), 0), (INFINITE, -1))
    ),
    case(F + "softmax", T(2, 3)),
    case("softmax", T(2, 3, dtype="float32"), 1, dtype="torch.float64"),
    case(F + "log_softmax", T(2, 3, dtype="int64"), 1, dtype="torch.float64"),
    *(case(F + "cross_entropy", T(3, 4), CLASSES, reduction=r) for r in REDUCTIONS),
    *(
        case(F + "cross_entropy", T(3, 4), CLASSES, WEIGHT, reduction=r, label_smoothing=0.1)
        for r in REDUCTIONS
    ),
    *(case(F + "cross_entropy", T(2, 4, 2, 2), SPATIAL, weight=w) for w in (None, WEIGHT)),
    case(F + "cross_entropy", T(2, 4, 2, 2), SPATIAL, label_smoothing=0.2, reduction="none"),
    case(F + "cross_entropy", T(4), T(values=2, dtype="int64")),
    case(F + "cross_entropy", T(4), T(values=2, dtype="int64"), reduction="none"),
    case(F + "cross_entropy", T(values=[[900.0, 0.0, -900.0]]), T(values=[2], dtype="int64")),
    *(case(F + "cross_entropy", T(3, 4), T(3, 4, low=0.0), reduction=r) for r in REDUCTIONS),
    case(F + "cross_entropy", T(3, 4), T(3, 4, low=0.0), WEIGHT, label_smoothing=0.1),
    case(F + "cross_entropy", T(values=[0.3, -1.0, 2.0]), T(values=[0.2, 0.5, 0.3])),
    case(F + "cross_entropy", T(2, 4, 3), T(2, 4, 3, low=0.0)),
    *(case(F + "nll_loss", T(3, 4), CLASSES, WEIGHT, reduction=r) for r in REDUCTIONS),
    case(F + "nll_loss", T(3, 4), CLASSES, ignore_index=3),
    case(F + "nll_loss", T(2, 4, 2, 2), SPATIAL),
    # Of these torch has no second derivatives.
    *(
        case(F + "multi_margin_loss", T(3, 4), CLASSES, p=p, reduction=r, double=False)
        for p in (1, 2)
        for r in REDUCTIONS
    ),
    case(F + "multi_margin_loss", T(3, 4), CLASSES, margin=0.5, weight=WEIGHT, double=False),
    case(F + "multi_margin_loss", T(4), T(values=[2], dtype="int64"), double=False),
    *(
        case(
            F + "multilabel_margin_loss",
            T(2, 4),
            T(values=[[3, 0, -1, 1], [-1, 0, 1, 2]], dtype="int64"),
            double=False,
            reduction=r,
        )
        for r in REDUCTIONS
    ),
    case(F + "multilabel_margin_loss", T(3), T(values=[1, -1, 0], dtype="int64"), double=False),
    *(
        case(F + "multilabel_soft_margin_loss", T(3, 4), T(3, 4, dtype="int64", high=2), w, reduction=r)
        for w in (None, WEIGHT)
        for r in REDUCTIONS
    ),
    case(F + "one_hot", CLASSES, vmap=False),  # how many classes there are is not known
    case(F + "one_hot", CLASSES, 6),
    case(F + "linear", T(3, 4), T(2, 4), T(2)),
    case(F + "linear", T(4), T(2, 4)),
    case(F + "linear", T(4), T(4)),
    case(F + "linear", T(2, 3, 4), T(5, 4), T(5)),
    case(F + "bilinear", T(2, 3), T(2, 4), T(5, 3, 4), T(5)),
    case(F + "bilinear", T(3), T(4), T(5, 3, 4)),
    case("bilinear", T(2, 2, 3), T(2, 2, 4), T(5, 3, 4)),
    case("nn.functional.multilabel_soft_margin_loss", T(1, 1), T(3, 4, dtype="int64", low=0, high=2)),
]
