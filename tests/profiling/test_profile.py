"""`fx.profile`: every operation of a program, with its time, place and what is inside it."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import threading
import weakref
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.interpreter import CURRENT, EVAL
from fxgrad.kernels.native import engine
from fxgrad.profiling.recording import OPEN, children_of
from fxgrad.profiling.scope import close_scope, open_scope
from fxgrad.profiling.summary import summarize
from tests.profiling.traces import check_trace

pytestmark = pytest.mark.usefixtures("no_heap_of_others")

X = np.array([0.5, 1.0, 2.0])


@pytest.fixture(autouse=True)
def equations_one_by_one(monkeypatch):
    """A group of equations that is machine code is one step."""
    monkeypatch.setattr(engine, "mode", lambda: "never")


def f(x):
    y = fnp.sin(x) * x
    return fnp.sum(y)


def tree(profile, depth=3):
    """(name, what is inside it) of the outermost events."""
    inside = children_of(profile.events)

    def branch(event, left):
        below = tuple(branch(e, left - 1) for e in inside.get(event, ())) if left else ()
        return (event.name, *below) if below else event.name

    return [branch(event, depth) for event in inside[None]]


def primitives(profile):
    return [e.name for e in profile.events if e.kind == "primitive"]


# -- what is seen -----------------------------------------------------------------------------------------------------


def test_operations_on_plain_arrays():
    with fx.profile() as p:
        y = fnp.sin(X) + 1.0
    np.testing.assert_array_equal(y, np.sin(X) + 1.0)
    assert primitives(p) == ["sin"]  # NumPy's own + is not seen
    (event,) = p.events
    assert event.operands == (((3,), np.dtype("f8")),)
    assert event.line.line == "y = fnp.sin(X) + 1.0"
    assert 0 < event.duration <= p.recording.end - p.recording.start


def test_operands_that_are_no_arrays():
    with fx.profile() as p:
        fnp.sum(X, axis=0, dtype=np.float32)
        fnp.concatenate([X, X])
    assert p.events[0].operands == (((3,), np.dtype("f8")),)  # keywords are no operands
    assert p.events[1].operands == (((), None),)


def test_a_gradient_forward_and_backward():
    with fx.profile() as p:
        g = fx.grad(f)(X)
    np.testing.assert_allclose(g, np.sin(X) + X * np.cos(X))
    assert tree(p) == [
        "sin",
        "multiply",
        ("sum", "reduce_sum"),
        ("pullback of reduce_sum", "broadcast_to"),
        ("pullback of multiply", "multiply", "multiply"),
        ("pullback of sin", "cos", "multiply"),
        "add",
    ]
    pullback = next(e for e in p.events if e.name == "pullback of sin")
    assert pullback.line.line == "y = fnp.sin(x) * x"  # that of the forward operation


def test_forward_mode_and_batches():
    with fx.profile() as p:
        fx.jvp(f, (X,), (X,))
        fx.vmap(f)(np.ones((4, 3)))
    outer = [e if isinstance(e, str) else e[0] for e in tree(p)]
    assert outer == ["jvp of sin", "jvp of multiply", "sum", "sin", "multiply", "sum"]
    batched = [e for e in p.events if e.name == "sin"][-1]
    assert batched.operands == (((4, 3), np.dtype("f8")),)  # what the kernel gets


def test_compiled_code_shows_its_equations_at_their_lines():
    g = fx.jit(fx.grad(f))
    expected = g(X)
    code = g.lookup((X,), {}, lambda: None)[1].plain
    with fx.profile() as p:
        found = g(X)
    np.testing.assert_array_equal(found, expected)
    (call, *equations) = p.events
    assert (call.name, call.kind) == ("jit(f)", "jit")
    assert [e.name for e in equations] == [e.primitive.name for e in code.equations.values()]
    assert all(e.parent is call for e in equations)
    assert {e.line.line for e in equations} >= {"y = fnp.sin(x) * x"}


def test_compiled_code_that_is_not_yet_staged_runs_as_well():
    @fx.jit
    def g(x):
        return fnp.exp(x) @ x

    with fx.profile() as p:
        y = g(X)
    np.testing.assert_allclose(y, np.exp(X) @ X)
    assert primitives(p) == ["exp", "contract"]
    assert tree(p) == [("jit(g)", "staging of g", "exp", "contract")]
    assert next(e for e in p.events if e.name == "contract").flops == 6


def test_the_bodies_of_loops_and_branches():
    def program(x):
        state, ys = fx.lax.scan(lambda c, a: (c * a, fnp.sin(c)), x, np.ones(4))
        low = fx.lax.while_loop(lambda c: c > 1.0, lambda c: c / 2.0, 8.0)
        return state + ys.sum() + low + fx.lax.cond(x > 0.0, fnp.cos, fnp.sin, x)

    expected = program(1.0)
    with fx.profile() as p:
        found = program(1.0)
    assert float(found) == float(expected)
    names = primitives(p)
    assert (names.count("sin"), names.count("cos"), names.count("divide")) == (4, 1, 3)
    scan = next(e for e in p.events if e.name == "scan")
    assert [e.name for e in children_of(p.events)[scan]].count("sin") == 4


def test_custom_rules_show_what_the_users_functions_do():
    @fx.custom_vjp
    def g(x):
        return fnp.exp(x)

    g.defvjp(lambda x: (fnp.exp(x), x), lambda x, ct: (ct * fnp.cos(x),))
    with fx.profile() as p:
        found = fx.grad(lambda x: fnp.sum(g(x)))(X)
    np.testing.assert_allclose(found, np.cos(X))
    assert {"exp", "cos"} <= set(primitives(p))


def test_flops_of_contractions_and_convolutions():
    a, b = np.ones((3, 4)), np.ones((4, 5))
    with fx.profile() as p:
        fx.jit(lambda a, b: a @ b)(a, b)
        fx.vmap(lambda a: a @ b)(np.ones((7, 3, 4)))
        fnp.matmul(np.ones((7, 3, 4)), b)
    assert [e.flops for e in p.events if e.name == "contract"] == [2 * 3 * 4 * 5, 7 * 2 * 3 * 4 * 5]
    assert p.events[-1].flops == 7 * 2 * 3 * 4 * 5


def test_memory_that_results_take_and_free():
    @fx.jit
    def g(x):
        return fnp.sum(fnp.tile(x, 1000) * 2.0)

    with fx.profile(memory=True) as p:
        y = fnp.exp(np.ones(1000))
        del y
        g(X)
    exp = p.events[0]
    assert exp.allocated == 8000
    assert [c.count for c in p.recording.memory.changes[:2]] == [8000, -8000]
    outside = p.recording.memory.changes[1]
    assert outside.event is None
    assert sum(e.allocated for e in p.events[1:]) in range(-64, 64)  # all but the result


# -- what it leaves as it is ------------------------------------------------------------------------------------------


def test_errors_are_those_of_a_program_without_it():
    def raised(call):
        with pytest.raises(Exception) as info:
            call()
        return type(info.value), str(info.value)

    programs = [
        lambda: fnp.add(np.ones(2), np.ones(3)),
        lambda: fx.grad(lambda x: fnp.sum(x @ np.ones(2)))(np.ones(3)),
        lambda: fx.jit(lambda x: fnp.reshape(x, (4,)))(np.ones(3)),
        lambda: fx.grad(lambda x: x)(np.ones(3)),
    ]
    for program in programs:
        expected = raised(program)
        with fx.profile() as p:
            assert raised(program) == expected
        assert all(e.end for e in p.events)
    assert CURRENT.get() is EVAL
    assert OPEN.get() is None


def test_an_error_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError), fx.profile() as p:
        fx.grad(lambda x: fnp.sin(x) * (1 // 0))(1.0)
    assert CURRENT.get() is EVAL
    assert not p.recording.is_active
    fnp.cos(X)
    assert primitives(p) == ["sin"]


def test_checkers_and_profiles_inside_one_another():
    with fx.profile() as outer, fx.debug_nans(), fx.profile() as inner:
        fx.grad(f)(X)
        with pytest.raises(fx.NonFiniteError, match="log: the result has NaN"):
            fnp.log(-X)
    assert primitives(inner) == primitives(outer)
    with fx.debug_nans(), fx.profile() as p, pytest.raises(fx.NonFiniteError):
        fx.jit(lambda x: fnp.sqrt(x) - 5.0)(-X)
    assert "sqrt" in primitives(p)


def test_a_profile_inside_a_transform():
    seen = []

    def g(x):
        with fx.profile() as p:
            y = fnp.sin(x) * x
        seen.append(p)
        return fnp.sum(y)

    np.testing.assert_allclose(fx.grad(g)(X), fx.grad(f)(X))
    np.testing.assert_allclose(fx.vmap(g)(np.ones((2, 3))), fx.vmap(f)(np.ones((2, 3))))
    assert [primitives(p) for p in seen] == [["sin", "multiply"]] * 2
    assert seen[1].events[0].operands[0][0] == (3,)  # one entry of the batch


def test_profiles_do_not_keep_what_was_computed():
    with fx.profile(memory=True) as p:
        y = fx.grad(f)(X)
    ref = weakref.ref(y)
    del y
    gc.collect()
    assert ref() is None
    assert p.events


# -- threads and tasks ------------------------------------------------------------------------------------------------


def test_a_thread_is_measured_in_a_copy_of_the_context_only():
    with fx.profile() as p:
        for run in (lambda: fnp.cos(X), lambda: contextvars.copy_context().run(fnp.sin, X)):
            context = contextvars.copy_context()
            alone = threading.Thread(target=contextvars.Context().run, args=(run,))
            alone.start()
            alone.join(10)
        inside = threading.Thread(target=context.run, args=(fnp.exp, X))
        inside.start()
        inside.join(10)
    assert primitives(p) == ["exp"]
    assert p.events[0].thread != threading.get_ident()


def test_tasks_that_take_turns_have_events_of_their_own():
    async def work(name, function):
        part = open_scope(name)
        for _ in range(3):
            function(X)
            await asyncio.sleep(0)
        close_scope(part)

    async def both():
        await asyncio.gather(work("a", fnp.sin), work("b", fnp.cos))

    with fx.profile() as p:
        asyncio.run(both())
    assert sorted(tree(p)) == [("a", "sin", "sin", "sin"), ("b", "cos", "cos", "cos")]


def test_a_task_that_outlives_the_profile_is_not_measured():
    async def program():
        with fx.profile() as p:
            task = asyncio.create_task(asyncio.sleep(0, result=None))
            later = contextvars.copy_context()
        await task
        later.run(fnp.sin, X)
        return p

    assert asyncio.run(program()).events == []


def test_parts_of_the_program_end_in_any_order():
    with fx.profile() as p:
        a = open_scope("a")
        b = open_scope("b")
        fnp.sin(X)
        close_scope(a)
        fnp.cos(X)
        close_scope(b)
        fnp.exp(X)
    assert tree(p) == [("a", ("b", "sin", "cos")), "exp"]


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_the_table():
    with fx.profile(memory=True) as p:
        for _ in range(3):
            fx.grad(f)(X)
    lines = str(p).splitlines()
    assert lines[0].split() == ["self", "total", "calls", "FLOPs", "memory", "operation", "line"]
    row = next(line for line in lines if " sin " in line)
    assert row.endswith("in f:  y = fnp.sin(x) * x")
    assert f"in {len(p.events)} operations, " in lines[-1] and lines[-1].endswith(" bytes at most")
    assert len(p.table(limit=2).splitlines()) == 5  # with the head, what is left out, and the sum
    whole = p.table(sort_by="calls", by_line=False).splitlines()
    assert sum(line.endswith(" multiply") for line in whole) == 2  # the operation, and its pullback
    with pytest.raises(fx.StructureError, match="no column 'size'"):
        p.table(sort_by="size")


def test_own_times_add_up_to_the_whole():
    with fx.profile() as p:
        fx.grad(f)(X)
        fx.jit(f)(X)
    inside = children_of(p.events)
    own = sum(e.duration - sum(c.duration for c in inside.get(e, ())) for e in p.events)
    assert own == sum(e.duration for e in inside[None]) == round(p.total * 1e9)
    for event, parts in inside.items():
        if event is not None:
            assert all(event.start <= c.start <= c.end <= event.end for c in parts)


def test_the_flame_graph_is_an_svg_with_a_bar_for_each_event(tmp_path):
    with fx.profile() as p:
        fx.jit(fx.grad(f))(X)
    svg = p.picture()._repr_svg_()
    root = ET.fromstring(svg)
    bars = root.findall("{http://www.w3.org/2000/svg}g")
    assert 1 < len(bars) <= len(p.events)
    titles = [bar[0].text for bar in bars]
    assert titles[0].startswith("jit(f)\n")
    assert any("fnp.sin(x) * x" in title for title in titles)
    width = float(root.get("width"))
    for bar in bars:
        x, w = (float(bar[1].get(name)) for name in ("x", "width"))
        assert x >= 0 and x + w <= width + 0.1
    p.picture().save(tmp_path / "flame.svg")
    assert (tmp_path / "flame.svg").read_text() == svg
    assert p._repr_html_() == svg


def test_a_picture_of_nothing():
    with fx.profile() as p:
        pass
    assert ET.fromstring(p.picture()._repr_svg_()).tag.endswith("svg")
    assert "0 operations" in str(p)


def test_the_trace_is_in_the_trace_event_format(tmp_path):
    with fx.profile() as p:
        fx.grad(f)(X)
    p.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    check_trace(trace)
    complete = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in complete] == [e.name for e in p.events]


def test_times_of_a_device(stand_in):
    """By events of CuPy's, of whose stand-in these are."""
    there = stand_in.asarray(X)
    with fx.profile() as p:
        fnp.sin(there)
        fnp.sin(1.0)
        with stand_in.cuda.Device(1):
            other = stand_in.asarray(X)
    assert [e.device_time > 0 for e in p.events] == [True, False]
    head, *_, end = p.table(sort_by="device").splitlines()
    assert "device" in head and end.endswith("of the device")
    with fx.profile() as p:
        fx.jit(lambda x: x * x + 1.0)(other)
    assert max(e.device_time for e in p.events) > 0
    with fx.profile() as p:
        fnp.sin(X)
    assert "device" not in p.table().splitlines()[0]


def test_the_times_of_a_device_are_without_those_of_inner_steps_also_where_values_are_traced(stand_in):
    there = stand_in.asarray(X)
    with fx.profile() as p:
        fx.grad(lambda x: fnp.mean(fnp.sin(x)))(there)
    assert {"mean", "sin"} <= {e.name for e in p.events if e.device_time > 0}
    rows = summarize(p.events, by_line=True)
    assert sum(row.device_time for row in rows) <= sum(e.device_time for e in p.events)
    assert min(row.device_time for row in rows) >= 0


def test_memory_of_a_device(stand_in):
    there = stand_in.zeros(1000)
    with fx.profile(memory=True) as p:
        y = fnp.sin(fnp.cos(there))
        del y
    assert p.peak_memory == 16000
    assert p.table().endswith("16 k bytes at most")
    assert sum(e.device_allocated for e in p.events) == 16000  # they are freed in no step


def test_a_named_part_is_an_event_with_its_operations_inside():
    @fx.named_scope("layer")
    def layer(x, depth):
        return fnp.sin(x) if depth == 0 else layer(x, depth - 1)

    with fx.profile() as p:
        layer(X, 1)
    outer, inner = (event for event in p.events if event.name == "layer")
    (sin,) = (event for event in p.events if event.name == "sin")
    assert inner.parent is outer and sin.parent is inner
    assert layer(X, 1) == pytest.approx(np.sin(X))  # without a profile


def test_a_named_part_of_a_jitted_function_does_not_change_it():
    def scoped(x):
        with fx.named_scope("part"):
            return fnp.sin(x) * 2

    with fx.profile():
        assert fx.jit(fx.grad(scoped))(1.0) == pytest.approx(2 * np.cos(1.0))
