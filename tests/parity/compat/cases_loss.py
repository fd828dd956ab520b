"""Losses."""

from tests.parity.compat.case import T, case

F = "nn.functional."
REDUCTIONS = ("mean", "sum", "none")
SIGNS = T(values=[1.0, -1.0, -1.0, 1.0], grad=False)
DISTANCES = [
    ("mse_loss", {}),
    ("l1_loss", {}),
    ("smooth_l1_loss", {}),
    ("smooth_l1_loss", {"beta": 0.3}),
    ("huber_loss", {}),
    ("huber_loss", {"delta": 0.4}),
]
P = T(3, 4, low=0.05, high=0.95)
CASES = [
    *(
        case(F + name, T(3, 4, low=-2, high=2), T(3, 4), reduction=reduction, **options)
        for name, options in DISTANCES
        for reduction in REDUCTIONS
    ),
    case(F + "smooth_l1_loss", T(4), T(4), beta=0.0),
    case(F + "mse_loss", T(3), T(3), weight=T(3, low=0.1, grad=False)),
    case(F + "l1_loss", T(values=[1.0, 2.0]), T(values=[1.0, 3.0])),
    case(F + "mse_loss", T(2, 3), T(2, 3), None, False),
    *(
        case(F + "binary_cross_entropy", P, T(3, 4, low=0.0), reduction=r, weight=w)
        for r in REDUCTIONS
        for w in (None, T(4, low=0.1, grad=False))
    ),
    case(
        F + "binary_cross_entropy",
        T(values=[0.0, 1.0, 0.5, 0.0]),
        T(values=[0.0, 1.0, 1.0, 1.0], grad=False),
        forward=False,  # NaN in torch
        double=False,  # with a limit of the denominator in single precision
        tol=1e-8,
    ),
    *(
        case(F + "binary_cross_entropy_with_logits", T(3, 4, low=-5, high=5), T(3, 4, low=0.0), reduction=r)
        for r in REDUCTIONS
    ),
    case(
        F + "binary_cross_entropy_with_logits",
        T(values=[-800.0, -40.0, 0.0, 40.0, 800.0]),
        T(values=[0.0, 1.0, 0.5, 1.0, 0.0], grad=False),
        pos_weight=T(values=[3.0], grad=False),
        reduction="none",
    ),
    case(
        F + "binary_cross_entropy_with_logits",
        T(2, 3),
        T(2, 3),
        T(3, low=0.1, grad=False),
        pos_weight=T(3, low=0.1, grad=False),
    ),
    *(
        case(F + "kl_div", T(3, 4), T(3, 4, low=0.1), reduction=r, log_target=log)
        for r in (*REDUCTIONS, "batchmean")
        for log in (False, True)
    ),
    case(F + "kl_div", T(3), T(values=[0.0, 0.5, 0.5], grad=False), reduction="sum"),
    *(
        case(F + "poisson_nll_loss", T(5, low=0.1), T(5, low=0.0, high=5.0, grad=False), log, full)
        for log in (True, False)
        for full in (True, False)
    ),
    *(
        case(F + "gaussian_nll_loss", T(3, 4), T(3, 4), T(*shape, low=0.5, high=2.0), full=full, reduction=r)
        for shape in ((3, 4), (3, 1), (3,))
        for full, r in ((False, "mean"), (True, "none"))
    ),
    case(F + "gaussian_nll_loss", T(2), T(2), T(values=[0.0, 1e-9]), eps=0.1, forward=False),  # 0 in torch
    case(F + "hinge_embedding_loss", T(4, low=-2, high=2), SIGNS),
    case(F + "hinge_embedding_loss", T(values=[0.5, 1.0, 0.2, 3.0]), SIGNS, margin=1.0, reduction="none"),
    case(F + "margin_ranking_loss", T(4), T(4), SIGNS, margin=0.3),
    case(F + "margin_ranking_loss", T(values=[1.0] * 4), T(values=[1.0] * 4), SIGNS, reduction="sum"),
    case(F + "soft_margin_loss", T(4, low=-5, high=5), SIGNS),
    case(F + "soft_margin_loss", T(values=[-40.0, -40.0, 40.0, 40.0]), SIGNS, reduction="none"),
    *(
        case(
            F + "cosine_embedding_loss",
            T(4, 3),
            T(4, 3),
            T(values=[1, -1, 1, -1], dtype="int64"),
            m,
            reduction=r,
        )
        for m, r in ((0.0, "mean"), (0.2, "none"))
    ),
    case(F + "triplet_margin_loss", T(4, 3), T(4, 3), T(4, 3)),
    case(
        F + "triplet_margin_loss", T(4, 3), T(4, 3), T(4, 3), margin=2.0, p=1.5, swap=True, reduction="none"
    ),
    case(F + "triplet_margin_with_distance_loss", T(4, 3), T(4, 3), T(4, 3), swap=True, margin=0.7),
    *(case(F + "pairwise_distance", T(4, 3), T(4, 3), p=p) for p in (1.0, 2.0, 3.0, float("inf"))),
    case(F + "pairwise_distance", T(3), T(3), keepdim=True),
    case("pairwise_distance", T(2, 3), T(3)),
    case(F + "cosine_similarity", T(4, 3), T(4, 3)),
    case(F + "cosine_similarity", T(2, 4, 3), T(4, 3), dim=-1, eps=0.1),
    case("cosine_similarity", T(3), T(3), dim=0),
    case(F + "pdist", T(4, 3), double=False),  # torch has none
    case("pdist", T(4, 3), p=1.0, double=False),
    case(F + "normalize", T(2, 3)),
    case(F + "normalize", T(2, 3, 2), p=1.0, dim=0),
    case(F + "normalize", T(values=[[0.0, 0.0], [1e-14, 0.0]], grad=False)),
    case("nn.functional.huber_loss", T(values=[1.0, 0.5, -1.0]), T(values=[0.0, 0.0, 0.0])),
    case("nn.functional.kl_div", T(), T(low=0.1, high=1), reduction="batchmean"),
    case("nn.functional.poisson_nll_loss", T(3, dtype="int32"), T(3, dtype="int32")),
]
