"""Where fxgrad.compat differs from torch on purpose, and why; the tests check that it does."""

# Operations whose node has another name than torch's, by reason.
NODES = {
    "it is composed of others here, a copy and a view that is written into, say": """
        diag diag_embed diagonal_scatter fill_diagonal_ narrow_copy put put_ rot90 select_scatter
        slice_scatter alias_copy as_strided_copy diagonal_copy expand_copy permute_copy select_copy slice_copy
        split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy
        view_as_real_copy view_copy segment_reduce stft
    """,
    "torch composes it of other operations, and names the last of them": """
        gradient istft norm_except_dim nuclear_norm
        cov corrcoef diff trapezoid trapz cumulative_trapezoid quantile nanquantile einsum tensordot outer ger
        inner kron matmul vecdot multi_dot chain_matmul matrix_power vander atleast_1d atleast_3d
        repeat_interleave combinations cond norm matrix_norm tensorinv tensorsolve logdet
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d avg_pool1d bilinear conv1d conv2d
        conv_transpose1d cosine_embedding_loss cosine_similarity gaussian_nll_loss
        hinge_embedding_loss instance_norm kl_div l1_loss linear margin_ranking_loss max_pool1d
        max_unpool1d mse_loss multilabel_soft_margin_loss pairwise_distance poisson_nll_loss rms_norm
        scaled_dot_product_attention smooth_l1_loss triplet_margin_loss
        linear_cross_entropy rnn_tanh rnn_relu gru lstm rnn_tanh_cell rnn_relu_cell gru_cell lstm_cell
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
LAYOUTS = {"conv_tbc", "kron", "take_along_dim"}

# Operations that differ for operands of other dtypes, by reason and dtypes.
OTHER_DTYPES = {
    "torch has the kernel for the same with other options: given edges, indices, one place, no antialias": {
        "float16 bfloat16": "histogram histogramdd nn.functional.interpolate nuclear_norm",
        "uint8 int8 int16 int32 int64": "max_pool1d nn.functional.max_pool1d",
        "complex64 complex128": """
            adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d
        """,
    },
    "torch lets it pass by accident, beside operations of the family that it refuses, or rounds on the way": {
        "uint8 int8 int16 int32 int64": "rnn_tanh_cell",
        "int64": "nn.functional.local_response_norm",
        "complex64 complex128": "nn.functional.soft_margin_loss",
        "bool": "lu_unpack",
    },
    "the modulus is written into the complex Tensor": {
        "complex64 complex128": ".abs_ .absolute_",
    },
    "differences of bytes wrap around in torch": {
        "uint8": """
            pairwise_distance nn.functional.pairwise_distance nn.functional.triplet_margin_loss
            nn.functional.triplet_margin_with_distance_loss trapz
        """,
    },
    "torch computes in half precision, and overflows": {
        "float16 bfloat16": "matrix_exp linalg.matrix_exp istft",
    },
    "of equal entries torch takes another": {
        "uint8 int8 int16 int32 int64": "kthvalue topk",
    },
    "there is no complex dtype of half precision": {
        "float16": "view_as_complex view_as_complex_copy",
    },
    "NaN has the sign of its bits; limits are refused whatever the function is called": {
        "bfloat16": "signbit",
        "uint8": "nn.functional.hardtanh_",
    },
}

# Operations that torch refuses in place where a gradient is required, since it has none; here there is one.
UNDIFFERENTIATED = {"floor_divide", "asinh", "acosh", "atanh", "arcsinh", "arccosh", "arctanh"}

# Operations whose operands may not be modified before the backward pass, though torch lets some be, by reason: for all
# others we refuse nothing that torch allows.
OPERANDS_KEPT = {
    "it is one node here, which reads operands; torch composes it of others, which keep what they make on the way": """
        tanhshrink __rtruediv__ float_power ldexp trapezoid trapz cumulative_trapezoid matrix_norm norm matrix_power
        l1_loss smooth_l1_loss mse_loss kl_div poisson_nll_loss gaussian_nll_loss hinge_embedding_loss
        margin_ranking_loss cosine_embedding_loss triplet_margin_loss triplet_margin_with_distance_loss
        pairwise_distance cross_entropy instance_norm ndtr nuclear_norm norm_except_dim
        rnn_tanh gru lstm rnn_tanh_cell gru_cell lstm_cell
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
        "newer than the documents; of torch's compiler, or of CUDA's streams and generators": """
            autograd.graph.region_activation_memory_budget autograd.graph.set_warn_on_accumulate_grad_stream_mismatch
            autograd.graph.set_override_stale_capture_stream autograd.grad_mode.enforce_grad_layout_policy
        """,
    }.items()
    for name in names.split()
}

# What torch makes public in the namespaces that are complete here, and is not there: by reason, by namespace.
ABSENT: dict[str, dict[str, str]] = {
    "TorchScript, the compiler, and how torch reaches its own operations": {
        "": """
            AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType Block BoolType BufferDict CallStack
            Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType
            ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType
            DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet EnumType ErrorReport
            ExcludeDispatchKeyGuard ExecutionPlan FileCheck FloatType FunctionSchema FutureType Gradient Graph
            GraphExecutorState IODescriptor InferredType IntType InterfaceType JITException ListType LiteScriptModule
            LockingLogger ModuleDict Node NoneType NoopLogger NumberType OperatorInfo OptionalType ParameterDict
            PyObjectType PyTorchFileReader PyTorchFileWriter RRefType SUM ScriptClass ScriptClassFunction ScriptDict
            ScriptDictIterator ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator ScriptMethod
            ScriptModule ScriptModuleSerializer ScriptObject ScriptObjectProperty SerializationStorageContext
            StaticModule StreamObjType StringType SymBoolType SymIntType Tag TensorType
            TracingState TupleType Type UnionType Use Value fork import_ir_module import_ir_module_from_buffer
            merge_type_from_type_comment parse_ir parse_schema parse_type_comment sym_constrain_range
            sym_constrain_range_for_size sym_fresh_size unify_type_list wait
        """,
    },
    "threads, measurements and switches of torch's own library": {
        "": """
            BenchmarkConfig BenchmarkExecutionStats FatalError ThroughputBenchmark has_lapack has_mkl has_openmp
            has_spectral init_num_threads thread_safe_generator
        """,
    },
    "streams, memory and kernels of accelerators": {
        "": """
            cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution
            cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler
            cudnn_is_acceptable miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
            miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
            mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d
            mkldnn_max_pool3d mkldnn_rnn_layer
        """,
        "Tensor": "ipu mtia to_mkldnn xpu",
    },
    "the parts of nn.functional, without documentation: that has them": {
        "": """
            affine_grid_generator alpha_dropout_ batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
            batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats
            convolution ctc_loss embedding_bag embedding_renorm_ feature_alpha_dropout_ feature_dropout_ grid_sampler
            grid_sampler_2d grid_sampler_3d native_batch_norm native_dropout native_group_norm native_layer_norm
            native_norm poisson_nll_loss
        """,
    },
    "quantized Tensors: integers with a scale; fake_quantize_… are there, by which models are trained for them": {
        "": """
            choose_qparams_optimized dequantize empty_quantized fbgemm_linear_fp16_weight
            fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
            fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
            fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant int_repr q_per_channel_axis
            q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme
            quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell
            quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell
            quantized_rnn_tanh_cell
        """,
        "Tensor": """
            dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
            qscheme
        """,
    },
    "sparse Tensors": {
        "": """
            ccol_indices_copy col_indices_copy crow_indices_copy hspmm indices_copy resize_as_sparse_ row_indices_copy
            saddmm smm sspaddmm values_copy
        """,
        "Tensor": "resize_as_sparse_ smm sspaddmm",
    },
    "dtypes that NumPy lacks have names alone; this is only of these": {
        "": "hash_tensor",
        "Tensor": "chalf hash_tensor",
        "nn.functional": "ScalingType SwizzleType grouped_mm scaled_grouped_mm scaled_mm",
    },
    "storages by dtype, which torch has deprecated": {
        "": """
            BoolStorage ByteStorage CharStorage DoubleStorage FloatStorage IntStorage LongStorage ShortStorage from_file
        """,
        "Tensor": "storage_type",
    },
    "it is deprecated in torch, or raises there": {
        "Tensor": "reinforce resize resize_as",
    },
    "newer than the documents, or of Tensors of a kind that is not here: nested ones, dimensions as objects": {
        "": "slice_inverse",
        "Tensor": "grad_dtype index slice_inverse to_padded_tensor",
    },
    "pieces of documentation, and what torch imports for itself": {
        "linalg": "common_notes",
        "fft": "Tensor",
        "nn.functional": """
            BroadcastingList1 BroadcastingList2 BroadcastingList3 DType GRID_SAMPLE_INTERPOLATION_MODES
            GRID_SAMPLE_PADDING_MODES TYPE_CHECKING Tensor assert_int_or_pair boolean_dispatch handle_torch_function
            has_torch_function has_torch_function_unary has_torch_function_variadic reproducibility_notes
            sparse_support_notes tf32_notes
        """,
    },
}

# Parameters of torch's that are not there.
PARAMETERS: dict[str, list[str]] = {
    # Newer than the documents.
    "autograd.profiler.profile.export_chrome_trace": ["metadata", "use_python_export"],
}

# Operations without a case of their own, and what tests them.
UNTESTED = {
    "_ctc_loss": "its derivative is torch's only behind log_softmax: test_ctc_loss",
    "_neg_view": "negative views, which torch makes of conjugates: test_conjugate_views",
    "alias": "detach and views of all: test_views",
    "index": "x[...]: test_indexing",
    "slice": "x[...]: test_indexing",
    "_dirichlet_grad": "slopes of random numbers: test_distributions",
    "_standard_gamma_grad": "slopes of random numbers: test_distributions",
    "_sample_dirichlet": "random numbers with derivatives: test_distributions",
    "_standard_gamma": "random numbers with derivatives: test_distributions",
    "_pad_packed_sequence": "pad_packed_sequence: test_recurrent",
    "fractional_max_pool": "its places are random: test_nn_functional",
} | dict.fromkeys(
    ["bernoulli", "binomial", "multinomial", "normal", "poisson"], "random numbers: test_random"
)
