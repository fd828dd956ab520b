"""Attributes of ours cannot meet those of users' subclasses: they have torch's names, or begin with `_fx_`."""

from __future__ import annotations

import copy
import io
from functools import cache

import pytest

import fxgrad.compat as torch

from .attributes import OURS, PREFIX, attributes_beyond_torch, attributes_of, find, read_attributes

D, nn, optim, data = torch.distributions, torch.nn, torch.optim, torch.utils.data


def test_whatever_torch_has_not_begins_with_our_prefix():
    assert attributes_beyond_torch() == {}


FAMILIES = """
    Tensor nn.Module distributions.Distribution distributions.Transform distributions.constraints.Constraint
    optim.Optimizer optim.lr_scheduler.LRScheduler utils.data.Dataset utils.data.DataLoader utils.data.Sampler
    autograd.Function
"""


def test_names_of_ours_do_not_meet_where_a_class_is_of_two_families():
    """As one is both a transform and a module."""
    families: dict[str, dict[str, str]] = {}
    for path in read_attributes():
        cls = find(OURS, path)
        for family in FAMILIES.split():
            if issubclass(cls, find(OURS, family)):
                names = {name: family for name in attributes_of(cls) if name.startswith(PREFIX)}
                families.setdefault(family, {}).update(names)
    owners: dict[str, set[str]] = {}
    for names in families.values():
        for name, family in names.items():
            owners.setdefault(name, set()).add(family)
    assert len(owners) > 100
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}


# -- subclasses with all other names -----------------------------------------------------------------------------------
@cache
def own_names() -> set[str]:
    """What attributes of ours would be called without a prefix, with and without an underscore."""
    words = {
        name.removeprefix(PREFIX)
        for path in read_attributes()
        for name in attributes_of(find(OURS, path))
        if name.startswith(PREFIX)
    }
    return words | {f"_{word}" for word in words}


class Taken:
    """An attribute that is the user's, which nobody else reads or writes."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        raise AssertionError(f"`{self.name}` is the user's")

    def __set__(self, instance, value):
        raise AssertionError(f"`{self.name}` is the user's")


NAMES_OF_TORCH = read_attributes()


def derive(path: str) -> type:
    """A subclass that has all these names but torch's."""
    cls = find(OURS, path)
    names = own_names() - NAMES_OF_TORCH[path] - set(dir(cls))
    assert len(names) > 400
    return type(cls)(cls.__name__, (cls,), {"__module__": __name__, **{name: Taken() for name in names}})


def use_module(*args, inputs=((2, 4),), integers=0, **options):
    """What a module does with inputs of these shapes."""

    def use(cls):
        torch.manual_seed(0)
        module = cls(*args, **options)
        given = [torch.randint(integers, s) if integers else torch.randn(s) for s in inputs]
        handle = module.register_forward_hook(lambda module, args, result: None)
        if not isinstance(module, nn.modules.lazy.LazyModuleMixin):
            module.zero_grad()
        results = torch.utils._pytree.tree_leaves(module(*given))
        if results[0].requires_grad:
            sum(x.sum() for x in results).backward()
        handle.remove()
        state = module.state_dict()
        module.load_state_dict(state)
        copied = copy.deepcopy(module).double().eval().apply(lambda m: None)
        return results, state, repr(module), repr(copied), module.extra_repr(), sorted(vars(module))

    return use


def use_optimizer(closure=False, sparse=False, **options):
    """What two steps do."""

    def use(cls):
        torch.manual_seed(0)
        p = nn.Parameter(torch.randn(3, 2))
        optimizer = cls([p] if closure else [{"params": [p]}], **options)

        def evaluate():
            optimizer.zero_grad()
            rows = nn.functional.embedding(torch.tensor([0, 2]), p, sparse=sparse)
            loss = (rows**2).sum()
            loss.backward()
            return loss

        for _ in range(2):
            if closure:
                optimizer.step(evaluate)
            else:
                evaluate()
                optimizer.step()
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        return p, optimizer.state_dict(), repr(optimizer)

    return use


def use_scheduler(*args, **options):
    """The learning rates of three steps."""

    def use(cls):
        optimizer = optim.SGD([nn.Parameter(torch.ones(1))], 1.0, momentum=0.5)
        scheduler = cls(optimizer, *args, **options)
        rates = []
        for _ in range(3):
            optimizer.step()
            scheduler.step(*[1.0] * (cls.__name__ == "ReduceLROnPlateau"))
            rates.append(scheduler.get_last_lr())
        scheduler.load_state_dict(scheduler.state_dict())
        return rates

    return use


def use_distribution(*args, **options):
    """Samples, densities and moments."""

    def use(cls):
        torch.manual_seed(0)
        d = cls(*args, **options)
        x = d.sample((3,))
        found = [x, d.log_prob(x), d.batch_shape, repr(d)]
        for part in ("mean", "variance", "stddev", "mode", "entropy", "rsample", "enumerate_support"):
            try:
                value = getattr(d, part)
                found.append(value() if callable(value) else value)
            except NotImplementedError:
                found.append(part)
        try:
            found.append(d.expand((2, *d.batch_shape)).log_prob(x[:2]))
        except NotImplementedError:
            found.append("expand")
        return found

    return use


def use_transform(*args, x=None):
    """Values, inverses and slopes."""

    def use(cls):
        transform = cls(*args)
        given = torch.tensor([[0.5, 0.25, -1.0]]) if x is None else x
        y = transform(given)
        slope = getattr(transform, "bijective", False) and transform.log_abs_det_jacobian(given, y)
        made = transform.with_cache(1)
        return y, transform.inv(y), slope, made(given), transform == cls(*args), repr(transform.inv.inv)

    return use


def use_tensors(cls):
    leaf = torch.randn(3, 2, generator=torch.Generator().manual_seed(0)).as_subclass(cls).requires_grad_()
    y = (leaf * 2 + 1).sin().view(2, 3).t()
    y = y.clone()
    y[0] = 3.0
    y += 1
    y.retain_grad()
    y.register_hook(lambda g: None)
    y.sum().backward()
    file = io.BytesIO()
    torch.save(leaf.detach(), file)
    batched = torch.func.vmap(lambda x: x.exp().sum())(leaf.detach())
    copied = copy.deepcopy(leaf)
    leaf.data = leaf.data + 1
    found = leaf.grad, y.detach(), copied, batched, leaf.detach()
    return [x.tolist() for x in found], leaf.detach().numpy()


def use_functions(cls):
    class Double(cls):
        @staticmethod
        def forward(ctx, x):
            ctx.value, ctx.node, ctx.tape, ctx.order, ctx.rule, ctx.operation, ctx.save = range(7)
            ctx.code, ctx.hooks, ctx.pull, ctx.residuals, ctx.site, ctx.index = range(6)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seven = [ctx.value, ctx.node, ctx.tape, ctx.order, ctx.rule, ctx.operation, ctx.save]
            assert seven == [*range(7)]
            assert [ctx.code, ctx.hooks, ctx.pull, ctx.residuals, ctx.site, ctx.index] == [*range(6)]
            return grad * 2 * ctx.saved_tensors[0]

    x = torch.tensor(3.0, requires_grad=True)
    Double.apply(x).backward()
    return x.grad


def use_loaders(cls):
    generator = torch.Generator().manual_seed(0)
    loader = cls(data.TensorDataset(torch.arange(5.0)), batch_size=2, shuffle=True, generator=generator)
    return len(loader), list(loader), list(loader)


def use_generator(cls):
    generator = cls()
    torch.randn(3, generator=generator.manual_seed(3))
    generator.set_state(generator.get_state())
    return torch.randn(3, generator=generator)


def use_scaler(cls):
    scaler, p = cls(device="cpu", init_scale=4.0), nn.Parameter(torch.ones(2))
    optimizer = optim.SGD([p], 0.1)
    scaler.scale((p * 3).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return p, scaler.state_dict(), scaler.get_scale()


def use_switch(*args):
    def use(cls):
        found = []
        x = torch.ones(1, requires_grad=True)
        with cls(*args) as switch, cls(*args):
            found.append(str((x @ x).dtype) + str((x * 2).requires_grad))
        again = cls(*args)(lambda: (x * 2).requires_grad)
        return found, again(), torch.is_grad_enabled(), switch is None

    return use


def use_mode(cls):
    names = []

    class Noting(cls):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **kwargs or {})

    with Noting():
        torch.ones(2).add(1)
    return names


def use_pruning(cls):
    module = nn.Linear(3, 2)
    with torch.no_grad():
        module.weight.copy_(torch.arange(6.0).reshape(2, 3))
    cls.apply(module, "weight", 0.5)
    return module.weight, dict(module.named_buffers())


POSITIVE, SIMPLEX = torch.tensor([1.5, 0.5]), torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
MATRIX = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
PROGRAMS = {
    "nn.Module": lambda cls: (m := cls(), m.state_dict(), repr(m), m.train(), list(m.modules()))[1:3],
    "nn.Linear": use_module(4, 3),
    "nn.Bilinear": use_module(4, 3, 2, inputs=((2, 4), (2, 3))),
    "nn.LazyLinear": use_module(3),
    "nn.Identity": use_module(),
    "nn.Conv1d": use_module(2, 3, 2, padding="same", padding_mode="circular", inputs=((1, 2, 5),)),
    "nn.Conv2d": use_module(2, 3, 2, inputs=((1, 2, 4, 4),)),
    "nn.LazyConv1d": use_module(3, 2, inputs=((1, 2, 5),)),
    "nn.ConvTranspose2d": use_module(2, 3, 2, stride=2, inputs=((1, 2, 3, 3),)),
    "nn.BatchNorm1d": use_module(4),
    "nn.LazyBatchNorm1d": use_module(),
    "nn.SyncBatchNorm": use_module(4),
    "nn.InstanceNorm1d": use_module(2, affine=True, inputs=((1, 2, 5),)),
    "nn.LayerNorm": use_module(4),
    "nn.RMSNorm": use_module(4),
    "nn.GroupNorm": use_module(2, 4),
    "nn.Embedding": use_module(5, 3, padding_idx=1, inputs=((2, 2),), integers=5),
    "nn.EmbeddingBag": use_module(5, 3, inputs=((2, 2),), integers=5),
    "nn.RNN": use_module(4, 3, inputs=((5, 2, 4),)),
    "nn.LSTM": use_module(4, 3, bidirectional=True, inputs=((5, 2, 4),)),
    "nn.GRU": use_module(4, 3, num_layers=2, dropout=0.5, inputs=((5, 2, 4),)),
    "nn.LSTMCell": use_module(4, 3),
    "nn.MultiheadAttention": use_module(4, 2, inputs=((3, 2, 4),) * 3),
    "nn.TransformerEncoderLayer": use_module(4, 2, 8, inputs=((3, 2, 4),)),
    "nn.TransformerDecoderLayer": use_module(4, 2, 8, inputs=((3, 2, 4),) * 2),
    "nn.Transformer": use_module(4, 2, 1, 1, 8, inputs=((3, 2, 4),) * 2),
    "nn.Dropout": use_module(0.5),
    "nn.ReLU": use_module(),
    "nn.Softmax": use_module(-1),
    "nn.PReLU": use_module(4),
    "nn.MaxPool2d": use_module(2, inputs=((1, 2, 4, 4),)),
    "nn.AvgPool1d": use_module(2, inputs=((1, 2, 4),)),
    "nn.AdaptiveAvgPool2d": use_module(2, inputs=((1, 2, 4, 4),)),
    "nn.LPPool1d": use_module(2, 2, inputs=((1, 2, 4),)),
    "nn.FractionalMaxPool2d": use_module(2, output_size=2, inputs=((1, 2, 4, 4),)),
    "nn.ConstantPad1d": use_module((1, 2), 3.0),
    "nn.ZeroPad2d": use_module(1, inputs=((1, 2, 2),)),
    "nn.ReflectionPad1d": use_module(1),
    "nn.MSELoss": use_module(inputs=((2, 4), (2, 4))),
    "nn.BCEWithLogitsLoss": use_module(pos_weight=POSITIVE, inputs=((3, 2), (3, 2))),
    "nn.CrossEntropyLoss": use_module(weight=torch.ones(4), inputs=((2, 4), (2, 4))),
    "nn.Upsample": use_module(scale_factor=2, inputs=((1, 2, 4),)),
    "nn.Sequential": use_module(nn.Linear(4, 3), nn.ReLU()),
    "nn.ModuleList": lambda cls: (m := cls([nn.ReLU()]), m.append(nn.Tanh()), repr(m[1:]), len(m))[2:],
    "nn.ModuleDict": lambda cls: (m := cls({"a": nn.ReLU()}), m.update({"b": nn.Tanh()}), repr(m), list(m))[
        2:
    ],
    "nn.ParameterList": lambda cls: (m := cls([torch.ones(1)]), m.append(torch.ones(2)), repr(m), len(m))[2:],
    "nn.ParameterDict": lambda cls: (m := cls({"a": torch.ones(1)}), repr(m), list(m), m.pop("a"))[1:],
    "nn.utils.prune.L1Unstructured": use_pruning,
    "nn.utils.prune.RandomUnstructured": lambda cls: (torch.manual_seed(0), use_pruning(cls))[1],
    "optim.SGD": use_optimizer(lr=0.1, momentum=0.5),
    "optim.Adam": use_optimizer(),
    "optim.AdamW": use_optimizer(differentiable=False),
    "optim.NAdam": use_optimizer(),
    "optim.RAdam": use_optimizer(),
    "optim.Adamax": use_optimizer(),
    "optim.Adagrad": use_optimizer(),
    "optim.Adadelta": use_optimizer(),
    "optim.Adafactor": use_optimizer(),
    "optim.RMSprop": use_optimizer(centered=True),
    "optim.Rprop": use_optimizer(),
    "optim.ASGD": use_optimizer(),
    "optim.Muon": use_optimizer(),
    "optim.SparseAdam": use_optimizer(sparse=True),
    "optim.LBFGS": use_optimizer(closure=True, line_search_fn="strong_wolfe"),
    "optim.lr_scheduler.LambdaLR": use_scheduler(lambda epoch: 0.5**epoch),
    "optim.lr_scheduler.StepLR": use_scheduler(1),
    "optim.lr_scheduler.CosineAnnealingLR": use_scheduler(3),
    "optim.lr_scheduler.OneCycleLR": use_scheduler(0.1, total_steps=9),
    "optim.lr_scheduler.CyclicLR": use_scheduler(0.1, 1.0),
    "optim.lr_scheduler.ReduceLROnPlateau": use_scheduler(patience=0),
    "optim.lr_scheduler.CosineAnnealingWarmRestarts": use_scheduler(2),
    "optim.swa_utils.SWALR": use_scheduler(swa_lr=0.1),
    "distributions.Normal": use_distribution(torch.zeros(2), 1.0),
    "distributions.LogNormal": use_distribution(torch.zeros(2), 1.0),
    "distributions.Gumbel": use_distribution(torch.zeros(2), 1.0),
    "distributions.Weibull": use_distribution(POSITIVE, 1.0),
    "distributions.Kumaraswamy": use_distribution(POSITIVE, POSITIVE),
    "distributions.Gamma": use_distribution(POSITIVE, 1.0),
    "distributions.Chi2": use_distribution(POSITIVE),
    "distributions.Beta": use_distribution(POSITIVE, 1.0),
    "distributions.Dirichlet": use_distribution(POSITIVE),
    "distributions.StudentT": use_distribution(POSITIVE),
    "distributions.VonMises": use_distribution(POSITIVE, 1.0),
    "distributions.GeneralizedPareto": use_distribution(0.0, 1.0, POSITIVE),
    "distributions.Bernoulli": use_distribution(probs=torch.tensor([0.25, 0.5])),
    "distributions.ContinuousBernoulli": use_distribution(logits=POSITIVE),
    "distributions.Geometric": use_distribution(logits=POSITIVE),
    "distributions.Binomial": use_distribution(3, logits=POSITIVE),
    "distributions.NegativeBinomial": use_distribution(3.0, logits=POSITIVE),
    "distributions.Poisson": use_distribution(POSITIVE),
    "distributions.Categorical": use_distribution(SIMPLEX),
    "distributions.OneHotCategorical": use_distribution(SIMPLEX),
    "distributions.Multinomial": use_distribution(3, SIMPLEX),
    "distributions.RelaxedBernoulli": use_distribution(torch.tensor(0.5), logits=POSITIVE),
    "distributions.RelaxedOneHotCategorical": use_distribution(torch.tensor(0.5), SIMPLEX),
    "distributions.MultivariateNormal": use_distribution(torch.zeros(2), MATRIX),
    "distributions.LowRankMultivariateNormal": use_distribution(torch.zeros(2), torch.ones(2, 1), POSITIVE),
    "distributions.Wishart": use_distribution(3.0, MATRIX),
    "distributions.Independent": use_distribution(D.Normal(torch.zeros(2), 1.0), 1),
    "distributions.MixtureSameFamily": use_distribution(
        D.Categorical(POSITIVE), D.Normal(torch.zeros(2), POSITIVE)
    ),
    "distributions.TransformedDistribution": use_distribution(D.Normal(POSITIVE, 1.0), [D.ExpTransform()]),
    "distributions.ExpTransform": use_transform(),
    "distributions.AffineTransform": use_transform(1.0, 2.0),
    "distributions.PowerTransform": use_transform(2.0, x=POSITIVE),
    "distributions.SigmoidTransform": use_transform(),
    "distributions.StickBreakingTransform": use_transform(),
    "distributions.CorrCholeskyTransform": use_transform(),
    "distributions.LowerCholeskyTransform": use_transform(x=MATRIX),
    "distributions.ComposeTransform": use_transform([D.ExpTransform(), D.TanhTransform()]),
    "distributions.IndependentTransform": use_transform(D.ExpTransform(), 1),
    "distributions.ReshapeTransform": use_transform((3,), (3, 1)),
    "distributions.CatTransform": use_transform([D.ExpTransform()], -1, [3]),
    "distributions.StackTransform": use_transform([D.ExpTransform()] * 3, -1),
    "distributions.CumulativeDistributionTransform": use_transform(D.Normal(0.0, 1.0)),
    "Tensor": use_tensors,
    "autograd.Function": use_functions,
    "utils.data.DataLoader": use_loaders,
    "Generator": use_generator,
    "GradScaler": use_scaler,
    "no_grad": use_switch(),
    "enable_grad": use_switch(),
    "inference_mode": use_switch(True),
    "set_grad_enabled": use_switch(False),
    "autocast": use_switch("cpu"),
    "overrides.TorchFunctionMode": use_mode,
    "UntypedStorage": lambda cls: (s := cls(4), s.fill_(3), s.tolist(), s.clone().cpu().tolist(), len(s))[2:],
}


@pytest.mark.parametrize("path", PROGRAMS)
def test_a_subclass_may_use_any_name(path):
    found, expected = PROGRAMS[path](derive(path)), PROGRAMS[path](find(OURS, path))
    assert repr(found) == repr(expected)


# -- names that packages use -------------------------------------------------------------------------------------------
def test_a_transform_that_is_a_module():
    class Scale(D.Transform, nn.Module):
        domain = codomain = D.constraints.real
        bijective = True

        def __init__(self):
            super().__init__(cache_size=1)
            self.factor = nn.Parameter(torch.tensor(2.0))

        __hash__ = nn.Module.__hash__  # transforms are compared, and have none

        def _call(self, x):
            return self.factor * x

        def _inverse(self, y):
            return y / self.factor

    scale = Scale()
    scale.factor = nn.Parameter(torch.tensor(4.0))
    assert [name for name, _ in scale.named_parameters()] == ["factor"]
    assert D.Transform.__call__(scale, torch.tensor(3.0)).item() == 12.0
    assert scale.inv(torch.tensor(12.0)).item() == 3.0


def test_a_distribution_that_is_a_module():
    class Law(D.Distribution, nn.Module):
        arg_constraints = {}  # noqa: RUF012

        def __init__(self):
            super().__init__(validate_args=False)
            self.rate = nn.Parameter(torch.ones(1))

    assert [name for name, _ in Law().named_parameters()] == ["rate"]


def test_a_distribution_that_has_no_transform():
    class Law(D.LogNormal):
        def __init__(self):
            super().__init__(0.0, 1.0)
            self._transform = self._check_sample = self._start = None

    torch.manual_seed(0)
    assert (Law().sample((2,)) > 0).all() and Law().log_prob(torch.tensor(1.0)).isfinite()


def test_what_a_constructor_makes_of_its_arguments_is_not_made_of_attributes():
    """So it is with torch, whose modules keep what a user writes."""

    class Loss(nn.MSELoss):
        def __init__(self):
            super().__init__()
            self.weight = 0.5

    pool, average, pad = nn.MaxPool2d(2), nn.AvgPool1d(2), nn.ConstantPad1d(1, 0.0)
    assert pool.stride == 2 and average.stride == (2,) and pad.padding == (1, 1)
    pool.stride = average.stride = None
    pad.padding = 3
    assert (Loss().weight, pool.stride, average.stride, pad.padding) == (0.5, None, None, 3)
