"""The profiler against torch: names, nesting, shapes and numbers of the events of real programs, and the tables."""

from __future__ import annotations

import json
import random

import pytest
import torch
import torch.autograd.profiler_util as theirs

import fxgrad.compat as fxt
import fxgrad.compat.autograd.profiler_util as ours
from tests.profiling.traces import check_trace

LIBRARIES = pytest.mark.parametrize("library", [torch, fxt], ids=["torch", "fxgrad"])
ENGINE = "autograd::engine::evaluate_function: "
TRANSPOSED = "TBackward0"  # of the weight in torch's linear, which is one operation here


def profiled(library, program, **options):
    """The profile of a program, which has run once before."""
    program(library)
    with library.autograd.profiler.profile(record_shapes=True, **options) as prof:
        program(library)
    return prof


def outermost(events):
    """(name, shapes of Tensors) of the events that are in no other; without memory and numbers made on the way."""
    silent = ("aten::ones_like", "aten::empty", "aten::to", "aten::lift_fresh", "aten::detach_", "[memory]")
    found = [e for e in events if e.cpu_parent is None and e.name not in silent]
    return [e.name for e in found]


def backward_nodes(events):
    """(node, shapes of its gradients) in the order of their work, without that of leaves, which has an order of its
    own."""
    return [
        (e.name, e.input_shapes)
        for e in events
        if e.scope == 1 and e.name != "torch::autograd::AccumulateGrad"
    ]


def links(events):
    """(forward operations, node of backward) with the same number. Those of torch's that record nothing have the number
    of the next that does."""
    forward = {}
    for e in events:
        if e.sequence_nr >= 0 and e.scope == 0 and not e.name.startswith(ENGINE):
            forward.setdefault(e.sequence_nr, []).append(e.name)
    return [(forward[e.sequence_nr], e.name) for e in events if e.scope == 1 and e.sequence_nr in forward]


# -- programs ---------------------------------------------------------------------------------------------------------


def elementwise(library):
    x = library.ones(3, 2, requires_grad=True)
    y = (x * 2).exp() + x.sin()
    (y / 3 - x).sum().backward()


def mlp(library):
    library.manual_seed(0)
    w, b = library.ones(8, 4, requires_grad=True), library.zeros(8, requires_grad=True)
    h = library.relu(library.nn.functional.linear(library.ones(3, 4), w, b))
    (h.mean() * 2).backward()


def convolution(library):
    x, w = library.ones(2, 3, 8, 8), library.ones(4, 3, 3, 3, requires_grad=True)
    y = library.relu(library.conv2d(x, w))
    y.sum().backward()


def in_place(library):
    x = library.ones(3, requires_grad=True)
    y = x * 2
    y.mul_(x)
    y.sum().backward()


def double_backward(library):
    x = library.ones(3, requires_grad=True)
    y = (x.sin() * x).sum()
    (g,) = library.autograd.grad(y, x, create_graph=True)
    (g * g).sum().backward()


class Doubled:
    """A Function, for either library."""

    def __init__(self, library):
        class Double(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        self.apply = Double.apply


def function(library):
    x = library.ones(3, requires_grad=True)
    Doubled(library).apply(x).sum().backward()


def transforms(library):
    library.func.vmap(library.sin)(library.ones(3, 2))
    library.func.grad(lambda x: (x.exp() * x).sum())(library.ones(3))


PROGRAMS = [elementwise, mlp, convolution, in_place, double_backward, function, transforms]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)


@each_program
def test_the_outermost_events(program):
    found, expected = [outermost(profiled(library, program).function_events) for library in (fxt, torch)]
    leaf = ENGINE + "torch::autograd::AccumulateGrad"
    different = {leaf, ENGINE + TRANSPOSED} if program is mlp else {leaf}
    assert [n for n in found if n not in different] == [n for n in expected if n not in different]
    if program not in (transforms, double_backward):  # which end at leaves that get no gradient
        assert found.count(leaf) == expected.count(leaf)


@each_program
def test_the_nodes_of_backward(program):
    found, expected = [backward_nodes(profiled(library, program).function_events) for library in (fxt, torch)]
    if program is mlp:
        expected = [node for node in expected if node[0] != TRANSPOSED]
    assert found == expected


@each_program
def test_backward_is_tied_to_forward(program):
    found, expected = [links(profiled(library, program).function_events) for library in (fxt, torch)]
    assert found
    expected = [link for link in expected if program is not mlp or link[1] != TRANSPOSED]
    for (made, node), (candidates, same) in zip(found, expected, strict=True):
        assert node == same
        assert {*made} <= {*candidates} or (made, node) == (["aten::linear"], "AddmmBackward0")


def test_what_is_inside():
    def program(library):
        x = library.ones(3, requires_grad=True)
        (x * x).sum().backward()

    for library in (torch, fxt):
        events = profiled(library, program).function_events
        node = next(e for e in events if e.name == "MulBackward0")
        assert node.cpu_parent.name == ENGINE + "MulBackward0"
        assert [c.name for c in node.cpu_children] == ["aten::mul", "aten::mul"]
        linear = profiled(library, mlp).function_events
        (event,) = [e for e in linear if e.name == "aten::linear"]
        assert event.cpu_children
        assert event.input_shapes[:3] == [[3, 4], [8, 4], [8]]


def test_optimizers_are_parts_of_the_program():
    def program(library):
        w = library.ones(3, requires_grad=True)
        optimizer = library.optim.SGD([w], lr=0.1)
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()

    for library in (torch, fxt):
        names = [e.name for e in profiled(library, program).function_events if e.scope == 7]
        assert names == ["Optimizer.zero_grad#SGD.zero_grad", "Optimizer.step#SGD.step"]


def test_flops():
    def program(library):
        a, x = library.ones(3, 4), library.ones(2, 3, 8, 8)
        library.mm(a, library.ones(4, 5))
        library.bmm(library.ones(2, 3, 4), library.ones(2, 4, 5))
        library.addmm(library.ones(5), a, library.ones(4, 5))
        library.baddbmm(library.ones(2, 3, 5), library.ones(2, 3, 4), library.ones(2, 4, 5))
        library.conv2d(x, library.ones(4, 3, 3, 3))
        library.conv2d(x, library.ones(3, 1, 3, 3), stride=2, padding=1, groups=3)
        a + a
        a * 2
        a - a

    found, expected = [
        {
            (e.name, str(e.input_shapes[:2])): e.flops
            for e in profiled(library, program, with_flops=True).function_events
            if e.flops
        }
        for library in (fxt, torch)
    ]
    assert found == expected


@LIBRARIES
def test_memory(library):
    with library.autograd.profiler.profile(profile_memory=True) as prof:
        x = library.ones(1000)
        y = x + x
        del y
    events = prof.function_events
    assert next(e for e in events if e.name == "aten::add").self_cpu_memory_usage == 4000
    assert [e.cpu_memory_usage for e in events if e.name == "[memory]"] == [-4000]
    assert "Self CPU Mem" in prof.table()


@LIBRARIES
def test_record_function(library):
    record = library.autograd.profiler.record_function
    x = library.ones(2)

    @record("decorated")
    def decorated(n):
        return decorated(n - 1) if n else x * 2

    with library.autograd.profiler.profile() as prof:
        with record("outer"):
            x * 3
            with record("inner"):
                x + x
        decorated(1)
    events = prof.function_events
    parents = {
        e.name: e.cpu_parent and e.cpu_parent.name for e in events if not e.name.startswith("aten::to")
    }
    assert (parents["aten::mul"], parents["aten::add"], parents["inner"]) == ("decorated", "inner", "outer")
    assert [e.scope for e in events if e.name in ("outer", "inner")] == [7, 7]
    assert prof.key_averages().table().count("decorated") == 1


def test_parts_may_end_in_any_order():
    """In torch as well, but its profiler may crash the process later."""
    record = fxt.autograd.profiler.record_function
    x = fxt.ones(2)
    with fxt.autograd.profiler.profile() as prof:
        first, second = record("first"), record("second")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        x - x
        second.__exit__(None, None, None)
        x + x
    first, second, inside, after = prof.function_events
    assert (inside.name, inside.cpu_parent, after.cpu_parent) == ("aten::sub", second, None)
    assert second.cpu_parent is None  # it lasts longer than the first
    assert first.self_cpu_time_total == first.cpu_time_total


@LIBRARIES
def test_the_profile_of_the_documents(library):
    x = library.randn((1, 1), requires_grad=True)
    with library.autograd.profiler.profile() as prof:
        for _ in range(100):
            y = x**2
            y.backward()
    averages = {e.key: e for e in prof.key_averages()}
    assert averages["PowBackward0"].count == averages["torch::autograd::AccumulateGrad"].count == 100
    assert averages["aten::pow"].count >= 100
    text = prof.key_averages().table(sort_by="self_cpu_time_total")
    columns = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
    assert [c for c in text.splitlines()[1].split("  ") if c.strip()] != []
    assert [c.strip() for c in text.splitlines()[1].split("  ") if c.strip()] == columns
    assert text.splitlines()[-1].startswith("Self CPU time total: ")
    assert str(prof) == prof.table()
    assert prof.total_average().count == len(prof.function_events)
    assert prof.self_cpu_time_total == sum(e.self_cpu_time_total for e in prof.function_events)
    assert not library.autograd._profiler_enabled()
    assert library.autograd.kineto_available()


@LIBRARIES
def test_groups(library):
    with library.autograd.profiler.profile(record_shapes=True) as prof:
        library.ones(2).exp()
        library.ones(3).exp()
        library.ones(3).exp()
    (by_name,) = [e for e in prof.key_averages() if e.key == "aten::exp"]
    by_shape = [e for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::exp"]
    assert by_name.count == 3
    assert {str(e.input_shapes): e.count for e in by_shape} == {"[[2]]": 1, "[[3]]": 2}


def test_the_stack_of_the_user(tmp_path):
    def called(x):
        return x * 2

    with fxt.autograd.profiler.profile(with_stack=True) as prof:
        called(fxt.ones(2, requires_grad=True)).sum().backward()
    stacks = {e.name: e.stack for e in reversed(prof.function_events)}
    assert "test_profiler.py" in stacks["aten::mul"][0]
    assert stacks["aten::mul"][0].endswith(": test_the_stack_of_the_user.<locals>.called")
    assert stacks["MulBackward0"] == stacks["aten::mul"]  # that of the forward call
    assert "Source Location" in prof.key_averages(group_by_stack_n=2).table(max_src_column_width=20)
    prof.export_stacks(tmp_path / "stacks")
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert all(line.rpartition(" ")[2].isdigit() and ";" in line for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks", "time")


@LIBRARIES
def test_the_trace(library, tmp_path):
    prof = profiled(library, elementwise)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    names = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    assert {"aten::mul", "MulBackward0", "aten::exp"} <= set(names)
    flows = [e for e in trace["traceEvents"] if e.get("cat") == "fwdbwd"]
    assert len(flows) >= 12
    if library is fxt:
        check_trace(trace)


# -- misuse -----------------------------------------------------------------------------------------------------------


def test_a_profile_is_entered_once():
    """In torch's words; its own profiler may crash the process after that."""
    with fxt.autograd.profiler.profile() as prof:
        again = pytest.raises(RuntimeError, match="Profiler context manager is not reentrant")
        with again, prof:
            pass
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), prof:
        pass
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        fxt.autograd.profiler.profile().key_averages()


@LIBRARIES
def test_options_that_do_not_go(library):
    profile = library.autograd.profiler.profile
    with pytest.raises(AssertionError, match="Device-only events supported only with Kineto"):
        profile(use_cpu=False)
    with pytest.warns(UserWarning, match="The nope is not a valid device option."):
        assert profile(use_device="nope").use_device is None
    with profile(enabled=False) as prof:
        library.ones(2)
    assert prof is None


@LIBRARIES
def test_unique_keys_and_step_counts(library):
    profiler = library.autograd.profiler
    unique = profiler.EnforceUnique()
    unique.see("a", 1)
    unique.see("a", 2)
    with pytest.raises(RuntimeError, match=r"duplicate key: \('a', 1\)"):
        unique.see("a", 1)
    tracker = profiler.KinetoStepTracker
    start = tracker.current_step()
    tracker.init_step_count("one")
    tracker.init_step_count("two")
    assert [tracker.increment_step(r) - start for r in ("one", "one", "two", "two", "two")] == [1, 2, 2, 2, 3]
    assert (tracker.erase_step_count("one"), tracker.erase_step_count("one")) == (True, False)
    tracker.erase_step_count("two")


# -- tables and sums of given events ----------------------------------------------------------------------------------


def make_events(module, seed, **options):
    """A list of events, the same for a seed."""
    rng = random.Random(seed)
    events, time = [], 0.0
    for i in range(rng.randint(1, 12)):
        start = time + rng.random() * 10 ** rng.randint(0, 4)
        end = start + rng.random() * 10 ** rng.randint(0, 6)
        if rng.random() < 0.5:
            time = end
        shapes = rng.choice([[], [[3, 4], []], [[2] * rng.randint(1, 40)]])
        events.append(
            module.FunctionEvent(
                i,
                rng.choice(["aten::mul", "aten::addmm", "x" * rng.randint(1, 80)]),
                rng.randint(1, 2),
                start,
                end,
                input_shapes=shapes if seed % 2 else None,
                stack=[],
                flops=rng.choice([0, rng.randint(1, 10 ** rng.randint(1, 9))]),
                cpu_memory_usage=rng.randint(-(10 ** rng.randint(1, 9)), 10 ** rng.randint(1, 9)),
                is_async=rng.random() < 0.1,
                sequence_nr=rng.randint(-1, 5),
            )
        )
    made = module.EventList(events, **options)
    made._build_tree()
    return made


@pytest.mark.parametrize("seed", range(40))
def test_tables_and_sums(seed):
    options = {"profile_memory": seed % 3 == 0, "with_flops": seed % 5 < 2}
    a, b = make_events(ours, seed, **options), make_events(theirs, seed, **options)
    unit = [None, "ms", "us", "s"][seed % 4]
    cut = {"max_name_column_width": 30, "max_shapes_column_width": 15}
    for show in (
        lambda events: events.table(),
        lambda events: events.table("cpu_time_total", 3, header="h", top_level_events_only=True, **cut),
        lambda events: events.key_averages(seed % 4 == 0).table("self_cpu_memory_usage", time_unit=unit),
        lambda events: str(events.total_average()),
        lambda events: [str(e) for e in events],
        lambda events: [str(e) for e in events.key_averages()],
        lambda events: events.self_cpu_time_total,
        lambda events: [(e.self_cpu_memory_usage, e.cpu_time_str, e.key) for e in events],
    ):
        assert show(a) == show(b)


@pytest.mark.parametrize("module", [theirs, ours], ids=["torch", "fxgrad"])
def test_small_things(module, tmp_path):
    assert module.Interval(1, 5).elapsed_us() == 4
    assert module.Kernel("k", 0, 1.5)._asdict() == {"name": "k", "device": 0, "duration": 1.5}
    strings = module.StringTable()
    assert (strings["aten::mul"], dict(strings)) == ("aten::mul", {"aten::mul": "aten::mul"})
    event = module.FunctionEvent(1, "a", 1, 0.0, 100.0, stack=["f.py(1): g h", "f.py(2): i"], flops=3)
    total = module.FunctionEventAvg()
    total += event
    total.add(event)
    assert (total.count, total.cpu_time, total.flops, total.key) == (2, 100.0, 6, "a")
    with pytest.raises(AssertionError, match="Expected keys to match, but got b vs a"):
        total.add(module.FunctionEvent(2, "b", 1, 0.0, 1.0))
    with pytest.raises(AssertionError, match="Expected other to be a FunctionEvent or FunctionEventAvg"):
        total.add(3)
    events = module.EventList([event])
    events._build_tree()
    events.export_stacks(str(tmp_path / "stacks"), "self_cpu_time_total")
    assert (tmp_path / "stacks").read_text() == "f.py(2):_i;f.py(1):_g_h 100\n"
    assert module.EventList([]).table() == ""
    with pytest.raises(AttributeError, match="nope"):
        events.table(sort_by="nope")


# -- torch.profiler ---------------------------------------------------------------------------------------------------


@LIBRARIES
@pytest.mark.parametrize(
    "options",
    [
        dict(wait=1, warmup=1, active=2, repeat=2, skip_first=1),
        dict(wait=0, warmup=2, active=1),
        dict(wait=2, warmup=1, active=1, skip_first_wait=1),
    ],
    ids=str,
)
def test_schedules(library, options):
    expected = [torch.profiler.schedule(**options)(i).name for i in range(15)]
    assert [library.profiler.schedule(**options)(i).name for i in range(15)] == expected
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        library.profiler.schedule(wait=1, warmup=0, active=0)


def test_steps(tmp_path):
    """As torch reports them; in one process with other profiles its own crashes now and then."""
    seen = []
    x = fxt.ones(3)

    def ready(prof):
        seen.append((prof.step_num, [e.name for e in prof.events()]))

    schedule = fxt.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with fxt.profiler.profile(schedule=schedule, on_trace_ready=ready) as prof:
        for _ in range(10):
            x.exp()
            prof.step()
    step = ["ProfilerStep*", "aten::exp"]
    assert seen == [(4, step * 2), (8, step * 2)]
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    names = [e["name"] for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]]
    assert "ProfilerStep#7" in names


def test_cycles_are_kept_on_demand():
    x = fxt.ones(3)
    schedule = fxt.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    with fxt.profiler.profile(schedule=schedule, acc_events=True) as prof:
        for _ in range(4):
            x.exp()
            prof.step()
    assert [e.name for e in prof.events()].count("aten::exp") == 2
