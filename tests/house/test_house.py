"""The plan of the house, checked: who may import whom, when, and how long a file may be."""

import ast
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fxgrad
from fxgrad import extend
from tests.house.imports import ROOT, imports_of
from tests.together import together

PACKAGE = ROOT / "fxgrad"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))

# A room may import itself and the rooms above it in this list, never one below.
FLOORS = [
    {"core"},
    {"passes"},
    {"ops"},
    {
        "transforms",
        "checking",
    },  # `check=True` is a parameter of transforms, and checks are programs over transforms
    {"control"},
    {"extend"},  # the names of the rooms above for those below
    {
        "numpy",
        "scipy",
        "lax",
        "random",
        "nn",
        "tree",
        "debug",
        "testing",
        "profiling",
        "checkpoint_policies",
        "config",
        "custom_derivatives",
        "tree_util",
        "typing",
    },
    {
        "optim",
        "ad_checkpoint",
        "custom_batching",
        "distributed",
        "doors",
        "experimental",
        "flatten_util",
        "missing",
        "per_sample",
    },
    {"sharding"},
    {"peers"},  # surfaces over all of these
]
# The kernels stand beside the floors: they know arrays and Graphs only, and the registry, by which they tell a
# primitive of torch's surface from one of the same name; they are for those who run operations.
KERNELS_MAY_IMPORT = {
    "core.aval", "core.cache", "core.costs", "core.errors", "core.fp_errors", "core.graph", "core.key",
    "core.rules", "core.source_info",
}  # fmt: skip
KERNELS_ARE_FOR = {"passes", "ops", "transforms", "control", "profiling"}
# The public face, which loads every name lazily, and what is written in terms of it: nothing imports these.
PROGRAMS = {"demo", "info"}
FACES = {"__init__", "__main__", "compat"} | PROGRAMS
# The same for the rooms of the torch surface, which may import the whole house. Its other modules are torch's own
# names: faces, which nothing imports but what `_surface` fills, and what has Tensors with all their methods.
COMPAT_FLOORS = [
    "texts", "errors", "_core", "_declare", "_make", "ops", "_read", "func", "autograd", "distributed", "sparse", "nn",
    "optim", "amp", "utils", "testing", "cuda", "door", "serialization", "distributions", "fx",
]  # fmt: skip
COMPAT_FACES = {
    "__config__", "__init__", "__main__", "_surface", "accelerator", "backends", "compiler", "fft",
    "functorch", "futures", "jit", "library", "linalg", "multiprocessing", "overrides", "profiler", "quasirandom",
    "random", "return_types", "signal", "special", "storage", "types", "version",
}  # fmt: skip

# The rooms of which other surfaces, and interpreters of the user's own, take what `fxgrad.extend` names.
FOUNDATIONS = {"checking", "control", "core", "kernels", "ops", "passes", "transforms"}
BUILT_ON_THE_CONTRACT = {"compat", "scipy"}
LARGEST_CONTRACT = 105  # names beside those of `fxgrad`; the number may only shrink

# Files that lead to one another, be it by imports that are late or for annotations, and how many they are at most.
LARGEST_CIRCLE = 4

# Constants that sound as if they decided between two ways to compute the same, and what they are.
SIZES_OF_OTHER_KINDS = {
    "compat/_make/mersenne_twister.py": {"BLOCK": "the state of the generator"},
    "compat/_make/variates.py": {"SHORT": "torch's, on which the numbers of a seed depend"},
    "compat/serialization/writer.py": {"BATCH": "the format's"},
    "kernels/cuda/kernel.py": {"BLOCK": "threads of a block of CUDA's"},
    "kernels/cuda/source.py": {"WARP": "of the hardware"},
    "kernels/native/accumulation.py": {"TOGETHER": "as many as there are registers"},
    "kernels/native/streams.py": {"CHUNK": "the size of a buffer"},
    "kernels/native/threads.py": {"LINE": "of the hardware", "PIECES": "of work, for each thread"},
    "kernels/sampling.py": {"LARGE": "the numbers of a key depend on it"},
}
ARITHMETIC = {
    ast.Constant, ast.UnaryOp, ast.USub, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.LShift,
    ast.Tuple, ast.Load,
}  # fmt: skip

LOADED_AT_IMPORT = {"fxgrad", "numpy", "optree"}
DEPENDENCIES = {"attrs", "ml_dtypes", "opt_einsum", "tqdm"}
IMPORTED_IN_ONE_FILE = {"cupy", "llvmlite", "mpi4py", "safetensors"}
FORBIDDEN = {"pickle", "marshal", "socket", "ssl", "urllib", "http", "requests"}
# Classes of errors, by which users catch what a broken file raises.
ERRORS_OF_PICKLE = {"pickle.PicklingError", "pickle.UnpicklingError"}
HEAVY = DEPENDENCIES | IMPORTED_IN_ONE_FILE | {"graphviz", "matplotlib", "scipy"}
LONGEST = 600
# Modules that the reader of torch's names finds a function under, as there.
TORCH_HAS_A_FUNCTION = {
    "fxgrad.compat.autograd.gradcheck", "fxgrad.compat.autograd.variable",
    "fxgrad.compat.nn.utils.spectral_norm", "fxgrad.compat.nn.utils.weight_norm",
}  # fmt: skip


def late_imports(module: Path) -> list[tuple[str, str]]:
    """(dotted name, line) of what a module imports inside its functions."""
    lines = (PACKAGE / module).read_text(encoding="utf-8").splitlines()
    return [(name, lines[line - 1]) for name, at_once, line in found_imports(module) if not at_once]


def imports(module: Path) -> list[tuple[str, bool]]:
    """What a module imports: (absolute dotted name, whether it is imported as soon as the module is)."""
    return [(name, at_once) for name, at_once, _ in found_imports(module)]


def found_imports(module: Path, annotations: bool = False) -> list[tuple[str, bool, int]]:
    """(absolute dotted name, whether it is imported as soon as the module is, line) of what a module imports; what it
    needs for annotations only is among it if they are asked for."""
    found = imports_of(PACKAGE / module)
    return [(i.name, i.at_once, i.line) for i in found if annotations or not i.for_types]


def room(module: Path) -> str:
    return module.with_suffix("").parts[0]


def floor(name: str) -> int | None:
    return next((index for index, rooms in enumerate(FLOORS) if name in rooms), None)


def may_import(module: Path, target: str) -> bool:
    """Whether `module` may import the dotted name `target`, a part of fxgrad."""
    here = room(module)
    there, *inside = target.split(".")[1:] or ["__init__"]
    if here in FACES or here == there:
        return True
    if here == "kernels":
        return ".".join([there, *inside[:1]]) in KERNELS_MAY_IMPORT
    if there == "kernels":
        return here in KERNELS_ARE_FOR
    return floor(here) is not None and floor(there) is not None and floor(there) <= floor(here)


@together("module")
@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_place(module):
    assert room(module) in FACES | {"kernels"} or floor(room(module)) is not None, "name its room in FLOORS"


@together("module")
@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_run_downward(module):
    names = {name for name, _ in imports(module)}
    assert {n for n in names if n.split(".")[0] == "fxgrad" and not may_import(module, n)} == set()


@together("module")
@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[0] == "compat"], ids=str)
def test_rooms_of_the_torch_surface_import_downward(module):
    here = module.with_suffix("").parts[1]
    assert here in COMPAT_FACES or here in COMPAT_FLOORS, "name its room in COMPAT_FLOORS"
    if here in COMPAT_FACES:
        return
    for name in {name for name, _ in imports(module) if name.startswith("fxgrad.compat.")}:
        there = name.split(".")[2]
        if there == "_surface":  # what makes it whole: see `core.face`
            continue
        assert there in COMPAT_FLOORS and COMPAT_FLOORS.index(there) <= COMPAT_FLOORS.index(here), name


def circles(edges: dict[str, set[str]]) -> list[set[str]]:
    """The groups of modules that reach one another."""

    def reach(start: str) -> set[str]:
        found, todo = set(), [start]
        while todo:
            for name in edges[todo.pop()] - found:
                found.add(name)
                todo.append(name)
        return found

    reached = {name: reach(name) for name in edges}
    groups = {frozenset(m for m in reached[n] if n in reached[m]) for n in edges if n in reached[n]}
    return [set(group) for group in groups]


def test_a_circle_between_files_has_its_reason_beside_the_import():
    """One that is imported when it is needed may lead back; a comment in its line says why."""
    names = {".".join(["fxgrad", *m.with_suffix("").parts]).removesuffix(".__init__"): m for m in MODULES}

    def target(name: str) -> str | None:
        return next((n for n in (name, name.rpartition(".")[0]) if n in names), None)

    def edges(skip: set[tuple[str, str]]) -> dict[str, set[str]]:
        return {
            name: {
                t for found, _ in imports(m) if (t := target(found)) and t != name and (name, t) not in skip
            }
            for name, m in names.items()
        }

    explained = {
        (name, t)
        for name, m in names.items()
        for found, line in late_imports(m)
        if "  # " in line and "noqa" not in line and (t := target(found))
    }
    assert circles(edges(explained)) == []


def shows_names(module: Path) -> bool:
    """Whether what a module imports for type checkers is what it has, and loads lazily."""
    source = (PACKAGE / module).read_text(encoding="utf-8")
    lazy = "LazyPackage.of(" in source or "noted_imports(" in source
    return lazy and module != Path("core/face.py")


def test_few_files_lead_to_one_another():
    """Whoever reads one of them has to read them all."""
    names = {".".join(["fxgrad", *m.with_suffix("").parts]).removesuffix(".__init__"): m for m in MODULES}

    def leads_to(name: str, module: Path) -> set[str]:
        found = {target for target, _, _ in found_imports(module, not shows_names(module))}
        nearest = [next((n for n in (t, t.rpartition(".")[0]) if n in names), name) for t in found]
        return {*nearest} - {name}

    groups = circles({name: leads_to(name, module) for name, module in names.items()})
    assert [sorted(group) for group in groups if len(group) > LARGEST_CIRCLE] == []


@together("module")
@pytest.mark.parametrize("module", [m for m in MODULES if room(m) in BUILT_ON_THE_CONTRACT], ids=str)
def test_other_surfaces_take_from_the_foundations_what_the_contract_names(module):
    taken = {name for name, _, _ in found_imports(module, annotations=True)}
    assert {n for n in taken if n.split(".")[0] == "fxgrad" and n.split(".")[1] in FOUNDATIONS} == set()
    assert {
        n for n in taken if n.startswith("fxgrad.extend.") and n.split(".")[2] not in extend.__all__
    } == set()


def test_the_contract_is_small():
    assert len({*extend.__all__} - {*fxgrad.__all__}) <= LARGEST_CONTRACT


@pytest.mark.parametrize("module", [m for m in MODULES if shows_names(m)], ids=str)
def test_what_a_package_has_is_exported(module):
    """Type checkers take `from .module import name` for private, unless it says `as name`."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    shown = [
        node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    imports = [n for block in shown for n in ast.walk(block) if isinstance(n, ast.ImportFrom) and n.module]
    names = [a for node in imports if node.level for a in node.names if a.name != "*" and a.asname is None]
    assert [alias.name for alias in names] == []


def test_the_contract_loads_nothing_by_itself():
    source = "import sys, fxgrad.extend; print(*[m for m in sys.modules if m.startswith('fxgrad')])"
    run = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["fxgrad", "fxgrad.extend"]


@together("module")
@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_numpy_and_optree_are_imported_with_the_package(module):
    roots = {name.split(".")[0] for name, at_once in imports(module) if at_once}
    allowed = LOADED_AT_IMPORT | (DEPENDENCIES if room(module) in PROGRAMS else set())
    assert roots - set(sys.stdlib_module_names) - allowed == set()


@pytest.mark.parametrize("library", sorted(IMPORTED_IN_ONE_FILE))
def test_an_accelerator_library_is_imported_in_one_file(library):
    files = [str(module) for module in MODULES if library in {n.split(".")[0] for n, _ in imports(module)}]
    assert len(files) <= 1, files


@together("module")
@pytest.mark.parametrize("module", MODULES, ids=str)
def test_nothing_unpickles_or_touches_the_network(module):
    names = {name for name, _ in imports(module)} - ERRORS_OF_PICKLE
    assert {name for name in names if name.split(".")[0] in FORBIDDEN} == set()


def numbers_of(module: Path) -> dict[str, str]:
    """The constants of a module that are numbers, each with the comment in its lines."""
    source = (PACKAGE / module).read_text(encoding="utf-8")
    lines, found = source.splitlines(), {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign) or {type(n) for n in ast.walk(node.value)} - ARITHMETIC:
            continue
        names = [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
        comment = " ".join(line.partition("#")[2] for line in lines[node.lineno - 1 : node.end_lineno])
        found |= {name: comment for name in names if name.isupper()}
    return found


def test_sizes_that_decide_between_two_ways_are_in_one_file():
    """Another constant of this kind shows itself by its comment, or by its name."""
    costs = Path("core/costs.py")
    decides = re.compile(r"nanoseconds|faster|slower|pays|worth|cache|wakes|at once|at a time|a look")
    numbers = {module: numbers_of(module) for module in MODULES}
    for module, named in numbers.items():
        if module == costs or room(module) in PROGRAMS:
            continue
        found = {n for n, c in named.items() if decides.search(c) or n in ("BLOCK", "CHUNK")}
        assert found == SIZES_OF_OTHER_KINDS.get(str(module), {}).keys(), module
    assert {module for module, named in numbers.items() if numbers[costs].keys() & named.keys()} == {costs}


def test_every_size_is_of_use():
    sources = [(PACKAGE / m).read_text(encoding="utf-8") for m in MODULES if m.name != "costs.py"]
    words = {word for source in sources for word in re.findall(r"\w+", source)}
    assert numbers_of(Path("core/costs.py")).keys() - words == set()


@together("path")
@pytest.mark.parametrize(
    "path",
    [path for folder in ("fxgrad", "tests", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))],
)
def test_a_file_has_one_subject(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_a_module_is_what_its_name_gives():
    """`import fxgrad.a.b as b` is the module, whatever the package `a` exports."""
    names = [
        m.name
        for m in pkgutil.walk_packages(fxgrad.__path__, "fxgrad.")
        if m.name.split(".")[1] not in PROGRAMS
    ]
    modules = {name: import_module(name) for name in names}
    shadowed = {
        name
        for name, module in modules.items()
        if getattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2]) is not module
    }
    assert shadowed == TORCH_HAS_A_FUNCTION
    for name in shadowed:
        package, _, last = name.rpartition(".")
        assert getattr(sys.modules[package], last).__doc__


def test_tests_lie_in_the_rooms_of_what_they_test():
    rooms = {path.name for path in PACKAGE.iterdir()}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders - rooms == {
        "benchmarks",
        "cupy_stand_in",
        "gpu",
        "house",
        "packages",
        "parity",
        "research",
        "samples",
        "tables",
    }


def test_every_program_of_the_benchmarks_is_listed():
    listed = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in (ROOT / "benchmarks").glob("*.py") if f"`{p.name}`" not in listed] == []


def test_every_command_of_the_readme_is_run():
    marks = re.findall(r"^<!-- (\w+) -->$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    sessions = dict(
        re.findall(
            r'^def (\w+)\(session\):\n    """.*"""\n    run_readme_line\(session, "(\w+)"',
            (ROOT / "noxfile.py").read_text(encoding="utf-8"),
            re.M,
        )
    )
    assert sorted(set(sessions.values())) == sorted(marks)
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert [name for name in sessions if not re.search(rf"\bsession {name}\b", run)] == []


@pytest.mark.parametrize("name", ["compat", "debug", "lax", "numpy", "random", "scipy", "testing", "tree"])
def test_the_face_has_every_namespace(name):
    source = f"import fxgrad; print(fxgrad.{name}.__name__)"
    run = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"fxgrad.{name}"
    assert name in fxgrad.__all__


def test_importing_the_package_loads_nothing_heavy():
    source = "import sys, fxgrad; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert HEAVY & set(run.stdout.split()) == set()
