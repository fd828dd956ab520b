"""What is about torch's machinery: the same answers where there is one device, one process and no compiler."""

from __future__ import annotations

import copy
import itertools
import operator
import typing
import warnings

import functorch
import pytest
import torch

import fxgrad.compat as fxt
import fxgrad.compat.functorch
from fxgrad.compat.door.modules import TORCH
from tests.parity.compat.test_creation import built_in

BOTH = [fxt, torch]
VERSIONS = ["2.13.0+fxgrad.1", "2.13.0", "2.13", "2.9.1", "2.13.0rc1", "2.13.0a0", "2.13.0.dev1", "1.0.post1"]


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq])
def test_versions_are_ordered(compare):
    ours, theirs = type(fxt.__version__), type(torch.__version__)
    for a, b in itertools.product(VERSIONS, [*VERSIONS, "junk", (2, 13), (2, 9, 2), (2,)]):
        assert compare(ours(a), b) == compare(theirs(a), b), (a, b)
        assert (ours(a) != b) is not (ours(a) == b)  # torch's != compares texts


TEXTS = """
    T.typename(T.ones(1)), T.typename(3), T.typename("a"), T.typename(len)
    (T.set_default_tensor_type(T.DoubleTensor), T.get_default_dtype(), T.set_default_tensor_type("torch.FloatTensor"))
    T.set_default_tensor_type(3)
    T.set_default_tensor_type("torch.cuda.FloatTensor")
    T.get_default_dtype()
    (T.set_deterministic_debug_mode("error"), T.get_deterministic_debug_mode(), T.set_deterministic_debug_mode(0))
    (T.set_deterministic_debug_mode(1), T.get_deterministic_debug_mode(), T.set_deterministic_debug_mode(0))
    T.set_deterministic_debug_mode("x")
    T.is_warn_always_enabled()
    T.zeros(0, 4, dtype=T.uint8).view(T.int16).shape, T.zeros(2, 0, 3).view(T.float64).shape
    T.zeros(0, 3).view(T.int16).shape, T.ones(3).broadcast_to(2, 3).shape, T.ones(3).broadcast_to((2, -1)).shape
    T.sparse_coo_tensor(size=(2, 3)).shape, T.sparse_coo_tensor(size=(2,), dtype=T.float64).dtype
    isinstance(3, T.SymInt), issubclass(T.AcceleratorError, RuntimeError)
    T.utils._pytree._dict_flatten_with_keys({"a": 3}), T.utils._pytree._list_flatten_with_keys([3])
    T.utils._pytree._dict_unflatten([3], ["a"]), T.utils._pytree._tuple_flatten((1, 2))
    T._check(True), T._check(False, lambda: "no")
    T._check_value(False, lambda: "no")
    T._check_index(False, lambda: "no")
    T._check_type(False, lambda: "no")
    T._check_not_implemented(False, lambda: "no")
    T._check(1)
    T._assert(False, "no")
    T._assert_async(T.ones(1)), T._assert_async(T.tensor(False), "no")
    T._assert_async(T.zeros(1))
    T._assert_async(T.ones(2))
    T._assert_async(True)
    T._check_tensor_all(T.ones(2).bool()), T._check_tensor_all(T.zeros(2).bool(), lambda: "no")
    T._check_tensor_all(T.ones(2))
    T._check_tensor_all(True)
    T.is_storage(3), T.is_storage(T.ones(1).untyped_storage()), T.is_distributed(T.ones(1))
    T.ones(1).is_xpu, T.ones(1).is_mps, T.ones(1).is_nested, T.ones(1).is_mkldnn
    T.cuda.is_available(), T.cuda.device_count(), T.cuda.is_initialized(), T.cuda.memory_allocated()
    T.cuda.max_memory_allocated(), T.cuda.memory_reserved(), T.cuda.empty_cache(), T.cuda.get_arch_list()
    T.cuda.manual_seed(1), T.cuda.manual_seed_all(1), T.cuda.set_device(-1), T.cuda.get_rng_state_all()
    T.cuda.synchronize()
    T.cuda.current_device()
    T.cuda.get_device_name()
    T.cuda.init()
    T.accelerator.is_available(), T.accelerator.current_accelerator(), T.accelerator.device_count()
    T.accelerator.synchronize()
    T.mps.is_available(), T.mps.device_count(), T.mps.manual_seed(1), T.xpu.is_available(), T.xpu.memory_allocated()
    T.cpu.is_available(), T.cpu.device_count(), T.cpu.synchronize(), T.cpu.current_device()
    T.backends.cudnn.is_available(), T.backends.cudnn.version(), T.backends.cudnn.deterministic
    T.backends.cuda.is_built(), T.backends.mps.is_built(), T.backends.cuda.flash_sdp_enabled()
    T.backends.mha.get_fastpath_enabled()
    T.is_autocast_enabled(), T.get_autocast_dtype("cpu"), T.get_autocast_dtype("cuda"), T.is_autocast_cache_enabled()
    [scope.__exit__(None, None, None) or None for scope in [T.autocast("cpu", enabled=False)] if scope.__enter__()]
    T.autocast(3)
    T.set_deterministic_debug_mode(3)
    T.amp.GradScaler("cpu", growth_factor=0.5)
    T.amp.GradScaler("cpu", backoff_factor=2.0)
    T.amp.GradScaler("cpu").update()
    T.amp.GradScaler("cpu", enabled=False).scale(3), T.amp.GradScaler("cpu", enabled=False).get_scale()
    T.amp.GradScaler("cpu", enabled=False).state_dict(), T.amp.GradScaler("cpu").state_dict()
    T.jit.is_scripting(), T.jit.is_tracing(), T.jit.annotate(int, 3), T.jit.isinstance(3, int)
    T.jit.wait(T.jit.fork(T.add, T.tensor(1), T.tensor(2)))
    T.compiler.is_compiling()
    T.distributed.is_initialized()
    T.multiprocessing.get_sharing_strategy(), sorted(T.multiprocessing.get_all_sharing_strategies())
    T.version.cuda, T.version.debug, T.version.hip
    T.nn.modules.utils._pair(3), T.nn.modules.utils._triple([1, 2, 3])
    T.nn.modules.utils._reverse_repeat_tuple((1, 2), 2)
    T.nn.modules.utils._list_with_default([None, 3], [5, 6, 7])
"""


def outcome(T, text: str) -> str:
    """The result of an expression, or the built-in class and the first line of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(eval(text, {"T": T}))
        except Exception as error:
            first = str(error).splitlines()[0]
            kind = AssertionError if isinstance(error, AssertionError) else built_in(error)
            return f"{kind.__name__}: {first.replace(str(int), 'int')}"


@pytest.mark.parametrize("text", [line.strip() for line in TEXTS.strip().splitlines()])
def test_answers(text):
    assert outcome(fxt, text) == outcome(torch, text)


@pytest.mark.parametrize("interval", [1, 2])
def test_a_gradient_scaler_scales_and_skips(interval):
    histories = []
    for T in BOTH:
        scaler = T.amp.GradScaler("cpu", init_scale=8.0, growth_interval=interval)
        w = T.ones(2, requires_grad=True)
        optimizer = T.optim.SGD([w], lr=0.1)
        history = []
        for factor in [1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0]:
            optimizer.zero_grad()
            scaled = scaler.scale([(w * factor).sum(), (T.zeros(1),)])
            scaled[0].backward()
            scaler.unscale_(optimizer)
            result = scaler.step(optimizer)
            scaler.update()
            history.append((result, scaler.state_dict(), str(w.detach().tolist())))
        other = T.amp.GradScaler("cpu")
        other.load_state_dict(scaler.state_dict())
        errors = []
        for calls in ("unscale_ unscale_", "step step", "step unscale_"):
            scaler.scale(w.sum()).backward()
            try:
                for call in calls.split():
                    getattr(scaler, call)(optimizer)
            except RuntimeError as error:
                errors.append(str(error).splitlines()[0])
            scaler.update()
        histories.append((history, other.get_scale(), errors))
    assert histories[0] == histories[1]


def test_modules_as_functions():
    def run(T, package) -> list:
        found = []
        model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3))
        for p in model.parameters():
            T.nn.init.constant_(p, 0.5)
        x = T.arange(8.0).reshape(4, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f, params, buffers = package.make_functional_with_buffers(model.eval())
            g, weights = package.make_functional(model[0], disable_autograd_tracking=True)
            h, stacked, kept = package.combine_state_for_ensemble([model, model])
            for wrong in (
                lambda: package.make_functional(model),
                lambda: package.combine_state_for_ensemble([]),
            ):
                with pytest.raises(RuntimeError) as caught:
                    wrong()
                found.append(str(caught.value).splitlines()[0])
        found += [
            f.param_names,
            f.buffer_names,
            repr(g),
            [p.requires_grad for p in (*params, *weights, *stacked)],
        ]
        found += [type(p).__name__ for p in (params[0], weights[0], stacked[0])]
        found.append(f(params, buffers, x).tolist())
        found.append([v.tolist() for v in T.func.grad(lambda w: g(w, x).sum())(weights)])
        found.append(T.func.vmap(h, in_dims=(0, 0, None))(stacked, kept, x).tolist())
        found.append([p.grad is None for p in model.parameters()])
        return found

    assert run(fxt, fxgrad.compat.functorch) == run(torch, functorch)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_gradients_of_convolutions(rank):
    def run(T) -> list:
        sizes = (2, 4, *[7] * rank), (6, 2, *[3] * rank)
        x, w = (T.arange(float(T.Size(s).numel()), dtype=T.float64).reshape(s).sin() for s in sizes)
        options = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
        y = getattr(T.nn.functional, f"conv{rank}d")(x, w, None, **options)
        grads = [
            getattr(T.nn.grad, f"conv{rank}d_input")(x.shape, w, y.cos(), **options),
            getattr(T.nn.grad, f"conv{rank}d_weight")(x, w.shape, y.cos(), **options),
        ]
        return [grad.detach().numpy().round(9).tolist() for grad in grads]

    assert run(fxt) == run(torch)


def test_parallel_modules_on_one_device():
    for T in BOTH:
        model = T.nn.DataParallel(T.nn.Linear(2, 3))
        assert [*model.state_dict()] == ["module.weight", "module.bias"]
        x = T.ones(4, 2)
        assert T.equal(model(x), model.module(x))
        assert len(T.nn.parallel.replicate(model.module, [])) == 0
    parts = fxt.nn.parallel.scatter({"a": [fxt.arange(4), (fxt.ones(4, 2),)], "b": 3}, ["cpu", "cpu"])
    assert [part["a"][0].tolist() for part in parts] == [[0, 1], [2, 3]] and parts[1]["b"] == 3
    assert fxt.nn.parallel.gather([part["a"] for part in parts], "cpu")[0].tolist() == [0, 1, 2, 3]
    applied = fxt.nn.parallel.parallel_apply([fxt.neg, fxt.abs], [fxt.tensor(1), (fxt.tensor(-2),)])
    assert [int(x) for x in applied] == [-1, 2]
    joined = fxt.nn.parallel.gather([(fxt.ones(1), None), (fxt.tensor(2.0), None)], "cpu")
    assert joined[0].tolist() == [1, 2] and joined[1] is None
    args, options = fxt.nn.parallel.scatter_kwargs((fxt.arange(2),), {"k": 1}, ["cpu", "cpu"])
    assert len(args) == len(options) == 2 and options[0] == {"k": 1}


def test_marks_of_scripts_and_compilers_return_what_they_get():
    def f(x):
        return x

    module = fxt.nn.Linear(1, 1)
    for mark in (
        fxt.jit.script,
        fxt.jit.export,
        fxt.jit.ignore,
        fxt.jit.unused,
        fxt.compile,
        fxt.compiler.disable,
    ):
        assert mark(f) is f
    for mark in (fxt.jit.ignore(drop=True), fxt.compile(mode="max-autotune"), fxt.compiler.disable()):
        assert mark(f) is f
    assert fxt.jit.trace(module, (fxt.ones(1),)) is module is fxt.jit.freeze(module)
    assert isinstance(fxt.jit.ScriptModule(), fxt.nn.Module) and not isinstance(module, fxt.jit.ScriptModule)
    with pytest.raises(NotImplementedError, match=r"torch\.jit\.load is not there"):
        fxt.jit.load("x")


def test_autocast_that_casts_nothing_warns():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert fxt.amp.autocast("cuda")(lambda: 3)() == 3
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        fxt.autocast("cpu", dtype=fxt.float32)
    with pytest.warns(FutureWarning, match="deprecated"):
        fxt.cuda.amp.autocast(enabled=False)
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'nonsense'"):
        fxt.autocast("nonsense")


def test_steps_of_functional_derivatives():
    def run(T, steps) -> list:
        x = T.ones(2, requires_grad=True)
        y, found = 2 * x, []
        found.append([p.tolist() for p in steps._construct_standard_basis_for((x, T.ones(1)), (2, 1))])
        found.append([steps._as_tuple(3), steps._as_tuple((4, 5)), steps._as_tuple((y,), "x", "f")[0]])
        for flags in (False, True, (True, False), (False, False), (True, True)):
            found.append(steps._tuple_postprocess(((1, 2), (3, 4)), flags))
        for create in (False, True):
            (made,) = steps._grad_preprocess((y,), create, True)
            found.append((made.requires_grad, made.is_leaf, made is y))
            found.append([steps._grad_postprocess(((y,),), create)[0][0].requires_grad])
        for wrong in (3, (3,)):
            with pytest.raises(TypeError) as caught:
                steps._as_tuple(wrong, "inputs", "f")
            found.append(str(caught.value).splitlines()[0])
        return found

    theirs = run(torch, torch.autograd.functional)
    assert run(fxt, TORCH.open_module("torch.autograd.functional", {})) == theirs


DTYPES = [n for n in dir(torch) if isinstance(getattr(torch, n), torch.dtype)]


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_by_name(name):
    ours, theirs = getattr(fxt, name), getattr(torch, name)
    for d in (ours, theirs):
        assert (repr(d), d.itemsize) == (repr(theirs), theirs.itemsize)
        assert (d.is_floating_point, d.is_complex) == (theirs.is_floating_point, theirs.is_complex)
    if not name.startswith(("q", "bits")):  # of which torch does not know it
        assert ours.is_signed == theirs.is_signed
    if theirs.is_floating_point and name not in (
        "float4_e2m1fn_x2",  # which torch's finfo refuses
        "float8_e5m2fnuz",  # whose eps torch gives as 0.125: the next number after 1 is 1.25
    ):
        assert repr(fxt.finfo(ours)) == repr(torch.finfo(theirs))


def test_dtypes_that_numpy_lacks_have_no_tensors():
    assert fxt.ones(2).dtype != fxt.float8_e4m3fn
    with pytest.raises(NotImplementedError, match=r"torch\.float8_e4m3fn"):
        fxt.zeros(2, dtype=fxt.float8_e4m3fn)
    with pytest.raises(NotImplementedError, match=r"torch\.float8_e4m3fn"):
        fxt.ones(2).to(fxt.float8_e4m3fn)


@pytest.mark.parametrize(
    "name", ["nn.Module", "nn.Linear", "optim.Optimizer", "optim.SGD", "utils.data.Dataset"]
)
def test_annotations_of_users_classes(name):
    base = eval(f"T.{name}", {"T": fxt})
    derived = type("Derived", (base,), {"__annotations__": {"config": "int"}, "__module__": __name__})
    assert typing.get_type_hints(derived)["config"] is int


def test_flat_tensors():
    from torch._utils import _flatten_dense_tensors, _take_tensors, _unflatten_dense_tensors

    from fxgrad.compat.nn.utils import convert_parameters as ours

    results = []
    for T, flatten, take, unflatten in (
        (fxt, ours._flatten_dense_tensors, ours._take_tensors, ours._unflatten_dense_tensors),
        (torch, _flatten_dense_tensors, _take_tensors, _unflatten_dense_tensors),
    ):
        tensors = [T.ones(3), T.zeros(2, 2), T.ones(1), T.ones(7), T.zeros(0)]
        flat = flatten(tensors) * 2
        results.append(
            (
                flat.tolist(),
                [t.tolist() for t in unflatten(flat, tensors)],
                [[t.numel() for t in group] for group in take([*tensors, T.ones(3).double()], 20)],
            )
        )
    assert results[0] == results[1]


def compiled_modules(t) -> list:
    """What a module and its compiled form say of each other."""
    module = t.nn.Sequential(t.nn.Linear(2, 1))
    compiled = t.compile(module)
    compiled.note = 3
    compiled.eval()
    copied = copy.deepcopy(compiled)
    compiled.load_state_dict(compiled.state_dict())
    found = [
        type(compiled).__name__,
        repr(compiled),
        list(compiled.state_dict()),
        [name for name, _ in compiled.named_modules()],
        (compiled._orig_mod is module, module.note, module.training, compiled.training, copied.note),
        (
            isinstance(compiled, t.nn.Module),
            copied._orig_mod is module,
            t.compile(module, disable=True) is module,
        ),
        t.equal(compiled(t.ones(1, 2)), module(t.ones(1, 2))),
    ]
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'absent'"):
        compiled.absent  # noqa: B018
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own compiler
def test_compiled_modules_are_modules_around_the_given_ones():
    assert compiled_modules(fxt) == compiled_modules(torch)
