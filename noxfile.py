"""What contributors and CI run, by name: `nox -l` lists it, `nox -s quick` runs one session.

`quick`, `tests`, `peers` and `demo` are lines of the README: users, contributors and CI run the same.
What follows `--` goes to the tool: `nox -s tests -- -k vmap`.
"""

import re
import shlex
import shutil
import tarfile
import zipfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["quick", "lint", "types"]

ROOT = Path(__file__).parent
VERSION = re.search(
    r'^__version__ = "(.+)"$', (ROOT / "fxgrad/__init__.py").read_text("utf-8"), re.MULTILINE
)[1]
WHEEL_LIMIT = 2_950_000  # bytes, of which torch's names are 60 000


def run_readme_line(session, name, *, place=None, python="python3", **env):
    """Runs the command that follows `<!-- name -->` in the README, in an environment that it makes itself: of its name,
    or of another's place, which installs the same; with another `python` in the place of python3."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    line = re.search(rf"^<!-- {name} -->\n```sh\n(.+)\n```$", text, re.MULTILINE)[1]
    line = line.replace("python3 -m venv", f"{shlex.quote(python)} -m venv")
    env["FXGRAD_VENV"] = str(Path(session.cache_dir).parent / f"readme-{place or name}")
    session.run("bash", "-euc", f'{line} "$@"', name, *session.posargs, env=env, external=True)


@nox.session(venv_backend="none")
def quick(session):
    """One sample of each test, in about a minute on two cores once all is installed."""
    run_readme_line(session, "quick", place="test")


@nox.session(venv_backend="none")
def tests(session):
    """All tests that a fresh machine has."""
    run_readme_line(session, "test")


def other_python(session, *options):
    """The path of a Python of this machine that is not the one of the other sessions: see `.ci/other_python.py`."""
    found = session.run(
        "python3", str(ROOT / ".ci/other_python.py"), *options,
        silent=True, external=True, success_codes=(0, 1),
    ).strip()  # fmt: skip
    return found or session.error("this machine has no other Python that is supported")


@nox.session(venv_backend="none")
def other(session):
    """All tests with the newest other Python that the machine has."""
    run_readme_line(session, "test", place="other", python=other_python(session))


@nox.session(venv_backend="none")
def threads(session):
    """The tests of threads with a free-threaded Python, and those of its packages that are made for it."""
    place = Path(session.cache_dir).parent / "threads"
    session.run(other_python(session, "--free-threaded"), "-m", "venv", str(place), external=True)
    pip = (f"{place}/bin/pip", "install", "--quiet", "--prefer-binary")  # the newest often have none for it
    tools = ("pytest", "pytest-randomly", "pytest-xdist", "array-api-strict", "cloudpickle")
    session.run(*pip, ".[scipy,testing]", *tools, external=True)
    tests = (f"{place}/bin/python", "-m", "pytest", "-n", "2", "-k", "thread", "tests", *session.posargs)
    session.run(*tests, env={"PYTHON_GIL": "0"}, external=True)


@nox.session(venv_backend="none")
def peers(session):
    """All tests beside JAX and torch, with which tests/parity compares."""
    run_readme_line(session, "peers")


@nox.session
@nox.parametrize("library", ["torch", "jax"])
def packages(session, library):
    """Programs over packages that are written for torch or JAX, through the door and on that; `-- -k NAME` for some."""
    groups = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), f"{library}-packages")
    session.install(".[test]", *groups)
    session.run("python", "-m", "pytest", "tests/packages", *session.posargs)


@nox.session(venv_backend="none")
def demo(session):
    """The demo, from the installed package with what it requires and no more."""
    run_readme_line(session, "demo", PYTHONSAFEPATH="1")


@nox.session
def lint(session):
    """Ruff's rules and format; `-- --fix` mends what can be mended."""
    session.install("ruff")
    session.run("ruff", "check", "--no-cache", *session.posargs, ".")
    session.run("ruff", "format", "--no-cache", *([] if "--fix" in session.posargs else ["--check"]), ".")


@nox.session
def types(session):
    """Pyright over the package, and how much of its public interface has types."""
    session.install(".[test]")
    session.run("pyright", "--pythonpath", f"{session.bin}/python", *session.posargs)
    session.run("python", "-m", "tests.house.type_completeness")


@nox.session
def docs(session):
    """The site, which begins with `.nox/site/index.html`; warnings are errors, and so is what `docs/check` finds."""
    session.install(".[docs]", "selenium")
    sites = Path(session.cache_dir).parent / "site"  # a folder for each version
    sphinx = ("sphinx-build", "-W", "--keep-going", "-q", "-j", "2", "-d", f"{sites}-doctrees")
    session.run(*sphinx, "-b", "html", *session.posargs, "docs", str(sites / VERSION))
    session.run("python", "-m", "docs.versions", str(sites))
    session.run("python", "-m", "docs.check", str(sites / VERSION))


@nox.session
def links(session):
    """Every link of the site that leads outside; needs the network."""
    session.install(".[docs]")
    out = Path(session.cache_dir).parent / "links"
    unexecuted = ("-D", "nb_execution_mode=off")  # what cells print has no links
    session.run("sphinx-build", "-q", *unexecuted, "-b", "linkcheck", *session.posargs, "docs", str(out))


@nox.session
def notebooks(session):
    """Runs the notebooks and writes their outputs and pictures anew."""
    session.install(".[test]")
    session.run("python", "-m", "notebooks", *session.posargs)


@nox.session
def bench(session):
    """The table of the README: fxgrad beside its peers; `-- --quick` for a first look."""
    session.install(".[all,parity]")
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def coverage(session):
    """Which lines the quick lane carries out; `-- -m 'not parity'` for all tests."""
    session.install(".[test]", "pytest-cov")
    lane = session.posargs or ["-m", "quick"]
    session.run(
        "python", "-m", "pytest", "-n", "auto", "--cov=fxgrad", "--cov-report=term:skip-covered", *lane
    )


def build(session):
    """The wheel and the sdist, made in the session's own folder."""
    session.install("build")
    out = Path(session.create_tmp()).resolve() / "dist"
    shutil.rmtree(out, ignore_errors=True)
    session.run("python", "-m", "build", "--installer=uv", "--outdir", str(out), str(ROOT), silent=True)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def check_package(session):
    """Builds the wheel and the sdist, checks what is in them, and returns the wheel."""
    wheel, sdist = build(session)
    session.install("twine")
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    files = set(session.run("git", "ls-files", silent=True, external=True).split())
    wanted = {name for name in files if name.startswith("fxgrad/")}
    if in_wheel != wanted:
        session.error(f"the wheel differs from fxgrad/: {sorted(in_wheel ^ wanted)}")
    if (
        missing := {name for name in files if not name.startswith(".")} - in_sdist - {"docs/notebooks"}
    ):  # a link
        session.error(f"the sdist lacks {sorted(missing)}")
    session.log(f"{wheel.name}: {len(in_wheel)} files, {(size := wheel.stat().st_size):,} bytes")
    if size > WHEEL_LIMIT:
        session.error(f"that is more than {WHEEL_LIMIT:,}")
    return wheel


@nox.session
def package(session):
    """The wheel and the sdist, and what is in them."""
    check_package(session)


@nox.session
def release(session):
    """A release but for what cannot be undone: the files, checked and installed on every Python here, and the tag."""
    tag = f"v{VERSION}"
    if tag in session.run("git", "tag", silent=True, external=True).split():
        session.error(f"{tag} is out: fxgrad/__init__.py and CITATION.cff need another version")
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    entries = dict(part.split("\n", 1) for part in re.split(r"^## ", changes, flags=re.MULTILINE)[1:])
    if not entries.get(VERSION, "").strip():
        session.error(f"CHANGELOG.md has no entry for {VERSION}")
    wheel = check_package(session)
    for python in session.run("python", ".ci/other_python.py", "--all", silent=True).split():
        place = Path(session.create_tmp()).resolve() / "python"
        session.run(python, "-m", "venv", "--clear", str(place), external=True)
        own = next(str(p) for p in (place / "bin/python", place / "Scripts/python.exe") if p.exists())
        wanted = f"fxgrad[native,scipy] @ {wheel.as_uri()}"
        session.run(own, "-m", "pip", "install", "--quiet", wanted, external=True)
        session.chdir(place)  # away from the checkout
        session.run(own, "-m", "fxgrad.info", external=True)
        program = "import fxgrad as fx; assert fx.jit(fx.grad(lambda x: x**3))(2.0) == 12"
        session.run(own, "-c", program, external=True)
        session.chdir(ROOT)
    if unreleased := entries.get("Unreleased", "").count("\n- "):
        session.warn(f"{unreleased} changes in CHANGELOG.md stand under Unreleased, and not under {VERSION}")
    session.log(f"{wheel.parent} has the files. What is left: git tag -a {tag} && git push origin {tag}")


@nox.session
def gpu(session):
    """What a GPU would be given, where there is none: groups of the tests' programs, compiled by NVIDIA's compiler, and
    the tests' stand-in for CuPy beside CuPy's newest wheel, which is read and not imported."""
    session.install(".[test,cuda-build]", "pip")
    compiled = (
        "-p",
        "tests.kernels.cuda.compile_all",
        "-m",
        "quick",
        "tests/transforms",
        "tests/nn",
        "tests/control",
    )
    session.run("python", "-m", "pytest", *compiled)
    folder = Path(session.create_tmp()).resolve()
    session.run(
        "python", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "cupy-cuda12x"
    )
    newest = max(folder.glob("cupy*.whl"), key=lambda file: file.stat().st_mtime)
    session.run("python", "-m", "tests.cupy_stand_in.compare", str(newest))


@nox.session(python=["3.11", "3.12", "3.13", "3.14", "3.14t"])
@nox.parametrize("dependencies", ["newest", "lowest"])
def install(session, dependencies):
    """The quick lane on the installed wheel, away from this folder, with the newest or the lowest dependencies."""
    wheel, sdist = build(session)
    here = Path(session.create_tmp()).resolve() / "away"
    shutil.rmtree(here, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(here, filter="data")
    checkout = next(here.iterdir())
    shutil.rmtree(checkout / "fxgrad")
    if dependencies == "lowest":  # direct ones, read from the project: of a wheel they would be indirect
        session.install(
            "--resolution", "lowest-direct", "--extra", "all", "-r", str(checkout / "pyproject.toml")
        )
    session.install(f"fxgrad[test] @ {wheel.as_uri()}")
    session.chdir(checkout)
    session.run(
        "python", "-m", "pytest", "-n", "2", "-m", "quick", "tests", "--ignore=tests/house", *session.posargs
    )
