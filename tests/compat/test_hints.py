"""Hints that help: a mistake, words of the hint of its error, and the program in which the hint was followed."""

import datetime
import io

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad import FxgradError


class Square(torch.autograd.Function):
    """A custom operation without a rule for batches."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


class MappableSquare(Square):
    """The same, of which a rule for batches is made."""

    generate_vmap_rule = True


class Thrice(torch.autograd.Function):
    """A custom operation that returns what it is told in place of a gradient."""

    @staticmethod
    def forward(ctx, x, change):
        ctx.change = change
        return 3 * x

    @staticmethod
    def backward(ctx, gradient):
        return ctx.change(3 * gradient)


def leaf(*sizes):
    """A leaf of ones that requires a gradient."""
    return torch.ones(*sizes, requires_grad=True)


def sgd(count=1, **options):
    """An optimizer of so many groups of one parameter."""
    return torch.optim.SGD([{"params": [leaf(1)]} for _ in range(count)], lr=0.1, **options)


def saved(value):
    """A file that holds a value."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def backward_twice(**options):
    y = leaf(2).exp().sum()
    y.backward(**options)
    y.backward()


NAMES = {
    "torch": torch,
    "np": np,
    "io": io,
    "datetime": datetime,
    "nn": torch.nn,
    "optim": torch.optim,
    "func": torch.func,
    "data": torch.utils.data,
    "dist": torch.distributions,
    "constraints": torch.distributions.constraints,
    "transforms": torch.distributions.transforms,
    **{made.__name__: made for made in (Square, MappableSquare, Thrice, leaf, sgd, saved, backward_twice)},
}

# Of each mistake: what fails, and words of the hint; below it what does not.
MAKING = """
torch.zeros(3.0) | 3;
    torch.zeros(3)
torch.full(3, 2.0) | (3,)
    torch.full((3,), 2.0)
torch.zeros(3, dtype=np.float32) | torch.float32
    torch.zeros(3, dtype=torch.float32)
torch.zeros(-1) | x.reshape
    torch.ones(2, 3).reshape(-1)
torch.tensor(1, requires_grad=True) | 1.0 instead of 1
    torch.tensor(1.0, requires_grad=True)
torch.tensor([[1.0], [1.0, 2.0]]) | pad_sequence
    nn.utils.rnn.pad_sequence([torch.ones(1), torch.ones(2)])
torch.tensor(1j, dtype=torch.float32) | torch.complex64
    torch.tensor(1j, dtype=torch.complex64)
torch.tensor(300, dtype=torch.uint8) | from 0 to 255
    torch.tensor(300, dtype=torch.int64)
torch.tensor(2**70) | torch.float64
    torch.tensor(2**70, dtype=torch.float64)
torch.from_numpy([1.0]) | torch.tensor(x)
    torch.tensor([1.0])
torch.from_numpy(np.arange(3)[::-1]) | array.copy()
    torch.from_numpy(np.arange(3)[::-1].copy())
torch.from_numpy(np.arange(3, dtype='>i4')) | newbyteorder('=')
    torch.from_numpy(np.arange(3, dtype='>i4').astype('=i4'))
torch.asarray([1.0], copy=False) | copy=None
    torch.asarray([1.0], copy=None)
torch.arange(0, 5, -1) | step=1,
    torch.arange(0, 5, step=1)
torch.arange(5, 0, 1) | arange(0, 5, 1)
    torch.arange(0, 5, 1)
torch.arange(0, 5, 0) | step=1
    torch.arange(0, 5, step=1)
torch.linspace(0, 1, -3) | steps=3
    torch.linspace(0, 1, 3)
torch.device('cuda:one') | "cuda:0"
    torch.device('cuda:0')
torch.device('cuda:0', 1) | torch.device('cuda', 1)
    torch.device('cuda', 1)
torch.finfo(torch.int32) | torch.iinfo(torch.int32)
    torch.iinfo(torch.int32)
torch.iinfo(torch.float32) | torch.finfo(torch.float32)
    torch.finfo(torch.float32)
torch.empty_permuted((2, 3), (0,)) | physical_layout=(0, 1)
    torch.empty_permuted((2, 3), physical_layout=(0, 1))
torch.hann_window(-1) | window_length=0
    torch.hann_window(0)
torch.signal.windows.gaussian(5, std=-1.0) | std=1.0
    torch.signal.windows.gaussian(5, std=1.0)
torch.signal.windows.exponential(5, center=1.0) | sym=False
    torch.signal.windows.exponential(5, center=1.0, sym=False)
"""

DRAWING = """
torch.multinomial(torch.ones(3, dtype=torch.int64), 1) | torch.float32
    torch.multinomial(torch.ones(3), 1)
torch.multinomial(torch.ones(3), 4) | replacement=True
    torch.multinomial(torch.ones(3), 4, replacement=True)
torch.multinomial(-torch.ones(3), 1) | torch.softmax(x, -1)
    torch.multinomial(torch.softmax(-torch.ones(3), -1), 1)
torch.multinomial(torch.ones(2, 2, 3), 1) | weights.reshape(-1, n)
    torch.multinomial(torch.ones(2, 2, 3).reshape(-1, 3), 1)
torch.bernoulli(2 * torch.ones(2)) | p.clamp(0, 1)
    torch.bernoulli((2 * torch.ones(2)).clamp(0, 1))
torch.poisson(-torch.ones(2)) | torch.exp(x)
    torch.poisson(torch.exp(-torch.ones(2)))
torch.normal(0.0, 1.0, 3) | (3,)
    torch.normal(0.0, 1.0, (3,))
torch.normal(torch.zeros(2), -1.0) | std.abs()
    torch.normal(torch.zeros(2), 1.0)
torch.ones(2, dtype=torch.int64).normal_() | x.to(torch.float32)
    torch.ones(2, dtype=torch.int64).to(torch.float32).normal_()
torch.ones(2).random_(5, 3) | from=3, to=6
    torch.ones(2).random_(3, 6)
torch.rand(2, generator=3) | manual_seed(0)
    torch.rand(2, generator=torch.Generator().manual_seed(0))
torch.vmap(torch.bernoulli)(torch.ones(2, 3)) | "different"
    torch.vmap(torch.bernoulli, randomness='different')(torch.ones(2, 3))
"""

OPERATIONS = """
torch.ones(3).sum(dim=1) | dim=0
    torch.ones(3).sum(dim=0)
torch.ones(3, 4).sum(dim=2) | dim=1 or dim=-1
    torch.ones(3, 4).sum(dim=1)
torch.ones(3, 4).size(2) | dim=1 or dim=-1
    torch.ones(3, 4).size(1)
torch.ones(3, 4) + torch.ones(3) | x[..., None] of the one of shape [3]
    torch.ones(3, 4) + torch.ones(3)[..., None]
torch.ones(3, 4) + torch.ones(4, 3) | x.mT of the one of shape [3, 4]
    torch.ones(3, 4).mT + torch.ones(4, 3)
torch.ones(3) + torch.ones(4) | x[:, None]
    torch.ones(3)[:, None] + torch.ones(4)
torch.sin(3.0) | torch.tensor(3.0)
    torch.sin(torch.tensor(3.0))
torch.sin([3.0]) | torch.as_tensor
    torch.sin(torch.as_tensor([3.0]))
torch.sin(torch.ones(2), out=[]) | torch.empty(0)
    torch.sin(torch.ones(2), out=torch.empty(0))
torch.ones(2, dtype=torch.complex64).floor() | x.real
    torch.ones(2, dtype=torch.complex64).real.floor()
torch.ones(2, dtype=torch.int64).add_(1.5) | x.to(torch.float32)
    torch.ones(2, dtype=torch.int64).to(torch.float32).add_(1.5)
torch.ones(3).add_(torch.ones(2, 3)) | x = x + y
    torch.ones(3) + torch.ones(2, 3)
torch.ones(1).expand(3).add_(1) | .clone()
    torch.ones(1).expand(3).clone().add_(1)
list(torch.tensor(1.0)) | x.reshape(1)
    list(torch.tensor(1.0).reshape(1))
leaf(2).numpy() | force=True
    leaf(2).numpy(force=True)
torch.ones(2, dtype=torch.complex64).conj().numpy() | force=True
    torch.ones(2, dtype=torch.complex64).conj().numpy(force=True)
torch.ones(2).type('Float') | "torch.FloatTensor"
    torch.ones(2).type('torch.FloatTensor')
torch.set_num_threads(0) | set_num_threads(1)
    torch.set_num_threads(torch.get_num_threads())
torch.ones(4).untyped_storage()[99] | storage[15]
    torch.ones(4).untyped_storage()[15]
"""

SPARSE = """
torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0]) | 2 values
    torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0])
torch.sparse_coo_tensor([[0, 1], [0, 1], [0, 1]], [1.0, 2.0, 3.0]) | indices.T
    torch.sparse_coo_tensor(torch.tensor([[0, 1], [0, 1], [0, 1]]).T, [1.0, 2.0, 3.0])
torch.sparse_coo_tensor([[0, 4]], [1.0, 2.0], (3,), check_invariants=True) | size 5
    torch.sparse_coo_tensor([[0, 4]], [1.0, 2.0], (5,))
torch.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,), check_invariants=True) | 2,
    torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,))
torch.eye(2).to_sparse().crow_indices() | to_sparse_csr()
    torch.eye(2).to_sparse().to_sparse_csr().crow_indices()
torch.eye(2).to_sparse() + torch.ones(1, 2).to_sparse() | to_dense()
    torch.eye(2) + torch.ones(1, 2)
torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(3, 2)) | mat2.mT
    torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(3, 2).t())
torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0]).values() | coalesce().values()
    torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0]).coalesce().values()
torch.eye(2).to_sparse().numpy() | to_dense()
    torch.eye(2).to_sparse().to_dense().numpy()
torch.ones(2).sparse_mask(torch.ones(2)) | mask.to_sparse()
    torch.ones(2).sparse_mask(torch.ones(2).to_sparse())
torch.eye(3).to_sparse().select(0, 3) | -3 … 2
    torch.eye(3).to_sparse().select(0, 2)
"""

GRADIENTS = """
backward_twice() | retain_graph=True
    backward_twice(retain_graph=True)
torch.ones(2).sum().backward() | requires_grad_()
    torch.ones(2).requires_grad_().sum().backward()
leaf(2).exp().backward(torch.ones(3)) | torch.ones_like(output)
    leaf(2).exp().backward(torch.ones(2))
(1j * leaf(1)).sum().backward() | y.abs()
    (1j * leaf(1)).sum().abs().backward()
torch.autograd.grad(leaf(1).exp(), [leaf(1)]) | allow_unused=True
    torch.autograd.grad(leaf(1).exp(), [leaf(1)], allow_unused=True)
torch.autograd.grad(leaf(1).exp(), [torch.ones(1)]) | requires_grad_() of input 0
    torch.autograd.grad(leaf(1).exp(), [torch.ones(1).requires_grad_()], allow_unused=True)
setattr(leaf(2), 'grad', torch.ones(1, 2)) | gradient.reshape([2])
    setattr(leaf(2), 'grad', torch.ones(1, 2).reshape([2]))
setattr(leaf(2), 'grad', torch.ones(2).double()) | to(torch.float32)
    setattr(leaf(2), 'grad', torch.ones(2).double().to(torch.float32))
setattr(leaf(2), 'grad', 1.0) | torch.tensor(1.0)
    setattr(torch.tensor(2.0), 'grad', torch.tensor(1.0))
torch.ones(2).register_hook(print) | requires_grad_()
    torch.ones(2).requires_grad_().register_hook(print)
leaf(2).exp().register_post_accumulate_grad_hook(print) | register_hook
    leaf(2).exp().register_hook(print)
leaf(2)[0].add_(1) | clone
    leaf(2).clone()[0].add_(1)
leaf(2).requires_grad_(1) | requires_grad_(True)
    leaf(2).requires_grad_(True)
leaf(2).exp().requires_grad_(False) | x.detach()
    leaf(2).exp().detach()
torch.set_grad_enabled(1) | =True
    torch.set_grad_enabled(True)
Thrice.apply(leaf(2), lambda g: g).sum().backward() | return one for each argument
    Thrice.apply(leaf(2), lambda g: (g, None)).sum().backward()
Thrice.apply(leaf(2), lambda g: (g, g)).sum().backward() | None in place 1
    Thrice.apply(leaf(2), lambda g: (g, None)).sum().backward()
Thrice.apply(leaf(2), lambda g: (g[None, None, 0], None)).sum().backward() | gradient.
    Thrice.apply(leaf(2), lambda g: (g.reshape([2]), None)).sum().backward()
torch.autograd.functional.jacobian(torch.sin, 1.0) | torch.tensor(1.0)
    torch.autograd.functional.jacobian(torch.sin, torch.tensor(1.0))
torch.autograd.functional.hessian(torch.sin, torch.ones(2)) | y.sum()
    torch.autograd.functional.hessian(lambda x: torch.sin(x).sum(), torch.ones(2))
torch.autograd.functional.vjp(torch.sin, torch.ones(2)) | torch.ones_like(y)
    torch.autograd.functional.vjp(torch.sin, torch.ones(2), torch.ones(2))
torch.autograd.functional.vjp(torch.sin, torch.ones(2), torch.ones(1, 2)) | v.reshape([2])
    torch.autograd.functional.vjp(torch.sin, torch.ones(2), torch.ones(1, 2).reshape([2]))
torch.autograd.gradcheck(torch.sin, (torch.ones(2),)) | torch.float64
    torch.autograd.gradcheck(torch.sin, (torch.rand(2, dtype=torch.float64, requires_grad=True),))
"""

TRANSFORMS_OF_FUNCTIONS = """
torch.vmap(Square.apply)(torch.ones(2)) | generate_vmap_rule = True
    torch.vmap(MappableSquare.apply)(torch.ones(2))
torch.vmap(torch.add)(torch.ones(2), torch.ones(3)) | in_dims=None
    torch.vmap(torch.add, in_dims=(None, 0))(torch.ones(2), torch.ones(3))
torch.vmap(torch.add, in_dims=(0,))(torch.ones(2), torch.ones(2)) | in_dims=(0, 0)
    torch.vmap(torch.add, in_dims=(0, 0))(torch.ones(2), torch.ones(2))
torch.vmap(torch.sin, in_dims=1)(torch.ones(2)) | in_dims=0
    torch.vmap(torch.sin, in_dims=0)(torch.ones(2))
torch.vmap(torch.sin, out_dims=1)(torch.ones(2)) | dim=0
    torch.vmap(torch.sin, out_dims=0)(torch.ones(2))
torch.vmap(torch.sin, out_dims=(0, 0))(torch.ones(2)) | out_dims=0
    torch.vmap(torch.sin, out_dims=0)(torch.ones(2))
torch.vmap(torch.sin, chunk_size=0)(torch.ones(2)) | chunk_size=1
    torch.vmap(torch.sin, chunk_size=1)(torch.ones(2))
torch.vmap(lambda x: 1.0)(torch.ones(2)) | torch.as_tensor
    torch.vmap(lambda x: torch.as_tensor(1.0))(torch.ones(2))
func.grad(torch.sin)(torch.ones(2)) | torch.func.jacrev
    func.jacrev(torch.sin)(torch.ones(2))
func.grad(torch.sin)(1.0) | torch.tensor(1.0)
    func.grad(torch.sin)(torch.tensor(1.0))
func.grad(torch.sin, argnums=1)(torch.tensor(1.0)) | argnums=0
    func.grad(torch.sin, argnums=0)(torch.tensor(1.0))
func.grad(torch.mul, argnums=(0, 0))(torch.tensor(1.0), torch.tensor(1.0)) | argnums=(0,)
    func.grad(torch.mul, argnums=(0,))(torch.tensor(1.0), torch.tensor(1.0))
func.grad(torch.sum)(torch.ones(2, dtype=torch.int64)) | x.to(torch.float32)
    func.grad(torch.sum)(torch.ones(2))
func.grad(torch.sin, has_aux=True)(torch.tensor(1.0)) | return loss, aux
    func.grad(lambda x: (torch.sin(x), x), has_aux=True)(torch.tensor(1.0))
func.jvp(torch.sin, [torch.ones(2)], [torch.ones(2)]) | (primals,)
    func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))
func.jvp(torch.sin, (torch.ones(2),), (torch.ones(3),)) | torch.ones_like
    func.jvp(torch.sin, (torch.ones(2),), (torch.ones_like(torch.ones(2)),))
func.jvp(torch.sin, (torch.ones(2),), (1.0,)) | torch.zeros_like
    func.jvp(torch.sin, (torch.ones(2),), (torch.zeros_like(torch.ones(2)),))
func.jacrev(torch.sin, chunk_size=0)(torch.ones(2)) | chunk_size=1
    func.jacrev(torch.sin, chunk_size=1)(torch.ones(2))
func.functional_call(nn.Linear(1, 1), {'weight': 1.0}, (torch.ones(1),)) | torch.tensor(1.0)
    func.functional_call(nn.Linear(1, 1), {'weight': torch.tensor([[1.0]])}, (torch.ones(1),))
func.functional_call(nn.Linear(1, 1), {'w': torch.ones(1)}, (torch.ones(1),), strict=True) | module.named_parameters()
    func.functional_call(nn.Linear(1, 1), dict(nn.Linear(1, 1).named_parameters()), (torch.ones(1),), strict=True)
torch.utils.checkpoint.checkpoint(torch.sin, leaf(1), use_reentrant=True, out=None) | use_reentrant=False
    torch.utils.checkpoint.checkpoint(torch.sin, leaf(1), use_reentrant=False, out=None)
"""

OPTIMIZERS = """
optim.SGD(leaf(2), lr=0.1) | [x]
    optim.SGD([leaf(2)], lr=0.1)
optim.SGD([leaf(2).exp()], lr=0.1) | x.detach().requires_grad_()
    optim.SGD([leaf(2).exp().detach().requires_grad_()], lr=0.1)
optim.SGD([{'params': {leaf(2)}}], lr=0.1) | list(
    optim.SGD([{'params': list({leaf(2)})}], lr=0.1)
optim.SGD({'w': leaf(2)}, lr=0.1) | list(d.values())
    optim.SGD(list({'w': leaf(2)}.values()), lr=0.1)
optim.SGD([leaf(2)], lr=torch.ones(2)) | lr.item()
    optim.SGD([leaf(2)], lr=torch.ones(1).item())
optim.SGD([leaf(2)], lr=0.1, nesterov=True) | momentum=0.9
    optim.SGD([leaf(2)], lr=0.1, nesterov=True, momentum=0.9)
optim.Adam([leaf(2)], betas=(1.0, 0.9)) | from 0 to below 1
    optim.Adam([leaf(2)], betas=(0.9, 0.9))
optim.Adam([leaf(2)], fused=True, foreach=True) | foreach=False
    optim.Adam([leaf(2)], fused=True, foreach=False)
optim.Rprop([leaf(2)], etas=(1.2, 0.5)) | etas=(0.5, 1.2)
    optim.Rprop([leaf(2)], etas=(0.5, 1.2))
optim.lr_scheduler.LinearLR(sgd(), start_factor=2.0) | start_factor=1 / 3
    optim.lr_scheduler.LinearLR(sgd(), start_factor=1 / 3)
optim.lr_scheduler.LambdaLR(sgd(2), [abs]) | a list of 2
    optim.lr_scheduler.LambdaLR(sgd(2), [abs, abs])
optim.lr_scheduler.OneCycleLR(sgd(momentum=0.9), 1.0) | total_steps=n
    optim.lr_scheduler.OneCycleLR(sgd(momentum=0.9), 1.0, total_steps=5)
optim.lr_scheduler.OneCycleLR(sgd(momentum=0.9), 1.0, total_steps=5.0) | as an int
    optim.lr_scheduler.OneCycleLR(sgd(momentum=0.9), 1.0, total_steps=5)
optim.lr_scheduler.CyclicLR(sgd(), 0.1, 1.0, mode='up') | "triangular"
    optim.lr_scheduler.CyclicLR(sgd(momentum=0.9), 0.1, 1.0, mode='triangular')
optim.lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 0) | T_0=10
    optim.lr_scheduler.CosineAnnealingWarmRestarts(sgd(), T_0=10)
optim.lr_scheduler.ReduceLROnPlateau(sgd(), factor=1.0) | factor=0.1
    optim.lr_scheduler.ReduceLROnPlateau(sgd(), factor=0.1)
optim.lr_scheduler.ReduceLROnPlateau(sgd(), mode='down') | mode="min"
    optim.lr_scheduler.ReduceLROnPlateau(sgd(), mode='min')
optim.lr_scheduler.StepLR([leaf(1)], 1) | torch.optim.SGD
    optim.lr_scheduler.StepLR(sgd(), 1)
sgd().load_state_dict(sgd(2).state_dict()) | 2 groups
    sgd(2).load_state_dict(sgd(2).state_dict())
"""

DISTRIBUTIONS = """
dist.Normal(0.0, -1.0) | arg_constraints['scale']
    dist.Normal(0.0, dist.transform_to(dist.Normal.arg_constraints['scale'])(torch.tensor(-1.0)))
dist.Normal(0.0, float('nan')) | torch.isnan
    dist.Normal(0.0, 1.0)
dist.Beta(1.0, 1.0).log_prob(torch.tensor(2.0)) | d.support
    dist.Beta(1.0, 1.0).log_prob(dist.transform_to(dist.Beta(1.0, 1.0).support)(torch.tensor(2.0)))
dist.Poisson(1.0).log_prob(torch.tensor(0.5)) | whole numbers
    dist.Poisson(1.0).log_prob(torch.tensor(1.0))
dist.Bernoulli() | probs=p
    dist.Bernoulli(probs=0.5)
dist.Categorical(torch.tensor(1.0)) | probs=torch.tensor([0.5, 0.5])
    dist.Categorical(probs=torch.tensor([0.5, 0.5]))
dist.Dirichlet(torch.tensor(1.0)) | torch.ones(3)
    dist.Dirichlet(torch.ones(3))
dist.Independent(dist.Normal(torch.zeros(2), 1.0), 2) | reinterpreted_batch_ndims=1
    dist.Independent(dist.Normal(torch.zeros(2), 1.0), reinterpreted_batch_ndims=1)
dist.MultivariateNormal(torch.zeros(2)) | scale_tril=torch.eye(n)
    dist.MultivariateNormal(torch.zeros(2), scale_tril=torch.eye(2))
dist.MultivariateNormal(torch.zeros(2), torch.ones(2)) | covariance_matrix=torch.eye(2)
    dist.MultivariateNormal(torch.zeros(2), covariance_matrix=torch.eye(2))
dist.MultivariateNormal(torch.tensor(0.0), torch.eye(1)) | loc.reshape(1)
    dist.MultivariateNormal(torch.tensor(0.0).reshape(1), torch.eye(1))
dist.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2), torch.ones(2)) | unsqueeze(-1)
    dist.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2).unsqueeze(-1), torch.ones(2))
dist.Wishart(1, torch.eye(3)) | df=3
    dist.Wishart(3, torch.eye(3))
dist.MixtureSameFamily(dist.Categorical(torch.ones(2)), dist.Normal(torch.zeros(3), 1.0)) | logits=torch.zeros(3)
    dist.MixtureSameFamily(dist.Categorical(logits=torch.zeros(3)), dist.Normal(torch.zeros(3), 1.0))
dist.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2)) | shape (3,)
    dist.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(3))
dist.TransformedDistribution(dist.Normal(0.0, 1.0), (transforms.ExpTransform(),)) | list(transforms)
    dist.TransformedDistribution(dist.Normal(0.0, 1.0), list((transforms.ExpTransform(),)))
constraints.dependent.check(torch.ones(1)) | d.support.check(x)
    dist.Uniform(0.0, 1.0).support.check(torch.ones(1))
constraints.cat([constraints.real, constraints.positive], lengths=[1]) | [1, 1]
    constraints.cat([constraints.real, constraints.positive], lengths=[1, 1])
"""

FILES_AND_DATA = """
torch.load(saved([1.0]), mmap=True) | mmap=False
    torch.load(saved([1.0]), mmap=False)
torch.load(saved(torch.ones(1)), map_location=3) | map_location="cpu"
    torch.load(saved(torch.ones(1)), map_location='cpu')
torch.load(saved(datetime.date(2020, 2, 29))) | state_dict()
    torch.load(saved('2020-02-29'))
torch.save([1.0], io.BytesIO(), pickle_protocol=2.0) | pickle_protocol=2
    torch.save([1.0], io.BytesIO(), pickle_protocol=2)
torch.serialization.add_safe_globals([(dict,)]) | "package.module.MyClass"
    [torch.serialization.add_safe_globals([(dict, 'builtins.dict')]), torch.serialization.clear_safe_globals()]
data.DataLoader([1, 2], sampler=[0], shuffle=True) | RandomSampler(dataset)
    data.DataLoader([1, 2], sampler=data.RandomSampler([1, 2]), shuffle=False)
data.DataLoader([1, 2], persistent_workers=True) | persistent_workers=False
    data.DataLoader([1, 2], persistent_workers=False)
data.DataLoader([1, 2], batch_sampler=[[0]], batch_size=2) | BatchSampler
    data.DataLoader([1, 2], batch_sampler=data.BatchSampler([0, 1], 2, False))
data.DataLoader([1, 2], num_workers=-1) | num_workers=0
    data.DataLoader([1, 2], num_workers=0)
data.RandomSampler([1, 2], num_samples=2.0) | num_samples=2
    data.RandomSampler([1, 2], num_samples=2)
data.StackDataset([1], x=[1]) | StackDataset(x=a, y=b)
    data.StackDataset(x=[1], y=[1])
torch.testing.assert_close(1.0, 1.0, rtol=0.1) | rtol=0.1, atol=0.0
    torch.testing.assert_close(1.0, 1.0, rtol=0.1, atol=0.0)
torch.testing.make_tensor(2, dtype=torch.int64, device='cpu', requires_grad=True) | torch.float32
    torch.testing.make_tensor(2, dtype=torch.float32, device='cpu', requires_grad=True)
"""

TABLES = (
    MAKING,
    DRAWING,
    OPERATIONS,
    SPARSE,
    GRADIENTS,
    TRANSFORMS_OF_FUNCTIONS,
    OPTIMIZERS,
    DISTRIBUTIONS,
    FILES_AND_DATA,
)
LINES = [line for table in TABLES for line in table.strip().splitlines()]
MISTAKES = [
    (*mistake.split(" | "), cured.strip()) for mistake, cured in zip(LINES[::2], LINES[1::2], strict=True)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("mistake", "words", "cured"), MISTAKES, ids=[bad for bad, _, _ in MISTAKES])
def test_who_follows_the_hint_gets_on(mistake, words, cured):
    with pytest.raises(FxgradError) as caught:
        eval(mistake, NAMES)
    assert words in (caught.value.hint or "")
    eval(cured, NAMES)
