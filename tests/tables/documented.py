"""The names of torch.autograd by the version of torch whose documents describe them."""

# The documents of 1.8 and 2.8 say their version. The other two describe what 1.10 and 2.0 have; that of 1.10 comes with
# the source of the module, whose names count as well.
DOCUMENTED = {
    "1.8": """
        backward grad functional.jacobian functional.hessian functional.vjp functional.jvp functional.vhp
        functional.hvp no_grad enable_grad set_grad_enabled Variable Tensor.grad Tensor.requires_grad Tensor.is_leaf
        Tensor.backward Tensor.detach Tensor.detach_ Tensor.register_hook Tensor.retain_grad Function Function.forward
        Function.backward function._ContextMethodMixin function.FunctionCtx.mark_dirty
        function.FunctionCtx.mark_non_differentiable function.FunctionCtx.save_for_backward
        function.FunctionCtx.set_materialize_grads gradcheck gradgradcheck profiler.profile
        profiler.profile.export_chrome_trace profiler.profile.key_averages profiler.profile.self_cpu_time_total
        profiler.profile.table profiler.profile.total_average profiler.emit_nvtx profiler.load_nvprof detect_anomaly
        set_detect_anomaly
    """,
    "1.10": """
        backward grad functional.jacobian functional.hessian functional.vjp functional.jvp functional.vhp
        functional.hvp no_grad enable_grad set_grad_enabled inference_mode Variable variable grad_mode Tensor.grad
        Tensor.requires_grad Tensor.is_leaf Tensor.backward Tensor.detach Tensor.detach_ Tensor.register_hook
        Tensor.retain_grad Function Function.forward Function.backward function.FunctionCtx.mark_dirty
        function.FunctionCtx.mark_non_differentiable function.FunctionCtx.save_for_backward
        function.FunctionCtx.set_materialize_grads function.NestedIOFunction gradcheck gradgradcheck profiler.profile
        profiler.profile.export_chrome_trace profiler.profile.key_averages profiler.profile.self_cpu_time_total
        profiler.profile.total_average profiler.emit_nvtx profiler.load_nvprof detect_anomaly set_detect_anomaly
        graph.saved_tensors_hooks graph.save_on_cpu kineto_available
    """,
    "2.0": """
        backward grad forward_ad.dual_level forward_ad.make_dual forward_ad.unpack_dual functional.jacobian
        functional.hessian functional.vjp functional.jvp functional.vhp functional.hvp Variable Tensor.grad
        Tensor.requires_grad Tensor.is_leaf Tensor.backward Tensor.detach Tensor.detach_ Tensor.register_hook
        Tensor.retain_grad Function Function.forward Function.backward Function.jvp Function.vmap
        function.FunctionCtx.mark_dirty function.FunctionCtx.mark_non_differentiable
        function.FunctionCtx.save_for_backward function.FunctionCtx.set_materialize_grads gradcheck gradgradcheck
        profiler.profile profiler.profile.export_chrome_trace profiler.profile.key_averages
        profiler.profile.self_cpu_time_total profiler.profile.total_average profiler.emit_nvtx profiler.emit_itt
        profiler.load_nvprof detect_anomaly set_detect_anomaly graph.Node graph.Node.name
        graph.Node.metadata graph.Node.next_functions graph.Node.register_hook graph.Node.register_prehook
        graph.saved_tensors_hooks graph.save_on_cpu graph.disable_saved_tensors_hooks
    """,
    "2.8": """
        backward grad forward_ad.dual_level forward_ad.make_dual forward_ad.unpack_dual forward_ad.enter_dual_level
        forward_ad.exit_dual_level forward_ad.UnpackedDualTensor functional.jacobian functional.hessian functional.vjp
        functional.jvp functional.vhp functional.hvp Variable Tensor.grad Tensor.requires_grad Tensor.is_leaf
        Tensor.backward Tensor.detach Tensor.detach_ Tensor.register_hook Tensor.register_post_accumulate_grad_hook
        Tensor.retain_grad Function Function.forward Function.backward Function.jvp Function.vmap
        function.FunctionCtx.mark_dirty function.FunctionCtx.mark_non_differentiable
        function.FunctionCtx.save_for_backward function.FunctionCtx.set_materialize_grads function.once_differentiable
        function.BackwardCFunction function.InplaceFunction function.NestedIOFunction gradcheck gradgradcheck
        gradcheck.GradcheckError profiler.profile profiler.profile.export_chrome_trace profiler.profile.key_averages
        profiler.profile.self_cpu_time_total profiler.profile.total_average profiler.emit_nvtx
        profiler.emit_itt profiler.load_nvprof profiler.parse_nvprof_trace profiler.EnforceUnique
        profiler.KinetoStepTracker profiler.record_function profiler_util.Interval profiler_util.Kernel
        profiler_util.MemRecordsAcc profiler_util.StringTable detect_anomaly set_detect_anomaly
        grad_mode.set_multithreading_enabled graph.Node graph.Node.name graph.Node.metadata graph.Node.next_functions
        graph.Node.register_hook graph.Node.register_prehook graph.increment_version graph.saved_tensors_hooks
        graph.save_on_cpu graph.disable_saved_tensors_hooks graph.register_multi_grad_hook
        graph.allow_mutation_on_saved_tensors graph.GradientEdge graph.get_gradient_edge
    """,
}
VERSIONS = {
    name: ", ".join(version for version, names in DOCUMENTED.items() if name in names.split())
    for name in dict.fromkeys(" ".join(DOCUMENTED.values()).split())
}
