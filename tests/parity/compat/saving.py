"""Hooks and Functions for the tests of what is saved for backward, in either library."""

from __future__ import annotations


def values(torch, *entries):
    return torch.tensor(entries, requires_grad=True)


def same(x):
    return x


def rounded(x):
    return [round(entry, 4) for entry in x.tolist()]


def noting(torch, log, name="packed"):
    """Hooks that note what they are given, and keep it without its history."""

    def pack(x):
        log.append((name, rounded(x), x.requires_grad, x.is_leaf, torch.is_grad_enabled()))
        return x.detach()

    def unpack(x):
        log.append(("unpacked", rounded(x), torch.is_grad_enabled()))
        return x

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def doubling(torch):
    return torch.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, same)


def product(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            out = x * y
            ctx.save_for_backward(x, y, None, out)
            return out

        @staticmethod
        def backward(ctx, g):
            x, y, _, out = ctx.saved_tensors
            return g * y, g * x + 0 * out

    return Product.apply
