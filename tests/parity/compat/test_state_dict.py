"""state_dict and load_state_dict: names, versions, hooks and errors are torch's."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections import OrderedDict

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import check


def net(T):
    """A module with parts, buffers that are saved and such that are not, and nothing in places."""

    class Part(T.nn.Module):
        _version = 3

        def __init__(self):
            super().__init__()
            self.weight = T.nn.Parameter(T.ones(2))
            self.register_parameter("none", None)
            self.register_buffer("kept", T.zeros(3))
            self.register_buffer("dropped", T.zeros(1), persistent=False)

    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.nothing = Part(), T.nn.Sequential(T.nn.Linear(2, 2), Part()), None
            self.scale = T.nn.Parameter(T.tensor(2.0))

    return Net()


def names_and_versions(T):
    state = net(T).state_dict()
    return (
        type(state).__name__,
        list(state),
        dict(state._metadata),
        list(net(T).state_dict(prefix="a.")._metadata),
    )


def destinations(T):
    plain, ordered = {}, OrderedDict()
    results = [
        net(T).state_dict(destination=plain) is plain,
        net(T).state_dict(destination=ordered) is ordered,
    ]
    return results, list(plain), list(ordered), hasattr(ordered, "_metadata")


def positions(T):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state = net(T).state_dict(OrderedDict(), "p.", True)
    return (
        list(state),
        state["p.scale"].requires_grad,
        [(w.category.__name__, str(w.message)) for w in caught],
    )


def kept_and_detached(T):
    module = net(T)
    state, kept = module.state_dict(), module.state_dict(keep_vars=True)
    state["scale"].zero_()
    return (
        state["scale"].requires_grad,
        type(state["scale"]).__name__,
        kept["scale"] is module.scale,
        module.scale,
    )


def order_of_hooks(T):
    seen, module = [], net(T)
    handles = [
        module.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("pre", prefix, keep))),
        module.first.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("pre", prefix, keep))),
        module.register_state_dict_post_hook(
            lambda m, s, p, meta: seen.append(("post", len(s), p, dict(meta)))
        ),
        module.first._register_state_dict_hook(
            lambda m, s, p, meta: seen.append(("post", len(s), p, dict(meta)))
        ),
    ]
    module.state_dict(prefix="x.")
    for handle in handles:
        handle.remove()
    module.state_dict()
    return seen


def hooks_that_change(T):
    module = net(T)
    module.register_state_dict_post_hook(lambda m, s, p, meta: s.pop(p + "scale") and None)
    module._register_state_dict_hook(lambda m, s, p, meta: {f"new.{name}": x for name, x in s.items()})
    return list(module.state_dict())


def hook_that_returns(T):
    module = net(T)
    module.register_state_dict_post_hook(lambda m, s, p, meta: s)
    return module.state_dict()


def hooks_of_loading(T):
    seen, module = [], net(T)

    def before(*given):
        module = [x for x in given if isinstance(x, T.nn.Module)]
        state, prefix, metadata, strict, missing, unexpected, errors = given[len(module) :]
        seen.append(
            (
                len(module),
                len(state),
                prefix,
                dict(metadata),
                strict,
                len(missing),
                len(unexpected),
                len(errors),
            )
        )

    def after(module, keys):
        seen.append((type(module).__name__, list(keys.missing_keys), list(keys.unexpected_keys)))

    module.register_load_state_dict_pre_hook(before)
    module.second._register_load_state_dict_pre_hook(before)
    module.first._register_load_state_dict_pre_hook(before, with_module=True)
    module.register_load_state_dict_post_hook(after)
    module.second[1].register_load_state_dict_post_hook(after)
    state = module.state_dict()
    state["more"] = T.ones(1)
    found = module.load_state_dict(state, strict=False)
    return seen, list(found.missing_keys), list(found.unexpected_keys)


def hooks_that_rename(T):
    module = net(T)

    def rename(state, prefix, *rest):
        for name in list(state):
            if name.startswith(prefix + "old."):
                state[prefix + name[len(prefix) + 4 :]] = state.pop(name)

    module.first._register_load_state_dict_pre_hook(rename)
    state = OrderedDict((n.replace("first.", "first.old."), x + 1) for n, x in module.state_dict().items())
    return str(module.load_state_dict(state)), module.first.weight, list(state)


def hooks_that_forgive(T):
    module = net(T)

    def forgive(module, keys):
        keys.missing_keys.clear()
        keys.unexpected_keys.clear()

    module.register_load_state_dict_post_hook(forgive)
    return str(module.load_state_dict({"a": T.ones(1)}))


def hook_that_returns_keys(T):
    module = net(T)
    module.register_load_state_dict_post_hook(lambda m, keys: keys)
    return module.load_state_dict(module.state_dict())


def missing_unexpected_and_mismatched(T):
    state = net(T).state_dict()
    del state["first.weight"], state["second.0.bias"]
    state |= {"more": T.ones(1), "first.more.deep": T.ones(1), "second.7.x": T.ones(1), "scale.x": T.ones(1)}
    state["first.kept"], state["second.1.kept"] = T.ones(2, 2), [1, 2]
    try:
        net(T).load_state_dict(state)
    except RuntimeError as error:
        text = str(error).partition("\n  ")[0].splitlines()
        return [line for line in text if "expected torch.Tensor" not in line]


def not_strict(T):
    module = net(T)
    found = module.load_state_dict({"scale": T.tensor(5.0), "first.kept": T.ones(3), "x": 1}, strict=False)
    return repr(found), list(found), module.scale, module.first.kept


def one_dimension_of_old(T):
    module = net(T)
    module.load_state_dict({"scale": T.tensor([7.0])}, strict=False)
    return module.scale


def other_dtypes(T):
    module = net(T)
    module.load_state_dict(
        {"scale": T.tensor(7, dtype=T.int64), "first.weight": T.ones(2, dtype=T.float64)}, strict=False
    )
    return module.scale, module.first.weight


def complex_into_real(T):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = net(T)
        module.load_state_dict({"scale": T.tensor(7 + 1j)}, strict=False)
    return module.scale


def assigned(T):
    module = net(T)
    module.first.weight.requires_grad_(False)
    fresh = {name: x.clone() + 1 for name, x in module.state_dict().items()}
    fresh["scale"] = T.nn.Parameter(T.tensor(4.0), requires_grad=False)
    fresh["second.0.weight"] = fresh["second.0.weight"].double()
    module.load_state_dict(fresh, assign=True)
    p, b = module.first.weight, module.first.kept
    return (
        p.requires_grad, type(p).__name__, p.data_ptr() == fresh["first.weight"].data_ptr(), b is fresh["first.kept"],
        module.scale is fresh["scale"], module.scale.requires_grad, str(module.second[0].weight.dtype),
        list(module.state_dict()),
    )  # fmt: skip


def extra_state(T):
    class Extra(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.extra, self.weight = {"n": 1}, T.nn.Parameter(T.ones(1))

        def get_extra_state(self):
            return self.extra

        def set_extra_state(self, state):
            self.extra = state

    module = T.nn.Sequential(Extra(), T.nn.Linear(1, 1))
    state = module.state_dict()
    state["0._extra_state"] = {"n": 2}
    module.load_state_dict(state)
    del state["0._extra_state"]
    state["1._extra_state"] = 3
    found = module.load_state_dict(state, strict=False)
    return list(module.state_dict()), module[0].extra, list(found)


def no_extra_state(T):
    return T.nn.Linear(1, 1).get_extra_state()


def own_ways(T):
    """Classes that save and load in their own way, by the version that saved."""

    class Own(T.nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.weight = T.nn.Parameter(T.ones(2))

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "half"] = self.weight.detach() / 2

        def _load_from_state_dict(
            self, state_dict, prefix, local_metadata, strict, missing, unexpected, errors
        ):
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "old")
            state_dict.pop(prefix + "half", None)
            super()._load_from_state_dict(
                state_dict, prefix, local_metadata, strict, missing, unexpected, errors
            )

    module = T.nn.Sequential(Own())
    state = module.state_dict()
    results = [list(state), dict(state._metadata), str(module.load_state_dict(state))]
    old = OrderedDict({"0.old": T.tensor([5.0, 6.0])})
    results.append(str(module.load_state_dict(old)))
    return results, module[0].weight


def norm_of_an_old_version(T):
    module = T.nn.BatchNorm1d(2)
    state = module.state_dict()
    version = state._metadata[""]
    del state["num_batches_tracked"]
    state._metadata[""] = {"version": 1}
    return dict(version), str(module.load_state_dict(state)), module.num_batches_tracked


def not_a_mapping(T):
    return net(T).load_state_dict([1])


def instance_norm_of_a_very_old_version(T):
    module = T.nn.InstanceNorm1d(2)
    return module.load_state_dict({"running_mean": T.ones(2), "running_var": T.ones(2)})


def shared_parameters(T):
    module = T.nn.ModuleList([T.nn.Linear(2, 2), T.nn.Linear(2, 2)])
    module[1].weight = module[0].weight
    state = module.state_dict()
    return list(state), state["0.weight"].data_ptr() == state["1.weight"].data_ptr()


def lists_and_dicts(T):
    module = T.nn.Module()
    module.ps = T.nn.ParameterList([T.nn.Parameter(T.ones(1)), T.nn.Parameter(T.zeros(2))])
    module.pd = T.nn.ParameterDict({"a": T.nn.Parameter(T.ones(1))})
    module.md = T.nn.ModuleDict({"b": T.nn.Linear(1, 1)})
    state = {name: x + 1 for name, x in module.state_dict().items()}
    return list(state), str(module.load_state_dict(state)), module.ps[1], module.pd["a"]


SCENARIOS = [
    names_and_versions, destinations, positions, kept_and_detached, order_of_hooks, hooks_that_change,
    hook_that_returns, hooks_of_loading, hooks_that_rename, hooks_that_forgive, hook_that_returns_keys,
    missing_unexpected_and_mismatched, not_strict, one_dimension_of_old, other_dtypes, complex_into_real, assigned,
    extra_state, own_ways, norm_of_an_old_version, instance_norm_of_a_very_old_version, not_a_mapping,
    shared_parameters, lists_and_dicts,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_as_in_torch(scenario):
    check(scenario)


def test_there_is_no_extra_state_unless_it_is_defined():
    for T in (torch, fxt):
        with pytest.raises(RuntimeError):
            no_extra_state(T)


def test_hooks_are_attributes_that_are_made_when_they_are_needed():
    for T in (torch, fxt):
        module = T.nn.Linear(1, 1)
        for kind in (
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        ):
            assert len(getattr(module, kind)) == 0
        module._state_dict_hooks[7] = add_one
        assert module.state_dict()["one"] == 1
        assert "_state_dict_hooks" not in fxt.nn.Linear(1, 1).__dict__


def add_one(module, state, prefix, metadata):
    state["one"] = 1


def rename_old(module, state, prefix, *rest):
    state[prefix + "weight"] = state.pop(prefix + "old")


def test_hooks_are_copied_with_their_module():
    for T in (torch, fxt):
        module = T.nn.Linear(1, 1)
        module.register_state_dict_post_hook(add_one)
        module.register_load_state_dict_pre_hook(rename_old)
        for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            state = made.state_dict()
            assert state.pop("one") == 1
            state["old"] = state.pop("weight") + 1
            made.load_state_dict(state)
            assert made.weight.item() == pytest.approx(module.weight.item() + 1)


def test_an_interruption_is_not_taken_for_an_error(monkeypatch):
    module = fxt.nn.Linear(1, 1)

    def interrupt(self, other):
        raise KeyboardInterrupt

    state = module.state_dict()
    monkeypatch.setattr(fxt.Tensor, "copy_", interrupt)
    with pytest.raises(KeyboardInterrupt):
        module.load_state_dict(state)
