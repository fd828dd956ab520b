"""Images of another size."""

from tests.parity.compat.case import T, case

F = "nn.functional."
LINE, IMAGE, VOLUME = T(2, 3, 5), T(1, 2, 4, 5), T(1, 2, 3, 4, 3)
CASES = [
    *(case(F + "interpolate", x, scale_factor=2) for x in (LINE, IMAGE, VOLUME)),
    case(F + "interpolate", IMAGE, (7, 3)),
    case(F + "interpolate", IMAGE, (7, 3), mode="nearest-exact"),
    case(F + "interpolate", LINE, scale_factor=1.7),
    *(
        case(F + "interpolate", x, mode=mode, align_corners=corners, **how)
        for x, mode in ((LINE, "linear"), (IMAGE, "bilinear"), (VOLUME, "trilinear"), (IMAGE, "bicubic"))
        for corners in (False, True)
        for how in ({"size": 7}, {"scale_factor": 1.6}, {"size": 2})
    ),
    case(F + "interpolate", LINE, scale_factor=1.7, mode="linear", recompute_scale_factor=True),
    case(F + "interpolate", IMAGE, (2, 3), mode="area"),
    case(F + "upsample", LINE, 8),
    case(F + "upsample_nearest", LINE, 8),
    case(F + "upsample_bilinear", IMAGE, scale_factor=2),
    case(F + "pixel_shuffle", T(2, 8, 2, 3), 2),
    case("pixel_shuffle", T(9, 2, 2), 3),
    # Of images without entries torch leaves the shape as it is.
    case(F + "pixel_unshuffle", T(values=[[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]]), 2),
    case(F + "channel_shuffle", T(1, 6, 2), 3),
    *(
        case(F + "grid_sample", IMAGE, T(1, 3, 2, 2, low=-1.6, high=1.6), how, padding, corners)
        for how in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    ),
    *(
        case(F + "grid_sample", VOLUME, T(1, 3, 2, 2, 3, low=-1.6, high=1.6), how, padding, True)
        for how, padding in (("bilinear", "zeros"), ("bilinear", "reflection"), ("nearest", "border"))
    ),
    *(
        case(F + "affine_grid", theta, size, align_corners=corners)
        for theta, size in ((T(2, 2, 3), (2, 1, 3, 4)), (T(2, 3, 4), (2, 1, 3, 1, 2)))
        for corners in (False, True)
    ),
]
