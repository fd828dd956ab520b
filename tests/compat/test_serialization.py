"""save and load: what comes back is what was saved, and shares what it shared."""

from __future__ import annotations

import collections
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad.compat as torch
from fxgrad.compat import serialization

FORMATS = pytest.mark.parametrize("archive", [True, False], ids=["archive", "legacy"])


def save(thing, archive: bool = True, **options) -> bytes:
    """The file of an object."""
    file = io.BytesIO()
    torch.save(thing, file, _use_new_zipfile_serialization=archive, **options)
    return file.getvalue()


def there_and_back(thing, archive: bool = True, **options):
    return torch.load(io.BytesIO(save(thing, archive)), **options)


def same(a, b) -> bool:
    """Whether two Tensors are the same in all that is saved."""
    return (
        type(a) is type(b)
        and a.dtype == b.dtype
        and a.shape == b.shape
        and a.stride() == b.stride()
        and a.storage_offset() == b.storage_offset()
        and a.requires_grad == b.requires_grad
        and a.is_conj() == b.is_conj()
        and a.is_neg() == b.is_neg()
        and a.untyped_storage().nbytes() == b.untyped_storage().nbytes()
        and a.resolve_conj().resolve_neg().contiguous()._fx_value.tobytes()
        == b.resolve_conj().resolve_neg().contiguous()._fx_value.tobytes()
    )


# -- Tensors ------------------------------------------
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip
VIEWS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.t(),
    "part": lambda x: x[1:, 1],
    "one": lambda x: x[1, 2],
    "expanded": lambda x: x[:, :1].expand(2, 5),
    "empty": lambda x: x[:0],
    "none": lambda x: x[0, :0],
    "every other": lambda x: x[:, ::2],
}


@FORMATS
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "complex64", "uint16"])
def test_a_view(dtype, view, archive):
    x = VIEWS[view](torch.arange(6).reshape(2, 3).to(getattr(torch, dtype)))
    assert same(there_and_back(x, archive), x)


@FORMATS
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype(dtype, archive):
    for x in (
        torch.tensor([0, 1, 2, 1]).to(getattr(torch, dtype)),
        torch.zeros(0, dtype=getattr(torch, dtype)),
    ):
        assert same(there_and_back(x, archive), x)


@FORMATS
def test_numbers_that_are_no_numbers(archive):
    x = torch.tensor([float("nan"), float("inf"), -0.0, 5e-324, -1.5], dtype=torch.float64)
    assert there_and_back(x, archive)._fx_value.tobytes() == x._fx_value.tobytes()


@FORMATS
def test_bits(archive):
    z = torch.tensor([1 + 2j, 3 - 1j])
    for x in (z.conj(), z.conj().imag, z.imag):
        assert same(there_and_back(x, archive), x)
    back = there_and_back(z.conj(), archive)
    back[0] = 5j
    assert back.tolist() == [5j, 3 + 1j]


@FORMATS
def test_what_shares_memory_shares_it_again(archive):
    x = torch.arange(6.0)
    a, b, c, again = there_and_back([x, x[2:], x.detach().view(2, 3), x], archive)
    assert a is again
    a[3] = 70
    assert b[1] == 70 and c[1, 0] == 70
    assert b.storage_offset() == 2 and a.untyped_storage() == b.untyped_storage() == c.untyped_storage()


def test_a_part_brings_its_whole_memory():
    assert there_and_back(torch.arange(100)[3]).untyped_storage().nbytes() == 800
    assert there_and_back(torch.arange(100)[3].clone()).untyped_storage().nbytes() == 8


def test_memory_of_other_arrays():
    """Read-only, Fortran's, of a field of a structure, broadcast, of a map: the entries are the same."""
    fields = np.zeros(4, [("a", "f4"), ("b", "i2")])
    fields["a"] = range(4)
    arrays = [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        fields["a"],
        np.frombuffer(bytes(range(16)), np.int32).copy()[::2],
        np.broadcast_to(np.float32(3), (2, 3)).copy(),
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)[1:],
    ]
    for array in arrays:
        assert there_and_back(torch.from_numpy(array)).tolist() == array.tolist()


@FORMATS
def test_leaves_and_results(archive):
    x = torch.ones(2, requires_grad=True)
    back = there_and_back([x, x * 2], archive)
    assert [t.requires_grad for t in back] == [True, True] and all(t.is_leaf for t in back)
    back[0].sum().backward()
    assert back[0].grad.tolist() == [1, 1] and x.grad is None


@FORMATS
def test_parameters_and_attributes(archive):
    p, q = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2), requires_grad=False)
    x, buffer = torch.ones(2), torch.nn.Buffer(torch.ones(1), persistent=False)
    p.label = x.label = "mine"
    back = there_and_back([p, q, x, buffer], archive)
    assert [type(t).__name__ for t in back] == ["Parameter", "Parameter", "Tensor", "Buffer"]
    assert [t.requires_grad for t in back] == [True, False, False, False]
    assert back[0].label == back[2].label == "mine" and back[3].persistent is False


def test_hooks_are_not_saved():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    with pytest.warns(UserWarning, match="backward hook .* will not be serialized"):
        back = there_and_back(x)
    back.sum().backward()
    assert back.grad.tolist() == [1, 1]


class Labelled(torch.Tensor):
    """A Tensor of a class of the user's."""


def test_a_class_of_tensors_has_to_be_allowed():
    x = torch.ones(2).as_subclass(Labelled)
    x.label = [1, "a"]
    file = save(x)
    with pytest.raises(
        serialization.errors.UnpicklingError, match=r"GLOBAL \S+\.Labelled was not an allowed global"
    ):
        torch.load(io.BytesIO(file))
    with serialization.safe_globals([Labelled]):
        back = torch.load(io.BytesIO(file))
    assert type(back) is Labelled and back.label == [1, "a"] and back.tolist() == [1, 1]


def test_traced_tensors_have_no_memory():
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        torch.func.vmap(lambda x: save(x) and x)(torch.ones(3))


def test_one_memory_as_two_types():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        save([x, x.view(torch.int32)])


# -- containers, numbers ------------------------------------------
VALUES = [
    None,
    True,
    False,
    0,
    255,
    256,
    65535,
    65536,
    -1,
    2**31,
    -(2**31),
    2**63,
    -(10**400),
    0.0,
    -0.0,
    1e308,
    1j,
    "",
    "é\ud800",
    "x" * 300,
    b"",
    b"\x00\xff",
    bytearray(b"ab"),
    (),
    (1,),
    (1, 2),
    (1, 2, 3),
    (1, 2, 3, 4),
    [],
    {},
    set(),
    frozenset(),
    {1, 2},
    frozenset("a"),
    {"a": {"b": [1, (2, {3})]}},
    list(range(2500)),
    {i: i for i in range(2500)},
    range,
    collections.OrderedDict(b=1, a=2),
    collections.Counter("aab"),
    collections.defaultdict(list, a=[1]),
    collections.defaultdict(None, a=1),
    collections.deque([1, 2], 3),
    torch.Size([2, 3]),
    torch.float32,
    torch.bfloat16,
    torch.device("cpu"),
    torch.device("cuda:1"),
    torch.strided,
    np.float32(2.5),
    np.bool_(True),
    np.int64(-3),
    np.complex128(1j),
    np.str_("ab"),
    np.float64,
    np.dtype(">i4"),
    [torch.complex64, int],
]


@FORMATS
@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:30])
def test_a_value(value, archive):
    if value is range:
        with pytest.raises(serialization.errors.UnpicklingError):
            there_and_back(value, archive)
        return
    back = there_and_back(value, archive)
    assert type(back) is type(value) and repr(back) == repr(value) and back == value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T, np.zeros((0, 3), np.int8), np.array(3 + 1j), np.array(["a", "bcd"]),
        np.array([b"a", b"bcd"]), np.arange(3, dtype=">i4"), np.array([True]), np.arange(1000),
    ],
    ids=str,
)  # fmt: skip
def test_an_array(array):
    back = there_and_back(array)
    assert back.dtype == array.dtype.newbyteorder("=") and back.shape == array.shape and (back == array).all()
    assert back.flags.f_contiguous == array.flags.f_contiguous and back.flags.writeable


@pytest.mark.parametrize("array", [np.array([[], {}], object), np.zeros(2, "M8[s]"), np.zeros(2, "i4,f8")])
def test_arrays_of_objects_dates_and_structures_are_refused(array):
    with pytest.raises(serialization.errors.UnpicklingError, match="dtype"):
        there_and_back(array)


@FORMATS
def test_identity_and_circles(archive):
    inner: list = [1]
    outer = {"a": inner, "b": (inner, inner)}
    inner.append(outer)
    inner.append((inner,))
    back = there_and_back(outer, archive)
    assert back["a"] is back["b"][0] is back["b"][1] and back["a"][1] is back and back["a"][2][0] is back["a"]


LEAVES = [st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary()]
NESTED = st.recursive(
    st.one_of(*LEAVES),
    lambda inside: (
        st.lists(inside) | st.dictionaries(st.text() | st.integers(), inside) | st.tuples(inside, inside)
    ),
    max_leaves=20,
)


@settings(max_examples=50)
@given(NESTED, st.booleans())
def test_whatever_is_nested(value, archive):
    back = there_and_back(value, archive)
    assert repr(back) == repr(value) and back == value


def test_state_dict_keeps_its_metadata():
    state = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)).state_dict()
    back = there_and_back(state)
    assert type(back) is collections.OrderedDict and list(back) == list(state)
    assert back._metadata == state._metadata and back._metadata[""] == {"version": 1}


# -- modules, optimizers, generators ------------------------------------------
def test_training_goes_on_where_it_was_saved():
    def start():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        return (
            model,
            optimizer,
            torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
            torch.Generator().manual_seed(3),
        )

    def train(model, optimizer, scheduler, generator):
        for _ in range(3):
            loss = model(torch.randn(5, 3, generator=generator)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        return [p.tolist() for p in model.parameters()] + scheduler.get_last_lr()

    parts = start()
    train(*parts)
    saved = there_and_back([*(part.state_dict() for part in parts[:3]), parts[3].get_state()])
    expected = train(*parts)
    again = start()
    for part, state in zip(again[:3], saved):
        part.load_state_dict(state)
    again[3].set_state(saved[3])
    assert train(*again) == expected


def test_tied_weights_stay_tied():
    model = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])
    model[1].weight = model[0].weight
    state = there_and_back(model.state_dict())
    assert state["0.weight"].untyped_storage() == state["1.weight"].untyped_storage()
    with serialization.safe_globals([torch.nn.ModuleList, torch.nn.Linear]):
        back = there_and_back(model)
    assert back[0].weight is back[1].weight and len(list(back.parameters())) == 3


@FORMATS
def test_a_module_whose_classes_are_allowed(archive):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.BatchNorm1d(3))
    file = save(model, archive)
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file)) == [
        "torch.nn.modules.activation.ReLU",
        "torch.nn.modules.batchnorm.BatchNorm1d",
        "torch.nn.modules.container.Sequential",
        "torch.nn.modules.linear.Linear",
    ]
    with pytest.raises(serialization.errors.UnpicklingError, match="add_safe_globals"):
        torch.load(io.BytesIO(file))
    with serialization.safe_globals(
        [torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU, torch.nn.BatchNorm1d]
    ):
        back = torch.load(io.BytesIO(file))
    x = torch.randn(4, 2)
    assert torch.equal(model(x), back(x)) and repr(back) == repr(model)


class Scaled(torch.nn.Linear):
    """A class of a user's."""


@FORMATS
def test_a_whole_module_needs_a_permission_for_classes_of_users_only(archive):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.BatchNorm1d(3))
    back = torch.load(io.BytesIO(save(model, archive)), weights_only=False)
    x = torch.randn(4, 2)
    assert torch.equal(model(x), back(x)) and repr(back) == repr(model)
    file = save(Scaled(2, 3), archive)
    with pytest.raises(serialization.errors.UnpicklingError, match="add_safe_globals"):
        torch.load(io.BytesIO(file), weights_only=False)
    with serialization.safe_globals([Scaled]):
        assert type(torch.load(io.BytesIO(file), weights_only=False)) is Scaled


@FORMATS
def test_a_generator(archive):
    generator = torch.Generator().manual_seed(4)
    torch.rand(3, generator=generator)
    back = there_and_back(generator, archive)
    assert back.initial_seed() == 4 and torch.equal(
        torch.rand(2, generator=back), torch.rand(2, generator=generator)
    )


@FORMATS
def test_storages(archive):
    x = torch.arange(3.0)
    typed, untyped = there_and_back(x.storage(), archive), there_and_back(x.untyped_storage(), archive)
    assert (
        typed.tolist() == [0, 1, 2]
        and untyped.nbytes() == 12
        and untyped.tolist() == x.untyped_storage().tolist()
    )
