"""Functions of fxgrad.scipy against those of SciPy: traced by jit, and in derivatives against differences."""

from importlib import import_module

import numpy as np

import fxgrad as fx
from fxgrad.testing import check_grads


def assert_like_scipy(namespace, name, *args, traced=1, tolerance=1e-9, derivatives=0, **kwargs):
    """Assert that a function of the first `traced` arguments under jit gives what SciPy's gives, and
    check so many orders of derivatives."""
    theirs = getattr(import_module(f"scipy.{namespace}"), name)
    ours = getattr(import_module(f"fxgrad.scipy.{namespace}"), name)
    values, rest = args[:traced], args[traced:]

    def function(*values):
        return ours(*values, *rest, **kwargs)

    wanted, got = theirs(*args, **kwargs), fx.jit(function)(*values)
    pairs = zip(got, wanted) if isinstance(wanted, tuple) else [(got, wanted)]
    for a, b in pairs:
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, tolerance, tolerance)
    if derivatives:
        check_grads(function, values, order=derivatives)
