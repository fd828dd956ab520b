"""The names of torch that fxgrad.compat has, by namespace: "" is torch itself, a capital letter begins a class."""

NAMES = {
    "": """
        tensor as_tensor from_numpy zeros ones full empty rand randn randint arange linspace eye zeros_like ones_like
        full_like empty_like rand_like randn_like randint_like set_default_dtype get_default_dtype manual_seed
        save load Generator Size Tensor device dtype finfo iinfo promote_types result_type can_cast
        float16 half bfloat16 float32 float float64 double complex64 cfloat complex128 cdouble uint8 int8 int16 short
        int32 int int64 long bool TypedStorage UntypedStorage

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
        matmul mm bmm mv dot vdot addmm addmv addr addbmm baddbmm einsum inner outer ger tensordot
        kron cross cdist chain_matmul vander spmm dsmm hsmm

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
        autograd func nn optim linalg fft special utils signal
        stft istft gradient unravel_index histogramdd segment_reduce svd_lowrank pca_lowrank lobpcg geqrf ormqr
        fake_quantize_per_tensor_affine fake_quantize_per_channel_affine cond while_loop empty_permuted fill
        frobenius_norm nuclear_norm norm_except_dim view_copy expand_copy permute_copy select_copy slice_copy split_copy
        solve symeig eig lstsq matrix_rank
    """,
    "special": """
        airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_k0 scaled_modified_bessel_k0
        spherical_bessel_j0 chebyshev_polynomial_t hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
        shifted_chebyshev_polynomial_w
    """,
    "signal.windows": """
        bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall
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
        unsafe_split unsafe_split_with_sizes apply_ map2_ stft istft dim_order is_pinned pin_memory module_load
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
        RNN LSTM GRU RNNCell LSTMCell GRUCell RNNBase RNNCellBase MultiheadAttention Transformer TransformerEncoder
        TransformerEncoderLayer TransformerDecoder TransformerDecoderLayer Upsample SyncBatchNorm LazyLinear
        UninitializedParameter UninitializedBuffer
    """,
    "nn.utils.rnn": """
        PackedSequence invert_permutation pack_padded_sequence pack_sequence pad_packed_sequence pad_sequence
        unpack_sequence unpad_sequence
    """,
    "nn.attention": "SDPBackend sdpa_kernel WARN_FOR_UNFUSED_KERNELS",
    "library": """
        CustomOpDef Library custom_op define fallthrough_kernel get_ctx impl infer_schema opcheck register_autograd
        register_fake register_kernel register_vmap triton_op wrap_triton
    """,
    "nn.functional": """
        softmax log_softmax relu gelu silu softplus elu leaky_relu sigmoid logsigmoid tanh threshold normalize dropout
        one_hot embedding pad linear conv1d conv2d conv_transpose1d conv_transpose2d max_pool1d max_pool2d avg_pool1d
        avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d layer_norm
        batch_norm group_norm scaled_dot_product_attention mse_loss l1_loss cross_entropy nll_loss
        binary_cross_entropy binary_cross_entropy_with_logits smooth_l1_loss huber_loss kl_div
        cosine_embedding_loss cosine_similarity hinge_embedding_loss margin_ranking_loss triplet_margin_loss
        gaussian_nll_loss poisson_nll_loss soft_margin_loss affine_grid grid_sample ctc_loss
        fractional_max_pool2d fractional_max_pool3d linear_cross_entropy multi_head_attention_forward conv_tbc
        native_channel_shuffle
    """,
    "nn.init": """
        uniform_ normal_ constant_ zeros_ ones_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
        trunc_normal_ eye_ dirac_ orthogonal_ sparse_ calculate_gain uniform normal constant eye dirac xavier_uniform
        xavier_normal kaiming_uniform kaiming_normal orthogonal sparse _calculate_fan_in_and_fan_out
        _calculate_correct_fan
    """,
    "nn.utils": """
        clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm
        convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format fuse_conv_bn_eval fuse_conv_bn_weights
        fuse_linear_bn_eval fuse_linear_bn_weights parameters_to_vector vector_to_parameters parametrizations
        parametrize remove_spectral_norm remove_weight_norm rnn skip_init spectral_norm stateless weight_norm
    """,
    "nn.utils.parametrize": """
        ParametrizationList cached is_parametrized register_parametrization remove_parametrizations
        transfer_parametrizations_and_params type_before_parametrizations
    """,
    "nn.utils.parametrizations": "orthogonal spectral_norm weight_norm",
    "nn.utils.stateless": "functional_call",
    "nn.utils.prune": """
        BasePruningMethod CustomFromMask Identity L1Unstructured LnStructured PruningContainer RandomStructured
        RandomUnstructured custom_from_mask global_unstructured identity is_pruned l1_unstructured ln_structured
        random_structured random_unstructured remove
    """,
    "optim.lr_scheduler": """
        ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR LRScheduler
        LambdaLR LinearLR MultiStepLR MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR
        _LRScheduler
    """,
    "optim.swa_utils": """
        AveragedModel SWALR get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn get_swa_multi_avg_fn update_bn
    """,
    "optim.Optimizer": """
        add_param_group load_state_dict register_load_state_dict_post_hook
        register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook
        register_step_post_hook register_step_pre_hook state_dict step zero_grad
    """,
    "random": """
        default_generator fork_rng get_rng_state initial_seed manual_seed seed set_rng_state thread_safe_generator
    """,
    "serialization": """
        save load add_safe_globals get_safe_globals clear_safe_globals safe_globals get_unsafe_globals_in_checkpoint
        LoadEndianness get_default_load_endianness set_default_load_endianness get_default_mmap_options
        set_default_mmap_options location_tag default_restore_location StorageType
    """,
    "storage": "TypedStorage UntypedStorage",
    "nn.Module": """
        state_dict load_state_dict get_extra_state set_extra_state register_state_dict_pre_hook
        register_state_dict_post_hook register_load_state_dict_pre_hook register_load_state_dict_post_hook
        _register_state_dict_hook _register_load_state_dict_pre_hook _save_to_state_dict _load_from_state_dict _version
    """,
    "optim": """
        ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam RMSprop Rprop SGD SparseAdam
        lr_scheduler swa_utils
    """,
    "accelerator": """
        current_accelerator current_device_idx current_device_index current_stream device_count empty_cache
        get_memory_info is_available max_memory_allocated max_memory_reserved memory_allocated memory_reserved
        memory_stats reset_peak_memory_stats set_device_idx set_device_index synchronize
    """,
    "amp": "GradScaler autocast autocast_mode custom_bwd custom_fwd grad_scaler is_autocast_available",
    "amp.GradScaler": """
        get_backoff_factor get_growth_factor get_growth_interval get_scale is_enabled load_state_dict scale
        set_backoff_factor set_growth_factor set_growth_interval state_dict step unscale_ update
    """,
    "backends": "cpu cuda cudnn mha mkl mkldnn mps nnpack openmp opt_einsum",
    "compiler": """
        allow_in_graph assume_constant_result compile config cudagraph_mark_step_begin disable is_compiling
        is_dynamo_compiling is_exporting list_backends reset set_stance substitute_in_graph
    """,
    "cpu": "current_device current_stream device_count is_available is_initialized set_device stream synchronize",
    "cuda": """
        CUDAGraph CudaError Event OutOfMemoryError Stream amp can_device_access_peer current_device current_stream
        default_generators default_stream device device_count device_of empty_cache get_arch_list get_device_capability
        get_device_name get_device_properties get_rng_state get_rng_state_all has_half init initial_seed ipc_collect
        is_available is_bf16_supported is_current_stream_capturing is_initialized is_tf32_supported manual_seed
        manual_seed_all max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated
        memory_cached memory_reserved memory_stats memory_summary reset_accumulated_memory_stats
        reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats seed seed_all set_device
        set_per_process_memory_fraction set_rng_state set_rng_state_all stream synchronize
    """,
    "cuda.amp": "GradScaler autocast custom_bwd custom_fwd",
    "cuda.nvtx": "mark range range_end range_pop range_push range_start",
    "distributed": """
        is_available is_backend_available is_gloo_available is_initialized is_mpi_available is_nccl_available
    """,
    "distributions": """
        AbsTransform AffineTransform Bernoulli Beta Binomial CatTransform Categorical Cauchy Chi2 ComposeTransform
        ContinuousBernoulli CorrCholeskyTransform CumulativeDistributionTransform Dirichlet Distribution
        ExpTransform Exponential ExponentialFamily FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel
        HalfCauchy HalfNormal Independent IndependentTransform InverseGamma Kumaraswamy LKJCholesky Laplace
        LogNormal LogisticNormal LowRankMultivariateNormal LowerCholeskyTransform MixtureSameFamily Multinomial
        MultivariateNormal NegativeBinomial Normal OneHotCategorical OneHotCategoricalStraightThrough Pareto
        Poisson PositiveDefiniteTransform PowerTransform RelaxedBernoulli RelaxedOneHotCategorical
        ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform StickBreakingTransform
        StudentT TanhTransform Transform TransformedDistribution Uniform VonMises Weibull Wishart biject_to
        constraint_registry constraints identity_transform kl kl_divergence register_kl transform_to transforms
        utils
    """,
    "distributions.constraints": """
        Constraint MixtureSameFamilyConstraint boolean cat corr_cholesky dependent dependent_property greater_than
        greater_than_eq half_open_interval independent integer_interval interval is_dependent less_than
        lower_cholesky lower_triangular multinomial nonnegative nonnegative_integer one_hot positive
        positive_definite positive_integer positive_semidefinite real real_vector simplex square stack symmetric
        unit_interval
    """,
    "distributions.utils": """
        broadcast_all clamp_probs lazy_property logits_to_probs probs_to_logits tril_matrix_to_vec
        vec_to_tril_matrix
    """,
    "jit": """
        Attribute CompilationUnit Error Final Future ScriptFunction ScriptModule annotate enable_onednn_fusion
        export fork freeze ignore interface is_scripting is_tracing isinstance load optimize_for_inference
        optimized_execution save script script_if_tracing script_method set_fusion_strategy strict_fusion trace
        trace_module unused wait
    """,
    "multiprocessing": """
        Event Lock Pool Process Queue cpu_count get_all_sharing_strategies get_context get_sharing_strategy
        set_sharing_strategy set_start_method spawn start_processes
    """,
    "nn.common_types": "_size_1_t _size_2_t _size_any_t _ratio_2_t _tensor_list_t",
    "nn.grad": "conv1d_input conv1d_weight conv2d_input conv2d_weight conv3d_input conv3d_weight",
    "nn.parallel": """
        DataParallel DistributedDataParallel data_parallel gather parallel_apply replicate scatter
    """,
    "overrides": """
        BaseTorchFunctionMode TorchFunctionMode get_ignored_functions get_overridable_functions get_testing_overrides
        enable_reentrant_dispatch get_default_nowrap_functions handle_torch_function has_torch_function is_tensor_like
        is_tensor_method_or_property redispatch_function resolve_name wrap_torch_function
    """,
    "sparse": "addmm check_sparse_tensor_invariants log_softmax mm sampled_addmm softmax spdiags sum",
    "testing": "FileCheck assert_allclose assert_close make_tensor",
    "types": "Device FileLike Number Storage _size _TensorOrTensors",
    "utils._pytree": """
        GetAttrKey LeafSpec MappingKey PyTree SequenceKey TreeSpec arg_tree_leaves key_get keystr map_only
        register_pytree_node tree_all tree_all_only tree_any tree_any_only tree_flatten tree_flatten_with_path
        tree_is_leaf tree_iter tree_leaves tree_map tree_map_ tree_map_only tree_map_only_ tree_map_with_path
        tree_structure tree_unflatten
    """,
    "utils.data": """
        BatchSampler ChainDataset ConcatDataset DataLoader Dataset DistributedSampler IterableDataset
        RandomSampler Sampler SequentialSampler StackDataset Subset SubsetRandomSampler TensorDataset
        WeightedRandomSampler default_collate default_convert get_worker_info random_split
    """,
    "utils.dlpack": "from_dlpack to_dlpack",
    "version": "__version__ cuda debug git_version hip",
}
