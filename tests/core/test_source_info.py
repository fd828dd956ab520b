"""The user's frame, filtered tracebacks, and errors that carry both.

Library frames are played by functions compiled under a file name inside the package.
"""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import traceback
import weakref
from contextvars import Context
from types import SimpleNamespace

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.core import errors, message, source_info

PACKAGE = os.path.dirname(os.path.dirname(source_info.__file__))
ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FxgradError)
]


def library(source: str, filename: str = os.path.join(PACKAGE, "core", "pretend.py"), **names):
    """The names that `source` defines, as if it stood in the given file of the library."""
    exec(compile(source, filename, "exec"), names)
    return names


INNER = library(
    """
def site():
    return caller()

def call(f, *args):
    return f(*args)

def fail():
    raise ValueError("from the library")

def wrapper(f, *args):
    try:
        return call(f, *args)
    except BaseException as error:
        hide_frames(error)
        raise
""",
    caller=source_info.user_frame,
    stack=source_info.user_stack,
    hide_frames=source_info.hide_frames,
)
call, fail, site, wrapper = INNER["call"], INNER["fail"], INNER["site"], INNER["wrapper"]
stack = INNER["stack"]


def here() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def functions(error: BaseException) -> list[str]:
    return [entry.name for entry in traceback.extract_tb(error.__traceback__)]


# -- the user's frame ----------------------------------------------------------------------------------------


def test_the_site_is_the_users_line_however_deep_the_library_is():
    for place in (source_info.user_frame(), site(), call(site), call(call, call, site)):
        assert place.filename == __file__
        assert place.line.startswith("for place in")


def test_the_stack_has_the_users_lines_alone_and_the_innermost_last():
    def inner():
        return call(call, stack)

    def outer():
        return call(inner)

    found = call(outer)
    assert [site.code.co_name for site in found[-3:]] == [
        "test_the_stack_has_the_users_lines_alone_and_the_innermost_last",
        "outer",
        "inner",
    ]
    assert found[-1].line == "return call(call, stack)"
    assert not [site for site in found if site.filename == INNER["call"].__code__.co_filename]


def test_the_stack_has_the_lines_at_which_equations_were_staged():
    found = []

    def square(x):
        fx.debug.callback(lambda v: found.append(source_info.user_stack()), x)
        return x * x

    fx.jit(square)(2.0)
    (sites,) = found
    names = [site.code.co_name for site in sites]
    assert names[-3:] == ["test_the_stack_has_the_lines_at_which_equations_were_staged", "square", "<lambda>"]


def test_a_site_shows_file_line_function_and_source():
    place, lineno = call(site), here()
    assert place.lineno == lineno
    assert str(place) == f"{os.path.relpath(__file__)}:{lineno}"
    assert place.line == "place, lineno = call(site), here()"
    assert place.describe() == f"{place} in {place.function}:  {place.line}"
    assert place.function == "test_a_site_shows_file_line_function_and_source"
    assert repr(place) == f"<Site {place.describe()}>"


def test_the_line_is_right_in_expressions_of_several_lines():
    first = here()
    places = [
        site(),
        call(site),
    ]
    assert [place.lineno - first for place in places] == [2, 3]


def test_a_file_outside_the_working_directory_has_its_full_path(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert str(site()).startswith(__file__)


def test_programs_run_where_the_working_directory_has_been_removed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert str(site()).startswith(__file__)
    assert fx.jit(fx.grad(lambda x: x * x))(3.0) == 6


def test_a_cell_of_a_notebook_has_its_number(monkeypatch):
    cells = {"/tmp/ipykernel_1/23.py": ("Cell", "In[3]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    cell = library("\nplace = site()", filename="/tmp/ipykernel_1/23.py", site=site)["place"]
    assert cell.describe() == "In[3]:2"
    assert str(site()).startswith(os.path.relpath(__file__))


def test_a_site_without_source_or_function_still_says_where():
    names = library("place = site()", filename="<no such file>", site=site)
    assert names["place"].describe() == "<no such file>:1"


def test_the_frame_is_not_kept():
    class Big:
        pass

    def f():
        big = Big()
        return site(), weakref.ref(big)

    gc.disable()
    try:
        place, big = f()
        assert big() is None
    finally:
        gc.enable()
    assert place.function.endswith("f")


@pytest.mark.parametrize("filename", ["demo/training.py", "demo/privacy.py", "../elsewhere.py"])
def test_the_demo_counts_as_user_code_and_so_do_the_packages_neighbours(filename):
    filename = os.path.normpath(os.path.join(PACKAGE, filename))
    assert library("place = site()", filename, site=site)["place"].filename == filename


@pytest.mark.parametrize("filename", ["numpy/demo.py", "core/source_info.py", "tree.py"])
def test_other_files_of_the_package_do_not(filename):
    names = library("def f(): return site()", os.path.join(PACKAGE, filename), site=site)
    assert names["f"]().filename == __file__


def test_generated_code_is_not_the_users():
    assert library("def f(): return site()", "<fxgrad jit f>", site=site)["f"]().filename == __file__


def test_numpy_and_decorators_between_are_passed_over():
    sites = []
    np.apply_along_axis(lambda row: sites.append(call(site)) or 0.0, 0, np.ones((2, 1)))
    assert sites[0].function.endswith("<lambda>")
    reached = library("def f(): return site()", np.__file__, site=site)
    assert reached["f"]().filename == __file__


def test_without_any_user_frame_the_outermost_one_is_given():
    sites = []
    thread = threading.Thread(target=library("def f(): sites.append(site())", site=site, sites=sites)["f"])
    thread.start()
    thread.join()
    assert sites[0].filename == threading.__file__


def test_the_judgements_on_files_are_bounded():
    kinds = source_info._CodeKinds()
    for cell in range(source_info._CodeKinds.LIMIT + 5):
        assert kinds[f"<cell {cell}>"] == source_info._CodeKinds.USER
    assert len(kinds) <= source_info._CodeKinds.LIMIT


def test_sites_pickle():
    place = call(site)
    again = pickle.loads(pickle.dumps(place))
    assert again.describe() == place.describe()
    assert again.lineno == place.lineno
    assert copy.deepcopy(place).describe() == place.describe()


# -- tracebacks ----------------------------------------------------------------------------------------------


def caught(f, *args) -> BaseException:
    with pytest.raises(BaseException) as info:
        f(*args)
    return info.value


def user(f, *args):
    return f(*args)


def test_only_user_frames_are_left():
    error = caught(wrapper, user, wrapper, user, fail)
    assert functions(error) == ["caught", "user", "user"]


def test_a_library_error_ends_at_the_users_call():
    assert functions(caught(wrapper, fail)) == ["caught"]


def test_filtering_twice_changes_nothing():
    error = caught(user, wrapper, user, fail)
    before = functions(error)
    assert functions(source_info.hide_frames(error)) == before == ["caught", "user", "user"]


def test_filtering_keeps_the_innermost_frame_where_all_are_the_librarys():
    error = caught(call, call, fail)
    tb = source_info.filter_traceback(error.__traceback__.tb_next)  # without the frame of `caught`
    assert [entry.name for entry in traceback.extract_tb(tb)] == ["fail"]
    assert source_info.filter_traceback(None) is None


def test_helpers_that_the_library_called_go_with_it_and_those_of_the_user_stay():
    def raising(row):
        raise KeyError

    through_numpy = library(
        "def f(g): return apply(g, 0, ones)", apply=np.apply_along_axis, ones=np.ones((2, 1))
    )
    assert functions(caught(wrapper, through_numpy["f"], raising)) == ["caught", "raising"]
    assert "apply_along_axis" in functions(caught(wrapper, user, np.apply_along_axis, raising, 0, np.ones(2)))


def test_causes_contexts_and_groups_are_filtered_too():
    def chained():
        try:
            call(user, fail)
        except ValueError as error:
            raise TypeError("second") from error

    def contextual():
        try:
            call(chained)
        finally:
            call(user, lambda: 1 / 0)

    error = caught(wrapper, contextual)
    assert functions(error) == ["caught", "contextual", "user", "<lambda>"]
    assert functions(error.__context__) == ["contextual", "chained"]
    assert functions(error.__context__.__cause__) == ["chained", "user"]

    group = ExceptionGroup("several", [caught(call, user, fail)])

    def raising():
        raise group

    assert functions(caught(wrapper, raising).exceptions[0]) == ["caught", "user"]


def test_a_cycle_of_causes_ends():
    first, second = caught(user, fail), caught(user, fail)
    first.__cause__, second.__context__ = second, first
    assert source_info.hide_frames(first) is first
    assert functions(second) == ["caught", "user"]


def test_keyboard_interrupt_is_passed_on():
    def interrupted():
        raise KeyboardInterrupt

    error = caught(wrapper, interrupted)
    assert type(error) is KeyboardInterrupt
    assert functions(error) == ["caught", "interrupted"]


def test_filtering_can_be_switched_off_for_this_thread_only():
    elsewhere = []
    try:
        source_info.set_traceback_filtering(False)
        thread = threading.Thread(
            target=Context().run, args=(lambda: elsewhere.append(functions(caught(wrapper, fail))),)
        )
        thread.start()
        thread.join()
        assert functions(caught(wrapper, user, fail)) == ["caught", "wrapper", "call", "user", "fail"]
    finally:
        source_info.set_traceback_filtering(True)
    assert elsewhere == [["caught"]]
    assert functions(caught(wrapper, user, fail)) == ["caught", "user"]


@pytest.mark.parametrize("value, filtering", [("full", False), ("", True), ("short", True)])
def test_filtering_can_be_switched_off_from_outside(value, filtering):
    source = "from fxgrad.core import source_info; print(source_info._filtering.get())"
    env = {**os.environ, "FXGRAD_TRACEBACK": value, "PYTHONPATH": os.path.dirname(PACKAGE)}
    run = subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(filtering)


# -- errors --------------------------------------------------------------------------------------------------


def test_a_message_has_its_parts(monkeypatch):
    monkeypatch.setattr(message, "describe_chain", lambda: "level 1: grad at a.py:3")
    error, lineno = errors.ShapeError("sizes differ", hint="use w.T"), here()
    assert str(error).splitlines() == [
        "sizes differ",
        "  in:  level 1: grad at a.py:3",
        f"  at:  {os.path.relpath(__file__)}:{lineno} in test_a_message_has_its_parts:  {error.site.line}",
        "  try: use w.T",
        "  see: errors/ShapeError, or help(fx.ShapeError)",
    ]


def test_parts_that_are_not_known_are_left_out():
    error = errors.ShapeError("sizes differ", chain="", site=library("p = s()", "<x>", s=site)["p"])
    assert str(error) == "sizes differ\n  at:  <x>:1\n  see: errors/ShapeError, or help(fx.ShapeError)"


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_pickle_and_copy(kind):
    error = kind("what", hint="something else", chain="level 1: grad")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert (again.args, again.hint, again.chain) == (("what",), "something else", "level 1: grad")


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_is_documented_and_is_a_builtin_one(kind):
    assert kind.__doc__
    if kind is not errors.FxgradError:
        builtin = {base for base in kind.__mro__ if base.__module__ == "builtins"}
        assert builtin > {Exception, BaseException, object}


def test_an_axis_error_is_numpys_own():
    for builtin in (np.exceptions.AxisError, ValueError, IndexError):
        assert issubclass(errors.AxisError, builtin)


@pytest.mark.parametrize(
    "value, text",
    [
        (np.ones((3, 4)), "float64[3,4]"),
        (np.float32(1), "float32[]"),
        (np.zeros((0,), ">i4"), ">i4[0]"),
        (np.zeros(2, [("float0", np.void, 0)]), "float0[2]"),
        (True, "bool (weak)"),
        (1j, "complex (weak)"),
        ("text", "str"),
        (None, "NoneType"),
        (np.ndarray, "type"),
    ],
)
def test_values_are_described(value, text):
    assert errors.describe(value) == text


@pytest.mark.parametrize(
    "compute, operands, kind, builtin",
    [
        (lambda x: x + np.ones(4), (np.ones(3),), errors.ShapeError, ValueError),
        (lambda x: np.sum(x, axis=1), (np.ones(3),), errors.AxisError, np.exceptions.AxisError),
        (lambda x: np.bitwise_and(x, 1), (np.ones(3),), errors.DTypeError, TypeError),
        (lambda x: x[3], (np.ones(3),), errors.IndexingError, IndexError),
        (np.linalg.inv, (np.zeros((2, 2)),), errors.LinAlgError, np.linalg.LinAlgError),
    ],
)
def test_numpy_errors_are_reworded(compute, operands, kind, builtin):
    theirs = caught(compute, *operands)
    ours = errors.reword(theirs, "compute", operands)
    assert type(ours) is kind
    assert isinstance(theirs, builtin) and isinstance(ours, builtin)
    assert str(ours).startswith(
        f"compute: {str(theirs).strip()}; operands: {errors.describe(operands[0])}\n  at:  "
    )
    assert os.path.basename(__file__) in str(ours)


def test_errors_that_are_worded_already_and_others_stay_as_they_are():
    for error in (errors.ShapeError("mine"), KeyError("k"), MemoryError(), ZeroDivisionError()):
        assert errors.reword(error, "compute", ()) is error
