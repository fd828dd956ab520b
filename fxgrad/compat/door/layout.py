"""The table of torch's module paths, and of the names that are elsewhere here."""

from __future__ import annotations

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

# Modules of torch's whose names are elsewhere here: in a package around, in one of its files if they are private, or in
# one of HOMES. `inventory.txt` lists these names.
ELSEWHERE = """
    _jit_internal _tensor _utils _vmap_internals autograd.functional cuda.amp.autocast_mode cuda.amp.grad_scaler
    cuda.graphs cuda.memory cuda.random distributed.constants distributed.distributed_c10d distributed.optim
    distributed.optim.zero_redundancy_optimizer distributed.tensor.placement_types distributions.bernoulli
    distributions.beta distributions.binomial distributions.cauchy distributions.chi2
    distributions.continuous_bernoulli distributions.dirichlet distributions.exponential
    distributions.fishersnedecor distributions.gamma distributions.generalized_pareto distributions.geometric
    distributions.gumbel distributions.half_cauchy distributions.half_normal distributions.independent
    distributions.inverse_gamma distributions.kumaraswamy distributions.laplace distributions.lkj_cholesky
    distributions.log_normal distributions.logistic_normal distributions.lowrank_multivariate_normal
    distributions.mixture_same_family distributions.multinomial distributions.multivariate_normal
    distributions.negative_binomial distributions.normal distributions.one_hot_categorical distributions.pareto
    distributions.poisson distributions.relaxed_bernoulli distributions.relaxed_categorical distributions.studentT
    distributions.uniform distributions.von_mises distributions.weibull distributions.wishart functional
    multiprocessing.spawn nn.attention.bias nn.modules.activation nn.modules.batchnorm nn.modules.channelshuffle
    nn.modules.conv nn.modules.distance nn.modules.dropout nn.modules.flatten nn.modules.fold
    nn.modules.instancenorm nn.modules.linear nn.modules.loss nn.modules.module nn.modules.normalization
    nn.modules.pixelshuffle nn.modules.sparse nn.parallel.data_parallel nn.parallel.distributed
    nn.parallel.parallel_apply nn.parallel.replicate nn.parallel.scatter_gather nn.utils._per_sample_grad
    profiler.profiler signal.windows.windows testing._creation torch_version utils.data._utils
    utils.data._utils.collate utils.data._utils.worker utils.data.dataloader utils.tensorboard.writer
"""

# Those of modules for torch itself, of which the inventory lists no names.
UNLISTED_NAMES = {
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
    "_library.custom_ops": "CustomOpDef custom_op",
    "testing._comparison": "assert_allclose assert_close default_tolerances get_tolerances",
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
UNLISTED = frozenset(path for path in ABSENT if path.startswith("torch._")) | {
    "torch.contrib", "torch.onnx._internal", "torch.ops", "torch.testing._internal"
}  # fmt: skip

LAYOUT = {
    "torch": "",
    **{f"torch.{path}": "" for path in SAME.split()},
    **{f"torch.{path}": "*" for path in ELSEWHERE.split()},
    **{f"torch.{path}": names for path, names in UNLISTED_NAMES.items()},
    "functorch": "",
}
