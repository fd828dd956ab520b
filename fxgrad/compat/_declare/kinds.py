"""The kinds of dtypes that torch's operations take, where these are not all, and what the error for others says."""

from __future__ import annotations

import numpy as np

from ...extend import kind_of

# By kinds, by words, the names of operations. Kinds are NumPy's letters, and for a part of one those of NARROW; they
# are those of the first operand, or of the common dtype of operands that are promoted to compute. Words are torch's
# name of a kernel, by default that of the operation and "_cpu", or a sentence. {0} is the dtype, {1} the operation.
NAMES_BY_KINDS: dict[str, dict[str, str]] = {
    "f": {
        "": """
            logaddexp2 igamma igammac frac histc leaky_relu hardsigmoid hardswish hardshrink prelu elu
            softplus mish hinge_embedding_loss glu kl_div gaussian_nll_loss soft_margin_loss cosine_similarity
            adaptive_max_pool3d grid_sampler_3d nextafter hypot
        """,
        "softshrink_check": "softshrink",
        "elu_cpu": "selu celu",
        "log_sigmoid_cpu": "logsigmoid binary_cross_entropy_with_logits multilabel_soft_margin_loss",
        "GeluKernelImpl": "gelu",
        "histogramdd": "histogram",
        "mse_cpu": "mse_loss",
        "smooth_l1_cpu": "smooth_l1_loss",
        "huber_cpu": "huber_loss",
        "avg_pool2d": "local_response_norm",
        "binary_cross_entropy": "binary_cross_entropy",
        "LayerNormKernelImpl": "layer_norm",
        "GroupNormKernelImpl": "group_norm",
        "batch_norm": "native_batch_norm native_instance_norm batch_norm",
        "adaptive_max_pool2d": "adaptive_max_pool1d adaptive_max_pool2d",
        "max_unpool2d": "max_unpool1d max_unpool2d",
        "max_unpool3d": "max_unpool3d",
        "grid_sampler_2d_cpu_kernel_impl": "grid_sampler_2d",
        "Expected 'weight' to be of Double, Float, BFloat16 or Half, but got {0}": "embedding_bag",
        "softmax_lastdim_kernel_impl": "scaled_dot_product_attention",
        "nll_loss_out_frame": "nll_loss",
    },
    "biuf": {
        "": """
            xlogy special_xlog1py logit fmax fmin aminmax cummax cummin special_i0e special_i1
            special_i1e special_ndtr special_entr signbit isposinf isneginf mode lt le gt ge
            cosine_embedding_loss
        """,
        "{1} not implemented for complex tensors.": "maximum minimum",
        "max_values_cpu": "amax",
        "min_values_cpu": "amin",
        "{1}": "digamma polygamma",
        "heaviside is not yet implemented for complex tensors.": "heaviside",
        "{1}_vml_cpu": "erf erfc erfinv i0 lgamma",
        "unique": "unique_consecutive",
    },
    "biuF": {
        "": """
            special_zeta special_erfcx special_log_ndtr special_ndtri special_bessel_j0
            special_bessel_y0 special_modified_bessel_k0 special_scaled_modified_bessel_k0
            special_modified_bessel_i0 special_bessel_j1 special_bessel_y1 special_modified_bessel_k1
            special_scaled_modified_bessel_k1 special_modified_bessel_i1 special_airy_ai
            special_spherical_bessel_j0 special_chebyshev_polynomial_t special_chebyshev_polynomial_u
            special_chebyshev_polynomial_v special_chebyshev_polynomial_w
            special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
            special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
            special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
            special_legendre_polynomial_p
        """,
    },
    "biuFc": {
        "linalg.inv: Low precision dtypes not supported. Got {0}": "linalg_inv linalg_inv_ex linalg_tensorinv",
        "linalg.pinv: expected a tensor of float, double, cfloat or cdouble types, but got {0}": "linalg_pinv",
        "lu_cpu": "linalg_solve linalg_solve_ex linalg_tensorsolve linalg_det",
        "{1} doesn't handle types other than float and double": "linalg_lstsq ranks linalg_matrix_rank",
        "linalg.slogdet: Low precision dtypes not supported. Got {0}": "linalg_slogdet",
        "logdet: Low precision dtypes not supported. Got {0}": "logdet",
        "linalg_svd_cpu": "linalg_cond linalg_svd linalg_svdvals svd",
        "cholesky_cpu": "linalg_cholesky linalg_cholesky_ex",
        "geqrf_cpu": "linalg_qr qr",
        "linalg_eig_out_cpu": "linalg_eig linalg_eigvals",
        "linalg.lu_solve_cpu": "linalg_lu_solve",
        "ldl_factor_kernel_cpu": "linalg_ldl_factor_ex",
        "ldl_solve_kernel_cpu": "matrix_of_factors",
    },
    "iufc": {
        "": "abs dist l1_loss tanhshrink pairwise_distance triplet_margin_loss",
        "addcmul_cpu_out": "addcmul",
        "trace": "trace",
        "dot": "inner",
        "cross": "linalg_cross",
        "addmm_impl_cpu_": "linalg_matrix_power linear conv_tbc",
        "{1}: received a bool input for `y`, but bool is not supported": "trapezoid cumulative_trapezoid",
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead.": "neg",
        "cov(): bool dtype is not supported for input": "cov corrcoef",
        "abs_cpu": "softsign",
        "bmm": "bilinear",
        "slow_conv2d_cpu": "conv1d conv2d conv3d",
    },
    "iuf": {
        "": """
            mvlgamma kthvalue relu relu6 hardtanh threshold poisson_nll_loss
            margin_ranking_loss remainder fmod
        """,
        "max_pool2d": "max_pool1d_with_indices max_pool2d_with_indices",
        "max_pool3d": "max_pool3d_with_indices",
        "topk does not support {0} dtypes on CPU": "topk",
        "div_floor_cpu": "floor_divide",
        "{1}_vml_cpu": "floor ceil trunc round",
        "median_out": "median nanmedian",
        "searchsorted_out_cpu": "searchsorted bucketize",
        "addmm_impl_cpu_": "rnn_relu_cell rnn_relu_layer",
    },
    "Fc": {
        "": "cholesky_solve geqrf ormqr",
        "triangular_solve_cpu": "linalg_solve_triangular triangular_solve",
        "cholesky_cpu": "cholesky",
        "cholesky_inverse_out_cpu": "cholesky_inverse",
        "orgqr_cpu": "linalg_householder_product",
        "linalg_eigh_cpu": "linalg_eigh linalg_eigvalsh",
        "lu_cpu": "linalg_lu_factor linalg_lu_factor_ex linalg_lu",
    },
    "fc": {
        "": "logaddexp silu",
        "{1}": "rms_norm",
        "logcumsumexp_out_cpu": "logcumsumexp",
        "lerp_kernel_scalar": "lerp",
        "linalg.vecdot: Expected a floating point or complex tensor as input. Got {0}": "linalg_vecdot",
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {0}": "normalize",
        "adaptive_avg_pool2d": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d",
        "addmm_impl_cpu_": "rnn_tanh_cell gru_cell lstm_cell rnn_tanh_layer gru_layer lstm_layer",
    },
    "F": {
        "": "polar",
        "cdist": "cdist",
        "pdist": "pdist",
        "multi_margin_loss_cpu_kernel": "multi_margin_loss",
        "multilabel_margin_loss_forward_out_frame": "multilabel_margin_loss",
        "{1}() input tensor must be either float or double dtype": "quantile nanquantile",
    },
    "ifc": {
        "torch.{1} does not support {0} input.": "gradient",
    },
    "biu": {
        "": "bitwise_and bitwise_or bitwise_xor bitwise_not gcd lcm",
    },
    "iu": {
        "lshift_cpu": "bitwise_left_shift",
        "rshift_cpu": "bitwise_right_shift",
    },
    "lfc": {
        "slow_conv_transpose2d_out_cpu": "conv_transpose1d conv_transpose2d conv_transpose3d",
    },
    "lf": {
        "avg_pool2d": "avg_pool1d avg_pool2d",
    },
    "bfc": {
        "im2col_out_cpu": "unfold",
        "col2im_out_cpu": "fold",
    },
    "iuFc": {
        "linalg.vander supports floating point, complex, and integer tensors, but got {0}": "linalg_vander",
    },
    "lF": {
        "avg_pool3d_out_frame": "avg_pool3d",
    },
    "uf": {
        "upsample_nearest2d": "upsample",
    },
    "hF": {
        "Expected both inputs to be Half, Float or Double tensors but got {0} and {0}": "complex",
    },
}
ALL = "biufc", ""
NARROW = {np.dtype("f4"): "F", np.dtype("f8"): "F", np.dtype("f2"): "h", np.dtype("i8"): "l"}
KINDS: dict[str, tuple[str, str]] = {
    name: (kinds, words)
    for kinds, rows in NAMES_BY_KINDS.items()
    for words, names in rows.items()
    for name in names.split()
}


def takes_dtype(kinds: str, dtype) -> bool:
    """Whether a NumPy dtype is of one of these kinds."""
    return kind_of(dtype) in kinds or NARROW.get(dtype, "-") in kinds
