"""What the docstrings of fxgrad.scipy say of SciPy is true: namesakes exist, and have the arguments that are named."""

import importlib
import inspect
import re

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")

NAMESPACES = (
    "cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
    "spatial.distance", "special", "stats",
)  # fmt: skip
SHARED = re.compile(r"are those of\s+`scipy\.([\w.]+)\((.*?)\)`")
PAGE = re.compile(r"https://docs\.scipy\.org/doc/scipy/reference/generated/scipy\.([\w.]+)\.html")


def documented():
    """The functions of SciPy's names: their namespaces, names and docstrings."""
    found = []
    for namespace in NAMESPACES:
        module = importlib.import_module(f"fxgrad.scipy.{namespace}")
        names = getattr(module, "__all__", None) or vars(module)
        for name in sorted(set(names)):
            text = getattr(getattr(module, name), "__doc__", None) or ""
            if text.find("generated/scipy.") > 0:
                found.append((namespace, name, " ".join(text.split())))
    return found


@pytest.mark.parametrize(
    "namespace, name, text", [pytest.param(*d, id=".".join(d[:2])) for d in documented()]
)
def test_a_docstring_names_what_scipy_has(namespace, name, text):
    library = importlib.import_module(f"scipy.{namespace}")
    path = PAGE.search(text)[1]
    assert hasattr(library, path.removeprefix(f"{namespace}."))
    shared = SHARED.search(text)
    if shared is None:
        return
    assert shared[1] == path
    if isinstance(getattr(library, name), np.ufunc) or np.lib.NumpyVersion(scipy.__version__) < "1.17.0":
        return
    parameters = inspect.signature(getattr(library, name)).parameters
    if parameters.keys() - {"args", "kwargs"} == parameters.keys():
        ours = {p.strip("*") for p in filter(None, shared[2].split(", "))}
        assert ours <= parameters.keys()


def test_many_functions_say_whose_values_they_have():
    assert sum(bool(SHARED.search(text)) for _, _, text in documented()) > 350
