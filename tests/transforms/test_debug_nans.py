"""debug_nans: the operation that makes the first NaN or infinity is named, with the user's line, in every nesting."""

import asyncio
import threading
import weakref
from contextvars import Context

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.interpreter import CURRENT, EVAL
from fxgrad.transforms.debug_nans import summarize_array
from tests.programs import X, build, programs, stacks


def reported(call, *args, **options):
    """The error that call(*args) raises inside `debug_nans`; no level stays open."""
    with pytest.raises(fx.NonFiniteError) as caught, fx.debug_nans(**options):
        call(*args)
    assert CURRENT.get() is EVAL
    return caught.value


def quiet(call, *args, **options):
    """The result of call(*args) inside `debug_nans`, where nothing is reported."""
    with fx.debug_nans(**options):
        return call(*args)


def levels(error):
    """The names of the open transforms, outermost first."""
    parts = error.chain.split(" → ")[::-1]
    assert [part.split(":")[0] for part in parts] == [f"level {i + 1}" for i in range(len(parts))]
    return [part.split(": ")[1].split(" at ")[0] for part in parts]


def logarithm(x):
    y = 2 * x
    return fnp.sum(fnp.log(y))


def root(x):
    y = 2 * x
    return fnp.sum(fnp.sqrt(y))


def batches(f):
    return lambda x: fx.vmap(f)(np.stack([x, x]))


def summed(f):
    return lambda x: fnp.sum(f(x))


def tangent(f):
    return lambda x: fx.jvp(f, (x,), (np.ones_like(x),))


# -- forward
FORWARD = {
    "plain": (lambda f: f, []),
    "grad": (fx.grad, ["grad"]),
    "value_and_grad": (fx.value_and_grad, ["value_and_grad"]),
    "jvp": (tangent, ["jvp"]),
    "vmap": (batches, ["vmap"]),
    "jit": (fx.jit, []),
    "checkpoint": (fx.checkpoint, []),
    "vmap(grad)": (lambda f: batches(fx.grad(f)), ["vmap", "grad"]),
    "grad(vmap)": (lambda f: fx.grad(lambda x: fnp.sum(fx.vmap(f)(x[None]))), ["grad", "vmap"]),
    "jit(grad)": (lambda f: fx.jit(fx.grad(f)), ["grad"]),
    "grad(jit)": (lambda f: fx.grad(fx.jit(f)), ["grad"]),
    "grad(checkpoint)": (lambda f: fx.grad(fx.checkpoint(f)), ["grad"]),
    "vmap(grad(checkpoint))": (lambda f: batches(fx.grad(fx.checkpoint(f))), ["vmap", "grad"]),
    "grad(vmap(checkpoint))": (lambda f: fx.grad(summed(batches(fx.checkpoint(f)))), ["grad", "vmap"]),
    "hessian": (fx.hessian, ["linearize", "jvp", "vjp"]),
    "grad(grad)": (lambda f: fx.grad(summed(fx.grad(f))), ["grad", "grad"]),
    "linearize": (lambda f: lambda x: fx.linearize(f, x)[1](x), ["linearize", "jvp"]),
    "a Graph": (lambda f: lambda x: fx.make_graph(f)(x)(x), []),
}


@pytest.mark.parametrize("name", FORWARD)
def test_the_operation_and_its_line_are_named_in_every_nesting(name):
    transform, chain = FORWARD[name]
    error = reported(transform(logarithm), np.array([1.0, -2.0, 3.0]))
    assert str(error).startswith("log: the result has NaN: float64[")
    assert (error.site.function, error.site.line) == ("logarithm", "return fnp.sum(fnp.log(y))")
    assert levels(error) == ["debug_nans", *chain]


def test_the_message():
    error = reported(fx.grad(logarithm), np.array([1.0, -2.0, 0.5, -4.0]))
    lines = str(error).splitlines()
    assert lines[0] == "log: the result has NaN: float64[4] from 0 to 0.693147, 2 NaN"
    assert lines[1] == "  of:  operand 0 float64[4] from -8 to 2"
    assert [line[:6] for line in lines[2:]] == ["  in: ", "  at: ", "  try:", "  see:"]
    assert isinstance(error, FloatingPointError) and isinstance(error, fx.FxgradError)


@pytest.mark.parametrize(
    "operand, words",
    [
        (np.array([[np.nan, 1.0]]), "float64[1,2] from 1 to 1, 1 NaN"),
        (np.array([3 + 4j, np.inf]), "complex128[2] from 5 to 5, 1 inf"),
        (np.array([np.nan, np.inf], np.float32), "float32[2], 1 NaN, 1 inf"),
        (np.array([1, 5]), "int64[2] from 1 to 5"),
        (np.zeros((0, 3)), "float64[0,3]"),
        (np.array([True]), "bool[1]"),
        (2.0, "float (weak) 2"),
        (strict.asarray([1.0, -strict.inf]), "float64[2] from 1 to 1, 1 inf"),
    ],
)
def test_the_statistics_of_an_operand(operand, words):
    assert summarize_array(operand) == words


def test_many_operands_are_not_all_shown():
    error = reported(lambda: fnp.log(fnp.stack([*[fnp.float64(1.0)] * 20, -1.0])))
    assert str(error).count("  of:") == 1
    error = reported(lambda: fnp.mean([1e308] * 20))
    assert str(error).count("  of:") == 8
    assert "and 12 more" in str(error)


# -- backward
BACKWARD = {
    "grad": (fx.grad, "grad"),
    "vjp": (lambda f: lambda x: fx.vjp(f, x)[1](1.0), "vjp"),
    "jit(grad)": (lambda f: fx.jit(fx.grad(f)), "grad"),
    "grad(jit)": (lambda f: fx.grad(fx.jit(f)), "grad"),
    "vmap(grad)": (lambda f: batches(fx.grad(f)), "grad"),
    "grad(vmap)": (lambda f: fx.grad(summed(batches(f))), "grad"),
    "jacrev": (lambda f: fx.jacrev(f), "vjp"),
    "grad(checkpoint)": (lambda f: fx.grad(fx.checkpoint(f)), "checkpoint"),
    "vmap(grad(checkpoint))": (lambda f: batches(fx.grad(fx.checkpoint(f))), "checkpoint"),
    "grad(vmap(checkpoint))": (lambda f: fx.grad(summed(batches(fx.checkpoint(f)))), "checkpoint"),
    "hessian": (fx.hessian, "vjp"),
    "grad(grad)": (lambda f: fx.grad(summed(fx.grad(f))), "grad"),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_a_cotangent_is_blamed_on_the_forward_line(name):
    transform, mode = BACKWARD[name]
    error = reported(transform(root), np.array([1.0, 0.0, 4.0]))
    assert str(error).startswith(f"sqrt: the cotangent of operand 0, in the backward pass of {mode}")
    assert "has inf: float64[" in str(error)
    assert (error.site.function, error.site.line) == ("root", "return fnp.sum(fnp.sqrt(y))")


def test_a_second_derivative_is_blamed_on_the_forward_line():
    """x² ** 0.75 has the derivative 1.5·√x and the second derivative 0.75 / √x, infinite at 0."""

    def f(x):
        return fnp.sum(x**1.5)

    np.testing.assert_array_equal(quiet(fx.grad(f), np.zeros(2)), [0.0, 0.0])
    error = reported(fx.grad(summed(fx.grad(f))), np.zeros(2))
    assert "in the backward pass of grad" in str(error)
    assert error.site.line == "return fnp.sum(x**1.5)"


def power(x):
    return x**2.5


def slope(x):
    return fx.grad(power)(x)


def curvature(x):
    return fx.grad(slope)(x)


def origins(error):
    """The lines of a report that tell to which backward passes the operation belongs."""
    return [line.partition(" at ")[2] for line in str(error).splitlines() if line.startswith("  for: ")]


def test_a_derivative_of_a_derivative_tells_by_which_backward_passes_its_operation_was_done():
    """x ** 2.5 has the third derivative 1.875 / √x."""
    assert quiet(fx.grad(slope), 0.0) == 0.0
    error = reported(fx.grad(curvature), 0.0)
    assert error.site.line == "return x**2.5"
    inner, outer = origins(error)
    assert inner.endswith("in curvature:  return fx.grad(slope)(x)")
    assert outer.endswith("in slope:  return fx.grad(power)(x)")


def test_a_first_derivative_has_no_other_backward_pass():
    assert origins(reported(fx.grad(fnp.sqrt), 0.0)) == []


def test_the_backward_passes_are_told_inside_other_transforms():
    error = reported(fx.vmap(fx.grad(curvature)), np.array([1.0, 0.0]))
    assert len(origins(error)) == 2
    error = reported(fx.jacrev(fx.vmap(curvature)), np.array([1.0, 0.0]))
    assert len(origins(error)) == 2


def test_a_rule_of_the_users_own_is_one_of_the_backward_passes():
    @fx.custom_vjp
    def powered(x):
        return x**2.5

    powered.defvjp(lambda x: (x**2.5, x), lambda x, ct: (2.5 * ct * fnp.sqrt(x) * x,))

    def first(x):
        return fx.grad(powered)(x)

    error = reported(fx.grad(first), np.float64(0.0))
    (origin,) = origins(error)
    assert origin.endswith("first:  return fx.grad(powered)(x)")
    assert error.site.line.startswith("powered.defvjp(")


def test_what_a_report_tells_is_not_kept_for_the_next():
    reported(fx.grad(curvature), 0.0)
    with fx.debug_nans():
        first = fx.grad(curvature)(1.0)
    assert first == pytest.approx(1.875)
    assert origins(reported(fx.grad(fnp.sqrt), 0.0)) == []


def test_the_tangent_of_an_operation():
    error = reported(tangent(root), np.array([1.0, 0.0]))
    assert str(error).startswith(
        "sqrt: the tangent of the result has inf: float64[2] from 0.707107 to 0.707107"
    )
    assert "  of:  operand 0 float64[2] from 0 to 2\n  of:  tangent 0 float64[2] from 2 to 2\n" in str(error)
    assert error.site.line == "return fnp.sum(fnp.sqrt(y))"


def test_the_sum_of_two_infinite_cotangents():
    x = np.float64(0.0)
    error = reported(fx.grad(lambda x: fnp.sqrt(x) - fnp.sqrt(x)), x, infs=False)
    assert str(error).startswith("add: the result has NaN")


# -- custom rules
@fx.custom_jvp
def forward_rule(x):
    return fnp.exp(x)


@forward_rule.defjvp
def forward_rule_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    y = forward_rule(x)
    return y, fnp.divide(t, fnp.log(x))


@fx.custom_vjp
def backward_rule(x):
    return fnp.exp(x)


def backward_rule_bwd(x, ct):
    return (ct * fnp.log(x),)


backward_rule.defvjp(lambda x: (fnp.exp(x), x), backward_rule_bwd)


@pytest.mark.parametrize("transform", [lambda f: f, fx.jit, lambda f: lambda x: fx.vmap(f)(x[None])[0]])
def test_the_line_in_a_custom_rule(transform):
    error = reported(transform(tangent(forward_rule)), np.float64(1.0))
    assert (error.site.function, error.site.line) == (
        "forward_rule_jvp",
        "return y, fnp.divide(t, fnp.log(x))",
    )
    error = reported(transform(fx.grad(backward_rule)), np.float64(0.0))
    assert (error.site.function, error.site.line) == ("backward_rule_bwd", "return (ct * fnp.log(x),)")


def test_the_transpose_of_a_custom_rule():
    error = reported(fx.grad(forward_rule), np.float64(1.0))
    assert "custom_jvp_call: the cotangent of operand 0, in the backward pass of grad" in str(error)


def test_the_function_of_a_custom_rule():
    @fx.custom_vjp
    def f(x):
        return fnp.log(x)

    f.defvjp(lambda x: (fnp.log(x), x), lambda x, ct: (ct / x,))
    for transform in (lambda f: f, batches, fx.jit, fx.grad):
        error = reported(transform(summed(f)), np.array([-1.0]))
        assert str(error).startswith("log: the result has NaN") and "fnp.log(x)" in error.site.line


# -- loops and branches
def scanned(f):
    def loop(x):
        def step(carry, row):
            y = carry * f(row)
            return y, y

        return fx.lax.scan(step, 1.0, x)[1][-1]

    return loop


def repeated(f):
    return lambda x: fx.lax.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, f(x) + c[1]), (0, 0.0), max_steps=3
    )[1]


def chosen(f):
    return lambda x: fx.lax.cond(fnp.sum(x) > -10, f, lambda x: 0.0 * fnp.sum(x), x)


@pytest.mark.parametrize("loop", [scanned, repeated, chosen])
@pytest.mark.parametrize(
    "name", ["plain", "grad", "jvp", "vmap", "jit", "vmap(grad)", "grad(jit)", "jit(grad)", "hessian"]
)
def test_the_line_in_the_body_of_a_loop(loop, name):
    transform, _ = FORWARD[name]
    x = np.array([[1.0, 2.0], [3.0, -1.0]]) if loop is scanned else np.array([3.0, -1.0])
    error = reported(transform(loop(logarithm)), x)
    assert str(error).startswith("log: the result has NaN")
    assert (error.site.function, error.site.line) == ("logarithm", "return fnp.sum(fnp.log(y))")


@pytest.mark.parametrize(
    "loop, name",
    [
        *(
            (loop, name)
            for loop in (scanned, repeated)
            for name in ("grad", "vmap(grad)", "grad(vmap)", "jit(grad)")
        ),
        *((chosen, name) for name in ("grad", "jit(grad)")),  # vmap computes both branches for all entries
    ],
)
def test_the_forward_line_in_the_body_of_a_loop(loop, name):
    transform, _ = BACKWARD[name]
    x = np.array([[1.0, 2.0], [3.0, 0.0]]) if loop is scanned else np.array([3.0, 0.0])
    error = reported(transform(loop(root)), x)
    assert str(error).startswith("sqrt: the cotangent of operand 0, in the backward pass of grad")
    assert (error.site.function, error.site.line) == ("root", "return fnp.sum(fnp.sqrt(y))")


def test_a_branch_of_a_batch_is_one_step_on_the_way_back():
    error = reported(batches(fx.grad(chosen(root))), np.array([3.0, 0.0]))
    assert str(error).startswith("switch: the cotangent of operand 1, in the backward pass of grad")
    assert error.site.function.startswith("chosen")


def test_loops_step_by_step_give_the_same():
    x = np.random.default_rng(0).uniform(0.5, 2.0, (3, 2))

    def f(x):
        def step(carry, row):
            i, c = carry
            return (i + 1, c * fnp.sin(row[0]) + i), {"y": c + row, "i": i}

        (_, c), ys = fx.lax.scan(step, (0, np.float64(1.0)), x, reverse=True)
        total = fx.lax.fori_loop(0, 3, lambda i, s: s + i * c, 0.0)
        empty = fx.lax.scan(step, (0, c), x[:0])[1]["y"]
        return c + fnp.sum(ys["y"] * ys["i"][:, None]) + total + fnp.sum(empty)

    for transform in (lambda f: f, fx.grad, fx.jit, batches, lambda f: batches(fx.grad(f)), fx.hessian):
        np.testing.assert_allclose(quiet(transform(f), x), transform(f)(x), rtol=1e-13)
    loop = fx.vmap(lambda x: fx.lax.while_loop(lambda c: c < 10, lambda c: 2 * c, x))
    np.testing.assert_array_equal(quiet(loop, np.array([1.0, 7.0])), [16.0, 14.0])


# -- what is reported, and what is not
def test_nans_and_infs_are_chosen_apart():
    x = np.array([0.0, 1.0])
    with pytest.warns(RuntimeWarning, match="divide by zero"):  # NumPy's own, as without the context
        np.testing.assert_array_equal(quiet(fnp.log, x, infs=False), [-np.inf, 0])
    with pytest.warns(RuntimeWarning, match="invalid"):
        assert np.isnan(quiet(fnp.log, np.float64(-1.0), nans=False))
    assert "fx.debug_nans(infs=False)" in str(reported(fnp.log, x, nans=False))
    reported(lambda: fnp.subtract(fnp.inf, fnp.inf), infs=False)


def test_what_had_it_already_is_not_blamed():
    x = np.array([1.0, np.nan, 2.0])
    np.testing.assert_array_equal(quiet(fx.grad(logarithm), x), [1.0, np.nan, 0.5])
    assert np.isneginf(quiet(fnp.where, np.array([True, False]), 1.0, -np.inf)[1])
    assert np.isnan(quiet(fnp.full_like, 1.0, np.nan))
    assert np.isnan(quiet(fx.jit(lambda x: fnp.full_like(x, np.nan)), 1.0))
    assert np.isposinf(quiet(fnp.max, np.array([np.inf, 1.0])))


def test_a_new_nan_beside_an_old_one_is_found():
    error = reported(fnp.log, np.array([np.nan, -1.0]))
    assert "2 NaN" in str(error)
    assert "operand 0 float64[2] from -1 to -1, 1 NaN" in str(error)
    assert "has inf" in str(reported(fnp.log, np.array([np.nan, 0.0])))


def test_cotangents_that_are_masked_away_do_not_count():
    x = np.array([4.0, 0.0])
    masked = fx.grad(lambda x: fnp.sum(fnp.where(x > 0, fnp.sqrt(x), 0.0)))
    np.testing.assert_array_equal(quiet(masked, x), [0.25, 0.0])
    np.testing.assert_array_equal(quiet(fx.jit(fx.vmap(masked)), x[None]), [[0.25, 0.0]])
    np.testing.assert_array_equal(quiet(fx.grad(lambda x: fnp.sqrt(x)[0]), x), [0.25, 0.0])
    np.testing.assert_array_equal(quiet(fx.grad(lambda x: fnp.max(fnp.sqrt(x))), x), [0.25, 0.0])
    np.testing.assert_array_equal(quiet(fx.grad(summed(masked)), x), [-1 / 32, 0.0])


def test_a_result_counts_although_it_is_discarded():
    """As in JAX: the value of the operation is NaN, whatever `where` makes of it."""
    error = reported(fx.grad(lambda x: fnp.sum(fnp.where(x > 0, fnp.log(x), 0.0))), np.array([-1.0]))
    assert str(error).startswith("log: the result has NaN")


@pytest.mark.parametrize(
    "f, x",
    [
        (fnp.linalg.norm, np.zeros(3)),
        (lambda x: fnp.prod(x), np.array([0.0, 0.0, 2.0])),
        (lambda x: fnp.sum(fnp.sinc(x)), np.zeros(2)),
        (lambda x: 0.0**x, np.float64(2.0)),
        (lambda x: fnp.sum(fnp.logaddexp(x, -np.inf)), np.zeros(2)),
        (lambda x: fnp.std(x + 0 * fnp.sum(x)) + fnp.var(x), np.array([1.0, 2.0])),
        (lambda x: fnp.sum(fnp.nan_to_num(x)), np.array([np.nan, np.inf])),
    ],
)
def test_what_rules_and_functions_discard_inside_does_not_count(f, x):
    """Operations at points where their formulas divide by zero and select."""
    for transform in (lambda f: f, fx.grad, tangent, fx.jit, batches, lambda f: batches(fx.grad(f))):
        quiet(transform(f), x)


def test_numpy_on_plain_arrays_is_not_seen():
    with np.errstate(invalid="ignore"):
        assert np.isnan(quiet(np.log, np.float64(-1.0)))


# -- where the context is opened
def test_opened_inside_a_transformed_function():
    def f(x):
        with fx.debug_nans():
            return logarithm(x)

    bad = np.array([1.0, -1.0])
    for transform, chain in [
        (fx.grad, ["grad"]),
        (tangent, ["jvp"]),
        (batches, ["vmap"]),
        (lambda f: batches(fx.grad(f)), ["vmap", "grad"]),
    ]:
        with pytest.raises(fx.NonFiniteError, match="log: the result has NaN") as caught:
            transform(f)(bad)
        assert levels(caught.value) == [*chain, "debug_nans"]
        assert CURRENT.get() is EVAL
    np.testing.assert_allclose(fx.grad(f)(np.array([1.0, 2.0])), [1.0, 0.5])
    np.testing.assert_allclose(fx.jit(fx.grad(f))(np.array([1.0, 2.0])), [1.0, 0.5])


def test_a_transform_called_inside_the_context_inside_a_transform():
    def f(x):
        with fx.debug_nans():
            return fnp.sum(fx.grad(root)(x))

    for transform in (fx.vmap, lambda f: lambda x: fx.vmap(fx.grad(f))(x)):
        with pytest.raises(fx.NonFiniteError, match="sqrt: the cotangent of operand 0, in the backward pass"):
            transform(f)(np.array([[1.0, 0.0]]))


def test_the_innermost_context_decides():
    with fx.debug_nans(), fx.debug_nans(nans=False):
        with pytest.warns(RuntimeWarning, match="invalid"):
            assert np.isnan(fnp.log(np.float64(-1.0)))
        with pytest.raises(fx.NonFiniteError):
            fnp.log(0.0)


def test_jit_gives_results_of_its_own():
    x = np.arange(3.0)
    f = fx.jit(lambda x: (x, x))
    a, b = quiet(f, x)
    a[0] = 5
    assert x[0] == b[0] == 0


def test_the_same_results_as_without():
    x = np.random.default_rng(0).uniform(0.5, 2.0, (2, 3))

    def f(x):
        y = fnp.tanh(x @ x.T) / fnp.linalg.norm(x)
        return fnp.sum(fnp.where(y > 0, fnp.log1p(y), y) ** 2) + fnp.max(x) * fnp.var(x)

    for transform in (lambda f: f, fx.grad, fx.hessian, lambda f: fx.jit(fx.grad(f)), tangent):
        for a, b in zip(np.atleast_1d(quiet(transform(f), x)), np.atleast_1d(transform(f)(x))):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


def test_arrays_of_another_library():
    error = reported(fnp.log, strict.asarray([1.0, -1.0]))
    assert "operand 0 float64[2] from -1 to 1" in str(error)
    assert "backward pass" in str(reported(fx.grad(root), strict.asarray([1.0, 0.0])))


# -- context, memory, warnings
def test_threads_do_not_see_each_others_context():
    found = []

    def other():
        with np.errstate(all="ignore"):
            found.append(fnp.log(np.float64(-1.0)))

    with fx.debug_nans():
        thread = threading.Thread(target=Context().run, args=(other,))
        thread.start()
        thread.join()
    assert np.isnan(found[0])


def test_tasks_do_not_see_each_others_context():
    async def watched(entered, checked):
        with fx.debug_nans():
            entered.set()
            await checked.wait()
            with pytest.raises(fx.NonFiniteError):
                fnp.log(0.0)

    async def free(entered, checked):
        await entered.wait()
        with np.errstate(all="ignore"):
            assert fnp.log(0.0) == -np.inf
        checked.set()

    async def both():
        entered, checked = asyncio.Event(), asyncio.Event()
        await asyncio.gather(watched(entered, checked), free(entered, checked))

    asyncio.run(both())


def test_nothing_is_kept():
    x = np.array([1.0, 4.0])
    dead = weakref.ref(x)
    with fx.debug_nans():
        fx.grad(root)(x)
        fx.jit(tangent(root))(x)
        del x
        assert dead() is None


def test_the_traceback_has_no_frames_of_the_library():
    error = reported(logarithm, np.array([-1.0]))
    names, entry = [], error.__traceback__
    while entry is not None:
        names.append(entry.tb_frame.f_code.co_filename)
        entry = entry.tb_next
    assert set(names) == {__file__}


def test_floating_point_errors_that_numpy_is_told_to_raise():
    """Outside transforms they are NumPy's; inside they tell operation, operands and line."""
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match=r"^divide by zero encountered in log$"):
            fnp.log(0.0)
        for transform in (fx.grad, fx.jit, tangent):
            with pytest.raises(fx.NonFiniteError, match="log: divide by zero encountered in log") as caught:
                transform(logarithm)(np.array([0.0]))
            assert caught.value.site.function == "logarithm"


# -- any program
@settings(max_examples=60)
@given(programs(), stacks(3))
def test_programs_of_finite_numbers_are_not_disturbed(source, stack):
    """Every operation is looked at, `jit` bypassed and loops unrolled: nothing is reported, and the numbers are those
    without it (up to the order of roundings)."""
    f = build(source, stack, fx, fnp)
    np.testing.assert_allclose(quiet(f, X), f(X), rtol=1e-9, atol=1e-11)


def test_it_can_be_switched_off_by_its_argument():
    with fx.debug_nans(False), np.errstate(invalid="ignore"):
        assert np.isnan(fnp.log(-1.0))
    with pytest.raises(fx.NonFiniteError), fx.debug_nans(True):
        fnp.log(-1.0)
