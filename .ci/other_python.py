"""Prints the path of the newest Python of this machine that is supported and is not of the version that runs this
file; with `--free-threaded` of the newest that has no global lock; with `--all` the paths of one of each version. It
looks for names on the path, then in the folders of pyenv and of uv. A name that does not run, as pyenv's for a version
that is not selected, is passed over. Exits with 1 where there is none.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SUPPORTED = ("3.14", "3.13", "3.12", "3.11")
WHO = "import sys, sysconfig; print(sys.executable, sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"


def places(name):
    """Where a Python of this name may be."""
    yield from filter(None, [shutil.which(name)])
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/*/bin/{name}"))
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv/python")
    yield from sorted(uv.glob(f"*/bin/{name}"))


def find(free_threaded):
    """The first Python that runs of each version, the newest first, as pairs of version and path."""
    for version in SUPPORTED:
        for place in places(f"python{version}{'t' * free_threaded}"):
            done = subprocess.run([place, "-c", WHO], capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.split()[-1] == str(int(free_threaded)):
                yield version, place
                break


if __name__ == "__main__":
    free_threaded, every = "--free-threaded" in sys.argv, "--all" in sys.argv
    own = None if free_threaded or every else "{}.{}".format(*sys.version_info)
    found = [place for version, place in find(free_threaded) if version != own]
    if not found:
        sys.exit(1)
    print(*(found if every else found[:1]), sep="\n")
