"""nn.Module and the modules: the same parameters give the same results, gradients and texts as in torch."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy
from tests.parity.compat.test_creation import built_in

LIBRARIES = (torch, fxt)


def data(T, *shape, dtype=None):
    """Numbers that are the same in both libraries."""
    values = np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape) * 0.9
    return T.from_numpy(values) if dtype is None else T.from_numpy(np.abs(values * 5).astype(dtype))


def both(code, *, double=True):
    """The module of both libraries, ours with the parameters of torch's."""
    theirs, ours = (eval(f"T.nn.{code}", {"T": T}) for T in LIBRARIES)
    if double:
        theirs, ours = theirs.double(), ours.double()
    ours.load_state_dict(
        {name: fxt.from_numpy(v.detach().numpy().copy()) for name, v in theirs.state_dict().items()}
    )
    return ours, theirs


# Losses and lookups with targets that are integers: module, input, target, highest target.
TARGETS = [
    ("CrossEntropyLoss(label_smoothing=0.1)", (4, 3), (4,)),
    ("CrossEntropyLoss(T.tensor([0.2, 0.3, 0.5], dtype=T.float64), ignore_index=1)", (4, 3), (4,)),
    ("NLLLoss(reduction='none')", (4, 3), (4,)),
    ("MultiMarginLoss()", (4, 3), (4,)),
]


@pytest.mark.parametrize(("code", "shape", "target"), TARGETS, ids=[code for code, *_ in TARGETS])
def test_losses_of_classes(code, shape, target):
    results = []
    for T in LIBRARIES:
        module = eval(f"T.nn.{code}", {"T": T})
        labels = T.from_numpy(np.arange(int(np.prod(target))).reshape(target) % 3)
        results.append((repr(module), list(module.state_dict()), as_numpy(module(data(T, *shape), labels))))
    assert results[0][:2] == results[1][:2]
    np.testing.assert_allclose(results[1][2], results[0][2], rtol=1e-12)


def test_embedding():
    ours, theirs = both("Embedding(5, 3, padding_idx=1)")
    assert repr(ours) == repr(theirs)
    assert ours.weight[1].tolist() == [0, 0, 0]
    index = np.array([[0, 1], [4, 2]])
    for T, module in ((torch, theirs), (fxt, ours)):
        module(T.from_numpy(index)).sum().backward()
    np.testing.assert_array_equal(ours.weight.grad.numpy(), theirs.weight.grad.numpy())
    for T in LIBRARIES:
        frozen = T.nn.Embedding.from_pretrained(T.ones(2, 3))
        assert not frozen.weight.requires_grad and frozen(T.tensor([1])).tolist() == [[1, 1, 1]]


def test_what_is_replaced_keeps_its_place():
    def run(T):
        net = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.ReLU(), T.nn.Linear(3, 1))
        net[0] = T.nn.Linear(2, 3, bias=False)
        setattr(net, "1", T.nn.Tanh())
        net[2].weight = T.nn.Parameter(T.ones(1, 3))
        net.register_buffer("a", T.zeros(1))
        net.register_buffer("b", T.zeros(1))
        net.a = T.nn.Buffer(T.ones(2), persistent=False)
        net.b = T.nn.Identity()  # of another kind: comes last
        net.shift = T.nn.Parameter(T.ones(1))
        with pytest.raises(TypeError, match=r"cannot assign .* as parameter 'shift'"):
            net.shift = T.nn.Identity()
        return repr(net), list(net.state_dict()), [name for name, _ in net.named_buffers()]

    assert run(fxt) == run(torch)


BAGS = [
    ({}, [0, 2]),
    ({"mode": "sum", "include_last_offset": True}, [0, 2, 5]),
    ({"mode": "max", "padding_idx": 1}, [0, 2]),
    ({"max_norm": 1.0, "norm_type": 1.0}, [0, 2]),
]


@pytest.mark.parametrize(("made", "offsets"), BAGS, ids=range(len(BAGS)))
def test_bags_of_embeddings(made, offsets):
    results = []
    for T in LIBRARIES:
        bag = T.nn.EmbeddingBag(5, 2, **made)
        with T.no_grad():
            bag.weight.copy_(T.arange(10.0).view(5, 2) / 4)
        found = bag(T.tensor([0, 1, 1, 4, 2]), T.tensor(offsets))
        found.sum().backward()
        results.append((repr(bag), list(bag.state_dict()), found.tolist(), bag.weight.grad.tolist()))
    assert results[0][:2] == results[1][:2]
    np.testing.assert_allclose(results[1][2], results[0][2], rtol=1e-6)
    np.testing.assert_allclose(results[1][3], results[0][3], rtol=1e-6)


def test_weighted_bags_of_given_embeddings():
    for T in LIBRARIES:
        bag = T.nn.EmbeddingBag.from_pretrained(T.eye(3), freeze=False, mode="sum")
        weights = T.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert bag.weight.requires_grad
        assert bag(T.tensor([[0, 1], [2, 2]]), per_sample_weights=weights).tolist() == [[1, 2, 0], [0, 0, 7]]


def test_dropout_scales_what_is_left():
    fxt.manual_seed(0)
    module = fxt.nn.Dropout(0.25)
    y = module(fxt.ones(10000))
    assert {round(v, 5) for v in y.unique().tolist()} == {0, round(4 / 3, 5)}
    assert abs(y.mean().item() - 1) < 0.03
    assert module.eval()(fxt.ones(3)).tolist() == [1, 1, 1]


# -- Module ----------------------------------------------------------------------------------------------------------
def model(T):
    class Block(T.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.linear = T.nn.Linear(width, width)
            self.scale = T.nn.Parameter(T.ones(width))
            self.register_parameter("absent", None)
            self.register_buffer("count", T.zeros(()))
            self.register_buffer("hidden", T.zeros(1), persistent=False)
            self.other = T.nn.Buffer(T.ones(1))
            self.words = "a"

        def forward(self, x):
            self.count += 1
            return self.linear(x) * self.scale

        def extra_repr(self):
            return "a\nb"

    shared = T.nn.Linear(2, 2)
    return T.nn.Sequential(
        Block(2), T.nn.ModuleList([shared, shared]), T.nn.ModuleDict({"x": T.nn.ReLU(), "y": Block(2)}),
        T.nn.ParameterList([T.ones(2), T.nn.Parameter(T.ones(3))]), T.nn.ParameterDict({"p": T.ones(2)}),
    )  # fmt: skip


STRUCTURE = [
    "repr(m)",
    "[n for n, _ in m.named_parameters()]",
    "[n for n, _ in m.named_parameters(prefix='a', recurse=True, remove_duplicate=False)]",
    "[n for n, _ in m.named_buffers()]",
    "[n for n, _ in m.named_modules()]",
    "[n for n, _ in m.named_modules(remove_duplicate=False)]",
    "[n for n, _ in m.named_children()]",
    "len(list(m.parameters())), len(list(m.buffers())), len(list(m.modules())), len(list(m.children()))",
    "list(m.state_dict()), list(m.state_dict(prefix='q.'))",
    "type(m.get_submodule('2.x')).__name__, tuple(m.get_parameter('0.linear.weight').shape)",
    "m.get_buffer('0.count').item()",
    "[k.training for k in m.eval().modules()]",
    "[k.training for k in m.train().modules()]",
    "[p.requires_grad for p in m.requires_grad_(False).parameters()]",
    "sorted(set(str(p.dtype) for p in [*m.double().parameters(), *m.buffers()]))",
    "sorted(set(str(p.dtype) for p in m.to(T.float16).parameters()))",
    "sorted(set(str(p.dtype) for p in m.bfloat16().parameters()))",
    "sorted(set(str(p.dtype) for p in m.to('cpu', T.float32).cpu().type(T.float64).parameters()))",
    "len(m), len(m[1:]), type(m[-1]).__name__, type(m[0:1]).__name__, len(m[1]), len(m[3]), list(m[2]), 'x' in m[2]",
    "[type(k).__name__ for k in m.append(T.nn.ReLU())]",
    "[type(k).__name__ for k in m.insert(1, T.nn.ReLU())]",
    "type(m.pop(1)).__name__, [n for n, _ in m.named_children()]",
    "len(m[1].extend([T.nn.ReLU()])), len(m[1] + [T.nn.ReLU()])",
    "m[2].update({'z': T.nn.Tanh()}), list(m[2].keys()), type(m[2].pop('z')).__name__",
    "tuple(m[3][1].shape), len(m[3].append(T.ones(1))), type(m[4]['p']).__name__, list(m[4].keys())",
    "(delattr(m[0], 'scale'), [n for n, _ in m[0].named_parameters()])",
    "(setattr(m[0], 'absent', T.nn.Parameter(T.ones(1))), [n for n, _ in m[0].named_parameters()])",
    "(setattr(m[0], 'count', None), [n for n, _ in m[0].named_buffers()])",
    "(setattr(m[0], 'linear', T.nn.ReLU()), repr(m[0]))",
    "(setattr(m[0], 'words', T.nn.Parameter(T.ones(1))), [n for n, _ in m[0].named_parameters()])",
    "(found := [], m.apply(lambda k: found.append(type(k).__name__)), found)[2]",
]
MISUSE = [
    "T.nn.Linear(2, 2).load_state_dict({'weight': T.ones(3, 2), 'c': 1})",
    "T.nn.Linear(2, 2).load_state_dict(3)",
    "T.nn.Module().foo",
    "T.nn.Module()(3)",
    "setattr(T.nn.Linear(2, 2), 'weight', T.ones(2))",
    "setattr(T.nn.BatchNorm1d(2), 'running_mean', 3)",
    "T.nn.Linear(2, 2).register_parameter('a.b', None)",
    "T.nn.Linear(2, 2).register_parameter('q', T.ones(2))",
    "T.nn.Linear(2, 2).register_parameter('', None)",
    "T.nn.Linear(2, 2).register_buffer('weight', T.ones(2))",
    "T.nn.Linear(2, 2).register_buffer('b', 3)",
    "T.nn.Linear(2, 2).add_module('x', 3)",
    "T.nn.Linear(2, 2).get_submodule('q')",
    "T.nn.Linear(2, 2).get_parameter('forward')",
    "T.nn.Linear(2, 2).to(T.int32)",
    "T.nn.Linear(2, 2).train(3)",
    "T.nn.Sequential(T.nn.ReLU())[3]",
    "T.nn.ModuleList([3])",
    "T.nn.Conv2d(3, 4, 3, groups=2)",
    "T.nn.Conv2d(2, 4, 3, stride=2, padding='same')",
    "T.nn.ConvTranspose2d(2, 4, 3, padding_mode='circular')",
    "T.nn.ConvTranspose1d(1, 1, 3, stride=2)(T.ones(1, 1, 3), output_size=(12,))",
    "T.nn.BatchNorm1d(2)(T.ones(2))",
    "T.nn.GroupNorm(2, 3)",
    "T.nn.ReLU(foo=1)",
    "T.nn.Threshold()",
    "T.nn.init.calculate_gain('foo')",
    "T.nn.init.xavier_normal_(T.ones(2))",
    "T.nn.init.eye_(T.ones(2))",
    "T.nn.init.kaiming_normal_(T.ones(2, 2), mode='foo')",
    "T.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)",
]


@pytest.mark.parametrize("code", STRUCTURE)
def test_structure(code):
    ours, theirs = (eval(code, {"T": T, "m": model(T)}) for T in LIBRARIES[::-1])
    if isinstance(ours, tuple):
        ours, theirs = (
            tuple(x for x in found if not isinstance(x, torch.nn.Module | fxt.nn.Module))
            for found in (ours, theirs)
        )
    assert ours == theirs


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = {}
    for T in LIBRARIES:
        p = T.nn.Parameter(T.ones(2))
        p.grad = T.full((2,), float("inf"))
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T, "p": p})
        errors[T] = caught.value
    assert isinstance(errors[fxt], built_in(errors[torch]))
    if "Threshold" not in code:
        texts = [str(e).partition("\n  at:")[0] for e in (errors[fxt], errors[torch])]
        assert texts[0] == texts[1]


def test_assignment_before_init():
    for T in LIBRARIES:

        class Early(T.nn.Module):
            def __init__(self, T=T):
                self.p = T.nn.Parameter(T.ones(1))

        with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
            Early()


def test_state_dict_shares_memory_and_loads():
    def run(T):
        a, b = T.nn.Linear(2, 1), T.nn.Linear(2, 1)
        keys = [str(b.load_state_dict(a.state_dict()))]
        same = [T.equal(a.weight, b.weight), b.weight is a.weight]
        a.state_dict()["weight"].zero_()
        keys.append(tuple(b.load_state_dict({"weight": T.ones(1, 2), "c": 1}, strict=False)))
        fresh = T.nn.Parameter(T.zeros(1, 2))
        b.load_state_dict({"weight": fresh, "bias": T.zeros(1)}, assign=True)
        kept = a.state_dict(keep_vars=True)["weight"] is a.weight
        return (
            keys,
            same,
            a.weight.tolist(),
            b.weight is fresh,
            b.bias.requires_grad,
            kept,
            type(b.bias).__name__,
        )

    assert run(fxt) == run(torch)


def test_extra_state():
    def run(T):
        class Extra(T.nn.Module):
            seen = None

            def get_extra_state(self):
                return 7

            def set_extra_state(self, state):
                self.seen = state

        module = T.nn.Sequential(Extra())
        module.load_state_dict(module.state_dict())
        return (
            dict(module.state_dict()),
            module[0].seen,
            list(module.load_state_dict({}, strict=False).missing_keys),
        )

    assert run(fxt) == run(torch)


def test_conversion_keeps_the_parameters_and_their_gradients():
    def run(T):
        m = T.nn.Linear(2, 1)
        p = m.weight
        m(T.ones(1, 2)).sum().backward()
        m.double()
        return m.weight is p, str(p.dtype), str(p.grad.dtype), p.is_leaf, p.grad.tolist()

    assert run(fxt) == run(torch)


def test_copies():
    m = fxt.nn.Sequential(fxt.nn.Linear(2, 2), fxt.nn.BatchNorm1d(2))
    for made in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert repr(made) == repr(m)
        assert made[0].weight is not m[0].weight
        assert made[0].weight.tolist() == m[0].weight.tolist()


def test_forward_hooks():
    def run(T):
        seen = []
        m = T.nn.Linear(2, 2, bias=False)
        with T.no_grad():
            m.weight.copy_(T.eye(2))
        handles = [
            m.register_forward_pre_hook(lambda k, args: seen.append("pre") or (args[0] + 1,)),
            m.register_forward_pre_hook(lambda k, args: seen.append("first"), prepend=True),
            m.register_forward_pre_hook(lambda k, args, kwargs: (args, kwargs), with_kwargs=True),
            m.register_forward_hook(lambda k, args, out: seen.append(args[0].tolist()) or out * 2),
            m.register_forward_hook(lambda k, args, kwargs, out: seen.append(out.tolist()), with_kwargs=True),
            m.register_forward_hook(lambda k, args, out: seen.append(out is None), always_call=True),
        ]
        results = [m(T.ones(2)).tolist()]
        with pytest.raises(RuntimeError):
            m(T.ones(3))
        for handle in handles:
            handle.remove()
        results.append(m(T.ones(2)).tolist())
        return results, seen

    assert run(fxt) == run(torch)


@pytest.mark.filterwarnings(
    "ignore:Full backward hook is firing"
)  # torch's, where no input requires a gradient
def test_backward_hooks():
    def run(T):
        seen = []

        def note(name):
            return lambda k, *grads: seen.append(
                (name, [[g if g is None else g.tolist() for g in gs] for gs in grads])
            )

        m = T.nn.Linear(2, 1, bias=False)
        with T.no_grad():
            m.weight.copy_(T.tensor([[1.0, 2.0]]))
        m.register_full_backward_pre_hook(note("pre"))
        m.register_full_backward_pre_hook(lambda k, grads: (grads[0] * 3,))
        m.register_full_backward_hook(note("after"))
        m.register_full_backward_hook(lambda k, grad_input, grad_output: (grad_input[0] * 10,))
        x = T.ones(2, requires_grad=True)
        (m(x * 2) * 5).sum().backward()
        found = [x.grad.tolist(), m.weight.grad.tolist()]
        plain = T.nn.Linear(2, 1, bias=False)
        with T.no_grad():
            plain.weight.copy_(T.tensor([[1.0, 2.0]]))
        plain.register_full_backward_hook(note("no input"))
        plain(T.ones(2)).sum().backward()
        return found, seen

    assert run(fxt) == run(torch)


def test_zero_grad():
    def run(T):
        m = T.nn.Linear(2, 1)
        m(T.ones(2)).sum().backward()
        m.zero_grad(set_to_none=False)
        zeros = m.weight.grad.tolist()
        m.zero_grad()
        return zeros, m.weight.grad

    assert run(fxt) == run(torch)


# -- initial values and utilities ------------------------------------------------------------
INITIALIZERS = [
    ("uniform_", (0.5, 2.0), {}),
    ("normal_", (1.0, 0.5), {}),
    ("trunc_normal_", (0.5, 1.0, -0.5, 1.0), {}),
    ("xavier_uniform_", (2.0,), {}),
    ("xavier_normal_", (), {}),
    ("kaiming_uniform_", (0.2,), {"mode": "fan_out"}),
    ("kaiming_normal_", (), {"nonlinearity": "relu"}),
    ("orthogonal_", (), {"gain": 1.5}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), INITIALIZERS, ids=[name for name, *_ in INITIALIZERS])
def test_distributions_of_initial_values(name, args, kwargs):
    moments = []
    for T in LIBRARIES:
        T.manual_seed(1)
        p = T.nn.Parameter(T.zeros(120, 50, 2))
        assert getattr(T.nn.init, name)(p, *args, **kwargs) is p
        assert p.is_leaf and p.requires_grad
        v = p.detach().numpy().astype(float)
        moments.append([v.mean(), v.std(), v.min(), v.max(), (v**4).mean() ** 0.25])
    np.testing.assert_allclose(moments[0][:2], moments[1][:2], atol=0.05 * abs(moments[0][1]))
    np.testing.assert_allclose(moments[0], moments[1], atol=1.2 * abs(moments[0][1]))


def test_fixed_initial_values():
    def run(T):
        init = T.nn.init
        made = [
            init.ones_(T.empty(2)), init.zeros_(T.empty(2)), init.constant_(T.empty(2), 3.5), init.eye_(T.empty(2, 3)),
            init.dirac_(T.empty(4, 2, 3)), init.dirac_(T.empty(4, 2, 3, 3), groups=2),
        ]  # fmt: skip
        gains = [
            init.calculate_gain(n)
            for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
        ]
        zeros = (init.sparse_(T.empty(10, 4), 0.35) == 0).sum(0).tolist()
        q = init.orthogonal_(T.empty(3, 5, dtype=T.float64))
        close = bool(((q @ q.T - T.eye(3)).abs() < 1e-12).all())
        return [m.tolist() for m in made], gains, init.calculate_gain("leaky_relu", 0.3), zeros, close

    assert run(fxt) == run(torch)


def test_gradients_limited():
    def run(T):
        ps = [data(T, 3).requires_grad_(), data(T, 2, 2).requires_grad_(), T.ones(1, requires_grad=True)]
        found = []
        for order, limit in ((2.0, 0.5), (1.0, 100.0), (float("inf"), 0.1)):
            for i, p in enumerate(ps[:2]):
                p.grad = p.detach() * (i + 1)
            found.append(T.nn.utils.clip_grad_norm_(ps, limit, order).item())
            found += [p.grad.tolist() for p in ps[:2]]
        T.nn.utils.clip_grad_value_(ps, 0.05)
        vector = T.nn.utils.parameters_to_vector(ps)
        T.nn.utils.vector_to_parameters(vector * 2, ps)
        return [*found, *(p.grad.tolist() for p in ps[:2]), vector.tolist(), *(p.tolist() for p in ps)]

    for a, b in zip(run(fxt), run(torch)):
        np.testing.assert_allclose(a, b, rtol=1e-6)


# torch has further deprecated parameters, or takes any.
OTHER_PARAMETERS = {"Hardtanh", "Tanh", "Sigmoid", "LogSigmoid", "Softsign", "Tanhshrink", "Container"}


@pytest.mark.parametrize("name", sorted({*fxt.nn.modules.__all__} - OTHER_PARAMETERS))
def test_constructors_have_torchs_parameters(name):
    theirs, ours = (
        [
            (p.name, getattr(p.default, "__name__", p.default), p.kind)
            for p in inspect.signature(getattr(T.nn, name)).parameters.values()
        ]
        for T in LIBRARIES
    )
    assert ours == theirs


def test_a_module_may_write_to_by_means_of_cpu():
    for T in LIBRARIES:

        class Host(T.nn.Linear):
            def to(self, *args, **options):
                return self.cpu()

        assert Host(2, 2).to("cpu").weight.device.type == "cpu"
