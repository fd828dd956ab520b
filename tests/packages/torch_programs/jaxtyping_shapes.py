"""Annotations of shapes and dtypes, checked at run time.

packages: jaxtyping, beartype
tolerance: 1e-6
"""

import torch
from beartype import beartype
from jaxtyping import Float, Int, TypeCheckError, jaxtyped
from torch import Tensor


@jaxtyped(typechecker=beartype)
def attend(q: Float[Tensor, "n d"], k: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    return torch.softmax(q @ k.mT, -1)


@jaxtyped(typechecker=beartype)
def pick(x: Float[Tensor, "*batch n"], at: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    return x.gather(-1, at.unsqueeze(-1)).squeeze(-1)


torch.manual_seed(0)
print(attend(torch.randn(3, 4), torch.randn(5, 4)).sum().item())
print(pick(torch.arange(12.0).reshape(3, 4), torch.tensor([0, 2, 3])).tolist())
for q, k in (
    (torch.randn(3, 4), torch.randn(5, 3)),
    (torch.randn(3, 4), torch.ones(5, 4, dtype=torch.int64)),
):
    try:
        attend(q, k)
    except TypeCheckError:
        print("refused")
