"""What is read off the frame of the caller is the same on every Python: whether a program asks for a name that is not
there, or writes it. The bytecode differs from version to version, is specialized when a line has run for a while, and
has longer instructions in large functions; debuggers and profilers put others in."""

import sys

import pytest

import fxgrad.compat as torch
from fxgrad.compat.errors import NotSupportedError

# Programs that ask whether there is something: they are told no.
ASKED = {
    "hasattr": "hasattr(export, 'ExportedProgram')",
    "hasattr of a part": "hasattr(absent, 'validate')",
    "getattr with a default": "getattr(export, 'ExportedProgram', None) is not None",
    "starred": "hasattr(*(export, 'ExportedProgram'))",
    "mapped": "any([*map(hasattr, [export], ['ExportedProgram'])])",
    "by another's name": "ask(export, 'ExportedProgram')",
    "in a comprehension": "any([hasattr(export, name) for name in ['ExportedProgram']])",
    "in a generator": "any(hasattr(export, name) for name in ['ExportedProgram'])",
    "in a lambda": "(lambda where: hasattr(where, 'ExportedProgram'))(export)",
    "in a condition": "True if hasattr(export, 'ExportedProgram') else False",
    "in a text": "f'{hasattr(export, chr(69) + chr(120))}' == 'True'",
    "of the group": "hasattr(dist, 'shrink_group')",
    "in two": "hasattr(export, 'ExportedProgram') or hasattr(export, 'Dim')",
}
# Programs that name it get something that says why it is not there when it is called.
NAMED = {
    "attribute": "export.ExportedProgram",
    "part": "absent.validate",
    "part of a part": "export.ExportedProgram.graph",
    "in a comprehension": "[export.ExportedProgram for _ in range(1)][0]",
    "in a lambda": "(lambda: export.ExportedProgram)()",
    "in a tuple": "(export.ExportedProgram, 1)[0]",
    "as an argument": "(lambda x: x)(export.ExportedProgram)",
    "subscripted": "export.ExportedProgram[int]",
    "of the group": "dist.shrink_group",
}
LONG = "; ".join(f"name{i} = attribute{i} = {i}" for i in range(300))  # whose names take two bytes


def compiled(expression, before=""):
    """A function of this expression, after a statement, which refers to what is absent."""
    known = {
        "export": torch.export,
        "dist": torch.distributed,
        "absent": torch.export.ExportedProgram,
        "ask": hasattr,
    }
    exec(f"def program():\n    {before or 'pass'}\n    return {expression}", known)
    return known["program"]


def traced(program):
    """Run it as a debugger does, line by line."""
    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: lambda *_: None)
    try:
        return program()
    finally:
        sys.settrace(before)


def observed(program):
    """Run it as a coverage tool does, which from Python 3.12 on puts instructions of its own in."""
    if not hasattr(sys, "monitoring"):
        return program()
    events, tool = sys.monitoring.events, sys.monitoring.OPTIMIZER_ID
    sys.monitoring.use_tool_id(tool, "test")
    sys.monitoring.set_events(tool, events.LINE | events.CALL | events.INSTRUCTION)
    try:
        return program()
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.free_tool_id(tool)


def each_way(expression):
    """The results of a program: in the first run, after many, with long instructions, and under tools."""
    program, long = compiled(expression), compiled(expression, LONG)
    yield program()
    for _ in range(300):
        last = program()
    yield last
    yield long()
    for run in (traced, observed):
        yield run(program)
        yield run(compiled(expression))


@pytest.mark.parametrize("form", ASKED)
def test_who_asks_is_told_no(form):
    assert [*each_way(ASKED[form])] == [False] * 7


@pytest.mark.parametrize("form", NAMED)
def test_who_names_what_is_absent_gets_what_says_so(form):
    for found in each_way(NAMED[form]):
        assert isinstance(found, type)
        with pytest.raises(NotSupportedError):
            found()


def test_imports_annotations_bases_and_handlers_name_it(tmp_path, monkeypatch):
    """Whenever annotations are evaluated: at the definition, or from Python 3.14 on when somebody looks."""
    (tmp_path / "names_what_is_absent.py").write_text("""
from fxgrad.compat.distributed import shrink_group
from fxgrad.compat import export
class Own(export.ExportedProgram):
    part: export.Dim
def f(module: export.ExportedProgram, other: export.ExportedProgram.module = None) -> export.Dim.auto:
    try:
        return module
    except export.exported_program.ExportedProgram:
        raise
match 1:
    case export.Dim():
        raise AssertionError
found = [shrink_group, *f.__annotations__.values(), *Own.__annotations__.values()]
""")
    monkeypatch.syspath_prepend(tmp_path)
    import names_what_is_absent as module

    assert module.f(1) == 1
    assert len(module.found) == 5 and all(isinstance(found, type) for found in module.found)


def all_metaclasses(kind=type):
    for found in type.__subclasses__(kind):
        yield found
        yield from all_metaclasses(found)


def test_a_class_shows_its_own_annotations():
    """From Python 3.14 on, those of a metaclass would be shown in their place."""

    class Own(torch.export.ExportedProgram):
        part: int

    class Function(torch.autograd.Function):
        part: int

    assert Own.__annotations__ == Function.__annotations__ == {"part": int}
    ours = [kind for kind in all_metaclasses() if str(kind.__module__).startswith("fxgrad")]
    assert len(ours) > 2 and not [kind for kind in ours if any("annot" in name for name in vars(kind))]
