"""Random programs of views and operations in place under torch and fxgrad.compat: the same values, gradients, versions
and errors."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad.compat as fxt
from tests.parity.compat.comparison import ERRORS

VIEWS = {
    "select": lambda x, k: x.select(k % 2 if x.dim() > 1 else 0, 0),
    "last": lambda x, k: x[..., -1],
    "slice": lambda x, k: x[k % 2 :],
    "steps": lambda x, k: x[::2],
    "transpose": lambda x, k: x.transpose(0, -1),
    "unsqueeze": lambda x, k: x.unsqueeze(k % 2),
    "flatten": lambda x, k: x.reshape(-1),
    "view": lambda x, k: x.view(-1),
    "expand": lambda x, k: x.expand(2, *x.shape),
    "diagonal": lambda x, k: x.diagonal(k % 2),
    "narrow": lambda x, k: x.narrow(0, 0, 1),
    "unbind": lambda x, k: x.unbind(0)[k % x.shape[0]],
    "chunk": lambda x, k: x.chunk(2, -1)[0],
    "detach": lambda x, k: x.detach(),
    # Of a view torch loses the gradient of what is outside of it.
    "as_strided": lambda x, k: (x if x._base is None else x._base).as_strided((2,), (1,)),
}
NEW = {
    "mul": lambda x, y, k: x * (k + 0.5),
    "square": lambda x, y, k: x * x,
    "sin": lambda x, y, k: x.sin(),
    "exp": lambda x, y, k: x.exp(),
    "add": lambda x, y, k: x + y.sum(),
    "product": lambda x, y, k: x * y.sum(),
    "clone": lambda x, y, k: x.clone(),
    "index": lambda x, y, k: x[[0, 0]],
    "zeros": lambda x, y, k: x.detach() * 0,
}


def set_first(x, y, k):
    x[0] = k


def set_row(x, y, k):
    x[..., 0] = y.sum()


def set_chosen(x, y, k):
    x[[0]] = y.sum().clone()


CHANGES = {
    "mul_": lambda x, y, k: x.mul_(k + 0.5),
    "add_": lambda x, y, k: x.add_(y.sum()),
    "times_": lambda x, y, k: x.mul_(y.sum().clone()),
    "sin_": lambda x, y, k: x.sin_(),
    "tanh_": lambda x, y, k: x.tanh_(),
    "zero_": lambda x, y, k: x.zero_(),
    "fill_": lambda x, y, k: x.fill_(y.sum()),
    "copy_": lambda x, y, k: x.copy_(y.mean().clone()),
    "set_first": set_first,
    "set_row": set_row,
    "set_chosen": set_chosen,
}

steps = st.lists(
    st.one_of(
        st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("new"), st.sampled_from(sorted(NEW)), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("change"), st.sampled_from(sorted(CHANGES)), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("change"), st.sampled_from(sorted(CHANGES)), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(
            st.just("silent"), st.sampled_from(["mul_", "zero_", "set_first"]), st.integers(0, 9), st.just(1)
        ),
    ),
    min_size=3,
    max_size=9,
)


def attempt(log, run):
    """What `run` gives, or None; how it failed is logged."""
    try:
        result = run()
        log.append("done")
        return result
    except ERRORS as error:
        kind = next(cls for cls in ERRORS if isinstance(error, cls)).__name__
        log.append((kind, str(error).partition("\n")[0][:40]))
        return None


def run(library, program):
    """(what happened at each step, what each Tensor is, gradients)."""
    leaf = library.from_numpy(np.arange(1.0, 7.0).reshape(2, 3) / 7).requires_grad_()
    plain = library.from_numpy(np.linspace(-1, 1, 6).reshape(2, 3))
    tensors, log = [leaf, plain, leaf * 1], []
    for kind, name, i, k in program:
        x, y = tensors[-1 - i % len(tensors)], tensors[(i + k) % len(tensors)]
        if kind == "view":
            made = attempt(log, lambda: VIEWS[name](x, k))  # noqa: B023
        elif kind == "new":
            made = attempt(log, lambda: NEW[name](x, y, k))  # noqa: B023
        elif kind == "change":
            attempt(log, lambda: x.grad_fn)  # noqa: B023 torch judges by what was found when it was last asked for
            made = attempt(log, lambda: CHANGES[name](x, y, k))  # noqa: B023
        else:
            with library.no_grad():
                made = attempt(log, lambda: CHANGES[name](x, y, k))  # noqa: B023
        if made is not None and all(made is not t for t in tensors):
            tensors.append(made)
    states = [
        (tuple(t.shape), t.detach().numpy().tolist(), t.requires_grad, t._version, t._is_view())
        for t in tensors
    ]
    for t in tensors:
        attempt(log, lambda: t.grad_fn)  # noqa: B023
    usable = [t for t in tensors if t.requires_grad]
    total = attempt(log, lambda: sum((t * (n + 1)).sum() for n, t in enumerate(usable)))
    if total is not None:
        attempt(log, total.backward)
    return log, states, None if leaf.grad is None else leaf.grad.numpy().tolist()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(steps)
def test_programs(program):
    ours, theirs = run(fxt, program), run(torch, program)
    refused = theirs[0][-1]  # in backward, where torch cannot write zeros into an expanded gradient
    if refused[1].startswith("unsupported operation"):
        assert ours[0].pop() == "done" and theirs[0].pop() == refused
    assert ours[0] == theirs[0]
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert (a[0], *a[2:]) == (b[0], *b[2:])
        np.testing.assert_allclose(a[1], b[1], rtol=1e-12, atol=1e-14)
    assert (ours[2] is None) <= (theirs[2] is None)
    if theirs[2] is not None:
        np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-10, atol=1e-12)
