"""Decompositions of tensors on the backend of torch, and gradients through a factorized one.

packages: tensorly
tolerance: 1e-3
"""

import tensorly as tl
import torch
from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker

tl.set_backend("pytorch")
torch.manual_seed(0)
factors = [torch.rand(n, 3, dtype=torch.float64) for n in (6, 5, 4)]
x = tl.cp_to_tensor((None, factors))
for name, made in (
    ("parafac", tl.cp_to_tensor(parafac(x, rank=3, init="svd", n_iter_max=20))),
    ("non_negative", tl.cp_to_tensor(non_negative_parafac(x, rank=3, init="svd", n_iter_max=20))),
    ("tucker", tl.tucker_to_tensor(tucker(x, rank=[3, 3, 3], n_iter_max=10))),
    ("train", tl.tt_to_tensor(tensor_train(x, rank=[1, 3, 3, 1]))),
):
    print(name, (tl.norm(made - x) / tl.norm(x)).item())
core, *matrices = (torch.rand(s, requires_grad=True) for s in ((2, 2, 2), (6, 2), (5, 2), (4, 2)))
loss = (tl.tucker_to_tensor((core, matrices)) - x.float()).square().sum()
loss.backward()
print(loss.item(), core.grad.norm().item())
