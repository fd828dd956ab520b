"""torch.utils.checkpoint with a policy: which operations are computed again, and what policies are told."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.utils.checkpoint

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def leaf(torch):
    return torch.tensor([[0.5, 2.0], [1.0, -1.0]], requires_grad=True)


def block(x):
    return ((x @ x).sin() @ x).exp()


def gradient(torch, policy, function=block, **options):
    """The result of a checkpoint with a policy, and its gradient."""
    checkpoints = torch.utils.checkpoint
    contexts = partial(checkpoints.create_selective_checkpoint_contexts, policy, **options)
    x = leaf(torch)
    y = checkpoints.checkpoint(function, x, use_reentrant=False, context_fn=contexts)
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def a_list_of_operations(torch):
    aten = torch.ops.aten
    return [
        gradient(torch, ops)
        for ops in ([], [aten.mm.default], [aten.mm.default, aten.sin.default, aten.exp.default])
    ]


@scenario
def policies(torch):
    kinds = torch.utils.checkpoint.CheckpointPolicy
    answers = [kinds.MUST_SAVE, kinds.PREFER_SAVE, kinds.MUST_RECOMPUTE, kinds.PREFER_RECOMPUTE, True, False]
    return [gradient(torch, lambda ctx, op, *args, _answer=answer, **kwargs: _answer) for answer in answers]


@scenario
def what_policies_are_told(torch):
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append(
            (
                str(op),
                op == torch.ops.aten.mm.default,
                len(args),
                ctx.is_recompute,
                tuple(ctx.op_output.shape),
            )
        )
        return op == torch.ops.aten.mm.default

    return gradient(torch, policy), seen


@scenario
def a_policy_by_the_operands(torch):
    def policy(ctx, op, *args, **kwargs):
        return op == torch.ops.aten.mm.default and bool(args[0][0, 0] > 0.4)

    return gradient(torch, policy)


@scenario
def operations_of_several_results(torch):
    def function(x):
        values, places = x.max(dim=1)
        return values.exp() + places

    return gradient(torch, [torch.ops.aten.max.dim, torch.ops.aten.exp.default], function)


@scenario
def a_result_is_modified(torch):
    return gradient(torch, [torch.ops.aten.mm.default], lambda x: (x @ x).mul_(2) * x)


@scenario
def a_result_may_be_modified(torch):
    function = lambda x: (x @ x).detach().add_(0) * x  # noqa: E731
    return gradient(torch, [torch.ops.aten.mm.default], function, allow_cache_entry_mutation=True)


@scenario
def views_are_what_they_are(torch):
    def function(x):
        y = (x @ x).t()[:1]
        return y.exp() * x.view(4)[:2]

    return gradient(torch, lambda *args, **kwargs: True, function)


@scenario
def random_numbers(torch):
    def function(x):
        return torch.nn.functional.dropout(x @ x, 0.5).exp()

    torch.manual_seed(0)
    y, (g,) = gradient(torch, [torch.ops.aten.mm.default], function)
    return bool(((y == 1) == ((y - 1) == 0)).all()), tuple(g.shape)


@scenario
def within_one_another(torch):
    checkpoints = torch.utils.checkpoint
    contexts = partial(checkpoints.create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])

    def inner(x):
        return (x @ x).exp()

    def outer(x):
        return checkpoints.checkpoint(inner, (x @ x).sin(), use_reentrant=False, context_fn=contexts).cos()

    x = leaf(torch)
    y = checkpoints.checkpoint(outer, x, use_reentrant=False, context_fn=contexts)
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def what_is_no_policy(torch):
    return gradient(torch, 3)


@scenario
def what_is_no_operation(torch):
    try:
        return gradient(torch, [torch.sin])
    except ValueError as error:
        return str(error).partition(" got")[0]


@scenario
def names_of_operations(torch):
    aten = torch.ops.aten
    found = [str(aten.mm.default), repr(aten.mm.default), aten.mm.default.name(), aten.mm.default.__name__]
    found += [
        str(aten.add.Tensor),
        str(aten._softmax.default),
        str(aten.add_.Tensor),
        str(aten.transpose.int),
    ]
    found.append(aten.mm.default == aten.mm.default and aten.mm.default != aten.bmm.default)
    found.append(len({aten.mm.default, aten.mm.default}))
    found.append(aten.mm.default.overloadpacket == aten.mm)
    for name in ("mm.nonsense", "nonsense"):
        try:
            first, *rest = name.split(".")
            getattr(getattr(aten, first), *rest) if rest else getattr(aten, first)
        except AttributeError as error:
            found.append(str(error))
    return found


@scenario
def operations_are_called(torch):
    aten, x = torch.ops.aten, leaf(torch)
    return aten.mm.default(x, x), aten.add.Tensor(x, x, alpha=2), aten.relu.default(x), aten.t.default(x)


@scenario.each()
def test_alike(scenario):
    check(scenario)


# Programs of one operation, or few.
PROGRAMS = {
    "products": lambda torch, F, x, v: (x @ x, x @ v, v.dot(v), torch.addmm(x, x, x), x[None] @ x[None]),
    "linear": lambda torch, F, x, v: (F.linear(x, x), F.linear(x, x, v)),
    "arithmetic": lambda torch, F, x, v: (
        x + x,
        x + 1,
        x - x,
        x * 2,
        x / x,
        x**2,
        x.square(),
        -x,
        x.reciprocal(),
    ),
    "functions": lambda torch, F, x, v: (
        x.exp(),
        x.abs().sqrt(),
        x.tanh(),
        x.sigmoid(),
        x.erf(),
        x.clamp(0, 1),
    ),
    "activations": lambda torch, F, x, v: (
        F.relu(x),
        F.gelu(x),
        F.silu(x),
        F.softmax(x, 1),
        F.log_softmax(x, 1),
    ),
    "reductions": lambda torch, F, x, v: (x.sum(), x.mean(), x.amax(1), x.logsumexp(1), x.std(), x.cumsum(0)),
    "reductions along": lambda torch, F, x, v: (x.sum(1), x.mean(1), x.max(1)),
    "shapes": lambda torch, F, x, v: (
        x.view(4),
        x.t(),
        x.transpose(0, 1),
        x.unsqueeze(0),
        x.permute(1, 0),
        x[0],
    ),
    "joining": lambda torch, F, x, v: (torch.cat([x, x]), torch.stack([x, x]), torch.where(x > 0, x, x)),
    "normalization": lambda torch, F, x, v: (F.layer_norm(x, (2,)), F.group_norm(x[None], 2)),
    "convolution": lambda torch, F, x, v: (
        F.conv2d(x[None, None], x[None, None]),
        F.max_pool2d(x[None, None], 2),
    ),
    "attention": lambda torch, F, x, v: F.scaled_dot_product_attention(*[x[None, None]] * 3),
    "losses": lambda torch, F, x, v: (F.mse_loss(x, x), F.cross_entropy(x, torch.tensor([0, 1]))),
    "in place": lambda torch, F, x, v: ((x * 1).add_(1), F.relu(x * 1, inplace=True)),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_operations_are_known_by_torchs_names(program):
    from torch.utils._python_dispatch import TorchDispatchMode

    theirs, ours = set(), set()

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            theirs.add(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    def policy(ctx, op, *args, **kwargs):
        ours.add(op.overloadpacket.__name__.partition(".")[0])
        return False

    def run(library):
        x = leaf(library)
        return PROGRAMS[program](library, library.nn.functional, x, x[0].detach())

    with Names():
        run(torch)
    first, _ = fxt.utils.checkpoint.create_selective_checkpoint_contexts(policy)
    with first:
        run(fxt)
    assert ours - theirs == set()


def computed(function, policy) -> list[str]:
    """The operations whose results are computed in the second run."""
    checkpoints = fxt.utils.checkpoint
    contexts = partial(checkpoints.create_selective_checkpoint_contexts, policy)
    x = leaf(fxt)
    y = checkpoints.checkpoint(function, x, use_reentrant=False, context_fn=contexts, early_stop=False)
    from fxgrad.compat.utils import selective_checkpoint

    found: list[str] = []
    handle = selective_checkpoint.ResultFinder.handle

    def observed(self, call, proceed):
        def proceed_and_note():
            from fxgrad.compat._declare.handlers import UNKNOWN

            if call.known is UNKNOWN:
                found.append(call.operation.name)
            return proceed()

        return handle(self, call, proceed_and_note)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selective_checkpoint.ResultFinder, "handle", observed)
        y.sum().backward()
    return found


def test_what_was_kept_is_not_computed_again():
    aten = fxt.ops.aten
    assert computed(block, []) == ["mm", "sin", "mm", "exp"]
    assert computed(block, [aten.mm.default]) == ["sin", "exp"]
    assert computed(block, [aten.sin.default]) == ["mm", "mm", "exp"]
    assert (
        computed(block, lambda *args, **kwargs: fxt.utils.checkpoint.CheckpointPolicy.MUST_CPU_OFFLOAD) == []
    )


def test_one_graph_serves_several_passes():
    """torch refuses the second, and so second derivatives."""
    contexts = partial(
        fxt.utils.checkpoint.create_selective_checkpoint_contexts,
        [fxt.ops.aten.mm.default, fxt.ops.aten.exp.default],
    )
    x = leaf(fxt)
    results = block(x), fxt.utils.checkpoint.checkpoint(block, x, use_reentrant=False, context_fn=contexts)
    first = [fxt.autograd.grad(y.sum(), x, create_graph=True)[0] for y in results]
    second = [fxt.autograd.grad(g.sum(), x)[0] for g in first]
    assert fxt.allclose(*first)
    assert fxt.allclose(*second)


@pytest.mark.parametrize("batched", [False, True])
def test_inside_transforms(batched):
    func, x = fxt.func, leaf(fxt).detach()
    contexts = partial(fxt.utils.checkpoint.create_selective_checkpoint_contexts, [fxt.ops.aten.mm.default])

    def checkpointed(a):
        return fxt.utils.checkpoint.checkpoint(block, a, use_reentrant=False, context_fn=contexts)

    for transform in (
        lambda f: func.grad(lambda a: f(a).sum()),
        lambda f: func.grad(lambda a: func.grad(lambda b: f(b).sum())(a).sum()),
        func.jacfwd,
    ):
        found, wanted = (transform(f) for f in (checkpointed, block))
        if batched:
            found, wanted, x = (
                func.vmap(found),
                func.vmap(wanted),
                fxt.stack([x, x * 2]) if x.ndim == 2 else x,
            )
        assert fxt.allclose(found(x), wanted(x))
