"""The table of torch's module paths, and of the names that are elsewhere here."""

from __future__ import annotations

import re

from ..nn import FAMILIES

# Modules of torch's that are modules of ours under the same path, with whatever is in them. One that is not there yet
# is unknown.
SAME = """
    __config__ accelerator amp amp.autocast_mode amp.grad_scaler autograd autograd.anomaly_mode autograd.forward_ad
    autograd.function autograd.grad_mode autograd.gradcheck autograd.graph autograd.profiler autograd.profiler_util
    autograd.variable backends backends.cpu backends.cuda backends.cudnn backends.mha backends.mkl backends.mkldnn
    backends.mps backends.nnpack backends.openmp backends.opt_einsum compiler cpu cuda cuda.amp cuda.nvtx
    cuda.streams distributed distributed.algorithms distributed.algorithms.ddp_comm_hooks
    distributed.algorithms.ddp_comm_hooks.default_hooks distributed.algorithms.join distributed.device_mesh
    distributed.nn distributed.nn.functional distributed.tensor distributions distributions.categorical
    distributions.constraint_registry distributions.constraints distributions.distribution distributions.exp_family
    distributions.kl distributions.transformed_distribution distributions.transforms distributions.utils fft func
    futures fx fx._pytree fx._symbolic_trace fx.experimental fx.experimental.proxy_tensor fx.graph fx.graph_module
    fx.immutable_collections fx.interpreter fx.node fx.passes fx.passes.shape_prop fx.proxy fx.subgraph_rewriter jit
    library linalg mps mtia multiprocessing nn nn.attention nn.common_types nn.functional nn.grad nn.init nn.modules
    nn.modules.adaptive nn.modules.container nn.modules.lazy nn.modules.padding nn.modules.pooling nn.modules.rnn
    nn.modules.transformer nn.modules.upsampling nn.modules.utils nn.parallel nn.parameter nn.utils
    nn.utils._named_member_accessor nn.utils.clip_grad nn.utils.convert_parameters nn.utils.fusion nn.utils.init
    nn.utils.memory_format nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn
    nn.utils.spectral_norm nn.utils.stateless nn.utils.weight_norm ops optim optim._adafactor optim._functional
    optim._muon optim.adadelta optim.adagrad optim.adam optim.adamax optim.adamw optim.asgd optim.lbfgs
    optim.lr_scheduler optim.nadam optim.optimizer optim.radam optim.rmsprop optim.rprop optim.sgd optim.sparse_adam
    optim.swa_utils overrides profiler quasirandom random return_types serialization signal signal.windows sparse
    special storage testing types utils utils._contextlib utils._foreach_utils utils._pytree utils.checkpoint
    utils.data utils.data.dataset utils.data.distributed utils.data.sampler utils.dlpack utils.flop_counter
    utils.hooks utils.module_tracker utils.tensorboard utils.weak version xpu
"""

# Distributions that torch has each in a file of its name, such as `half_normal`.
DISTRIBUTIONS = """
    Bernoulli Beta Binomial Cauchy Chi2 ContinuousBernoulli Dirichlet Exponential Gamma GeneralizedPareto Geometric
    Gumbel HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy Laplace LogNormal LogisticNormal
    MixtureSameFamily Multinomial NegativeBinomial Normal Pareto Poisson Uniform VonMises Weibull Wishart
"""

# Names that are elsewhere here: in a package around, in one of its files if they are private, or in one of HOMES.
ELSEWHERE = {
    **{
        f"distributions.{re.sub('(?<=[a-z])(?=[A-Z])', '_', name).lower()}": name
        for name in DISTRIBUTIONS.split()
    },
    "_dynamo": """
        allow_in_graph assume_constant_result config disable disallow_in_graph forbid_in_graph graph_break is_compiling
        list_backends mark_dynamic mark_static mark_static_address maybe_mark_dynamic nonstrict_trace optimize reset
        set_stance substitute_in_graph
    """,
    "_functorch": "",
    "_functorch.apis": "chunk_vmap grad grad_and_value vmap",
    "_functorch.eager_transforms": """
        functionalize hessian jacfwd jacrev jvp linearize tree_flatten tree_map tree_unflatten vjp vmap
    """,
    "_functorch.functional_call": "functional_call stack_module_state",
    "_functorch.make_functional": """
        FunctionalModule FunctionalModuleWithBuffers combine_state_for_ensemble make_functional
        make_functional_with_buffers
    """,
    "_functorch.vmap": "tree_flatten tree_unflatten",
    "_jit_internal": """
        Final Future _copy_to_script_wrapper _overload _overload_method export ignore is_scripting unused
    """,
    "_tensor": "Tensor",
    "_utils": "_flatten_dense_tensors _take_tensors _unflatten_dense_tensors",
    "_vmap_internals": "_vmap vmap",
    "autograd.functional": """
        _as_tuple _construct_standard_basis_for _grad_postprocess _grad_preprocess _tuple_postprocess
    """,
    "cuda.amp.autocast_mode": "autocast custom_bwd custom_fwd",
    "cuda.amp.grad_scaler": "GradScaler",
    "cuda.graphs": "CUDAGraph graph is_current_stream_capturing",
    "cuda.memory": "MemPool",
    "cuda.random": """
        get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state
        set_rng_state_all
    """,
    "distributed.constants": "default_pg_timeout",
    "distributed.distributed_c10d": """
        Backend BackendConfig DebugLevel GroupMember P2POp PrefixStore ProcessGroup ReduceOp Store Work
        _all_gather_base _get_default_group _reduce_scatter_base
        all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_gather_single all_reduce
        all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv broadcast broadcast_object_list
        default_pg_timeout destroy_process_group gather gather_object get_backend get_backend_config get_debug_level
        get_default_backend_for_device get_global_rank get_group_rank get_node_local_rank get_pg_count
        get_process_group_ranks get_rank get_world_size group init_process_group irecv is_backend_available
        is_gloo_available is_initialized is_mpi_available is_nccl_available is_torchelastic_launched
        is_ucc_available is_xccl_available isend monitored_barrier new_group new_subgroups
        new_subgroups_by_enumeration recv recv_object_list reduce reduce_op reduce_scatter reduce_scatter_single
        reduce_scatter_tensor scatter scatter_object_list send send_object_list split_group supports_complex
    """,
    "distributed.optim": "ZeroRedundancyOptimizer",
    "distributed.optim.zero_redundancy_optimizer": "ZeroRedundancyOptimizer",
    "distributed.tensor.placement_types": "Partial Placement Replicate Shard",
    "distributions.fishersnedecor": "FisherSnedecor",
    "distributions.lkj_cholesky": "LKJCholesky",
    "distributions.lowrank_multivariate_normal": "LowRankMultivariateNormal _batch_mahalanobis _batch_mv",
    "distributions.multivariate_normal": """
        MultivariateNormal _batch_mahalanobis _batch_mv _precision_to_scale_tril
    """,
    "distributions.one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "distributions.relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
    "distributions.relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
    "distributions.studentT": "StudentT",
    "functional": """
        atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
        chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique
        unique_consecutive unravel_index
    """,
    "_library.custom_ops": "CustomOpDef custom_op",
    "multiprocessing.spawn": """
        ProcessContext ProcessException ProcessExitedException ProcessRaisedException SpawnContext spawn start_processes
    """,
    "nn.attention.bias": "causal_lower_right causal_upper_left",
    "nn.modules.activation": """
        CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish
        MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink
        Softsign Tanh Tanhshrink Threshold
    """,
    "nn.modules.batchnorm": """
        BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm _BatchNorm
        _LazyNormBase _NormBase
    """,
    "nn.modules.channelshuffle": "ChannelShuffle",
    "nn.modules.conv": """
        Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d
        LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d _ConvNd _ConvTransposeNd _LazyConvXdMixin
    """,
    "nn.modules.distance": "CosineSimilarity PairwiseDistance",
    "nn.modules.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout _DropoutNd",
    "nn.modules.flatten": "Flatten Unflatten",
    "nn.modules.fold": "Fold Unfold",
    "nn.modules.instancenorm": """
        InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
        _InstanceNorm
    """,
    "nn.modules.linear": "LazyLinear NonDynamicallyQuantizableLinear",
    "nn.modules.loss": f"{FAMILIES['losses']} _Loss _WeightedLoss",
    "nn.modules.module": """
        _EXTRA_STATE_KEY_SUFFIX _IncompatibleKeys _global_buffer_registration_hooks
        _global_module_registration_hooks _global_parameter_registration_hooks
    """,
    "nn.modules.normalization": "CrossMapLRN2d LocalResponseNorm",
    "nn.modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
    "nn.modules.sparse": "Embedding EmbeddingBag",
    "nn.parallel.data_parallel": "DataParallel data_parallel",
    "nn.parallel.distributed": "DistributedDataParallel",
    "nn.parallel.parallel_apply": "parallel_apply",
    "nn.parallel.replicate": "replicate",
    "nn.parallel.scatter_gather": "gather scatter scatter_kwargs",
    "nn.utils._per_sample_grad": "call_for_per_sample_grads",
    "profiler.profiler": "profile schedule supported_activities tensorboard_trace_handler ProfilerAction",
    "signal.windows.windows": """
        bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall
    """,
    "testing._comparison": "assert_allclose assert_close default_tolerances get_tolerances",
    "testing._creation": "make_tensor",
    "torch_version": "TorchVersion",
    "utils.data._utils": "",
    "utils.data._utils.collate": """
        collate collate_float_fn collate_int_fn collate_numpy_array_fn collate_numpy_scalar_fn collate_str_fn
        collate_tensor_fn default_collate default_collate_err_msg_format default_collate_fn_map default_convert
        np_str_obj_array_pattern
    """,
    "utils.data._utils.worker": "WorkerInfo get_worker_info",
    "utils.data.dataloader": """
        _BaseDataLoaderIter _DatasetKind _MultiProcessingDataLoaderIter _SingleProcessDataLoaderIter
        _collate_fn_t get_worker_info
    """,
    "utils.tensorboard.writer": "SummaryWriter",
}

# Modules of ours in which such names are, where these are not around the path.
HOMES = {
    "torch._dynamo": ["compiler"],
    "torch._functorch.apis": ["func"],
    "torch._functorch.eager_transforms": ["func", "utils._pytree"],
    "torch._functorch.functional_call": ["func"],
    "torch._functorch.make_functional": ["functorch"],
    "torch._functorch.vmap": ["utils._pytree"],
    "torch._jit_internal": ["jit"],
    "torch._library.custom_ops": ["library"],
    "torch._tensor": [""],
    "torch._utils": ["nn.utils.convert_parameters"],
    "torch._vmap_internals": ["functorch"],
    "torch.distributed.optim": ["optim.zero_redundancy"],
    "torch.distributed.optim.zero_redundancy_optimizer": ["optim.zero_redundancy"],
    "torch.autograd.functional": ["autograd.functional_steps"],
    "torch.distributions.lowrank_multivariate_normal": ["distributions.multivariate"],
    "torch.distributions.multivariate_normal": ["distributions.multivariate"],
    "torch.distributions.relaxed_bernoulli": ["distributions.relaxed"],
    "torch.distributions.relaxed_categorical": ["distributions.relaxed"],
    "torch.functional": [""],
    "torch.nn.utils._per_sample_grad": ["nn.utils.per_sample_grad"],
    "torch.nn.modules.linear": ["nn.modules.attention"],
    "torch.nn.utils.init": ["nn.utils"],
    "torch.storage": ["serialization", "_core.storage"],
    "torch.torch_version": ["door.version"],
    "torch.utils.data._utils.collate": ["utils.data.collate"],
    "torch.utils.data._utils.worker": ["utils.data.worker"],
}


def by_path(reasons: dict[str, str]) -> dict[str, str]:
    """Return the reason for each of torch's paths, from the paths for each reason."""
    return {f"torch.{path}": reason for reason, paths in reasons.items() for path in paths.split()}


# Modules of torch's that are not here, with all that is in them and below: programs may import what `inventory.txt`
# lists, and what they use of it raises, and gives the reason.
ABSENT = by_path(
    {
        "there is no library of C++ below this surface": """
            _C _C._nn _C_flatbuffer _native _vendor contrib monitor nativert nn.backends nn.cpp numa
            utils.backend_registration utils.cpp_backtrace utils.cpp_extension utils.hipify
        """,
        "operations of your own are made by torch.library.custom_op": "_custom_op _custom_ops _library _ops ops",
        "programs are differentiated and compiled by fxgrad's own transforms, which are not torch's graphs": """
            _awaits _decomp _dispatch _dynamo _export _functorch _guards _higher_order_ops _inductor _lazy _logging
            _meta_registrations _numpy _prims _prims_common _refs _strobelight _subclasses export fx jit.annotations
            jit.frontend package utils._python_dispatch utils.bundled_inputs utils.jit
            utils.mobile_optimizer
        """,
        "models are not exported to ONNX from here": "onnx",
        "models are not fetched from the network here": "hub utils.model_zoo",
        "quantized dtypes are not here": "ao nn.intrinsic nn.qat nn.quantizable nn.quantized quantization",
        "processes work together by collectives and DistributedDataParallel here": "distributed",
        "the devices here are the CPU, which is NumPy's, and CUDA devices, which are CuPy's": "utils.mkldnn",
        "Tensors have all their entries, or are sparse as in torch.sparse": "masked nested",
        "it is of GPUs with kernels for two entries in four": "sparse.semi_structured",
        "datasets are Python objects, which torch.utils.data loads; there are no data pipes": "utils.data.datapipes",
        "it is a tool for torch's own developers, or looks at torch's own files": """
            testing._internal utils.backcompat utils.benchmark utils.collect_env utils.debug_log utils.deterministic
            utils.file_baton utils.model_dump utils.serialization utils.show_pickle utils.throughput_benchmark utils.viz
        """,
        "attention is torch.nn.functional.scaled_dot_product_attention, of one kind": """
            nn.attention.experimental nn.attention.flex_attention nn.attention.varlen
        """,
    }
)

# Names that modules here lack, and that `inventory.txt` lists as well.
LACKING = by_path(
    {
        "the devices here are the CPU, which is NumPy's, and CUDA devices, which are CuPy's": """
            accelerator backends cpu cuda mps mtia xpu
        """,
        "programs are differentiated and compiled by fxgrad's own transforms, which are not torch's graphs": """
            compiler jit utils.flop_counter
        """,
        "each process uses one device here": "multiprocessing nn.parallel",
        "datasets are Python objects, which torch.utils.data loads; there are no data pipes": "utils.data",
        "it is a tool for torch's own developers": "profiler",
    }
)

# Modules for torch itself, of which the inventory lists neither parts nor names: programs may import any.
MACHINERY = """
    _C _C_flatbuffer _awaits _custom_op _custom_ops _decomp _dispatch _dynamo _export _functorch _guards
    _higher_order_ops _inductor _lazy _library _logging _meta_registrations _native _numpy _ops _prims _prims_common
    _refs _strobelight _subclasses _vendor contrib onnx._internal ops testing._internal
"""
UNLISTED = frozenset(f"torch.{path}" for path in MACHINERY.split())

LAYOUT = {
    "torch": "",
    **{f"torch.{path}": "" for path in SAME.split()},
    **{f"torch.{path}": names for path, names in ELSEWHERE.items()},
    "functorch": "",
}
