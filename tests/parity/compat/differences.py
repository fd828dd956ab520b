"""Where fxgrad.compat differs from torch on purpose, and why; the tests check that it does."""

# Operations whose node has another name than torch's, by reason.
NODES = {
    "it is composed of others here, a copy and a view that is written into, say": """
        diag diag_embed diagonal_scatter fill_diagonal_ narrow_copy put put_ rot90 select_scatter
        slice_scatter
    """,
    "torch composes it of other operations, and names the last of them": """
        cov corrcoef diff trapezoid trapz cumulative_trapezoid quantile nanquantile einsum tensordot outer ger
        inner kron matmul vecdot multi_dot chain_matmul matrix_power vander atleast_1d atleast_3d
        repeat_interleave combinations cond norm matrix_norm tensorinv tensorsolve logdet
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d avg_pool1d bilinear conv1d conv2d
        conv_transpose1d cosine_embedding_loss cosine_similarity gaussian_nll_loss
        hinge_embedding_loss instance_norm kl_div l1_loss linear margin_ranking_loss max_pool1d
        max_unpool1d mse_loss multilabel_soft_margin_loss pairwise_distance poisson_nll_loss rms_norm
        scaled_dot_product_attention smooth_l1_loss triplet_margin_loss
    """,
    "it is the operation with its operands exchanged here": """
        __rsub__ __rtruediv__
    """,
    "torch gives V as the adjoint of Vh": """
        svd
    """,
    "torch names its kernel, by whether operand and result are complex": """
        fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn
        ihfftn
    """,
    "torch has one for each number of dimensions, or mode": """
        cross_entropy nll_loss pad interpolate upsample upsample_nearest upsample_bilinear
    """,
}

# Operations that take operands of every layout here; torch views them inside, and refuses where there is no such view.
LAYOUTS = {"kron", "take_along_dim"}

# Operations that torch refuses in place where a gradient is required, since it has none; here there is one.
UNDIFFERENTIATED = {"floor_divide", "asinh", "acosh", "atanh", "arcsinh", "arccosh", "arctanh"}

# Operations whose operands may not be modified before the backward pass, though torch lets some be, by reason: for all
# others we refuse nothing that torch allows.
OPERANDS_KEPT = {
    "it is one node here, which reads operands; torch composes it of others, which keep what they make on the way": """
        tanhshrink __rtruediv__ float_power ldexp trapezoid trapz cumulative_trapezoid matrix_norm norm matrix_power
        l1_loss smooth_l1_loss mse_loss kl_div poisson_nll_loss gaussian_nll_loss hinge_embedding_loss
        margin_ranking_loss cosine_embedding_loss triplet_margin_loss triplet_margin_with_distance_loss
        pairwise_distance cross_entropy instance_norm ndtr
    """,
    "torch folds, scales or broadcasts an operand into a copy before it multiplies": """
        matmul einsum tensordot kron scaled_dot_product_attention
    """,
    "the greatest of a bag are looked up again, by the weights; torch keeps where they were": """
        embedding_bag
    """,
}

# Names that are not there, and why.
MISSING: dict[str, str] = {
    name: reason
    for reason, names in {
        "the factorization of indefinite matrices has no derivative in torch, and NumPy has none of it": """
            linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve
        """,
        "newer than the documents; of torch's compiler, or of CUDA's streams and generators": """
            autograd.graph.region_activation_memory_budget autograd.graph.set_warn_on_accumulate_grad_stream_mismatch
            autograd.graph.set_override_stale_capture_stream autograd.grad_mode.enforce_grad_layout_policy
            utils.checkpoint.DefaultDeviceType utils.checkpoint.get_device_states utils.checkpoint.set_device_states
        """,
    }.items()
    for name in names.split()
}

# Parameters of torch's that are not there.
PARAMETERS: dict[str, list[str]] = {
    # Documented under names that torch itself does not take.
    "true_divide": ["dividend", "divisor"],
    "searchsorted": ["values"],
    "broadcast_to": ["shape"],
    "unsafe_split": ["tensor", "split_size_or_sections"],
    "Tensor.mul_": ["value"],
    "Tensor.div_": ["value"],
    "Tensor.matmul": ["tensor2"],
    "Tensor.bmm": ["batch2"],
    "Tensor.dot": ["other"],
    "Tensor.index_copy_": ["tensor"],
    "nn.functional.one_hot": ["tensor"],
    # A word of Python's.
    "Tensor.uniform_": ["from"],
    "Tensor.random_": ["from"],
    # Newer than the documents, and about events that there are not.
    "autograd.profiler.profile": ["post_processing_timeout_s", "activity_filters"],
    "autograd.profiler.profile.export_chrome_trace": ["metadata", "use_python_export"],
    # Only as a decorator, where it is given by position.
    "enable_grad": ["orig_func"],
    "autograd.enable_grad": ["orig_func"],
    "autograd.grad_mode.enable_grad": ["orig_func"],
}

# Operations without a case of their own, and what tests them.
UNTESTED = {
    "_ctc_loss": "its derivative is torch's only behind log_softmax: test_ctc_loss",
    "_neg_view": "negative views, which torch makes of conjugates: test_conjugate_views",
    "alias": "detach and views of all: test_views",
    "index": "x[...]: test_indexing",
} | dict.fromkeys(
    ["bernoulli", "binomial", "multinomial", "normal", "poisson"], "random numbers: test_random"
)
