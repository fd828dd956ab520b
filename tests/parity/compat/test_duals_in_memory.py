"""Duals in memory: the layout of tangents, what writes into duals and takes tangents away, and `out=`, under both
libraries."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
import fxgrad.compat.autograd.forward_ad as fx_forward_ad
from tests.parity.compat.scenarios import Scenarios, check, outcome

scenario = Scenarios()
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


def forward(library):
    return torch.autograd.forward_ad if library is torch else fx_forward_ad


PAIRS = {
    "larger tangent": lambda t: (t.ones(4), t.ones(5)[:4]),
    "larger primal": lambda t: (t.ones(5)[:4], t.ones(4)),
    "alike": lambda t: (t.ones(4)[:3], t.ones(4)[:3]),
    "transposed primal": lambda t: (t.ones(2, 3).t(), t.ones(3, 2)),
    "both transposed": lambda t: (t.ones(2, 3).t(), t.ones(2, 3).t()),
    "expanded tangent": lambda t: (t.ones(3), t.ones(1).expand(3)),
    "alike, not at the start": lambda t: (t.ones(5)[1:], t.ones(5)[1:]),
    "other starts": lambda t: (t.ones(5)[1:], t.ones(5)[:4]),
    "steps": lambda t: (t.ones(3)[::2], t.ones(3)[::2]),
    "steps in the primal": lambda t: (t.ones(3)[::2], t.ones(2)),
    "steps in the tangent": lambda t: (t.ones(2), t.ones(3)[::2]),
    "no dimensions": lambda t: (t.ones(()), t.ones(())),
    "no entries": lambda t: (t.ones(0), t.ones(0)),
    "length one": lambda t: (t.ones(1, 3).t(), t.ones(3, 1)),
    "the middle": lambda t: (t.ones(4)[1:3], t.ones(2)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_tangents_are_laid_out_like_their_primals(pair):
    def layout(library):
        primal, given = PAIRS[pair](library)
        with forward(library).dual_level():
            tangent = forward(library).unpack_dual(forward(library).make_dual(primal, given)).tangent
            tangent.mul_(3)
            bytes_ = tangent.untyped_storage().nbytes()
            return given, tangent, tangent.stride(), tangent.storage_offset(), tangent._base is given, bytes_

    check(layout)


@scenario
def views_of_a_part_of_a_memory(library):
    primal = library.ones(5)[:4]
    with forward(library).dual_level():
        dual = forward(library).make_dual(primal, library.ones(4))
        dual.view(2, 2).mul_(3)
        beyond = dual.as_strided((2,), (1,), 3)
        dual.as_strided((2,), (2,), 0).mul_(2)
        return primal, [forward(library).unpack_dual(x) for x in (dual, beyond)]


@scenario
def tangents_that_are_taken_away(library):
    ones, unpack = library.ones(2), forward(library).unpack_dual
    with forward(library).dual_level():
        dual = forward(library).make_dual(ones, ones)
        computed, modified = dual * 2, ones.clone().mul_(dual)
        computed.detach_()
        modified.detach_()
        found = [computed, computed * 2, modified, dual.detach(), dual.data, dual.detach().mul_(dual)]
        return [unpack(x).tangent for x in found]


@scenario
def a_view_is_not_detached_in_place(library):
    with forward(library).dual_level():
        forward(library).make_dual(library.ones(2), library.ones(2)).detach_()


OUT = {
    "add": lambda t, dual, bar: t.add(dual, bar, out=bar),
    "mul": lambda t, dual, bar: t.mul(bar, 2, out=dual),
    "exp": lambda t, dual, bar: t.exp(dual, out=bar),
    "sum": lambda t, dual, bar: t.sum(dual, 0, out=t.empty(2)),
    "cat": lambda t, dual, bar: t.cat([dual, bar], out=t.empty(4, 2)),
    "max": lambda t, dual, bar: t.max(dual, 0, out=(t.empty(2), t.empty(2, dtype=t.int64))),
    "sort": lambda t, dual, bar: t.sort(dual, out=(t.empty(2, 2), t.empty(2, 2, dtype=t.int64))),
    "matmul": lambda t, dual, bar: t.matmul(dual, bar, out=t.empty(2, 2)),
    "norm": lambda t, dual, bar: t.norm(dual, out=t.empty(())),
    "std": lambda t, dual, bar: t.std(dual, 0, out=t.empty(2)),
    "stack": lambda t, dual, bar: t.stack([dual, dual], out=t.empty(2, 2, 2)),
    "where": lambda t, dual, bar: t.where(bar > 0, dual, bar, out=t.empty(2, 2)),
    "det": lambda t, dual, bar: t.linalg.det(dual, out=t.empty(())),
    "clamp": lambda t, dual, bar: t.clamp(dual, 0, 1, out=bar),
    "index_select": lambda t, dual, bar: t.index_select(dual, 0, t.tensor([0]), out=t.empty(1, 2)),
    "lerp": lambda t, dual, bar: t.lerp(bar, bar, 0.5, out=dual),
    "narrow_copy": lambda t, dual, bar: t.narrow_copy(dual, 0, 0, 1, out=t.empty(1, 2)),
    "fft": lambda t, dual, bar: t.fft.fft(dual, out=t.empty(2, 2, dtype=t.complex64)),
}


@pytest.mark.parametrize("operation", OUT)
def test_out_takes_no_tangents(operation):
    def write(library):
        with forward(library).dual_level():
            dual = forward(library).make_dual(library.ones(2, 2), library.ones(2, 2))
            OUT[operation](library, dual, library.full((2, 2), 3.0))

    ours, theirs = outcome(write, fxt), outcome(write, torch)
    assert ours[:2] == theirs[:2] == ("raises", "NotImplementedError")
    for text in (ours[2], theirs[2]):  # which name different functions where torch's is made of others
        assert text.startswith("Trying to use forward AD with ")
        assert text.endswith("that does not support it because it is an out= function")


def test_out_carries_the_tangents_of_jvp():
    """Where torch refuses."""

    def double(x):
        made = fxt.empty(2)
        fxt.mul(x, 2, out=made)
        return made

    value, tangent = fxt.func.jvp(double, (fxt.ones(2),), (fxt.full((2,), 3.0),))
    assert value.tolist() == [2, 2] and tangent.tolist() == [6, 6]


@scenario.each()
def test_alike(scenario):
    check(scenario)
