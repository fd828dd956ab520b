"""Control flow as Python's own: the reference for `fxgrad.lax` in random programs."""

import numpy as np

import fxgrad.numpy as fnp
from fxgrad.core import pytree


def stacked(rows):
    return pytree.map(lambda *leaves: fnp.stack(leaves), *rows)


def scan(f, init, xs, reverse=False):
    carry, ys = init, []
    order = range(len(pytree.leaves(xs)[0]))
    for i in reversed(order) if reverse else order:
        carry, y = f(carry, pytree.map(lambda x, i=i: x[i], xs))
        ys.append(y)
    return carry, stacked(ys[::-1] if reverse else ys)


def cond(pred, true_fun, false_fun, *operands):
    return true_fun(*operands) if pred else false_fun(*operands)


def switch(index, branches, *operands):
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def fori_loop(lower, upper, body, init):
    for i in range(lower, upper):
        init = body(i, init)
    return init


def map(f, xs):
    return stacked([f(x) for x in xs])


def associative_scan(combine, xs):
    totals = [xs[0]]
    for x in xs[1:]:
        totals.append(combine(totals[-1], x))
    return fnp.stack(totals)


def top_k(x, k):
    order = np.argsort(-np.array([v.item() for v in x]), kind="stable")[:k]
    return x[order], order


def cumsum(x, axis=0, reverse=False):
    return x[::-1].cumsum(axis)[::-1] if reverse else x.cumsum(axis)


def clamped(start, size, length):
    return min(max(int(start), 0), length - size)


def dynamic_slice(x, starts, sizes):
    start = clamped(starts[0], sizes[0], len(x))
    return x[start : start + sizes[0]]


def dynamic_update_slice(x, update, starts):
    start = clamped(starts[0], len(update), len(x))
    return fnp.concatenate([x[:start], update, x[start + len(update) :]])
