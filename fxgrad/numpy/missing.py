"""Names of NumPy's main namespace that fxgrad.numpy lacks: one table, with reasons and replacements."""

from __future__ import annotations

from ..core.errors import UnsupportedError
from ..core.face import missing_attribute

# Functions that write into their first argument, and what to write where that is an array of NumPy's.
INPLACE_FUNCTIONS = {
    "copyto": "x = fnp.where(mask, values, x), fnp.full_like(x, value), or fnp.broadcast_to(values, x.shape)",
    "fill_diagonal": "x = fnp.at(x)[i, i].set(values) for i = np.arange(n)",
    "place": "x = fnp.where(mask, values, x)",
    "put": "x = fnp.at(x.ravel())[indices].set(values).reshape(x.shape)",
    "put_along_axis": "x = fnp.at(x)[…].set(values) with an index array for every axis",
    "putmask": "x = fnp.where(mask, values, x)",
}

# (reason, what to write instead, names)
_GROUPS = [
    (
        "it reads or writes files",
        "NumPy's own function, outside of what is transformed",
        "fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed",
    ),
    (
        "it is about dates, which have no derivatives",
        "NumPy's own function, and numbers from there on",
        "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat "
        "timedelta64",
    ),
    (
        "it is about text, objects or records",
        "NumPy's own, and numbers from there on",
        "base_repr binary_repr bytes_ character flexible format_float_positional format_float_scientific mintypecode "
        "object_ record recarray str_ typename void",
    ),
    (
        "it is about the memory of an array, of which a traced value has none",
        "fnp.asarray, or NumPy's own for plain arrays",
        "asfortranarray isfortran may_share_memory require shares_memory",
    ),
    (
        "it walks through an array entry by entry",
        "fx.vmap, or for index in fnp.ndindex(x.shape)",
        "broadcast flatiter ndenumerate nditer nested_iters",
    ),
    (
        "matrices and polynomials are arrays here",
        "arrays with two axes and @; arrays of coefficients and fnp.polyval, fnp.polymul, …",
        "asmatrix bmat matrix poly1d",
    ),
    (
        "it is a setting or a description of NumPy, and the same for both",
        "NumPy's own, which governs the kernels of fxgrad too",
        "errstate get_include getbufsize geterr geterrcall info setbufsize seterr seterrcall show_config show_runtime "
        "test",
    ),
    ("functions here are Python's", "callable(f)", "ufunc"),
    (
        "whether values are finite is not known of traced ones",
        "fnp.all(fnp.isfinite(x))",
        "asarray_chkfinite",
    ),
]
MISSING_NAMES = {name: (reason, hint) for reason, hint, names in _GROUPS for name in names.split()}


class MissingNameError(UnsupportedError, AttributeError):
    """The error for a name of NumPy's that `fxgrad.numpy` intentionally lacks.

    These are functions that keep state, or that concern memory, files or strings. The message gives the reason, the
    hint the replacement. It is an AttributeError, so that `hasattr` returns False.

    >>> fnp.loadtxt
    Traceback (most recent call last):
        ...
    fxgrad.numpy.missing.MissingNameError: fxgrad.numpy has no loadtxt: it reads or writes files
      at:  ...
      try: NumPy's own function, outside of what is transformed
      see: errors/MissingNameError, or help(fx.MissingNameError)

    >>> import io
    >>> fnp.square(np.loadtxt(io.StringIO("1 2")))
    array([1., 4.])
    """


def missing_name_error(
    name: str, namespace: str = "fxgrad.numpy", missing: dict[str, tuple[str, str]] = MISSING_NAMES
) -> AttributeError:
    """Make the error for a name that is not in a namespace, where `missing` has (reason, hint) of names."""
    if name not in missing:
        return missing_attribute(namespace, name)
    reason, hint = missing[name]
    error = MissingNameError(f"{namespace} has no {name}: {reason}", hint=hint)
    error.name = (
        name  # without `obj`, among whose names Python would look for a similar one to add to the hint
    )
    return error
