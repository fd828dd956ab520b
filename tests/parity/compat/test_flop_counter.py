"""torch.utils.flop_counter: counts are those of torch, by operation, forward and backward."""

import pytest
import torch as real
from torch.utils.flop_counter import FlopCounterMode

import fxgrad.compat as torch

Ours = torch.utils.flop_counter.FlopCounterMode


def counts_of(library, counter, program, shapes):
    """The counts of a program and of its backward pass, also beside a formula for something else."""
    counts = []
    for formulas in ({}, {library.ops.aten.sinh: len}):
        operands = [library.ones(*shape, requires_grad=True) for shape in shapes]
        with counter(display=False, custom_mapping=formulas) as mode:
            program(library, *operands).sum().backward()
        found = {str(name): count for name, count in mode.get_flop_counts().get("Global", {}).items()}
        assert mode.get_total_flops() == sum(found.values())
        counts.append(found)
    assert counts[0] == counts[1]
    return found


def functional(name, **options):
    return lambda library, *operands: getattr(library.nn.functional, name)(*operands, **options)


PROGRAMS = {
    "mm": (lambda t, a, b: t.mm(a, b), (3, 4), (4, 5)),
    "addmm": (lambda t, c, a, b: t.addmm(c, a, b), (3, 5), (3, 4), (4, 5)),
    "bmm": (lambda t, a, b: t.bmm(a, b), (2, 3, 4), (2, 4, 5)),
    "baddbmm": (lambda t, c, a, b: t.baddbmm(c, a, b), (2, 3, 5), (2, 3, 4), (2, 4, 5)),
    "matmul of matrices": (lambda t, a, b: a @ b, (3, 4), (4, 5)),
    "matmul of a batch and a matrix": (lambda t, a, b: a @ b, (2, 3, 4), (4, 5)),
    "matmul of batches": (lambda t, a, b: a @ b, (2, 3, 4), (2, 4, 5)),
    "mv": (lambda t, a, b: t.mv(a, b), (3, 4), (4,)),
    "dot": (lambda t, a, b: t.dot(a, b), (4,), (4,)),
    "einsum": (lambda t, a, b: t.einsum("bij,bjk->bik", a, b), (2, 3, 4), (2, 4, 5)),
    "linear": (functional("linear"), (3, 4), (5, 4)),
    "linear with a bias": (functional("linear"), (2, 3, 4), (5, 4), (5,)),
    "linear of a vector": (functional("linear"), (4,), (5, 4), (5,)),
    "conv1d": (functional("conv1d", stride=2, padding=1), (2, 3, 9), (4, 3, 3)),
    "conv2d": (functional("conv2d", dilation=2), (2, 4, 9, 9), (6, 4, 3, 3), (6,)),
    "conv2d of entries": (functional("conv2d"), (2, 4, 9, 9), (6, 4, 1, 1)),
    "conv_transpose2d": (functional("conv_transpose2d", stride=2), (2, 4, 5, 5), (4, 3, 3, 3)),
    "conv2d in groups": (functional("conv2d", stride=2, padding=1, groups=2), (2, 4, 9, 9), (6, 2, 3, 3)),
    "conv2d by depth": (functional("conv2d", padding=1, groups=4), (2, 4, 9, 9), (8, 1, 3, 3)),
    "conv2d of entries in groups": (functional("conv2d", groups=2), (2, 4, 5, 5), (4, 2, 1, 1)),
    "conv1d of one sample in groups": (functional("conv1d", groups=2, dilation=2), (4, 9), (6, 2, 3)),
    "conv_transpose2d in groups": (functional("conv_transpose2d", groups=2), (2, 4, 5, 5), (4, 3, 3, 3)),
    "conv_transpose1d of one sample": (functional("conv_transpose1d", stride=2), (4, 5), (4, 3, 3)),
    "conv3d in groups": (functional("conv3d", groups=3), (2, 6, 4, 4, 4), (3, 2, 2, 2, 2)),
    "attention": (functional("scaled_dot_product_attention"), (2, 4, 8), (2, 5, 8), (2, 5, 8)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_are_torchs(name):
    program, *shapes = PROGRAMS[name]
    assert counts_of(torch, Ours, program, shapes) == counts_of(real, FlopCounterMode, program, shapes)


@pytest.mark.parametrize("needed", [0, 1])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith("conv")])
def test_counts_of_one_gradient_are_torchs(name, needed):
    program, *shapes = PROGRAMS[name]

    def with_constants(library, *operands):
        return program(library, *[x if i == needed else x.detach() for i, x in enumerate(operands)])

    expected = counts_of(real, FlopCounterMode, with_constants, shapes)
    assert counts_of(torch, Ours, with_constants, shapes) == expected


def block_of(library):
    nn = library.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(4, 4, 3, padding=1, groups=2)
            self.rest = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(100, 6))

        def forward(self, x):
            y = self.rest(self.first(x))
            return y @ y.mT, self.rest[2](y @ y.new_ones(6, 100))

    return Block()


@pytest.mark.parametrize("requires_grad", [False, True])
def test_modules_are_told_apart_as_in_torch(requires_grad):
    def count(library, counter):
        module = block_of(library)
        with counter(display=False) as mode:
            x = library.ones(3, 4, 5, 5, requires_grad=requires_grad)
            for _ in range(2):
                sum(y.sum() for y in module(x * 2)).backward()
                x @ library.ones(5, 7)
        return {
            name: {str(key): n for key, n in counts.items()}
            for name, counts in mode.get_flop_counts().items()
        }

    assert count(torch, Ours) == count(real, FlopCounterMode)


def test_keys_are_packets_of_operations():
    with Ours(display=False) as counter:
        torch.ones(2, 3) @ torch.ones(3, 4)
    assert counter.get_flop_counts() == {"Global": {torch.ops.aten.mm: 48}}
    assert repr(torch.ops.aten.mm) == repr(real.ops.aten.mm) and str(torch.ops.aten.mm) == "aten.mm"
    assert torch.ops.aten.mm.default.overloadpacket is torch.ops.aten.mm


@pytest.mark.parametrize("depth", [None, 1, 2, 3])
def test_tables_have_the_rows_of_torchs(depth):
    pytest.importorskip("tabulate")

    def table(library, counter, outside):
        module = block_of(library)
        with counter(display=False) as mode:
            sum(y.sum() for y in module(library.ones(3, 4, 5, 5))).backward()
            if outside:
                library.ones(30, 5) @ library.ones(5, 7)
        head, _, *rows = mode.get_table(depth).splitlines()
        return [line.split() for line in (head, *rows)]

    for outside in (False, True):
        assert table(torch, Ours, outside) == table(real, FlopCounterMode, outside)


def network(library, x, kernel, w, b):
    y = library.nn.functional.conv2d(x, kernel, stride=2, padding=1).relu().flatten(1)
    y = library.nn.functional.linear(y, w, b).view(2, 2, 10)
    y = library.nn.functional.scaled_dot_product_attention(y, y, y)
    return library.bmm(y, y.transpose(1, 2))


def test_counts_of_a_network_are_torchs():
    shapes = (4, 3, 8, 8), (8, 3, 3, 3), (10, 128), (10,)
    assert counts_of(torch, Ours, network, shapes) == counts_of(real, FlopCounterMode, network, shapes)


def test_counts_begin_anew_and_are_printed(capsys):
    counter = Ours()
    for _ in range(2):
        with counter, torch.no_grad():
            torch.mm(torch.ones(3, 4), torch.ones(4, 5))
    assert counter.get_total_flops() == 120
    assert "aten.mm" in counter.get_table() and capsys.readouterr().out.count("aten.mm") == 2


def formulas_of(library, module):
    """The counts by formulas of the user's, and what the formulas were called with."""
    seen, relu = [], library.ops.aten.relu

    def by_shapes(*shapes, out_shape=None, **options):
        seen.append((tuple(map(tuple, shapes)), out_shape and tuple(out_shape)))
        return 7

    def by_tensors(x, *others, out_val=None, **options):
        seen.append((x.shape == out_val.shape, type(out_val) is library.Tensor))
        return x.numel()

    module.register_flop_formula(relu)(by_shapes)
    module.register_flop_formula([library.ops.aten.sin], get_raw=True)(by_tensors)
    try:
        with pytest.raises(RuntimeError, match="duplicate registrations for aten"):
            module.register_flop_formula(relu)(by_shapes)
        with module.FlopCounterMode(display=False, custom_mapping={library.ops.aten.mm: by_shapes}) as mode:
            (library.ones(2, 3, requires_grad=True) @ library.ones(3, 4)).relu().sin().sum().backward()
    finally:
        for operation in (relu, library.ops.aten.sin):
            del module.flop_registry[operation]
    return {str(name): count for name, count in mode.get_flop_counts()["Global"].items()}, seen[:3]


def test_formulas_of_the_users_count_as_torchs_do():
    theirs, ours = formulas_of(real, real.utils.flop_counter), formulas_of(torch, torch.utils.flop_counter)
    assert ours == theirs
    for target, error in (("sin", ValueError), (torch.ops.aten.mm, RuntimeError)):
        with pytest.raises(error, match=r"register_flop_formula\(targets\)|duplicate"):
            torch.utils.flop_counter.register_flop_formula(target)(len)


def test_attention_of_four_axes_counts_as_on_gpus():
    program = functional("scaled_dot_product_attention")
    found = counts_of(torch, Ours, program, [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8)])
    name = "aten._scaled_dot_product_flash_attention"
    assert found == {name: 2 * 2 * 960, f"{name}_backward": 5 * 2 * 960}


def test_the_profiler_counts_a_linear_layer():
    x, w, b = torch.ones(4, 128), torch.ones(10, 128), torch.ones(10)
    with torch.autograd.profiler.profile(with_flops=True) as profile:
        torch.nn.functional.linear(x, w, b)
    assert sum(e.flops for e in profile.function_events if e.name != "aten::add") == 2 * 4 * 128 * 10
