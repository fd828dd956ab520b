"""Programs that write into arrays: under every transform they give what they give on plain arrays, and derivatives."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp

X = np.random.default_rng(5).uniform(0.5, 2.0, (3, 4))
Y = np.random.default_rng(6).uniform(0.5, 2.0, (3, 4))


def agree(function, *args):
    """The function gives under grad, jvp, vmap and jit what it gives on plain arrays, its derivative is that of finite
    differences, and the arguments are as before."""
    before = copy.deepcopy(args)
    wanted = function(*copy.deepcopy(args))
    value, pullback = fx.vjp(function, *args)
    tangents = tuple([np.cos(np.arange(x.size, dtype=float)).reshape(x.shape) for x in args])
    along, tangent = fx.jvp(function, args, tangents)
    h = 1e-6
    moved = [function(*[x + s * h * t for x, t in zip(args, tangents)]) for s in (1, -1)]
    np.testing.assert_allclose(tangent, (moved[0] - moved[1]) / (2 * h), 1e-5, 1e-6)
    ct = np.sin(np.arange(1, np.size(wanted) + 1.0)).reshape(np.shape(wanted))
    both = sum(np.vdot(a, t) for a, t in zip(pullback(ct), tangents))
    np.testing.assert_allclose(both, np.vdot(ct, tangent), 1e-9, 1e-10)
    mapped = fx.vmap(function)(*[np.stack([x, x]) for x in args])[1]
    for found in (value, along, mapped, fx.jit(function)(*args)):
        assert isinstance(found, np.ndarray | np.generic)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, 1e-12, 1e-12)
    for a, b in zip(args, before):
        np.testing.assert_array_equal(a, b)


# -- one way of writing after another --------------------------------------------------------------------------------
def written(write):
    """A program that writes into a copy of x."""

    def program(x, y):
        b = x.copy()
        write(b, x, y)
        return b

    return program


WRITES = {
    "integer": lambda b, x, y: b.__setitem__(1, y[0]),
    "slice": lambda b, x, y: b.__setitem__((slice(None), slice(1, 3)), y[:, :2] * x[:, 1:3]),
    "number": lambda b, x, y: b.__setitem__((0, -1), y[1, 1] ** 2),
    "constant": lambda b, x, y: b.__setitem__(slice(1, None), 7),
    "mask": lambda b, x, y: b.__setitem__(b > 1.2, 0),
    "ellipsis": lambda b, x, y: b.__setitem__(..., y[0]),
    "array": lambda b, x, y: b.__setitem__([0, 2], y[:2]),
    "overlapping": lambda b, x, y: b.__setitem__(slice(1, None), b[:-1]),
    "list": lambda b, x, y: b.__setitem__(0, [y[0, 0], 1.0, 2, x[0, 0]]),
    "of arrays of objects": lambda b, x, y: b.__setitem__(0, np.array([y[0, 0], 1.0, 2, x[0, 0]])),
    "added": lambda b, x, y: b.__iadd__(y),
    "divided": lambda b, x, y: b.__itruediv__(y[0]),
    "power": lambda b, x, y: b.__ipow__(2),
    "product": lambda b, x, y: b.__imatmul__(np.ones((4, 4))),
    "add.at": lambda b, x, y: np.add.at(b, ([0, 0, 1], [1, 1, 2]), y[0, :3]),
    "multiply.at": lambda b, x, y: np.multiply.at(b, [0, 0, 1], y),
    "negative.at": lambda b, x, y: np.negative.at(b, [0, 0, 1]),
    "out": lambda b, x, y: np.multiply(b, y, out=b),
    "out, where": lambda b, x, y: np.divide(x, y, out=b, where=X > 1.2),
    "out of sum": lambda b, x, y: np.sum(y[:, None] * x, axis=0, out=b),
    "put": lambda b, x, y: np.put(b, [0, 5, -1], y[0, :3]),
    "put_along_axis": lambda b, x, y: np.put_along_axis(b, np.array([[1], [0], [2]]), y[:, :1], 1),
    "copyto": lambda b, x, y: np.copyto(b, y, where=X > 1.2),
    "place": lambda b, x, y: np.place(b, X > 1.2, y[0, :2]),
    "putmask": lambda b, x, y: np.putmask(b, X > 1.2, y[0, :3]),
    "fill_diagonal": lambda b, x, y: np.fill_diagonal(b, y[0, 0]),
    "fill": lambda b, x, y: b.fill(y[0, 0]),
    "sort": lambda b, x, y: b.sort(axis=0),
    "method put": lambda b, x, y: b.put([1, 2], y[0, 0]),
    "flat": lambda b, x, y: b.flat.__setitem__(slice(0, 6, 2), y[0, :3]),
    "all flat": lambda b, x, y: setattr(b, "flat", y[0]),
    "transposed": lambda b, x, y: b.T.__setitem__(0, y[:, 0]),
    "real": lambda b, x, y: setattr(b, "real", 2 * y),
    "rows": lambda b, x, y: [row.__imul__(x[i, 0]) for i, row in enumerate(b)],
    "view of a view": lambda b, x, y: b[1:][:, ::2].__iadd__(y[:2, :2]),
    "reshaped": lambda b, x, y: b.reshape(4, 3)[1:3].__setitem__(slice(None), y[:2, :3]),
    "ravelled": lambda b, x, y: b.ravel().__setitem__(slice(5, 8), 0.0),
    "a copy": lambda b, x, y: b.T.ravel().__setitem__(slice(5, 8), 0.0),
    "flattened": lambda b, x, y: b.flatten().__setitem__(0, 0.0),
    "swapped": lambda b, x, y: np.swapaxes(b, 0, 1)[1].__iadd__(1.0),
    "flipped": lambda b, x, y: np.flip(b, 0)[0].__setitem__(slice(None), y[0]),
    "rotated": lambda b, x, y: np.rot90(b)[0].__imul__(2.0),
    "split": lambda b, x, y: [part.__imul__(k) for k, part in enumerate(np.split(b, 2, axis=1))],
    "expanded": lambda b, x, y: np.expand_dims(b, 1)[0, 0].__setitem__(slice(None), 1.0),
    "at least 3d": lambda b, x, y: np.atleast_3d(b)[:, 0, 0].__iadd__(y[:, 0]),
    "new axis": lambda b, x, y: b[None, 1:, None].__imul__(3.0),
    "backwards": lambda b, x, y: b[::-1, ::-2].__setitem__(0, y[0, :2]),
    "shifted": lambda b, x, y: b[:, 1:].__iadd__(b[:, :-1]),
    "empty": lambda b, x, y: b[3:].__iadd__(1.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written(name):
    agree(written(WRITES[name]), X, Y)


def test_a_write_is_seen_by_every_view_and_by_its_base():
    def program(x):
        b = np.zeros_like(x)
        row, column, corner = b[0], b.T[1], b[:2, :2]
        row[...] = x[1]
        column += 1
        corner *= x[:2, :2]
        b[0, 0] = 5.0
        return np.concatenate([row, column, corner.ravel(), b.ravel()])

    agree(program, X)


def test_values_taken_before_a_write_are_as_they_were():
    def program(x):
        b = x * 1
        b = b.copy()
        square, part, single = b**2, b[0].copy(), b[0, 1]
        b[:] = 0.0
        return np.concatenate([square.ravel(), part, [single], b.ravel()])

    agree(program, X)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros_like(x),
        lambda x: np.ones_like(x),
        lambda x: np.full_like(x, 2.0),
        lambda x: np.full_like(x, x[0, 0]),
        lambda x: np.empty_like(x) * 0 + np.zeros_like(x).copy(),
        lambda x: np.copy(x),
        lambda x: x.copy(),
        lambda x: copy.copy(x.copy()),
        lambda x: copy.deepcopy(x.copy()),
        lambda x: np.zeros((3, 4), like=x) if not isinstance(x, np.ndarray) else np.zeros((3, 4)),
    ],
)
def test_arrays_made_inside_can_be_written_into(make):
    def program(x):
        b = make(x).copy()
        b[1, 1:] = x[0, 1:] * 2
        b[2] += x[0]
        return b

    agree(program, X)


@pytest.mark.parametrize("write_before", [True, False])
@pytest.mark.parametrize(
    "copied",
    [
        lambda x: fnp.asarray(x, copy=True),
        lambda x: fnp.asanyarray(x, copy=True),
        lambda x: np.reshape(x, (3, 4), copy=True),
        lambda x: x.reshape(3, 4, copy=True),
        lambda x: fnp.reshape(x, (12,), copy=True),
        lambda x: np.meshgrid(x[0], x[1])[0],
        lambda x: np.meshgrid(x[0], x[1], sparse=True)[1],
    ],
)
def test_a_write_into_a_copy_is_not_seen_by_what_was_copied(copied, write_before):
    def program(x):
        x = x * 1
        if write_before:
            x[0, 0] = 2.0  # it is a box from here on
        b = copied(x)
        b[...] = 9.0
        return np.concatenate([x.ravel(), b.ravel()])

    agree(program, X)


def test_complex_arrays_have_parts_to_write_into():
    def program(x):
        b = np.zeros_like(x, dtype=complex)
        b.real = x
        b.imag[0] = x[1] ** 2
        b[1:].imag += 3
        return np.abs(b * (1 + 2j))

    agree(program, X)


# -- dtypes, shapes, errors ------------------------------------------------------------------------------------------
def under_grad(write, x=X):
    fx.grad(lambda x: (write(x), x.sum())[1])(x)


def test_a_derivative_is_not_lost_in_another_dtype():
    with pytest.raises(fx.DTypeError, match=r"(?s)derivative would be lost.*dtype=f"):
        under_grad(lambda x: np.zeros_like(x, dtype=int).__setitem__(0, x[0]))
    with pytest.raises(fx.DTypeError, match=r"derivative would be lost"):
        under_grad(lambda x: np.zeros_like(x).__setitem__(0, 1j * x[0]))
    with pytest.raises(TypeError, match="same_kind"):
        under_grad(lambda x: np.zeros_like(x, dtype=int).__iadd__(x))
    with pytest.raises(TypeError, match="same_kind"):
        under_grad(lambda x: np.copyto(np.zeros_like(x), 1j))


def test_plain_values_are_cast_as_numpy_casts_them():
    def counts(x):
        n = np.zeros_like(x, dtype=int)
        n[0] = 1.7
        n[1] += 2
        return n * x

    agree(counts, X)
    with pytest.warns(np.exceptions.ComplexWarning):
        under_grad(lambda x: np.zeros_like(x).__setitem__(0, 1j))
    single = fx.jit(lambda x: fnp.sum(single_precision(x)))(X)
    assert single.dtype == np.float32


def single_precision(x):
    b = np.zeros_like(x, dtype=np.float32)
    b[0] = x[0]
    b += x
    return b


@pytest.mark.parametrize(
    "write, error",
    [
        (lambda b, x: b.__setitem__(0, x), ValueError),
        (lambda b, x: b.__setitem__(7, 0.0), IndexError),
        (lambda b, x: b[0].__iadd__(x), ValueError),
        (lambda b, x: b.diagonal().__setitem__(0, 0.0), ValueError),
        (lambda b, x: np.broadcast_to(b[0], (2, 4)).__setitem__(0, 0.0), ValueError),
        (lambda b, x: b.__delitem__(0), ValueError),
        (lambda b, x: len(b[0, 0]), TypeError),
    ],
)
def test_errors_are_those_of_numpy(write, error):
    try:
        write(X.copy(), X)
    except (ValueError, IndexError, TypeError) as theirs:
        assert isinstance(theirs, error)
    with pytest.raises((error, fx.ImmutableError)):
        under_grad(lambda x: write(x.copy(), x))


def test_arguments_are_the_functions_own():
    def step(u, v):
        u[0], v[1:] = 0.0, u[1:] * v[:-1]
        v += u
        return v

    x = X.copy()
    agree(lambda x: step(x, x * 2), x)
    agree(lambda x: step(x * 2, x), x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(fx.vmap(step)(x[None], x[None])[0], step(X.copy(), X.copy()))
    np.testing.assert_array_equal(fx.lax.scan(lambda c, _: (step(c, c * 2), None), x, None, length=1)[0],
                                  step(X.copy(), X * 2))  # fmt: skip
    np.testing.assert_array_equal(x, X)


def test_a_plain_array_cannot_hold_traced_values():
    def buffer(x):
        out = np.zeros(3)
        out[0] = x[0, 0]

    with pytest.raises(fx.ArrayConversionError, match=r"(?s)try: .*fnp\.zeros\(shape\)"):
        under_grad(buffer)


@pytest.mark.parametrize("body", ["scan", "cond", "while", "jit", "checkpoint"])
def test_bodies_do_not_write_into_what_was_made_outside(body):
    def program(x):
        b = np.zeros_like(x)

        def write(carry, _=None):
            b[0] = 1.0
            return carry, None

        if body == "scan":
            fx.lax.scan(write, 0.0, None, length=2)
        elif body == "cond":
            fx.lax.cond(x[0, 0] > 0, lambda: write(0.0)[0], lambda: 1.0)
        elif body == "while":
            fx.lax.while_loop(lambda i: i < 2, lambda i: write(i)[0] + 1, 0)
        elif body == "jit":
            fx.jit(lambda z: write(z)[0])(1.0)
        else:
            fx.checkpoint(lambda z: write(z)[0])(x)
        return b

    with pytest.raises(fx.ImmutableError, match="made outside"):
        fx.jit(program)(X)


def test_bodies_write_into_their_own():
    def step(carry, row):
        b = np.zeros_like(carry)
        b[1:] = carry[:-1]
        b[0] = row.sum()
        return b, b * 2

    def program(x):
        last, rows = fx.lax.scan(step, x[0], x)
        return np.concatenate([rows, [last]])

    with fx.disable_jit():
        wanted = program(X)
    for found in (
        program(X),
        fx.jit(program)(X),
        fx.vmap(program)(X[None])[0],
        fx.jvp(program, (X,), (X,))[0],
    ):
        np.testing.assert_allclose(found, wanted)
    fx.testing.check_grads(program, (X,))


def test_what_is_written_by_an_inner_level_ends_with_it():
    def program(x):
        b = np.zeros_like(x)
        fx.vmap(lambda row: (b.__setitem__(0, row), row)[1])(x)
        return b.sum()

    with pytest.raises(fx.EscapedTracerError):
        fx.grad(program)(X)


def test_an_unmapped_array_becomes_mapped_by_what_is_written():
    def program(w, x):
        b = np.zeros(3, like=x)
        b[0] = x
        b[1] = w[1]
        return b

    found = fx.vmap(program, (None, 0))(np.ones(3), np.arange(2.0))
    np.testing.assert_array_equal(found, [[0, 1, 0], [1, 1, 0]])
    jacobian = fx.jacobian(lambda x: fx.vmap(program, (None, 0))(np.ones(3), x))(np.arange(2.0))
    np.testing.assert_array_equal(jacobian[..., 0], [[1, 0, 0], [0, 0, 0]])


def test_positions_and_masks_that_are_not_known():
    def program(x, i):
        b = np.zeros_like(x)
        b[i] = x[0]
        row = b[i]
        row += 1
        b[x > 1.0] = 0.0
        b[i, 1] += x[1, 1]
        return b

    wanted = program(X, 2)
    np.testing.assert_allclose(fx.jit(program)(X, 2), wanted)
    both = np.stack([X, X]), np.array([0, 2])
    np.testing.assert_allclose(fx.vmap(program)(*both)[1], wanted)
    np.testing.assert_allclose(fx.jit(fx.vmap(program))(*both)[1], wanted)


def test_results_and_auxiliary_results_are_arrays():
    def program(x):
        b = np.zeros_like(x)
        b[0] = x[0]
        return b.sum(), {"b": b, "row": b[0]}

    _, aux = fx.grad(program, has_aux=True)(X)
    assert type(aux["b"]) is np.ndarray
    np.testing.assert_array_equal(aux["row"], X[0])
    assert type(fx.eval_shape(lambda x: x.copy(), X)) is fx.ShapeDtypeStruct
    (found,) = fx.make_graph(written(WRITES["slice"]))(X, Y)(X, Y)
    np.testing.assert_array_equal(found, written(WRITES["slice"])(X, Y))


def test_second_derivatives():
    def program(x):
        b = np.zeros_like(x)
        b[0] = x[0] ** 3
        b[1] = b[0] * x[1]
        b[1] *= b[1]
        return b.sum()

    pure = lambda x: (x[0] ** 3).sum() + ((x[0] ** 3 * x[1]) ** 2).sum()  # noqa: E731
    x = X[:2]
    np.testing.assert_allclose(fx.hessian(program)(x), fx.hessian(pure)(x), 1e-9)
    np.testing.assert_allclose(fx.jit(fx.hessian(program))(x), fx.hessian(pure)(x), 1e-9)


def test_a_box_behaves_like_an_array():
    notes = {}

    def program(x):
        b = x.copy()
        view = b[1:, ::2]
        notes["flags"] = b.flags.c_contiguous, view.flags.c_contiguous, b.strides, view.strides
        notes["base"] = b.base is None, view.base is b
        notes["text"] = repr(b), f"{b[0, 0]:.2f}"
        assert isinstance(b, fx.Array)
        assert b.shape == (3, 4) and b.ndim == 2 and b.size == 12 and b.dtype == float and len(b) == 3
        assert len(list(b.flat)) == 12
        with pytest.raises(TypeError, match="unhashable"):
            hash(b)
        return (b @ b.T + b[0] @ b[1] - 2 * b[0, 0] + abs(-b).mean() + divmod(b, 3)[1].std()) / b.max()

    agree(program, X)
    fx.grad(lambda x: program(x).sum())(X)
    known = fx.jvp(
        lambda x: (bool((x.copy() == x).all()), 0 in x.copy(), round(x.copy()[0, 0], 1)), (X,), (X,)
    )
    assert known[0][:2] == (True, False)
    plain = X.copy()
    assert notes["flags"] == (True, False, plain.strides, plain[1:, ::2].strides)
    assert notes["base"] == (True, True)
    assert notes["text"][1] == f"{X[0, 0]:.2f}"


# -- any sequence of writes ------------------------------------------------------------------------------------------
ENDS = st.none() | st.integers(-3, 3)
SLICES = st.builds(slice, ENDS, ENDS, st.sampled_from([None, 1, 2, -1]))
ARRAYS = st.sampled_from([np.array([2, 0]), (np.array([0, 0]), np.array([1, 3]))])
KEYS = st.tuples(st.integers(-3, 2) | SLICES, SLICES) | ARRAYS
VIEWS = {
    "T": lambda a: a.T,
    "ravel": lambda a: a.ravel(),
    "reshape": lambda a: a.reshape(-1, 2) if a.size % 2 == 0 else a.reshape(-1),
    "flip": lambda a: np.flip(a),
    "tail": lambda a: a[1:],
    "squeeze": lambda a: np.squeeze(a),
    "new axis": lambda a: a[..., None],
    "copy": lambda a: a.copy(),
}
STEPS = st.one_of(
    st.tuples(st.just("view"), st.integers(0, 9), st.sampled_from(sorted(VIEWS))),
    st.tuples(st.just("set"), st.integers(0, 9), KEYS),
    st.tuples(st.just("add"), st.integers(0, 9), KEYS),
    st.tuples(st.just("scale"), st.integers(0, 9), st.sampled_from([2.0, -0.5])),
    st.tuples(st.just("read"), st.integers(0, 9), KEYS),
)


def run(steps, x):
    """Carry out steps on a copy of x and on views of it; what does not fit is left out."""
    arrays, total = [x.copy()], x[0, 0] * 0
    for n, (what, which, how) in enumerate(steps):
        a = arrays[which % len(arrays)]
        try:
            if what == "view":
                arrays.append(VIEWS[how](a))
            elif what == "set":
                a[how] = x[0, 0] * (n + 1)
            elif what == "add":
                a[how] += x[1, 1] * a[how]
            elif what == "scale":
                a *= how
            else:
                total = total + (a[how] * (n + 1)).sum() * x[2, 3]
        except IndexError:
            pass
    return np.concatenate([np.ravel(a) for a in [total, *arrays]])


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_any_sequence_of_writes_and_views(steps):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = run(steps, X)
        value, tangent = fx.jvp(lambda x: run(steps, x), (X,), (Y,))
        np.testing.assert_allclose(value, wanted, 1e-12)
        h = 1e-6
        np.testing.assert_allclose(
            tangent, (run(steps, X + h * Y) - run(steps, X - h * Y)) / (2 * h), 1e-5, 1e-5
        )
        np.testing.assert_allclose(fx.jit(lambda x: run(steps, x))(X), wanted, 1e-12)
