"""Sparse Tensors beside torch's: their parts, texts, operations, gradients, and the steps of optimizers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = [fxt, torch]
pytestmark = pytest.mark.filterwarnings("ignore:Sparse (invariant checks|CSR tensor support)")  # torch's


def names(T):
    """Names for the expressions below."""
    places = T.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    x = T.sparse_coo_tensor(places, T.tensor([3.0, 4.0, 5.0, -1.0], dtype=T.float64), (2, 3))
    return {
        "T": T,
        "x": x,
        "c": x.coalesce(),
        "r": x.to_sparse_csr(),
        "h": T.sparse_coo_tensor([[1, 0, 1]], T.arange(6.0).reshape(3, 2), (3, 2)),
        "d": T.arange(6.0, dtype=T.float64).reshape(3, 2) - 2,
        "e": T.arange(6.0, dtype=T.float64).reshape(2, 3),
    }


def plain(found):
    """What can be compared: the text and the entries."""
    if isinstance(found, tuple | list):
        return [plain(y) for y in found]
    if not isinstance(found, torch.Tensor | fxt.Tensor):
        return repr(found).replace("torch.Size", "")
    dense = found.detach().to_dense()
    digits = 6 if dense.dtype in (torch.float32, fxt.float32) else 12
    entries = np.round(np.asarray(dense.double()), digits).tolist()
    return str(found.layout), str(found.dtype), tuple(found.shape), entries


TEXTS = [
    "x", "c", "r", "h", "x.double()", "x.float()", "x.to(T.int64)", "T.sparse_coo_tensor((2, 3))", "x.t()",
    "T.sparse_coo_tensor([[1], [0]], [1.0])", "T.sparse_coo_tensor([[0]], [1.0], requires_grad=True)", "c.indices()",
    "c.values()", "x._indices()", "x._values()", "r.crow_indices()", "r.col_indices()", "r.values()", "x.coalesce()",
    "T.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0])", "T.eye(2).to_sparse()", "T.eye(2).to_sparse(1)",
    "T.zeros(0, 2).to_sparse()", "x.requires_grad", "[p for p in c]",
]  # fmt: skip
VALUES = [
    "x.to_dense()", "h.to_dense()", "[x._nnz(), c._nnz(), x.is_coalesced(), c.is_coalesced()]",
    "[x.layout, r.layout, x.is_sparse, r.is_sparse, r.is_sparse_csr]",
    "[h.sparse_dim(), h.dense_dim(), h.shape, h.numel()]",
    "[x.device, x.dtype, x.ndim, len(x), x.size(1), x.is_floating_point()]",
    "x + x", "x + c", "c + c.t().t()", "h + h", "x - c", "T.sub(x, c, alpha=2)", "e + x", "T.add(e, x, alpha=3)",
    "e - x",
    "x * 2", "2 * x", "x / 4", "x * c", "x * e", "e * x", "x * T.tensor(3.0)", "-x", "x.abs()", "x.sin()",
    "T.sqrt(c * c)",
    "T.relu(-x)", "x ** 2", "x.pow(3)", "x.neg()", "x.sign()", "x.expm1()", "T.floor(x / 2)", "x.clone()",
    "x.detach()",
    "x @ d", "x @ d[:, 0]", "x.mv(d[:, 0])", "x.mm(d)", "T.mm(x, d)", "T.matmul(x, d)", "d @ x", "T.mm(d, x)",
    "T.sparse.mm(x, d)", "T.sparse.mm(x, x.t())", "x @ x.t()", "r @ d", "r @ d[:, 1]", "T.addmm(d[:2], x, d, beta=2)",
    "T.sparse.addmm(d[:2], x, d, alpha=3)",
    "T.sparse.sampled_addmm(r, e[:, :2], e[:, 1:].t() @ T.ones(2, 3).double())",
    "x.sum()", "x.sum(0)", "T.sparse.sum(x)", "T.sparse.sum(x, 1)", "T.sparse.sum(x, (0, 1))", "T.sparse.sum(h, 1)",
    "T.sparse.sum(h, 0)", "T.sparse.sum(h, [0, 1])", "T.sparse.softmax(x, 1)", "T.sparse.softmax(x, 0)",
    "T.sparse.log_softmax(x, -1)", "T.sparse.softmax(h, 1)", "x.t()", "x.T", "x.transpose(0, 1)", "x.permute(1, 0)",
    "x.index_select(0, T.tensor([1, 1, 0]))", "x.index_select(1, T.tensor([2, 0]))",
    "h.index_select(1, T.tensor([1]))",
    "x[0]", "x[1][2]", "x[0, 2]", "h[1]", "x.select(1, 2)", "T.cat([x, c])", "T.cat([x, x], 1)", "T.stack([x, c])",
    "T.stack([x, c], 1)", "x.unsqueeze(0)", "x.unsqueeze(-1)", "e.sparse_mask(c)", "r + r", "r * 2",
    "r.to_sparse_coo()",
    "r.to_dense()", "x.to_sparse()", "e.to_sparse(layout=T.sparse_csr)", "e.to_sparse_csr().to_sparse()",
    "T.tensor(3.0).to_sparse()", "x.mul_(2)", "x.add_(c)", "x.zero_()", "e.add_(x)", "x.norm()", "T.is_tensor(x)",
    "T.sparse.spdiags(T.ones(2, 3), T.tensor([0, 1]), (3, 3))", "T.sparse.spdiags(e, T.tensor([-1, 2]), (4, 2))",
    "x.cpu()", "x.bool()", "h.transpose(0, 0)",
    "T.zeros(2, 3, layout=T.sparse_coo)", "T.empty((2, 3), layout=T.sparse_coo, dtype=T.float64)",
    "T.zeros(2, 3, layout=T.sparse_csr)", "T.zeros((), layout=T.sparse_coo)", "T.zeros(2, 3, layout=T.strided)",
    "T.zeros_like(x)", "T.empty_like(x)", "T.zeros_like(r)", "T.zeros_like(h, dtype=T.int64)",
    "[y.layout for y in (T.zeros_like(x, layout=T.strided), T.zeros_like(e, layout=T.sparse_csr))]",
    "[[y.sparse_dim(), y.dense_dim(), y._nnz(), y.is_coalesced()] for y in (T.zeros_like(h), T.zeros_like(x))]",
    "x.new_zeros(2, 2)", "r.new_empty(2, 2)", "e.new_zeros(2, 2, layout=T.sparse_coo)", "x.new_tensor([1.0])",
    "T.zeros(2, layout=T.sparse_coo, requires_grad=True).requires_grad", "T.zeros_like(x) + x",
]  # fmt: skip
MISUSE = [
    "x.indices()", "x.values()", "r.indices()", "x.crow_indices()", "x + e", "x.numpy()", "x.cos()", "T.exp(x)",
    "x.reshape(6)", "T.eye(2).to_sparse(0)", "T.sparse_coo_tensor([[1]], [1.0, 2.0])",
    "T.sparse_coo_tensor([[1]], [1.0], (2, 3))",
    "T.sparse_coo_tensor([[5]], [1.0], (2,), check_invariants=True)", "x / e",
    "T.zeros(2, 3, layout='x')", "T.zeros(2, layout=T.sparse_csr)",
    "T.zeros_like(x, memory_format=T.contiguous_format)",
    "T.zeros(2, 3, layout=T.sparse_coo, out=e)", "T.zeros(2, 3, layout=T.strided, out=x)",
]  # fmt: skip


@pytest.mark.parametrize("code", TEXTS)
def test_texts(code):
    ours, theirs = (repr(eval(code, names(lib))) for lib in LIBRARIES)
    assert ours == theirs


@pytest.mark.parametrize("code", VALUES)
def test_values(code):
    ours, theirs = (plain(eval(code, names(lib))) for lib in LIBRARIES)
    assert ours == theirs


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    failures = []
    for lib in LIBRARIES:
        with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError)) as info:
            eval(code, names(lib))
        failures.append((built_in(info.value), str(info.value)[:20]))
    assert failures[0] == failures[1]


@pytest.mark.parametrize(
    "code",
    ["T.ones(2, layout=T.sparse_coo)", "T.full((2,), 1.0, layout=T.sparse_coo)", "T.ones_like(x)", "T.rand_like(x)",
     "T.full_like(x, 1.0)", "x.new_full((2,), 1.0)", "T.arange(3, layout=T.sparse_coo)", "x.new_ones(2)",
     "T.rand(2, layout=T.sparse_coo)"],
)  # fmt: skip
def test_no_function_makes_a_sparse_tensor_full_of_entries(code):
    for lib in LIBRARIES:
        with pytest.raises(RuntimeError, match=r"not implemented for sparse layout|Could not run"):
            eval(code, names(lib))


DIFFERENTIABLE = [
    "T.sparse.mm(s, w).sin().sum()", "(s @ w[:, 0]).exp().sum()", "T.sparse.sum(s * s)",
    "(s + s.coalesce()).to_dense().sin().sum()",
    "(s.to_dense() ** 3).sum()", "T.sparse.mm(s.t(), w[:2]).cos().sum()",
    "T.sparse.sum(T.sparse.softmax(s, 1) * 2, 1).to_dense().sin().sum()",
    "(w.t() @ s.t()).sin().sum()", "T.sparse.sum(s.coalesce() * w.t()).sin()", "(w.t() + s).sin().sum()",
    "T.sparse.mm(w.t().to_sparse(), w).sin().sum()", "T.sparse.mm(s, s.t()).to_dense().sin().sum()",
    "s.index_select(0, T.tensor([1, 0, 1])).to_dense().exp().sum()",
    "T.cat([s, s * 2]).to_dense().exp().sum()",
]  # fmt: skip


@pytest.mark.parametrize("code", DIFFERENTIABLE)
def test_derivatives_are_those_of_the_dense_program(code):
    """torch has not all of these derivatives: differences of values are the oracle."""
    places = fxt.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    generator = fxt.Generator().manual_seed(0)
    values = fxt.rand(4, dtype=fxt.float64, generator=generator).add(0.5).requires_grad_()
    w = fxt.rand(3, 2, dtype=fxt.float64, generator=generator).add(0.5).requires_grad_()

    def function(values, w):
        s = fxt.sparse_coo_tensor(places, values, (2, 3))
        return eval(code, {"T": fxt, "s": s, "w": w})

    assert fxt.autograd.gradcheck(function, (values, w))
    assert fxt.autograd.gradgradcheck(function, (values, w))


def leaf_gradients(lib):
    s = lib.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], lib.tensor([3.0, 4.0, 5.0]), (2, 3), requires_grad=True)
    d = lib.ones(3, 2, requires_grad=True)
    lib.sparse.mm(s, d * 2).sum().backward()
    lib.sparse.mm(s, d).sum().backward()
    return repr(s.grad), repr(d.grad), s.is_leaf, s.requires_grad


def dense_gradients(lib):
    w = lib.eye(3, requires_grad=True)
    lib.sparse.mm(w.to_sparse(), lib.ones(3, 1)).sum().backward()
    return w.grad.to_dense().tolist()


def gathered(lib):
    w = lib.ones(2, 3, requires_grad=True)
    lib.gather(w, 1, lib.tensor([[0, 0], [2, 1]]), sparse_grad=True).sum().backward()
    return repr(w.grad)


def embedded(lib):
    rows = lib.nn.Embedding(5, 2, sparse=True, padding_idx=1)
    found = []
    rows(lib.tensor([[0, 1], [2, 2]])).sum().backward()
    found.append(repr(rows.weight.grad))
    rows(lib.tensor([3])).sum().backward()
    found.append(repr(rows.weight.grad))
    rows.weight.grad = None
    (rows(lib.tensor([3])).sum() + (rows.weight * 2).sum()).backward()
    found.append(rows.weight.grad.to_dense().tolist())
    rows(lib.tensor([4])).sum().backward()
    found.append(rows.weight.grad.to_dense().tolist())
    found.append(repr(lib.autograd.grad(rows(lib.tensor([3, 3])).sum(), rows.weight)))
    rows.weight.register_hook(lambda g: g * 2)
    rows.weight.grad = None
    rows(lib.tensor([0])).sum().backward()
    return [*found, repr(rows.weight.grad)]


def bagged(lib, **options):
    found = []
    for mode in ("sum", "mean"):
        bag = lib.nn.EmbeddingBag(5, 2, sparse=True, mode=mode, **options)
        bag(lib.tensor([0, 1, 2, 1]), lib.tensor([0, 2])).sum().backward()
        found.append((bag.weight.grad.is_sparse, bag.weight.grad.to_dense().tolist()))
        bag.weight.grad = None
        bag(lib.tensor([[0, 1], [3, 3]])).sum().backward()
        found.append((bag.weight.grad.is_sparse, bag.weight.grad.to_dense().tolist()))
    return found


def padded_bags(lib):
    return bagged(lib, padding_idx=1)


@pytest.mark.parametrize(
    "program", [leaf_gradients, dense_gradients, gathered, embedded, bagged, padded_bags]
)
def test_gradients(program):
    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours == theirs


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
        ("Adagrad", {"lr": 0.1}),
        ("SparseAdam", {"lr": 0.1}),
    ],
    ids=["SGD", "SGD with momentum", "Adagrad", "SparseAdam"],
)
def test_steps_of_optimizers(name, options):
    start = np.random.default_rng(0).standard_normal((5, 2))
    tables = []
    for lib in LIBRARIES:
        rows = lib.nn.Embedding(5, 2, sparse=True, _weight=lib.from_numpy(start.copy()))
        optimizer = getattr(lib.optim, name)(rows.parameters(), **options)
        for chosen in ([0, 3, 3], [3, 1], [2]):
            optimizer.zero_grad()
            (rows(lib.tensor(chosen)) ** 2).sum().backward()
            optimizer.step()
        tables.append(rows.weight.detach().numpy())
    np.testing.assert_allclose(*tables, rtol=1e-12)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(duplicate):
    x = fxt.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), requires_grad=True)
    made = duplicate(x)
    assert repr(made) == repr(x) and made.layout is fxt.sparse_coo


def test_products_without_scipy_are_the_same(monkeypatch):
    x, d = names(fxt)["x"], names(fxt)["d"]
    expected = (x @ d).tolist()
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse", None)
    assert (x @ d).tolist() == expected


def test_checks_of_places_may_be_switched_on():
    with fxt.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="found index 5"):
        fxt.sparse_coo_tensor([[5]], [1.0], (3,))
    assert not fxt.sparse.check_sparse_tensor_invariants.is_enabled()
    assert fxt.sparse_coo_tensor([[5]], [1.0], (3,))._nnz() == 1


def test_transforms_of_products():
    s = fxt.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    batch = fxt.arange(12.0).reshape(4, 3)
    dense = s.to_dense()
    assert fxt.equal(fxt.vmap(lambda v: s @ v)(batch), batch @ dense.t())
    slope = fxt.func.grad(lambda v: ((s @ v) ** 2).sum())(batch[1])
    assert fxt.equal(slope, 2 * dense.t() @ dense @ batch[1])
    _, tangent = fxt.func.jvp(lambda v: s @ v, (batch[0],), (batch[1],))
    assert fxt.equal(tangent, dense @ batch[1])


def test_results_are_not_written_elsewhere():
    with pytest.raises(NotImplementedError, match="out= with a sparse operand"):
        fxt.mm(fxt.eye(2).to_sparse(), fxt.eye(2), out=fxt.empty(2, 2))


def test_gradients_of_autograd_grad_are_sparse_where_the_leaf_is():
    s = fxt.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), requires_grad=True)
    (slope,) = fxt.autograd.grad((s.to_dense() ** 2).sum(), s)
    assert slope.to_dense().tolist() == [2.0, 4.0, 0.0]


QUESTIONS = """
    coalesce is_coalesced indices values crow_indices col_indices ccol_indices row_indices _nnz _indices _values
"""


@pytest.mark.parametrize("name", QUESTIONS.split())
@pytest.mark.parametrize("made", ["dense", "coordinates", "rows"])
def test_questions_of_other_layouts_are_refused(name, made):
    found = []
    for T in LIBRARIES:
        x = T.eye(2)
        x = x if made == "dense" else x.to_sparse() if made == "coordinates" else x.to_sparse_csr()
        try:
            found.append(bool(getattr(x, name)() is not None))
        except RuntimeError as error:
            found.append(str(error).splitlines()[0].split(" This could be")[0])
    assert found[0] == found[1]


@pytest.mark.parametrize("T", LIBRARIES)
def test_dimensions_of_dense_tensors(T):
    assert (T.ones(2, 3).sparse_dim(), T.ones(2, 3).dense_dim(), T.tensor(1.0).dense_dim()) == (0, 2, 0)


@pytest.mark.parametrize("T", LIBRARIES)
def test_compressed_tensors(T):
    made = T.sparse_compressed_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), layout=T.sparse_csr)
    assert (made.layout, made.to_dense().tolist()) == (T.sparse_csr, [[0, 2], [3, 0]])
    with pytest.raises(RuntimeError, match="expected sparse compressed tensor layout"):
        T.sparse_compressed_tensor([0, 1], [1], [2.0], (1, 2))


def test_layouts_that_are_not_here():
    x = fxt.eye(2)
    for refused in (
        x.to_sparse_csc,
        lambda: x.to_sparse_bsr((1, 1)),
        lambda: x.to_sparse(layout=fxt.sparse_bsc),
        lambda: fxt.zeros(2, 2, layout=fxt.sparse_csc),
        lambda: fxt.sparse_csc_tensor([0, 1], [0], [1.0]),
        lambda: fxt.sparse_compressed_tensor([0, 1], [0], [1.0], layout=fxt.sparse_csc),
    ):
        with pytest.raises(NotImplementedError, match=r"the layout torch\.sparse_\w+ is not here"):
            refused()
