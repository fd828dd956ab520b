"""`torch.autocast` on the CPU: the dtypes of results by torch's lists, its contexts, and gradients through casts."""

from __future__ import annotations

import threading
import warnings

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.case import Case, gathered
from tests.parity.compat.comparison import flat
from tests.parity.compat.questions import FIRST

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
BOTH = pytest.mark.parametrize("t", [fxt, torch])

# What is one operation here, and composed of several there, of which not all cast, and not every time.
COMPOSED = {
    "linalg.pinv", "mv", "dot", "inner", "einsum", "linalg.matrix_power", "lstm", "linalg.lstsq", "addr", "gradient",
    "nn.functional.local_response_norm", "segment_reduce",
}  # fmt: skip


def in_precision(case: Case, first: str, others: str) -> Case:
    """The call with its first operand of double precision, and the others, in other dtypes."""
    kinds = iter([first])
    return case.changed(lambda t: t.but(dtype=next(kinds, others)) if t.dtype == "float64" else t)


def dtypes(case: Case, library) -> list[str] | None:
    """The dtypes of results under autocast; None where the operation refuses."""
    try:
        with library.autocast("cpu", dtype=library.bfloat16):
            results = flat(case.call(library, case.tensors(library)))
    except Exception:  # of either library: bfloat16 is not there for all operations
        return None
    return [str(getattr(x, "dtype", type(x).__name__)) for x in results]


@pytest.mark.parametrize("first", ["float32", "bfloat16"])
def test_results_have_torchs_dtypes(first):
    """Those of every operation, whose other operands are of single precision."""
    different = {}
    for name, case in FIRST.items():
        if name not in COMPOSED:
            given = in_precision(case, first, "float32")
            expected = dtypes(given, torch)
            if expected is not None and dtypes(given, fxt) != expected:
                different[name] = expected
    assert different == {}


def test_operations_are_cast_at_all():
    assert len(gathered()) > 1000
    for name, first, expected in (("mm", "float32", "torch.bfloat16"), ("prod", "bfloat16", "torch.float32")):
        assert dtypes(in_precision(FIRST[name], first, first), fxt) == [expected]


@BOTH
def test_contexts(t):
    w, seen = t.ones(2, 2), []

    def look():
        seen.append((t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu")), str((w @ w).dtype)))

    look()
    with t.autocast("cpu") as scope:
        assert isinstance(scope, t.autocast)
        look()
        with t.autocast("cpu", dtype=t.float16):
            look()
            with t.autocast("cpu", enabled=False):
                look()
            look()
        with t.amp.autocast("cpu", enabled=False, dtype=t.float16):
            look()
        look()
    look()
    t.autocast("cpu")(look)()
    look()
    t.set_autocast_enabled("cpu", True)
    t.set_autocast_dtype("cpu", t.float16)
    look()
    t.set_autocast_enabled("cpu", False)
    look()
    t.set_autocast_dtype("cpu", t.bfloat16)
    look()
    names = {"b": "torch.bfloat16", "h": "torch.float16", "s": "torch.float32"}
    found = [(on, names[d], names[r]) for on, d, r in [
        (False, "b", "s"), (True, "b", "b"), (True, "h", "h"), (False, "h", "s"), (True, "h", "h"), (False, "h", "s"),
        (True, "b", "b"), (False, "b", "s"), (True, "b", "b"), (False, "b", "s"), (True, "h", "h"), (False, "h", "s"),
        (False, "b", "s"),
    ]]  # fmt: skip
    assert seen == found


@BOTH
def test_what_is_not_cast(t):
    x, d = t.ones(2, 2), t.ones(2, 2, dtype=t.float64)
    with t.autocast("cpu"):
        assert (d @ d).dtype is t.float64
        assert x.clone().addmm_(x, x).dtype is t.float32
        out = t.empty(2, 2)
        assert t.mm(x, x, out=out) is out
        assert out.dtype is t.float32
        assert (x.sum() + x.exp().mean()).dtype is t.float32
        with pytest.raises(RuntimeError):
            d @ x


@BOTH
def test_gradients_have_the_parameters_dtypes(t):
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.LayerNorm(4), t.nn.ReLU(), t.nn.Linear(4, 2))
    with t.autocast("cpu"):
        y = model(t.ones(5, 3))
        loss = t.nn.functional.cross_entropy(y, t.tensor([0, 1, 1, 0, 1]))
    assert (y.dtype, loss.dtype) == (t.bfloat16, t.float32)
    loss.backward()
    assert {p.grad.dtype for p in model.parameters()} == {t.float32}


@BOTH
def test_modules(t):
    nn, x = t.nn, t.ones(2, 3, 8)
    image = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))
    with t.autocast("cpu"):
        assert nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0].dtype is t.bfloat16
        if t is fxt or torch.ops.mkldnn._is_mkldnn_bf16_supported():  # torch refuses it on other processors
            assert nn.LSTM(8, 4)(x)[0].dtype is t.bfloat16
        assert image(t.ones(2, 1, 8, 8)).dtype is t.bfloat16
        assert nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(x).dtype is t.float32


def test_gradients_agree():
    grads = []
    for t in (fxt, torch):
        w = t.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        with t.autocast("cpu"):
            h = t.nn.functional.layer_norm(t.linspace(0, 1, 6).reshape(2, 3) @ w, (4,), t.ones(4))
            loss = t.nn.functional.mse_loss(h, t.zeros(2, 4))
        loss.backward()
        grads.append(w.grad.tolist())
    ours, theirs = map(torch.tensor, grads)
    torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-2)  # of bfloat16's 8 bits


@BOTH
def test_casts_of_weights_are_kept(t):
    w = t.ones(2, 2, requires_grad=True)

    def casts(**options):
        with t.autocast("cpu", **options):
            y = w @ w
            assert t.is_autocast_cache_enabled() is options.get("cache_enabled", True)
        return [node for node, _ in y.grad_fn.next_functions]

    first, second = casts()
    assert first is second
    assert first.name() == "ToCopyBackward0"
    first, second = casts(cache_enabled=False)
    assert first is not second
    assert t.is_autocast_cache_enabled()


def test_a_weight_that_was_modified_is_cast_anew():
    w = fxt.ones(2, 2, requires_grad=True)
    with fxt.autocast("cpu"):
        before = w @ fxt.eye(2)
        with fxt.no_grad():
            w.mul_(3)
        assert (w @ fxt.eye(2)).tolist() == [[3, 3], [3, 3]]
    assert before.tolist() == [[1, 1], [1, 1]]


@BOTH
@pytest.mark.parametrize("cast_inputs", [False, True])
def test_functions_of_the_users_own(t, cast_inputs):
    seen = []

    class Square(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32 if cast_inputs else None)
        def forward(ctx, x, others):
            seen.append((t.is_autocast_enabled("cpu"), str(x.dtype), str(others[0].dtype), others[1]))
            return x @ x

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            seen.append((t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu"))))
            return grad, None

    for on in (True, False):
        x = t.ones(2, 2, dtype=t.bfloat16, requires_grad=True)
        with t.autocast("cpu", enabled=on):
            y = Square.apply(x, [t.ones(2, dtype=t.float16), "x"])
        y.sum().backward()
        seen.append(str(y.dtype))
    single, lower, half = "torch.float32", "torch.bfloat16", "torch.float16"
    forward = (False, single, single, "x") if cast_inputs else (True, lower, half, "x")
    assert seen == [
        forward, (not cast_inputs, lower), single if cast_inputs else lower,
        (False, lower, half, "x"), (False, lower), lower,
    ]  # fmt: skip


@BOTH
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_are_run_again_as_they_were(t, use_reentrant):
    seen, w = [], t.ones(2, 2, requires_grad=True)

    def square(x):
        seen.append(t.is_autocast_enabled("cpu"))
        return x @ x

    with t.autocast("cpu"):
        y = t.utils.checkpoint.checkpoint(square, w, use_reentrant=use_reentrant)
    y.sum().backward()
    assert (seen, w.grad.dtype, w.grad.tolist()) == ([True, True], t.float32, [[4, 4], [4, 4]])


@BOTH
def test_transforms(t):
    w = t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        assert t.func.vmap(lambda v: v @ w)(t.ones(3, 2)).dtype is t.bfloat16
        assert t.func.grad(lambda v: (v @ w).sum())(t.ones(2)).dtype is t.float32


@BOTH
def test_threads_have_contexts_of_their_own(t):
    seen = []
    with t.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(t.is_autocast_enabled("cpu")))
        thread.start()
        thread.join(30)
    assert seen == [False]


@BOTH
def test_scaled_steps(t):
    w = t.full((2, 2), 0.5, requires_grad=True)
    optimizer, scaler = t.optim.SGD([w], lr=0.5), t.amp.GradScaler("cpu", init_scale=8.0)
    with t.autocast("cpu", dtype=t.float16):
        loss = (t.ones(1, 2) @ w).sum()
    scaler.scale(loss).backward()
    assert (w.grad.dtype, w.grad.tolist()) == (t.float32, [[8, 8], [8, 8]])
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [[0, 0], [0, 0]]


@BOTH
def test_former_switches(t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        t.set_autocast_cpu_enabled(True)
        t.set_autocast_cpu_dtype(t.float16)
        assert (t.is_autocast_cpu_enabled(), t.get_autocast_cpu_dtype()) == (True, t.float16)
        t.set_autocast_cpu_dtype(t.bfloat16)
        t.set_autocast_cpu_enabled(False)
        assert (t.is_autocast_cpu_enabled(), t.get_autocast_gpu_dtype()) == (False, t.float16)
    assert (t.autocast_increment_nesting(), t.autocast_decrement_nesting()) == (1, 0)
    t.clear_autocast_cache()


def test_former_switches_warn():
    with pytest.warns(DeprecationWarning, match=r"Please use torch\.is_autocast_enabled\('cpu'\) instead"):
        fxt.is_autocast_cpu_enabled()
