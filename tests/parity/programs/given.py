"""What the programs are given, whichever library runs them: data and first parameters, made by NumPy."""

import numpy as np
import torch


def numbers(seed, *shape, dtype=torch.float64):
    """Standard normal numbers."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def integers(seed, high, *shape):
    """Integers in [0, high)."""
    return torch.from_numpy(np.random.default_rng(seed).integers(0, high, shape))


def uniform(seed, *shape):
    """Uniform numbers in [0, 1)."""
    return torch.from_numpy(np.random.default_rng(seed).random(shape))


@torch.no_grad()
def initialize(module, seed=0, scale=0.3):
    """Give every parameter of a module its first value; return the module in float64."""
    module.double()
    for i, (name, p) in enumerate(module.named_parameters()):
        center = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        p.copy_(center + scale * numbers(1000 * seed + i, *p.shape))
    return module


def norms(tensors):
    """The norms of Tensors, as numbers."""
    return [0.0 if t is None else t.detach().norm().item() for t in tensors]
