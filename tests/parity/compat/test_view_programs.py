"""Random programs of views and writes inside transforms, under torch and fxgrad.compat: how arguments and their views
lie in memory, what results are of the argument, and the values and gradients of both after a write to one of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import ERRORS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


# -- steps: functions of (a random generator, a Tensor, one of its dimensions) ------------------------------
def shuffled(rng, n: int) -> list[int]:
    return rng.sample(range(n), n)


def window(rng, t, d):
    return t.as_strided(t.shape[:1], t.stride()[:1], t.storage_offset())


ANY = {
    "all": lambda rng, t, d: t[...],
    "unsqueeze": lambda rng, t, d: t.unsqueeze(rng.randrange(t.dim() + 1)),
    "view_as": lambda rng, t, d: t.view_as(t),
}
VECTORS = {
    "select": lambda rng, t, d: t.select(d, rng.randrange(t.shape[d])),
    "slice": lambda rng, t, d: t[(slice(None),) * d + (slice(None, None, rng.choice([1, 2])),)],
    "narrow": lambda rng, t, d: t.narrow(d, t.shape[d] - 1, 1),
    "permute": lambda rng, t, d: t.permute(shuffled(rng, t.dim())),
    "split": lambda rng, t, d: t.split(max(1, t.shape[d] // 2), d)[0],
    "unbind": lambda rng, t, d: t.unbind(d)[-1],
    "movedim": lambda rng, t, d: t.movedim(d, rng.randrange(t.dim())),
    "unfold": lambda rng, t, d: t.unfold(d, min(2, t.shape[d]), 2),
    "squeeze": lambda rng, t, d: t.squeeze(),
    "expand": lambda rng, t, d: t.expand([2 if n == 1 else -1 for n in t.shape]),
}
MATRICES = {
    "transpose": lambda rng, t, d: t.transpose(d, rng.randrange(t.dim())),
    "diagonal": lambda rng, t, d: t.diagonal(0, d, (d + 1) % t.dim()),
}
LAID_OUT = {  # what depends on strides: of the argument and its views
    "view": lambda rng, t, d: t.view(-1),
    "reshape": lambda rng, t, d: t.reshape(-1),
    "flatten": lambda rng, t, d: t.flatten(0, 1),
    "unflatten": lambda rng, t, d: t.unflatten(d, (1, t.shape[d])),
    "contiguous": lambda rng, t, d: t.contiguous(),
    "as_strided": window,
}
WRITES = {
    "mul_": lambda t: t.mul_(2),
    "add_": lambda t: t.add_(1),
    "neg_": lambda t: t.neg_(),
    "copy_": lambda t: t.copy_(t * 2),
}


def step(rng, t, of_argument: bool):
    """A view of a Tensor."""
    kinds = list(ANY.items())
    if t.dim():
        kinds += VECTORS.items()
    if t.dim() > 1:
        kinds += [*MATRICES.items(), *(LAID_OUT.items() if of_argument else ())]
    return rng.choice(kinds)[1](rng, t, rng.randrange(t.dim()) if t.dim() else 0)


def write(rng, t) -> None:
    WRITES[rng.choice(list(WRITES))](t)


# -- programs ------------------------------------------
def layout(t) -> tuple:
    """Strides where they matter, offset, whether contiguous."""
    strides = tuple(s for s, n in zip(t.stride(), t.shape) if n != 1)
    return tuple(t.shape), strides, t.storage_offset(), t.is_contiguous()


def make_function(seed: str, writes: bool, seen: list):
    """A function whose steps are drawn anew, and alike, in every call."""

    def function(t):
        rng = random.Random(seed)
        live = [(t, True)]
        for _ in range(rng.randrange(1, 6)):
            tensor, of_argument = live[rng.randrange(len(live))]
            kind = rng.random()
            if kind < 0.65:
                live.append((step(rng, tensor, of_argument), of_argument))
            elif kind < 0.85 and writes:
                write(rng, tensor)
            elif kind < 0.92:
                live.append((tensor * 2, False))
            else:
                live.append((t.detach(), True))
            if live[-1][1]:
                seen.append(layout(live[-1][0]))
        return live[-1][0], live[rng.randrange(len(live))][0]

    return function


TRANSFORMS = {
    "vmap": lambda F, f, y, dims: F.vmap(f, *dims[0])(y),
    "vmap of vmap": lambda F, f, y, dims: F.vmap(F.vmap(f, *dims[1]), *dims[0])(y),
    "vjp": lambda F, f, y, dims: F.vjp(f, y)[0],
    "jvp": lambda F, f, y, dims: F.jvp(f, (y,), (y.detach() * 0 + 1,))[0],
    "aux": lambda F, f, y, dims: F.grad(lambda t: (t.sum(), f(t)), has_aux=True)(y)[1],
    "vmap of vjp": lambda F, f, y, dims: F.vmap(lambda t: F.vjp(f, t)[0], *dims[0])(y),
    "vmap of jvp": lambda F, f, y, dims: F.vmap(lambda t: F.jvp(f, (t,), (t.detach() * 0 + 1,))[0], *dims[0])(
        y
    ),
    "vjp of vmap": lambda F, f, y, dims: F.vjp(F.vmap(f, *dims[0]), y)[0],
    "jvp of vmap": lambda F, f, y, dims: F.jvp(F.vmap(f, *dims[0]), (y,), (y.detach() * 0 + 1,))[0],
}
MEMORIES = {  # Tensors of the same shape that lie in memory in different ways
    "rows": lambda lib, x: x.clone(),
    "permuted": lambda lib, x: x.transpose(0, -1).clone().transpose(0, -1),
    "a view": lambda lib, x: (x * 1)[None].squeeze(0),
    "a part": lambda lib, x: lib.cat([x, x], 1)[:, 1 : x.shape[1] + 1],
}


def relation(result, y) -> str:
    """What a result is of the argument. torch's own results may be views of what nobody sees."""
    if result is y:
        return "itself"
    base = y if y._base is None else y._base
    return "view" if result._base is base else "other"


def root(t):
    return t if t._base is None else t._base


def ran(library, seed: str, transform: str):
    """All that is to be seen of a program."""
    rng = random.Random(seed)
    shape = [rng.choice([1, 2, 3, 3]) for _ in range(rng.choice([2, 3, 3, 4]))]
    x = ((library.arange(float(np.prod(shape)), dtype=library.float64) - 4) / 8).reshape(shape).clone()
    x.requires_grad_()
    y = MEMORIES[rng.choice(list(MEMORIES))](library, x)
    dims = [(rng.randrange(len(shape) - k), rng.choice([0, 0, 1, -1][: 4 - 3 * k])) for k in range(2)]
    seen: list = []
    results = TRANSFORMS[transform](library.func, make_function(seed, rng.random() < 0.6, seen), y, dims)
    relations = [relation(r, y) for r in results]
    facts = [
        (tuple(r.shape), r.is_leaf, r.requires_grad, *(() if kind == "other" else (r._version, layout(r))))
        for r, kind in zip(results, relations)
    ]
    recorded = all(r.requires_grad for r in results)  # of what is detached nobody asks
    together = recorded and root(results[0]) is root(results[1])
    before = [t.tolist() for t in (*results, y)]
    for t in rng.choice([results[:1], [y], [*results, y], results[1:], []]):
        write(rng, t)
    total = (y * y).sum() + sum((r * r).sum() * 2 for r in results)
    (gradient,) = library.autograd.grad(total, x)
    after = [t.tolist() for t in (*results, y, gradient)]
    return seen, relations, facts, together, y._version, before, after


def outcome(library, seed: str, transform: str):
    try:
        return ran(library, seed, transform)
    except ERRORS:
        return "raises"


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("seed", range(8))
def test_views_and_writes(transform, seed):
    for k in range(8):
        program = f"{transform} {seed} {k}", transform
        ours, theirs = outcome(fxt, *program), outcome(torch, *program)
        if "raises" in (ours, theirs):
            assert ours == theirs, program
            continue
        for mine, its in zip(ours[:-2], theirs[:-2]):
            assert mine == its, program
        for mine, its in zip([*ours[-2], *ours[-1]], [*theirs[-2], *theirs[-1]]):
            np.testing.assert_allclose(mine, its, rtol=1e-12, err_msg=str(program))
