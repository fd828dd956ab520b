"""The names of torch that fxgrad.compat has, by namespace: "" is torch itself, a capital letter begins a class."""

NAMES = {
    "": """
        tensor as_tensor from_numpy zeros ones full empty rand randn randint arange linspace eye zeros_like ones_like
        full_like empty_like rand_like randn_like randint_like set_default_dtype get_default_dtype manual_seed
        Generator Size Tensor device dtype finfo iinfo promote_types result_type can_cast
        float16 half bfloat16 float32 float float64 double complex64 cfloat complex128 cdouble uint8 int8 int16 short
        int32 int int64 long bool

        add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow float_power neg negative
        positive abs absolute sign sgn signbit ceil floor trunc fix round frac reciprocal sqrt rsqrt square exp exp2
        expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan asin arcsin acos arccos atan arctan atan2 arctan2
        sinh cosh tanh asinh arcsinh acosh arccosh atanh arctanh sinc sigmoid logit erf erfc erfinv lgamma digamma
        polygamma mvlgamma igamma igammac i0 xlogy hypot copysign deg2rad rad2deg ldexp frexp nextafter heaviside
        addcdiv addcmul lerp clamp clip maximum minimum fmax fmin nan_to_num
        bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift logical_and logical_or
        logical_xor logical_not gcd lcm
        eq equal ne not_equal lt less le less_equal gt greater ge greater_equal isclose allclose isfinite isinf isnan
        isposinf isneginf isreal is_tensor is_complex is_floating_point is_nonzero numel where masked_fill masked_select
        masked_scatter

        sum nansum mean nanmean var std var_mean std_mean prod max min amax amin aminmax argmax argmin norm logsumexp
        cumsum cumprod cummax cummin logcumsumexp sort argsort topk median nanmedian kthvalue mode quantile nanquantile
        all any count_nonzero dist trapezoid diff unique bincount histc searchsorted bucketize
        matmul mm bmm mv dot vdot addmm addmv addr addbmm baddbmm einsum inner outer ger tensordot kron cross cdist
        chain_matmul vander

        reshape transpose swapaxes swapdims permute movedim moveaxis squeeze unsqueeze tile flatten unflatten narrow
        select chunk split tensor_split unbind cat concat stack hstack vstack dstack diag diagflat diagonal diag_embed
        tril triu tril_indices triu_indices trace flip fliplr flipud roll rot90 as_strided t adjoint ravel
        broadcast_to broadcast_tensors meshgrid cartesian_prod combinations block_diag atleast_1d atleast_2d atleast_3d
        repeat_interleave
        gather scatter scatter_add scatter_reduce index_select index_add index_copy index_fill index_put
        index_reduce take take_along_dim nonzero argwhere
        clone detach resolve_conj resolve_neg real imag conj conj_physical is_conj angle view_as_real view_as_complex
        complex polar
        softmax log_softmax relu selu celu prelu rrelu threshold dropout
        inverse det logdet slogdet pinverse svd qr cholesky cholesky_solve cholesky_inverse lu lu_solve lu_unpack
        triangular_solve matrix_power matrix_exp orgqr

        no_grad enable_grad set_grad_enabled inference_mode is_grad_enabled is_inference_mode_enabled
        is_anomaly_enabled is_anomaly_check_nan_enabled set_anomaly_enabled
        bernoulli multinomial normal poisson randperm
        e inf nan pi newaxis backends cov corrcoef histogram unsafe_chunk unsafe_split unsafe_split_with_sizes
        nonzero_static is_same_size hann_window hamming_window blackman_window bartlett_window kaiser_window
        abs_ clamp_ clamp_min_ clamp_max_ cos_ detach_ erf_ exp_ floor_ index_put_ log_ nan_to_num_ neg_ reciprocal_
        resize_as_ round_ rsqrt_ sigmoid_ sin_ sqrt_ square_ tanh_ trunc_ xlogy_
        get_num_threads set_num_threads get_num_interop_threads use_deterministic_algorithms
        are_deterministic_algorithms_enabled set_float32_matmul_precision get_float32_matmul_precision
        autograd func nn optim linalg fft special utils
    """,
    "Tensor": """
        grad requires_grad requires_grad_ is_leaf grad_fn output_nr backward detach detach_ data retain_grad
        retains_grad register_hook register_post_accumulate_grad_hook _version _base _is_view
        numpy item tolist to cpu cuda type dtype device shape size dim ndim numel nelement element_size stride storage
        untyped_storage storage_offset data_ptr is_contiguous contiguous clone copy_ fill_ zero_ resize_ set_
        is_floating_point is_complex half bfloat16 float double int long bool
        __array__ __dlpack__ __deepcopy__ __len__ __getitem__ __setitem__ __iter__ __bool__ __float__ __int__ __index__
        __format__ __repr__ __matmul__ __rmatmul__ __contains__ __invert__ __and__ __or__ __xor__ __pow__ __rpow__
        T mT H mH real imag view view_as reshape reshape_as expand expand_as repeat permute unfold
        masked_fill_ masked_scatter_ index_put_ index_add_ index_copy_ index_fill_ index_reduce_ scatter_ scatter_add_
        scatter_reduce_ squeeze_ unsqueeze_ transpose_ t_ add_ sub_ mul_ div_ pow_ clamp_ lerp_ addcmul_ addcdiv_
        addmm_ addmv_ addr_ addbmm_ baddbmm_ neg_ abs_ exp_ log_ sqrt_ sin_ cos_ tanh_ sigmoid_ relu_ floor_ ceil_
        round_ trunc_ tril_ triu_ cumsum_ cumprod_ normal_ uniform_ random_ bernoulli_ exponential_
        new_tensor new_zeros new_ones new_full new_empty matmul mm bmm mv dot det inverse logdet slogdet pinverse svd
        qr cholesky sum mean var std prod max min norm softmax log_softmax relu sigmoid
        cov corrcoef fill_diagonal_ histogram is_same_size is_shared nonzero_static sum_to_size unsafe_chunk
        unsafe_split unsafe_split_with_sizes
    """,
    "linalg": """
        LinAlgError cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv
        inv_ex lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank
        multi_dot norm pinv qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander
        vecdot vector_norm ldl_factor ldl_factor_ex ldl_solve
    """,
    "fft": """
        fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2
        irfftn rfft rfft2 rfftfreq rfftn
    """,
    "autograd": """
        backward grad Variable variable Function gradcheck gradgradcheck functional forward_ad no_grad enable_grad
        set_grad_enabled inference_mode grad_mode function set_multithreading_enabled detect_anomaly set_detect_anomaly
        SavedTensor NestedIOFunction kineto_available graph profiler profiler_util anomaly_mode
    """,
    "autograd.anomaly_mode": "detect_anomaly set_detect_anomaly",
    "autograd.grad_mode": """
        no_grad enable_grad set_grad_enabled inference_mode set_multithreading_enabled enforce_grad_layout_policy
    """,
    "autograd.function": "Function FunctionCtx once_differentiable InplaceFunction NestedIOFunction BackwardCFunction",
    "autograd.Function": "forward backward vjp jvp vmap setup_context generate_vmap_rule apply",
    "autograd.function.FunctionCtx": """
        save_for_backward save_for_forward mark_dirty mark_non_differentiable set_materialize_grads
    """,
    "autograd.forward_ad": "dual_level enter_dual_level exit_dual_level make_dual unpack_dual UnpackedDualTensor",
    "autograd.functional": "jacobian hessian vjp jvp vhp hvp",
    "func": """
        grad grad_and_value vjp jvp vmap jacrev jacfwd hessian linearize functionalize functional_call
        stack_module_state
    """,
    "autograd.graph": """
        Node GradientEdge get_gradient_edge increment_version saved_tensors_hooks save_on_cpu register_multi_grad_hook
        disable_saved_tensors_hooks allow_mutation_on_saved_tensors region_activation_memory_budget
        set_warn_on_accumulate_grad_stream_mismatch set_override_stale_capture_stream
    """,
    "autograd.graph.Node": "name metadata next_functions register_hook register_prehook",
    "utils.checkpoint": """
        checkpoint checkpoint_sequential set_checkpoint_early_stop set_checkpoint_debug_enabled noop_context_fn
        CheckpointError CheckpointPolicy GraphExecGroup SelectiveCheckpointContext DefaultDeviceType get_device_states
        set_device_states
        create_selective_checkpoint_contexts
    """,
    "utils.checkpoint.CheckpointPolicy": """
        MUST_SAVE PREFER_SAVE MUST_RECOMPUTE PREFER_RECOMPUTE MUST_CPU_OFFLOAD PREFER_CPU_OFFLOAD
    """,
    "ops.aten": "mm bmm addmm convolution add mul _softmax native_layer_norm relu sin exp",
    "autograd.profiler": """
        profile emit_nvtx emit_itt record_function load_nvprof parse_nvprof_trace EnforceUnique KinetoStepTracker
    """,
    "autograd.profiler.profile": """
        export_chrome_trace export_stacks key_averages self_cpu_time_total table total_average
    """,
    "autograd.profiler_util": """
        EventList FunctionEvent FunctionEventAvg Interval Kernel MemRecordsAcc StringTable
    """,
    "nn": """
        Module Parameter Sequential ModuleList Linear Conv1d Conv2d ReLU Tanh Sigmoid GELU Flatten Dropout Embedding
        LayerNorm BatchNorm1d BatchNorm2d MSELoss L1Loss CrossEntropyLoss NLLLoss BCELoss BCEWithLogitsLoss
        SmoothL1Loss HuberLoss KLDivLoss CTCLoss init functional
    """,
    "nn.functional": """
        softmax log_softmax relu gelu silu softplus elu leaky_relu sigmoid logsigmoid tanh threshold normalize dropout
        one_hot embedding pad linear conv1d conv2d conv_transpose1d conv_transpose2d max_pool1d max_pool2d avg_pool1d
        avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d layer_norm
        batch_norm group_norm scaled_dot_product_attention mse_loss l1_loss cross_entropy nll_loss
        binary_cross_entropy binary_cross_entropy_with_logits smooth_l1_loss huber_loss kl_div
        cosine_embedding_loss cosine_similarity hinge_embedding_loss margin_ranking_loss triplet_margin_loss
        gaussian_nll_loss poisson_nll_loss soft_margin_loss affine_grid grid_sample ctc_loss
    """,
    "nn.init": """
        uniform_ normal_ constant_ zeros_ ones_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
    """,
    "optim": "SGD Adam AdamW Optimizer",
}
