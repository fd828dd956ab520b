"""Errors that say what to write instead: the share of `raise` statements with a hint, room by room."""

import ast
from pathlib import Path

import pytest

import fxgrad.compat.errors

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "fxgrad"
# Built-in exceptions, which the protocols of Python ask for, and NumPy's take no hint.
TAKE_A_HINT = {name for name in (*fxgrad.__all__, *fxgrad.compat.errors.__all__) if name.endswith("Error")}
# The percentage that has a hint, at least. What has none is mostly a bug found, about which users can do nothing.
FLOORS = {"functional": 99, "compat/ops": 100, "compat/nn": 100, "compat": 99}


def room_of(path):
    if path.parts[0] != "compat":
        return "functional"
    return next((room for room in FLOORS if Path(room) in path.parents and room != "compat"), "compat")


def raises_of(tree):
    """The `raise` statements that word an error of ours on the spot, rather than call what words it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(call := node.exc, ast.Call):
            module, _, name = ast.unparse(call.func).rpartition(".")
            if (
                name in TAKE_A_HINT
                and module != "np.linalg"
                and call.args
                and isinstance(call.args[0], ast.JoinedStr | ast.Constant)
            ):
                yield call


def has_hint(call):
    return any(keyword.arg == "hint" for keyword in call.keywords)


@pytest.mark.parametrize("room", FLOORS)
def test_errors_say_what_to_write_instead(room):
    have, lack = 0, []
    for path in sorted(PACKAGE.rglob("*.py")):
        if room_of(path.relative_to(PACKAGE)) == room:
            for call in raises_of(ast.parse(path.read_text(encoding="utf-8"))):
                if has_hint(call):
                    have += 1
                else:
                    lack.append(f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call.args[0])}")
    share = 100 * have / (have + len(lack))
    assert share >= FLOORS[room], f"{share:.1f} % have a hint; these have none:\n" + "\n".join(lack)


def test_a_raise_without_a_hint_is_found():
    source = """
raise ShapeError("wrong")
raise errors.ShapeError(f"wrong: {x}", hint="x.T")
raise ShapeError(message)
raise np.linalg.LinAlgError("NumPy's, whose words tell the hint")
raise KeyError("no hint can be given")
"""
    found = [*raises_of(ast.parse(source))]
    assert [call.lineno for call in found] == [2, 3] and [*map(has_hint, found)] == [False, True]
