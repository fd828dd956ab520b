"""What the documents of torch.autograd show and say of saved tensors, hooks for several gradients, anomalies, the
profiler and checkpoints."""

from __future__ import annotations

import json
import re
import tempfile
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.utils.checkpoint

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy
from tests.parity.compat.documents import uniform
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit:DeprecationWarning", "ignore:Anomaly Detection has been enabled"
)


# -- saved tensors ----------------------------------------------------------------------------------------------------


@scenario
def attributes_of_a_node(torch):
    a = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    b = a.exp()
    documented = """
        __call__ __class__ __delattr__ __dir__ __doc__ __eq__ __format__ __ge__ __getattribute__ __gt__
        __hash__ __init__ __init_subclass__ __le__ __lt__ __ne__ __new__ __reduce__ __reduce_ex__ __repr__
        __setattr__ __sizeof__ __str__ __subclasshook__ _raw_saved_result _saved_result metadata name
        next_functions register_hook register_prehook requires_grad
    """
    return {*documented.split()} - {*dir(b.grad_fn)}, torch.allclose(b.grad_fn._saved_result, b)


def printing_hooks(torch, seen):
    """Hooks that note what goes through them, as text."""

    def pack_hook(x):
        seen.append(f"Packing {x}")
        return x.detach()

    def unpack_hook(x):
        seen.append(f"Unpacking {x}")
        return x

    return torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook)


@scenario
def saved_tensors_hooks(torch):
    seen = []
    a = torch.ones(5, requires_grad=True)
    b = torch.ones(5, requires_grad=True) * 2
    with printing_hooks(torch, seen):
        y = a * b
    count = len(seen)
    y.sum().backward()
    return (
        sorted(seen[:count]),
        sorted(seen),
        a.grad,
    )  # torch packs the second operand first, unlike its documents


@scenario
def only_the_innermost_hooks_are_applied(torch):
    outer, inner = [], []
    a = uniform(torch, 3, requires_grad=True)
    with printing_hooks(torch, outer):
        with printing_hooks(torch, inner):
            a.exp().sum().backward()
        a.sin()
    return outer, len(inner)


@scenario
def hooks_see_what_functions_save(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x

    seen = []
    a = uniform(torch, 3, requires_grad=True)
    with printing_hooks(torch, seen):
        y = Square.apply(a)
    y.sum().backward()
    return seen, a.grad


@scenario
def saving_to_disk(torch):
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        files = []

        def pack_hook(x):
            files.append(Path(folder) / f"{len(files)}.npy")
            numpy.save(files[-1], x.detach().numpy())
            return files[-1]

        def unpack_hook(path):
            return torch.from_numpy(numpy.load(path))

        a = uniform(torch, 5, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
            y = (a.exp() * a).sin()
        y.sum().backward()
        return a.grad, len(files)


@scenario
def save_on_cpu(torch):
    a, b, c = (uniform(torch, 5, requires_grad=True) for _ in range(3))

    def f(a, b, c):
        prod_1 = a * b
        with torch.autograd.graph.save_on_cpu():
            prod_2 = prod_1 * c
        return prod_2 * a

    y = f(a, b, c)
    y.sum().backward()
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        (a**2).sum().backward()
    return a.grad, b.grad, c.grad


@scenario
def disable_saved_tensors_hooks(torch):
    message = "saved tensors default hooks are disabled"
    with torch.autograd.graph.disable_saved_tensors_hooks(message), torch.autograd.graph.save_on_cpu():
        pass


@scenario
def allow_mutation_on_saved_tensors(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.sum().backward()
    return a.grad, b


@scenario
def forward_and_backward_are_under_one_context(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        a = torch.ones(2, 3, requires_grad=True)
        out = (a.clone() ** 2).sum()
    try:
        out.backward()
    except AssertionError as error:
        return str(error).replace("contextin", "context in")


# -- hooks for several gradients --------------------------------------------------------------------------------------


@scenario
def register_multi_grad_hook(torch):
    seen = []
    a = uniform(torch, 2, 3, requires_grad=True)
    b = uniform(torch, 2, 3, requires_grad=True)
    c, d = a * b, a * b

    def fn(grads):
        seen.append([g is not None for g in grads])

    handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, d), fn)
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    handle.remove()
    c.sum().backward()
    return seen


@scenario
def the_first_of_several_gradients(torch):
    seen = []
    a, b = uniform(torch, 3, requires_grad=True), uniform(torch, 3, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook(
        (a, b), lambda grad: seen.append(tuple(grad.shape)), mode="any"
    )
    (a * b).sum().backward()
    return seen


@scenario
def an_edge_stands_for_its_tensor(torch):
    input = uniform(torch, 3, requires_grad=True)
    loss = (input.exp() * 2).sum()
    edge = torch.autograd.graph.get_gradient_edge(input)
    return torch.autograd.grad(loss, input, retain_graph=True), torch.autograd.grad(loss, edge)


# -- anomalies --------------------------------------------------------------------------------------------------------


def run_with_an_error(torch):
    class MyFunc(torch.autograd.Function):
        @staticmethod
        def forward(ctx, inp):
            return inp.clone()

        @staticmethod
        def backward(ctx, gO):
            raise RuntimeError("Some error in backward")

    out = MyFunc.apply(uniform(torch, 10, 10, requires_grad=True)).sum()
    out.backward()


@scenario
def errors_in_backward(torch):
    run_with_an_error(torch)


@scenario
def errors_in_backward_are_traced_to_the_forward_call(torch):
    with (
        pytest.warns(UserWarning, match="Error detected in MyFuncBackward") as caught,
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="Some error in backward"),
    ):
        run_with_an_error(torch)
    text = next(str(w.message) for w in caught if "Error detected" in str(w.message))
    return (
        text.partition(".")[0],
        "Traceback of forward call that caused the error" in text,
        "MyFunc.apply" in text,
    )


def divided_by_zero(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return x, (x / x).sum()


@scenario
@pytest.mark.filterwarnings("ignore")
def nan_in_backward(torch):
    with torch.autograd.detect_anomaly():
        divided_by_zero(torch)[1].backward()


@scenario
def nan_is_not_looked_for(torch):
    with torch.autograd.detect_anomaly(check_nan=False):
        x, y = divided_by_zero(torch)
        y.backward()
    return x.grad


@scenario
def set_detect_anomaly_is_a_function_and_a_context_manager(torch):
    found = [torch.is_anomaly_enabled()]
    with torch.autograd.set_detect_anomaly(True):
        found.append(torch.is_anomaly_enabled())
        with torch.autograd.set_detect_anomaly(False):
            found.append(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(True)
    found.append(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(False)
    found.append(torch.is_anomaly_enabled())
    return found


# -- the profiler -----------------------------------------------------------------------------------------------------


def profiled(torch, count=5, **options):
    x = torch.ones((1, 1), requires_grad=True)
    with torch.autograd.profiler.profile(**options) as prof:
        for _ in range(count):
            y = x**2
            y.backward()
    return prof


@scenario
def profile(torch):
    averages = {event.key: event.count for event in profiled(torch).key_averages()}
    return {
        name: averages.get(name) for name in ("aten::pow", "PowBackward0", "torch::autograd::AccumulateGrad")
    }


@scenario
def tables(torch):
    averages = profiled(torch).key_averages()
    text = averages.table(sort_by="self_cpu_time_total")
    short = averages.table(sort_by="count", row_limit=1, header="Heading", top_level_events_only=True)
    heads = re.findall(r"Name|Self CPU total|CPU time avg|Self CPU %|# of Calls", text)
    return heads, "PowBackward0" in text, short.count("aten::"), "Heading" in short


@scenario
def a_profile_that_is_off(torch):
    return profiled(torch, enabled=False).function_events


@scenario
def totals(torch):
    prof = profiled(torch)
    average = prof.total_average()
    return prof.self_cpu_time_total > 0, type(average).__name__, average.count > 0, str(prof) == prof.table()


@scenario
def events_by_shapes(torch):
    prof = profiled(torch, record_shapes=True)
    found = [e.input_shapes for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::pow"]
    return found[0][0]


@scenario
def export_chrome_trace(torch):
    prof = profiled(torch)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        prof.export_chrome_trace(str(path))
        found = json.loads(path.read_text())
    events = found["traceEvents"] if isinstance(found, dict) else found
    return any(event.get("name") == "aten::pow" for event in events)


@scenario
def record_function(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.profiler.profile() as prof:
        y = x**2
        with torch.autograd.profiler.record_function("label-z"):
            z = y**3
        z.sum().backward()
    return "label-z" in [event.name for event in prof.function_events]


@scenario
def keys_are_seen_once(torch):
    unique = torch.autograd.profiler.EnforceUnique()
    unique.see("a")
    unique.see("b")
    unique.see("a")


# -- checkpoints ------------------------------------------------------------------------------------------------------


@scenario
def checkpoints_that_keep_products(torch):
    checkpoints = torch.utils.checkpoint
    x, y = uniform(torch, 3, 3, requires_grad=True), uniform(torch, 3, 3, requires_grad=True)
    ops_to_save = [torch.ops.aten.mm.default]

    def policy_fn(ctx, op, *args, **kwargs):
        if op in ops_to_save:
            return checkpoints.CheckpointPolicy.MUST_SAVE
        return checkpoints.CheckpointPolicy.PREFER_RECOMPUTE

    def fn(x, y):
        return torch.sigmoid(torch.matmul(torch.matmul(x, y), y)) * y

    found = []
    for policy in (policy_fn, ops_to_save):
        context_fn = partial(checkpoints.create_selective_checkpoint_contexts, policy)
        out = checkpoints.checkpoint(fn, x, y, use_reentrant=False, context_fn=context_fn)
        found.append((out, torch.autograd.grad(out.sum(), (x, y))))
    return found


@scenario
def checkpoints_do_not_stop_early(torch):
    checkpoints = torch.utils.checkpoint
    x, runs = uniform(torch, 3, requires_grad=True), []

    def fn(x):
        y = x.exp().clone()
        runs.append(1)
        return y

    with checkpoints.set_checkpoint_early_stop(False):
        out = checkpoints.checkpoint(fn, x, use_reentrant=False)
    out.sum().backward()
    return x.grad, len(runs)


@scenario
def checkpoints_of_a_sequence(torch):
    model = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid(), torch.nn.Softplus())
    x = uniform(torch, 4, requires_grad=True)
    out = torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
    return out, torch.autograd.grad(out.sum(), x)


@scenario
def reentrant_checkpoints_are_for_backward_alone(torch):
    """The engine asks whether gradients are for certain inputs."""
    x = uniform(torch, 3, requires_grad=True)
    out = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)
    torch.autograd.grad(out.sum(), x)


@scenario.each()
def test_alike(scenario):
    check(scenario)


# -- ranges for other profilers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["emit_nvtx", "emit_itt"])
def test_ranges_for_other_profilers_are_off(name):
    """Neither is there in torch without CUDA, or outside the other profiler."""
    for library in (torch, fxt):
        x = library.ones(2, requires_grad=True)
        with getattr(library.autograd.profiler, name)(enabled=False):
            (x * x).sum().backward()
        assert as_numpy(x.grad).tolist() == [2.0, 2.0]
