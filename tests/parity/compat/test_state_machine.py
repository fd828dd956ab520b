"""Leaves, views, operations in place, modes and backward passes in any order, as torch has them."""

from __future__ import annotations

import warnings

import hypothesis.strategies as st
import torch
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import fxgrad.compat as fxt
from tests.parity.compat.comparison import ERRORS
from tests.parity.compat.scenarios import check_alike, described

PLACES = st.integers(0, 7)
NEW = {
    "double": lambda x: x * 2,
    "square": lambda x: x * x,
    "sine": lambda x: x.sin(),
    "slice": lambda x: x[1:],
    "row": lambda x: x.view(-1),
    "reversed": lambda x: x.flip(0),
    "detached": lambda x: x.detach(),
    "cloned": lambda x: x.clone(),
    "leaf": lambda x: x.detach().clone().requires_grad_(),
    "first": lambda x: x.unbind()[0].reshape(1),
}
# torch says of those that are made of a leaf under no_grad that they require a gradient, and has none for it.
VIEWS = {"slice", "row", "first"}
CHANGES = {
    "mul_": lambda x: x.mul_(1.5),
    "sin_": lambda x: x.sin_(),
    "zero_": lambda x: x.zero_(),
    "entry": lambda x: x.__setitem__(0, 0.5),
    "retain_grad": lambda x: x.retain_grad(),
    "detach_": lambda x: x.detach_(),
    "zero grad": lambda x: setattr(x, "grad", None),
}
PAIRS = {
    "add_": lambda x, y: x.add_(y.sum()),
    "mul_": lambda x, y: x.mul_(y.sum()),
    "copy_": lambda x, y: x.copy_(y[:1] * 1),
    "part": lambda x, y: x[:1].mul_(y[:1]),
}


def observed(x):
    """What can be seen of a Tensor, but the names of nodes: a view with a new history is an AsStrided of torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `.grad` of what is no leaf
        grad = x.grad
    return described(x), described(grad), x.is_leaf, x.grad_fn is None


class Programs(RuleBasedStateMachine):
    """The same steps in both libraries; `pool` has pairs (torch's Tensor, ours), the latest ones."""

    @initialize(required=st.booleans())
    def start(self, required):
        self.pool = [self.both(lambda t: t.tensor([0.3, -0.7, 1.1], dtype=t.float64, requires_grad=required))]

    def both(self, step):
        """The results in both libraries; None where both raise the same error."""
        outcomes = []
        for library in (torch, fxt):
            try:
                outcomes.append((step(library), None))
            except ERRORS as error:
                outcomes.append((None, error))
        (theirs, their_error), (ours, our_error) = outcomes
        assert (their_error is None) == (our_error is None), (their_error, our_error)
        if their_error is None:
            return theirs, ours
        assert any(isinstance(our_error, cls) and isinstance(their_error, cls) for cls in ERRORS)
        return None

    def at(self, place):
        pair = self.pool[place % len(self.pool)]
        return lambda t: pair[t is fxt]

    def run(self, step, enabled=True):
        def under(t):
            with t.set_grad_enabled(enabled):
                return step(t)

        return self.both(under)

    @rule(place=PLACES, name=st.sampled_from(sorted(NEW)), enabled=st.sampled_from([True, True, False]))
    def make(self, place, name, enabled):
        x = self.at(place)
        made = self.run(lambda t: NEW[name](x(t)), enabled or name in VIEWS)
        if made is not None and made[0].numel():
            self.pool = [*self.pool, made][-8:]

    @rule(place=PLACES, name=st.sampled_from(sorted(CHANGES)), enabled=st.sampled_from([True, True, False]))
    def change(self, place, name, enabled):
        x = self.at(place)
        self.run(lambda t: CHANGES[name](x(t)), enabled)

    @rule(place=PLACES, other=PLACES, name=st.sampled_from(sorted(PAIRS)), enabled=st.booleans())
    def combine(self, place, other, name, enabled):
        x, y = self.at(place), self.at(other)
        self.run(lambda t: PAIRS[name](x(t), y(t)), enabled)

    @rule(place=PLACES, retain=st.booleans(), create=st.booleans())
    def backward(self, place, retain, create):
        x = self.at(place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, of a cycle
            self.run(lambda t: x(t).sum().backward(retain_graph=retain, create_graph=retain and create))

    @rule(place=PLACES, other=PLACES)
    def grad(self, place, other):
        x, y = self.at(place), self.at(other)
        found = self.run(lambda t: t.autograd.grad(x(t).sum(), y(t), retain_graph=True, allow_unused=True)[0])
        if found is not None:
            check_alike(described(found[1]), described(found[0]))

    @invariant()
    def the_same(self):
        for theirs, ours in getattr(self, "pool", ()):
            outcomes = self.both(lambda t, pair=(theirs, ours): observed(pair[t is fxt]))
            if outcomes is not None:
                check_alike(outcomes[1], outcomes[0])


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
