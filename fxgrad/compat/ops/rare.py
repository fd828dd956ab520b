"""The families of operations that few programs use, with the names that each declares, by namespace. None declares a
method.

A family is loaded when one of its names is first used: see `_declare.spaces.Space`. A test compares this table with
what the files declare.
"""

RARE: dict[str, dict[str, str]] = {
    "fourier": {
        "fft": """
            fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft
            irfft2 irfftn rfft rfft2 rfftfreq rfftn
        """,
    },
    "gamma_samples": {
        "function": "_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad",
    },
    "ldl": {
        "linalg": "ldl_factor ldl_factor_ex ldl_solve",
    },
    "low_rank": {
        "function": "lobpcg pca_lowrank svd_lowrank",
    },
    "quantization": {
        "function": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    },
    "segments": {
        "function": "segment_reduce",
    },
    "slopes": {
        "function": "gradient",
    },
    "special": {
        "special": """
            airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
            chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he
            laguerre_polynomial_l legendre_polynomial_p modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
            modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1
            shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
            shifted_chebyshev_polynomial_w spherical_bessel_j0
        """,
    },
    "nn.loss": {
        "function": "binary_cross_entropy_with_logits hinge_embedding_loss kl_div margin_ranking_loss",
        "nn.functional": """
            binary_cross_entropy binary_cross_entropy_with_logits gaussian_nll_loss hinge_embedding_loss
            huber_loss kl_div l1_loss margin_ranking_loss mse_loss poisson_nll_loss smooth_l1_loss
            soft_margin_loss
        """,
    },
    "nn.alignment": {
        "nn.functional": "ctc_loss",
    },
    "nn.dropout": {
        "function": "alpha_dropout dropout dropout_ feature_alpha_dropout feature_dropout rrelu rrelu_",
        "nn.functional": """
            alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout gumbel_softmax rrelu
            rrelu_
        """,
    },
    "nn.attention": {
        "nn.functional": "scaled_dot_product_attention",
    },
    "nn.linear": {
        "function": "bilinear",
        "nn.functional": "bilinear linear",
    },
    "nn.classes": {
        "nn.functional": """
            cross_entropy linear_cross_entropy multi_margin_loss multilabel_margin_loss
            multilabel_soft_margin_loss nll_loss one_hot
        """,
    },
    "nn.convolution": {
        "function": "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d",
        "nn.functional": """
            conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d fold unfold
        """,
    },
    "nn.distance": {
        "function": "cosine_embedding_loss cosine_similarity pairwise_distance pdist triplet_margin_loss",
        "nn.functional": """
            cosine_embedding_loss cosine_similarity normalize pairwise_distance pdist triplet_margin_loss
            triplet_margin_with_distance_loss
        """,
    },
    "nn.embedding": {
        "function": "embedding",
        "nn.functional": "embedding embedding_bag",
    },
    "nn.fractional": {
        "nn.functional": """
            fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
            fractional_max_pool3d_with_indices
        """,
    },
    "nn.grids": {
        "nn.functional": "affine_grid grid_sample",
    },
    "nn.multi_head": {
        "nn.functional": "multi_head_attention_forward",
    },
    "nn.normalization": {
        "function": "batch_norm group_norm instance_norm layer_norm rms_norm",
        "nn.functional": "batch_norm group_norm instance_norm layer_norm local_response_norm rms_norm",
    },
    "nn.packing": {
        "function": "_pack_padded_sequence _pad_packed_sequence",
    },
    "nn.pooling": {
        "function": """
            adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d
            max_pool3d
        """,
        "nn.functional": """
            adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
            adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices
            adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d lp_pool1d
            lp_pool2d lp_pool3d max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
            max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d
        """,
    },
    "nn.recurrent": {
        "function": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
    },
    "nn.resampling": {
        "function": "channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle",
        "nn.functional": """
            channel_shuffle interpolate native_channel_shuffle pixel_shuffle pixel_unshuffle upsample
            upsample_bilinear upsample_nearest
        """,
    },
}
