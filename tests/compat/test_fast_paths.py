"""The ways of plain operands around what torch's operations have to decide otherwise: they give what these give, and
are left as soon as there is something to decide."""

from __future__ import annotations

import ast
import gc
import inspect
import weakref
from threading import Barrier, Thread

import numpy as np
import pytest

import fxgrad.compat as torch
import fxgrad.compat._surface  # noqa: F401 - which declares the operations
from fxgrad.compat._declare import entry, fast_path, gate, generated
from fxgrad.compat._declare.operation import OPERATIONS
from fxgrad.compat._declare.spaces import SPACES, load_families
from tests.together import together

load_families()
F = torch.nn.functional


def written_names(node):
    """The names to which statements give values, except those of branches that return."""
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
        return set()
    found = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    return found.union(*map(written_names, ast.iter_child_nodes(node)))


def test_no_parameter_has_a_name_that_a_fast_path_has_taken_when_it_is_left():
    def path(op):
        return ast.parse(
            f"def path():\n{generated.indent_text(fast_path.format_fast_path(op, {}, op.out), 4)}    pass"
        )

    taken = {op.name: written_names(path(op)) for op in OPERATIONS.values()}
    assert {"plain", "input_value", "input_edge", "other_value", "plan_key", "edges"} <= taken["add"]
    assert "view" in taken["unsqueeze"] and "node" not in taken["add"]
    for op in OPERATIONS.values():
        assert not {p.name for p in op.parameters} & taken[op.name], op


def leaf(*shape, dtype=torch.float32, seed=0):
    value = np.random.default_rng(seed).uniform(0.5, 2.0, shape)
    return torch.from_numpy(value).to(dtype).requires_grad_()


OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "**": lambda x, y: x**y,
    "<": lambda x, y: x < y,
    "@": lambda x, y: x @ y,
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.float32, torch.float64, torch.bfloat16, torch.complex64]
)
def test_an_operator_is_the_function_of_its_name(name, dtype):
    names = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow", "<": "lt", "@": "matmul"}
    function = getattr(torch, names[name])
    dtype = torch.float32 if dtype.is_complex and name == "<" else dtype  # complex numbers have no order
    for shapes in [((3, 3), (3, 3)), ((3, 3), (3,)), ((3, 1), (1, 3))]:
        results = []
        for call in (OPERATORS[name], function):
            x, y = leaf(*shapes[0], dtype=dtype), leaf(*shapes[1], dtype=dtype, seed=1)
            try:
                z = call(x, y)
            except RuntimeError as error:
                results.append(str(error).splitlines()[0])
                continue
            grads = None
            if z.requires_grad:
                z.backward(torch.ones_like(z))
                grads = x.grad.tolist(), y.grad.tolist(), z.grad_fn.name()
            results.append((z.tolist(), z.dtype, grads))
        assert results[0] == results[1]


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "**"])
@pytest.mark.parametrize("number", [2, 2.5, True, 1 + 1j, np.float32(2), np.array([1.0, 2.0, 3.0])])
def test_numbers_stand_on_either_side_of_an_operator(name, number):
    names = {"+": "add", "-": "sub", "*": "mul", "/": "true_divide", "**": "pow"}
    for grad in (True, False):
        x = leaf(3).requires_grad_(grad)
        for operands in [(x, number), (number, x)]:
            if isinstance(number, np.ndarray | np.generic) and operands[0] is number:
                continue  # NumPy's own operator comes first
            if type(number) is bool and name == "-":
                continue
            y = OPERATORS[name](*operands)
            values = [v.detach().numpy() if isinstance(v, torch.Tensor) else v for v in operands]
            expected = OPERATORS[name](*values)
            np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-6)
            assert y.requires_grad is grad and names


def test_unknown_operands_are_left_to_their_own_operators():
    class Other:
        def __radd__(self, x):
            return "reflected"

        def __rmatmul__(self, x):
            return "reflected product"

    x = leaf(3)
    assert x + Other() == "reflected" and x @ Other() == "reflected product"
    for call in (lambda: x + "a", lambda: x @ "a", lambda: x * None, lambda: None - x):
        with pytest.raises(TypeError, match="unsupported operand"):
            call()
    with pytest.raises(TypeError, match="unsupported operand"):
        x += "a"


class Marked(torch.Tensor):
    """A Tensor of a class of the user's own."""


def test_subclasses_duals_views_and_inference_tensors_are_recognized():
    x, y = leaf(3), leaf(3, seed=1)
    marked = x.detach().as_subclass(Marked)
    assert type(marked + y) is type(y + marked) is type(2 * marked) is type(marked.sum()) is Marked
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach(), torch.ones(3))
        for z in (dual * y, 2.0 * dual, dual.sum(), dual @ y.detach()):
            assert torch.autograd.forward_ad.unpack_dual(z).tangent is not None
    with torch.inference_mode():
        made = torch.ones(3)
    with pytest.raises(RuntimeError, match="saved for backward"):
        y * made
    with pytest.raises(RuntimeError, match="InferenceMode"):
        made += 1
    assert (made + 1).is_inference() is False
    base = leaf(2, 3)
    view = base[0]
    (view * y + base.sum(0)).sum().backward()
    np.testing.assert_allclose(base.grad.numpy(), [1 + y.detach().numpy(), np.ones(3)])
    whole = torch.zeros(2, 3)
    part = whole[0]
    whole.mul_(leaf(3))  # the view has a history from now on
    assert (part + 1).requires_grad and part.sum().requires_grad


def test_views_are_brought_up_to_date_wherever_they_stand():
    for call in (
        lambda x, v: x + v,
        lambda x, v: v + x,
        torch.atan2,
        torch.dot,
        lambda x, v: torch.lerp(x, v, 0.5),
    ):
        x, base = torch.ones(3), torch.zeros(2, 3)
        view = base[0]
        base.mul_(leaf(3))
        assert call(x, view).requires_grad
        z = torch.tensor([1 + 1j, 2 - 1j, 3j])
        conj = z.conj()
        z.mul_(2)
        if call is not torch.atan2:
            assert (
                call(torch.ones(3, dtype=torch.complex64), conj).tolist()
                == call(torch.ones(3, dtype=torch.complex64), conj.clone()).tolist()
            )


def test_requires_grad_may_change_between_uses():
    x = torch.ones(3)
    assert not (x * 2).requires_grad
    x.requires_grad_()
    assert (x * 2).requires_grad and x.sum().requires_grad and (2 * x).requires_grad
    with torch.no_grad():
        assert not (x * 2).requires_grad and not x.sum().requires_grad
    x.requires_grad_(False)
    assert not (x * 2).requires_grad and not x.logsumexp(0).requires_grad


# -- in place ------------------------------------------
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=str)
def test_integers_count_in_place(dtype):
    """Those of 64 bits take the way of plain operands, unless they are to become others."""
    x = torch.tensor([3, 4], dtype=dtype)
    assert x.add_(1).mul_(3).sub_(torch.tensor([5, 6], dtype=dtype)).tolist() == [7, 9]
    assert x._version == 3 and x[:1].add_(7) is not x
    assert x.add_(2, alpha=3).add_(True).tolist() == [21, 16] and x.dtype is dtype
    for change in (
        lambda: x.add_(1.5),
        lambda: x.add_(torch.tensor(2), alpha=2.0),
        lambda: x.mul_(torch.tensor(0.5)),
        lambda: x.div_(2),
    ):
        with pytest.raises(RuntimeError):
            change()
    with pytest.raises(OverflowError):
        x.add_(2**64)
    assert x.tolist() == [21, 16]
    most = torch.tensor([2**63 - 1])
    assert most.add_(1).tolist() == [-(2**63)]


OF_INTEGERS = [op for op in OPERATIONS.values() if op.integers]
SECOND = {"Tensor": None, "int": -2, "large": 2**62, "float": 1.5, "bool": True}  # operands of two


@together("second", "dtype")
@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("op", OF_INTEGERS, ids=lambda op: op.name)
def test_integers_pass_the_fast_path_as_they_do_without_it(op, dtype, second):
    def outcome(compute):
        try:
            result = compute()
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error), str(error).partition("\n")[0]
        return result.dtype, result.tolist()

    x = torch.tensor([0, 1, 120, 3]).to(getattr(torch, dtype))
    y = torch.tensor([5, 0, 100, 3]).to(x.dtype) if SECOND[second] is None else SECOND[second]
    operands = (x, y)[: len(op.names)]
    if SECOND[second] is not None and len(operands) > 1 and not op.takes_number(op.names[-1]):
        with pytest.raises(TypeError, match=r"'other' .* must be Tensor"):
            SPACES["function"][op.name](*operands)
        return
    assert outcome(lambda: SPACES["function"][op.name](*operands)) == outcome(
        lambda: op(operands, dict(op.defaults))
    )


def test_operators_in_place_count_versions_and_refuse_what_torch_refuses():
    x, y = leaf(3), leaf(3, seed=1)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x += 1
    before, memory = x._version, x.detach().numpy()
    expected = memory - 0.5 * y.detach().numpy()
    with torch.no_grad():
        x -= 0.5 * y
        x.add_(y, alpha=0)
    assert x._version == before + 2 and np.shares_memory(memory, x.detach().numpy())
    np.testing.assert_allclose(memory, expected, rtol=1e-6)
    z = x * y
    with torch.no_grad():
        y *= 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    plain = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        plain[0].add_(torch.ones(2, 3))
    for wrong in (1e60, "a", None):
        with pytest.raises((RuntimeError, TypeError)):
            plain.add_(plain, alpha=wrong)
    shared = torch.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        shared += 1
    plain += plain
    plain -= plain[0]
    assert plain.abs().sum() == 0
    whole = torch.arange(3)
    whole += 2
    assert whole.dtype is torch.int64 and whole.tolist() == [2, 3, 4]
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole += 0.5


# -- the way back ------------------------------------------
def chain(x):
    return ((x * 2).exp() / x).sum()


def test_hooks_that_come_between_forward_and_backward_are_called():
    x, seen = leaf(3), []
    expected = torch.autograd.grad(chain(x), x)[0]
    y = x * 2
    z = (y.exp() / x).sum()
    y.register_hook(lambda g: seen.append("node") or g)
    x.register_hook(lambda g: seen.append("leaf") or g * 2)
    x.register_post_accumulate_grad_hook(lambda p: seen.append("after"))
    z.backward()
    assert seen == ["node", "leaf", "after"]
    np.testing.assert_allclose(x.grad.numpy(), 2 * expected.numpy())


def test_a_hook_on_a_leaf_waits_for_all_of_its_gradient():
    x, y, seen = leaf(3), leaf(3), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    ((x + y) * 2 + x * y.detach()).sum().backward()
    assert seen == [(2 + y.detach()).tolist()]


def test_operations_with_several_results_are_passed_in_the_midst_of_plain_ones():
    x = leaf(4, 3)
    top, places = (x * 3).max(1)
    ((top * 2).sum() + (x * x).sum()).backward()
    hits = np.eye(3)[places.numpy()]
    np.testing.assert_allclose(x.grad.numpy(), 6 * hits + 2 * x.detach().numpy(), rtol=1e-6)


def test_a_graph_may_be_passed_again_and_is_freed_otherwise():
    x = leaf(3)
    y = chain(x)
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first.numpy())
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert x.grad.shape == (3,)


def test_gradients_have_memory_of_their_own():
    x, y = leaf(3), leaf(3)
    (x + y).backward(torch.ones(3))
    x.grad += 1
    assert y.grad.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]
    (given,) = [torch.ones(3)]
    z = leaf(3)
    (z + 0).backward(given)
    z.grad += 1
    assert given.tolist() == [1, 1, 1]
    s = torch.tensor(2.0, requires_grad=True)
    for _ in range(2):
        (s + 0).backward()
        s.grad.mul_(3)
    assert s.grad.item() == 12


@pytest.mark.parametrize("layout", ["transposed", "strided", "empty", "number"])
def test_gradients_have_the_layout_of_the_leaf(layout):
    value = {
        "transposed": np.ones((2, 3), np.float32).T,
        "strided": np.ones((4, 6), np.float32)[::2, ::3],
        "empty": np.ones((0, 3), np.float32),
        "number": np.full((), 2, np.float32),
    }[layout]
    x = torch.from_numpy(value).requires_grad_()
    (x * 3).sum().backward()
    assert x.grad.shape == x.shape and (x.grad.numpy() == 3).all()
    if layout == "transposed":
        assert x.grad.stride() == x.stride()


def test_deep_graphs_need_no_recursion_and_memory_goes_by_reference_counting():
    x = leaf(3)
    gc.collect()
    gc.disable()
    try:
        y = x
        for _ in range(5000):
            y = y + 0.001
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None and x.grad.tolist() == [1, 1, 1]
    finally:
        gc.enable()


def test_threads_add_to_the_same_leaves():
    x, start = leaf(64), Barrier(4)

    def work():
        start.wait(30)
        for _ in range(50):
            (x * 2 + x).sum().backward()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert x.grad.tolist() == [600.0] * 64


# -- entry points ------------------------------------------
def test_entry_points_show_their_parameters_before_and_after_the_first_call():
    assert str(inspect.signature(torch.fmod)) == "(input, other, *, out=None)"
    torch.fmod(torch.ones(2), 2)
    assert str(inspect.signature(torch.fmod)) == "(input, other, *, out=None)"
    assert str(inspect.signature(torch.amax)) == "(input, dim=(), keepdim=False, *, out=None)"
    assert torch.add.__name__ == torch.add.__qualname__ == "add" and "alpha" in torch.add.__doc__


def test_entry_points_have_files_of_their_own():
    files = {}
    for members in SPACES.values():
        for member in members.values():
            code = getattr(member, "__code__", None)
            if code is not None and code.co_filename.startswith("<fxgrad"):
                files.setdefault(code.co_filename, set()).add(member)
    assert len(files) > 500 and [sharing for sharing in files.values() if len(sharing) > 1] == []
    assert "kernel_size" in inspect.getsource(F.unfold) and "dimension" in inspect.getsource(
        torch.Tensor.unfold
    )
    assert "cudnn_enable" in inspect.getsource(torch.layer_norm)


def test_the_question_of_the_gate_is_in_every_entry_point_and_in_its_functions():
    question = gate.format_gate("x").splitlines()
    for function in (gate.plain_edge, gate.writable_array, gate.read_operands):
        lines = {line.strip() for line in inspect.getsource(function).splitlines()}
        assert {question[2].strip(), question[-2].strip(), question[-1].strip()} <= lines
    for function, name in [(torch.exp, "input"), (torch.add, "other"), (torch.Tensor.mul_, "input")]:
        assert gate.format_gate(name).splitlines()[2].strip() in inspect.getsource(function)


def test_a_write_into_a_view_passes_the_gate_unless_a_history_would_change():
    whole = torch.zeros(2, 3)
    row, before = whole[0], whole._version
    row.add_(1)
    row += torch.ones(3)
    row.mul_(whole[0])
    assert whole.tolist() == [[4.0] * 3, [0.0] * 3] and whole._version == row._version == before + 3
    leaf = torch.zeros(2, 3, requires_grad=True)
    with torch.no_grad():
        leaf[0].add_(1)
        unrecorded = leaf[1]
    assert leaf.tolist() == [[1.0] * 3, [0.0] * 3]
    with pytest.raises(RuntimeError, match="no_grad mode and is being modified inplace"):
        unrecorded.add_(1)
    y = leaf * 2
    y[0].mul_(3)
    assert y.grad_fn.name().endswith("CopySlices")
    z = torch.ones(3, dtype=torch.complex64)
    z.conj().mul_(1j)
    assert z.tolist() == [-1j] * 3


def test_threads_may_be_the_first_to_call_an_entry_point():
    for _ in range(20):
        op = OPERATIONS["add"]
        made, start, found = entry.make_user_function(op, op.spaces, op.out), Barrier(4), []

        def call(made=made, start=start, found=found):
            start.wait(30)
            found.append(made(torch.ones(2), 1, alpha=2).tolist())

        threads = [Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert found == [[3.0, 3.0]] * 4


def test_no_grad_comes_back_from_errors_and_nests():
    switch = torch.no_grad()
    with switch, switch:
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
            with switch:
                assert not torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        assert torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        1 / 0  # noqa: B018
    assert torch.is_grad_enabled()
    with torch.inference_mode(), torch.no_grad():
        assert torch.is_inference_mode_enabled()
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_nothing_warns_and_numpy_s_warnings_come_back():
    x = torch.tensor([0.0, -1.0], requires_grad=True)
    y = (1 / x).sum() + x.log().sum() + (x / x).mean()
    y.backward()
    with torch.no_grad():
        x /= 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.ones(1) / np.zeros(1)
