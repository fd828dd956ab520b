"""The profiler of the torch surface, for which torch need not be there: ranges for other tools, nvprof, tasks."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sqlite3
import sys
import threading
from contextvars import Context
from types import SimpleNamespace

import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad.core.interpreter import CURRENT, EVAL

profile, record_function = torch.autograd.profiler.profile, torch.autograd.profiler.record_function


def names(prof):
    return [e.name for e in prof.function_events]


# -- what is measured -------------------------------------------------------------------------------------------------


def test_results_graphs_and_modes_are_those_without_a_profile():
    def program():
        x = torch.tensor([0.5, 1.0], requires_grad=True)
        with torch.no_grad():
            constant = x * 2
        y = (x.sin() * constant).cumsum(0)
        y.sum().backward()
        torch.set_grad_enabled(False)
        z = x * x
        torch.set_grad_enabled(True)
        return (
            y.tolist(),
            x.grad.tolist(),
            y.grad_fn.name(),
            constant.requires_grad,
            z.requires_grad,
            x.is_leaf,
        )

    expected = program()
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_modules=True) as prof:
        assert torch.autograd._profiler_enabled()
        assert program() == expected
    assert not torch.autograd._profiler_enabled()
    assert CURRENT.get() is EVAL
    assert "aten::cumsum" in names(prof)


def test_what_was_made_inside_has_its_history_outside():
    w = torch.ones(2, requires_grad=True)
    with profile():
        y = (w * w).sum()
    y.backward()
    assert w.grad.tolist() == [2.0, 2.0]
    with profile() as prof:
        (w * 3).sum().backward()
    assert "MulBackward0" in names(prof)


def test_a_mode_that_is_switched_inside_stays_switched():
    try:
        with profile():
            torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled()
        assert not (torch.ones(2, requires_grad=True) * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)
    assert CURRENT.get() is EVAL


def test_both_surfaces_are_measured_by_either_profile():
    w = torch.ones(2, requires_grad=True)

    def program():
        fnp.sum(fnp.exp(w)).backward()
        fx.grad(lambda x: fnp.sum(fnp.cos(x)))(w.detach().numpy())

    with fx.profile() as p, profile() as prof:
        program()
    assert {"exp", "cos", "ExpBackward0"} <= {e.name for e in p.events}
    assert {"aten::exp", "aten::cos", "ExpBackward0"} <= set(names(prof))


def test_modules():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    with profile(with_modules=True) as prof:
        model(torch.ones(1, 2))
    modules = {e.name: e._fx_module_hierarchy for e in prof.function_events}
    assert modules["aten::linear"] == "Sequential.Linear"
    assert modules["aten::relu"] == "Sequential.ReLU"


def test_sequence_numbers_of_operations_in_place_and_views():
    with profile() as prof:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.sin_()
        y[0].mul_(5)
        y.sum().backward()
    forward = {
        e.sequence_nr: e.name
        for e in prof.function_events
        if e.scope == 0 and e.sequence_nr > 0 and "engine" not in e.name
    }
    ties = {e.name: forward.get(e.sequence_nr) for e in prof.function_events if e.scope == 1}
    assert ties["SinBackward0"] == "aten::sin_"
    assert ties["MulBackward0"] in ("aten::mul", "aten::mul_")


def test_functions_that_are_not_recorded():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with profile() as prof:
        assert Twice.apply(torch.ones(2)).tolist() == [2.0, 2.0]
        with torch.no_grad():
            Twice.apply(torch.ones(2, requires_grad=True))
        Twice.apply(torch.ones(2, requires_grad=True)).sum().backward()
    applied = [e.sequence_nr for e in prof.function_events if e.name == "Twice"]
    assert applied[:2] == [-1, -1]
    assert applied[2] == next(e.sequence_nr for e in prof.function_events if e.name == "TwiceBackward")


def test_errors_pass_and_leave_nothing():
    with pytest.raises(RuntimeError, match="size of tensor a"), profile() as prof:
        torch.ones(2) + torch.ones(3)
    assert CURRENT.get() is EVAL
    assert "aten::add" in names(prof)
    with (
        pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"),
        profile(),
    ):
        torch.ones(2, requires_grad=True).exp().backward()
    with pytest.raises(RuntimeError, match="size of tensor a"):
        torch.ones(2) + torch.ones(3)


def test_hooks_and_checkpoints_are_measured_where_they_run():
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        y = x * 2
        y.register_hook(lambda g: g.cos())
        torch.utils.checkpoint.checkpoint(lambda t: t.sin().exp(), y, use_reentrant=False).sum().backward()
    events = {e.name: e for e in prof.function_events}
    hook = events["aten::cos"]
    outer = set()
    while hook is not None:
        outer.add(hook.name)
        hook = hook.cpu_parent
    assert any(name.startswith("autograd::engine::evaluate_function") for name in outer)
    assert names(prof).count("aten::sin") == 2  # and once more in backward


def test_backward_inside_transforms():
    def loss(x):
        return (x.exp() @ x).sum()

    x = torch.ones(3, 2)
    expected = torch.func.vmap(torch.func.grad(loss))(x)
    with profile() as prof:
        found = torch.func.vmap(torch.func.grad(loss))(x)
    assert found.tolist() == expected.tolist()
    assert {"aten::exp", "ExpBackward0"} <= set(names(prof))


# -- parts, tasks, threads --------------------------------------------------------------------------------------------


def test_parts_of_async_programs():
    @record_function("whole")
    async def work(operation):
        with record_function("part"):
            await asyncio.sleep(0)
            operation(torch.ones(2))
        await asyncio.sleep(0)

    async def both():
        await asyncio.gather(work(torch.sin), work(torch.cos))

    with profile() as prof:
        asyncio.run(both())
    tree = {e.name: e for e in prof.function_events}
    for name in ("aten::sin", "aten::cos"):
        part = tree[name].cpu_parent
        assert (part.name, part.cpu_parent.name) == ("part", "whole")
        assert [c.name for c in part.cpu_children].count(name) == 1
    assert names(prof).count("whole") == 2


def test_a_part_that_lasts_until_a_future_is_done():
    future: concurrent.futures.Future = concurrent.futures.Future()
    with profile() as prof:
        with record_function("waiting") as part:
            assert part._call_end_callbacks_on_future(future) is future
            with pytest.raises(RuntimeError, match="can only be called once"):
                part._call_end_callbacks_on_future(future)
        torch.ones(2).sin()
        done = threading.Thread(target=future.set_result, args=(None,))
        done.start()
        done.join(10)
        torch.ones(2).cos()
    events = {e.name: e for e in prof.function_events}
    assert events["aten::sin"].cpu_parent is events["waiting"]
    assert events["aten::cos"].time_range.start >= events["waiting"].time_range.end


def test_without_a_profile_parts_do_nothing():
    with record_function("nothing") as part:
        torch.ones(2).sin()
    assert part._fx_events == []


def test_other_threads_are_not_measured():
    with profile() as prof:
        alone = threading.Thread(target=Context().run, args=(lambda: torch.ones(2).sin(),))
        alone.start()
        alone.join(10)
        torch.ones(2).cos()
    assert "aten::sin" not in names(prof)


# -- ranges -----------------------------------------------------------------------------------------------------------


def ranged(program, monkeypatch, **options):
    """The ranges that a program opens, each with its depth, under a stand-in for `nvtx`."""
    log, depth = [], [0]

    def push(text):
        log.append((depth[0], text))
        depth[0] += 1

    def pop():
        depth[0] -= 1

    monkeypatch.setitem(sys.modules, "nvtx", SimpleNamespace(push_range=push, pop_range=pop))
    with torch.autograd.profiler.emit_nvtx(**options):
        program()
    assert depth == [0]
    return log


def test_ranges_tie_backward_to_forward(monkeypatch):
    x = torch.ones(2, 3, requires_grad=True)
    log = ranged(lambda: (x * x).sum().backward(), monkeypatch, record_shapes=True)
    texts = [text for _, text in log]
    mul = next(text for text in texts if text.startswith("aten::mul, seq = "))
    assert mul.endswith(", sizes = [[2, 3], [2, 3]]")
    number = mul.split("seq = ")[1].split(",")[0]
    node = next(text for text in texts if text.startswith("MulBackward0, "))
    assert f"stashed seq = {number}" in node
    assert [d for d, text in log if text == node] == [1]


def test_ranges_end_with_an_error(monkeypatch):
    def program():
        with pytest.raises(RuntimeError):
            torch.ones(2) + torch.ones(3)

    assert ranged(program, monkeypatch)
    assert ranged(program, monkeypatch, enabled=False) == []


def test_itt_tasks(monkeypatch):
    log = []
    module = SimpleNamespace(
        domain=lambda name: name,
        task_begin=lambda d, name: log.append(name),
        task_end=lambda d: log.append(None),
    )
    monkeypatch.setitem(sys.modules, "ittapi", module)
    with torch.autograd.profiler.emit_itt():
        torch.ones(2).sin()
    assert [text and text.split(",")[0] for text in log] == ["aten::ones", None, "aten::sin", None]


@pytest.mark.parametrize(("name", "package"), [("emit_nvtx", "nvtx"), ("emit_itt", "ittapi")])
def test_packages_that_are_not_there(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    ranges = getattr(torch.autograd.profiler, name)()
    with pytest.raises(RuntimeError, match=f"{name} needs the package '{package}'"), ranges:
        pass
    assert CURRENT.get() is EVAL


# -- nvprof -----------------------------------------------------------------------------------------------------------

SCHEMA = """
CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (id INT, name INT, timestamp INT, flags INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (correlationId INT, start INT, end INT, cbid INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (correlationId INT, start INT, end INT, name INT);
"""


def write_trace(path, statements="", schema=SCHEMA):
    with sqlite3.connect(path) as database:
        database.executescript(schema)
        database.executescript(
            statements
            or """
            INSERT INTO StringTable VALUES (1, 'outer'), (2, 'aten::mul'), (3, 'kernel_mul');
            INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES
                (7, 1, 1000, 2), (8, 2, 2000, 2), (8, 0, 5000, 4), (7, 0, 9000, 4);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (70, 2500, 3000, 211), (71, 6000, 7000, 211);
            INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (70, 4000, 8000, 3), (71, 9000, 9500, 3);
            """
        )
    database.close()
    return path


def test_a_trace_of_nvprof(tmp_path):
    events = torch.autograd.profiler.load_nvprof(str(write_trace(tmp_path / "trace")))
    assert [(e.name, e.time_range.start, e.time_range.end) for e in events] == [
        ("outer", 1.0, 9.0),
        ("aten::mul", 2.0, 5.0),
    ]
    assert [[tuple(k) for k in e.kernels] for e in events] == [
        [("kernel_mul", 0, 0.5)],
        [("kernel_mul", 0, 4.0)],
    ]
    assert events[1].device_time_total == 4.0
    assert "CUDA total" in events.table()


BROKEN = {
    "no table": ("", "CREATE TABLE StringTable (_id_ INT, value TEXT);", "has no table CUPTI_ACTIVITY_KIND_MARKER"),
    "no column": ("", SCHEMA.replace("timestamp INT, ", ""), "has no column 'timestamp'"),
    "a view": ("", SCHEMA.replace("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT)",
        "CREATE VIEW StringTable AS WITH RECURSIVE r(_id_) AS (SELECT 1 UNION ALL SELECT _id_ + 1 FROM r) "
        "SELECT _id_, 'x' AS value FROM r"), "has no table StringTable"),
    "text for a number": ("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 2, 'soon', 2)", SCHEMA, "which is no int"),
    "a number for text": ("INSERT INTO StringTable VALUES (1, x'ff00')", SCHEMA, "which is no str"),
    "a name that is not there": (
        "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 9, 1, 2), (1, 0, 2, 4)", SCHEMA, "a range has no name"),
    "a range twice": (
        "INSERT INTO StringTable VALUES (1, 'a');"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 1, 1, 2), (1, 0, 2, 4), (1, 1, 3, 2), (1, 0, 4, 4)",
        SCHEMA, "the range 1 is there twice"),
}  # fmt: skip


@pytest.mark.parametrize(("statements", "schema", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_traces_of_nvprof(tmp_path, statements, schema, message):
    path = write_trace(tmp_path / "trace", statements or "SELECT 1", schema)
    with pytest.raises(RuntimeError, match=message):
        torch.autograd.profiler.load_nvprof(path)


def test_files_that_are_no_traces(tmp_path):
    with pytest.raises(FileNotFoundError, match="no trace of nvprof"):
        torch.autograd.profiler.load_nvprof(tmp_path / "none")
    for content in (b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4096):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(RuntimeError, match="no trace of nvprof"):
            torch.autograd.profiler.load_nvprof(tmp_path / "file")
    whole = write_trace(tmp_path / "trace").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RuntimeError, match="no trace of nvprof"):
        torch.autograd.profiler.load_nvprof(tmp_path / "cut")
