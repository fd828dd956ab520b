"""What is remembered never answers for something else.

Two kinds of tests: values that compare equal and are not the same have different keys; and every program gives, after
any others, what it gives when all memory of the library is empty.
"""

import ast
import copy
import gc
import itertools
import math
import random
import zlib
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.compat._surface  # which declares the operations
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.compat._declare.operation import OPERATIONS
from fxgrad.compat._declare.spaces import load_families
from fxgrad.core.cache import Cache
from fxgrad.core.key import key_of, tree_key
from fxgrad.ops.kinds import Elementwise
from tests.samples import SAMPLES

load_families()
PACKAGE = Path(fx.__file__).parent

MAKERS = {"Cache", "InternedGraphs", "cache", "lru_cache", "WeakKeyDictionary", "WeakValueDictionary"}
# Every place that remembers, and under what. A new one enters here, and its programs below.
MEMORIES = {
    "peers/numpy/imports.py": "whether a file is of the program, by its path",
    "peers/jax/jitted.py": "programs of `transforms/jit.py` under the other precision",
    "peers/jax/lifting.py": "functions as those of arrays, by themselves",
    "peers/jax/threefry.py": "the layout of floating-point numbers by dtype",
    "peers/jax/trees.py": "structures with the keys of dicts in order, by equal ones",
    "compat/_declare/composite.py": "forwards, batches: kinds_of, flags of operands",
    "compat/_core/dtypes.py": "dtypes by name, and by pairs of NumPy's dtypes",
    "compat/_make/variates.py": "places of normal numbers, by how many there are",
    "compat/_declare/generated.py": "code objects by their text",
    "compat/_core/tape.py": "classes of nodes by their names",
    "compat/_core/backward/saved_tensors.py": "the saved places of one node by their names, while somebody has them",
    "compat/_core/backward/seeds.py": "the number 1 by dtypes",
    "compat/autograd/saved_mutation.py": "the memory of saved arrays by the id of its owner, which they keep alive",
    "compat/_declare/observed.py": "plans under an observer, as in operation.py",
    "compat/_declare/operation.py": "patterns, plans: key_of",
    "compat/_declare/view_plan.py": "plans: shape, dtype, whether it is recorded, `freeze`",
    "compat/_declare/fast_path.py": "the same",
    "compat/ops/joining.py": "plans: operation, integer, dtype, shapes",
    "compat/serialization/builders.py": "the table",
    "compat/ops/nn/recurrent.py": "bodies of scans by kinds and avals",
    "compat/ops/overloads.py": "operations by their names, and these names",
    "core/arrays.py": "constants on devices: namespace, device, dtype, shape, entries",
    "core/fp_errors.py": "dicts of names of treatments",
    "core/pytree_structures.py": "the structure of a leaf, and of a tuple by its length",
    "kernels/contraction.py": "plans by the text of the specification",
    "kernels/gamma.py": "polynomials by their order",
    "kernels/lapack.py": "the library",
    "kernels/memory.py": "that the C library has been asked",
    "kernels/cuda/nvrtc.py": "the library",
    "kernels/native/arrays.py": "whether arrays lie in memory as NumPy's headers say",
    "kernels/native/builtin.py": "CPython's constructor of built-in functions",
    "kernels/native/conv.py": "plans by shapes, strides, dtype and params",
    "kernels/native/entrywise.py": "functions by the names of primitives and dtypes",
    "kernels/native/engine.py": "the mode, and machine code by its text",
    "kernels/native/kernel.py": "functions by their builder, dtype and numbers",
    "kernels/native/outer.py": "functions by dtypes, and whether results are streamed",
    "kernels/native/interruption.py": "addresses of the interpreter's functions",
    "kernels/native/lanes.py": "dtypes; dtypes of loops by names, dtypes and params_key",
    "kernels/native/math/__init__.py": "functions by names and types",
    "kernels/native/math/trigonometric.py": "the bits of 1/π",
    "kernels/native/processor.py": "the processor",
    "kernels/native/runner.py": "types of functions by the number of their arrays",
    "kernels/native/threads.py": "the number of threads, and the functions of NumPy's BLAS for its own",
    "kernels/native/totals.py": "primitives, dtypes, shapes, axes",
    "kernels/registry.py": "functions of machine code by their names",
    "kernels/windows.py": "places of taps by shapes and params",
    "core/face.py": "what packages import, by the names of these; what lazy packages have",
    "numpy/contraction.py": "einsum: texts and shapes",
    "numpy/elementwise.py": "nodes of a quadrature",
    "numpy/protocol.py": "functions by ufuncs, which are compared by identity",
    "ops/elementwise.py": "nodes of a quadrature by an order",
    "ops/kinds.py": "dtypes, derived: rule_key, params_key",
    "ops/linalg.py": "texts by a number of dimensions",
    "ops/projection.py": "rows of ones by their lengths and dtypes",
    "transforms/deferral.py": "segments, dtypes of results: primitives, params_key, places, dtypes",
    "core/same_graphs.py": "interned Graphs: key_of, params_key",
    "transforms/custom/jvp_vjp.py": "structure and avals of results, to be compared with the function's: key_of",
    "transforms/sparse_jacobian.py": "recipes: the Graph of tangents, what it closes over: graph_key, key_of",
    "transforms/follow/stack.py": "code objects, which are equal only with equal instructions",
    "transforms/jit.py": "programs: key_of, tree_key",
    "compat/texts/__init__.py": "files of the package",
    "compat/utils/module_tracker.py": "names of modules, while these live",
    "compat/_declare/documentation.py": "the forms of functions",
    "compat/_declare/module_documentation.py": "docstrings by their subject and what is declared of it",
    "compat/_declare/package_documentation.py": "docstrings by their package, subject and what is declared of it",
    "distributed/mpi.py": "operations of MPI by names and dtypes",
    "distributed/processes.py": "the group of all processes",
    "distributed/requests.py": "the library",
    "per_sample/kept.py": "kinds of arguments: structure, tree_key, shapes and dtypes",
    "scipy/ndimage/geometry.py": "matrices of prefilters by size, degree and mode",
}


def remembers(path):
    """Whether a file makes a memory."""
    text = path.read_text(encoding="utf-8")
    if not any(name in text for name in MAKERS):
        return False
    nodes = list(ast.walk(ast.parse(text)))
    made = [n.func for n in nodes if isinstance(n, ast.Call)]
    made += [d for n in nodes if isinstance(n, ast.FunctionDef) for d in n.decorator_list]
    return not MAKERS.isdisjoint(ast.unparse(n).rpartition(".")[2] for n in made)


def test_every_place_that_remembers_is_known():
    files = [path for path in PACKAGE.rglob("*.py") if remembers(path)]
    assert {str(path.relative_to(PACKAGE)) for path in files} == set(MEMORIES)


CACHES = []


@pytest.fixture(autouse=True, scope="module")
def every_memory_at_hand():
    """All of them are listed in CACHES, those that are made by a test as well."""
    made = Cache.__init__
    gc.unfreeze()  # what tests/conftest.py has frozen is not among the objects
    CACHES.extend(found for found in gc.get_objects() if type(found) is Cache)
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "__init__", lambda self, *limit: CACHES.append(self) or made(self, *limit))
        yield
    CACHES.clear()


def forget():
    """Empty every memory of the library."""
    for found in CACHES:
        found.clear()


def outcome(program):
    """Everything there is to see of a result: values to the bit, dtypes, structure; or of an error its class."""
    try:
        with np.errstate(all="ignore"):
            result = program()
    except Exception as error:
        return type(error)
    leaves, structure = fx.tree.flatten(result)
    leaves = [v.numpy(force=True) if isinstance(v, torch.Tensor) else v for v in leaves]
    return (
        structure,
        tree_key(result),
        [(type(v), np.asarray(v).dtype, np.shape(v), np.asarray(v).tobytes()) for v in leaves],
    )


def check_independence(programs, name):
    """Each program gives, after any others, what it gives when nothing is remembered."""
    expected = []
    for program in programs:
        forget()
        expected.append(outcome(program))
    rng = random.Random(zlib.crc32(name.encode()))
    order = list(range(len(programs)))
    for _ in range(3):
        rng.shuffle(order)
        forget()
        for i in order:
            assert outcome(programs[i]) == expected[i], f"{name}: program {i}, in the order {order}"


# -- keys -----------------------------------------------------------------------------------------------------
Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Options:
    """A static argument of a user's class."""

    order: object
    scale: object = 1.0


NUMBERS = [
    None, "1", b"1", 0, 1, 0.0, -0.0, 1.0, True, False, 0j, -0.0j, complex(0.0, -0.0), complex(-0.0, 0.0), 1 + 0j,
    math.nan, -math.nan, np.float32(-0.0), np.float64("nan"), np.datetime64("2020"), np.datetime64("2020-01-01"),
    *(kind(v) for v in (0, 1) for kind in (np.float32, np.float64, np.int8, np.int64, np.complex64, np.bool_)),
    ml_dtypes.bfloat16(1),
]  # fmt: skip
numbers = st.sampled_from(NUMBERS)
static = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(Pair, inner, inner),
        st.builds(slice, inner, inner, inner),
        st.frozensets(
            inner.filter(lambda v: not isinstance(v, slice) and "slice" not in repr(v)), max_size=2
        ),
        st.builds(Options, inner, inner),
    ),
    max_leaves=4,
)


def described(value):
    """A value as text that says all about it: its types, and the bits of its numbers."""
    kind = type(value).__name__
    if isinstance(value, np.generic):
        return f"{kind}:{value.dtype}:{value.tobytes().hex()}"
    if isinstance(value, float):
        return f"{kind}:{value!r}:{math.copysign(1, value)}"
    if isinstance(value, complex):
        return f"{kind}:{described(value.real)}:{described(value.imag)}"
    if isinstance(value, tuple):
        return f"{kind}({', '.join(map(described, value))})"
    if isinstance(value, frozenset):
        return f"{kind}({', '.join(sorted(map(described, value)))})"
    if isinstance(value, slice):
        return f"{kind}({described((value.start, value.stop, value.step))})"
    if isinstance(value, Options):
        return f"{kind}({described((value.order, value.scale))})"
    return f"{kind}:{value!r}"


@given(static, static)
def test_keys_are_equal_exactly_for_values_that_cannot_be_told_apart(a, b):
    assert (key_of(a) == key_of(b)) == (described(a) == described(b))
    assert key_of(copy.deepcopy(a)) == key_of(a)
    if "slice" not in described(a):
        assert hash(key_of(copy.deepcopy(a))) == hash(key_of(a))


@given(static, static)
def test_jit_tells_static_arguments_apart(a, b):
    if "slice" in described(a) + described(b):  # cannot be hashed before Python 3.12
        return
    seen = []
    f = fx.jit(lambda x, given: seen.append(described(given)) or x, static_argnums=1)
    f(1.0, a), f(1.0, b), f(1.0, a)
    assert seen == [described(a)] if described(a) == described(b) else [described(a), described(b)]


class Tagged:
    """A registered class."""

    def __init__(self, tag, child):
        self.tag, self.child = tag, child


fx.tree.register_pytree_node(
    Tagged, lambda t: ((t.child,), t.tag), lambda tag, children: Tagged(tag, *children)
)

TREES = [
    {"a": 1.0, "b": 2.0},
    {"b": 2.0, "a": 1.0},
    OrderedDict(a=1.0, b=2.0),
    OrderedDict(b=2.0, a=1.0),
    defaultdict(int, a=1.0, b=2.0),
    defaultdict(list, a=1.0, b=2.0),
    {1: 1.0, 0: 2.0},
    {True: 1.0, False: 2.0},
    {1.0: 1.0, 0.0: 2.0},
    {1.0: 1.0, -0.0: 2.0},
    [{"a": 1.0, "b": 2.0}],
    [{"b": 1.0, "a": 2.0}],
    ({"b": 1.0, "a": 2.0},),
    *(Tagged(tag, 1.0) for tag in (1, True, 1.0, 0.0, -0.0)),
    [Tagged((1,), 1.0)],
    [Tagged((True,), 1.0)],
    Tagged(None, {"a": 1.0, "b": 2.0}),
    Tagged(None, {"b": 1.0, "a": 2.0}),
    (1.0, 2.0),
    Pair(1.0, 2.0),
    Pair({"b": 1.0, "a": 2.0}, 1.0),
    Pair({"a": 1.0, "b": 2.0}, 1.0),
]


def told(tree):
    """All that a function may see of a tree besides its leaves, as text."""
    if isinstance(tree, dict):
        factory = getattr(tree, "default_factory", None)
        return f"{type(tree).__name__}{factory}({[(described(k), told(v)) for k, v in tree.items()]})"
    if isinstance(tree, Tagged):
        return f"Tagged({described(tree.tag)}, {told(tree.child)})"
    if isinstance(tree, tuple | list):
        return f"{type(tree).__name__}({[told(v) for v in tree]})"
    return ""


def test_jit_hands_every_tree_to_the_function_as_it_is():
    """Whatever trees it was called with before."""
    for order in (TREES, TREES[::-1]):
        seen = []
        f = fx.jit(lambda tree: seen.append(told(tree)) or 1.0)  # noqa: B023
        for tree in order:
            f(tree)
        assert seen == [told(tree) for tree in order]


# -- programs -------------------------------------------------------------------------------------------------
def operand_kinds(rng, shape):
    """Operands that are alike in all but what rules depend on."""
    x = rng.uniform(0.2, 0.9, shape)
    arrays = [x.astype(d) for d in ("f2", "f4", "f8", "c8", "c16", "i4", "?")] + [
        x.astype(ml_dtypes.bfloat16)
    ]
    arrays += [x[:1], x[0, 0], np.float32(0.5), np.complex128(0.5 + 1j), np.asarray(0.5)]
    return [*arrays, True, 1, 0.5, 1.0 + 0.5j]


def differentiated(call, operands, params):
    """The operation in reverse mode, in forward mode, and one level further in, where Python numbers are traced."""
    places = [i for i, v in enumerate(operands) if np.asarray(v).dtype.kind in "fcV"]

    def f(*values):
        full = list(operands)
        for i, v in zip(places, values):
            full[i] = v
        return call(*full, **params)

    def run():
        values = [operands[i] for i in places]
        if not places:
            return f()
        y, pullback = fx.vjp(f, *values)
        ct = np.full(np.shape(y), 0.5, np.asarray(y).dtype)[()]
        inner = fx.vjp(lambda *v: fx.jvp(f, v, tuple(np.ones_like(w)[()] for w in values)), *values)
        return y, pullback(ct), inner[0]

    return run


ELEMENTWISE = {s.name: s for s in SAMPLES if isinstance(s.primitive, Elementwise)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_rules_of_elementwise_operations_are_independent(name):
    sample = ELEMENTWISE[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    kinds = operand_kinds(rng, (2, 3))
    choices = list(itertools.product(kinds, repeat=len(sample.operands)))
    rng.shuffle(choices)
    programs = [differentiated(sample.primitive.call, list(picked), sample.params) for picked in choices[:24]]
    check_independence(programs, name)


def given_number(name, value, required, operands):
    """A call of one of torch's operations with a value for one of its static parameters, and its gradients."""
    operation = OPERATIONS[name]

    def run():
        torch.manual_seed(0)
        tensors = {n: torch.tensor(v, requires_grad=True) for n, v in operands.items()}
        result = operation.entry_point(**tensors, **required, **value)
        results = list(result) if isinstance(result, tuple | list) else [result]
        total = sum((r * 0.5).sum() for r in results if r.requires_grad)
        if isinstance(total, torch.Tensor):
            total.backward()
        return results, [t.grad for t in tensors.values()]

    return run


# What a static parameter may be confused with: each of these compares equal to another.
CONFUSED = [
    0, False, 0.0, -0.0, 1, True, 1.0, (0,), (False,), (0.0,), (-0.0,), (1,), (True,), (1, 0), (True, False), math.nan,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [name for name, op in OPERATIONS.items() if len(op.parameters) > len(op.names)]
)
def test_plans_of_operations_are_independent(name):
    operation = OPERATIONS[name]
    statics = [p for p in operation.parameters if p.name not in operation.names]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    operands = {n: rng.uniform(-0.9, 0.9, (2, 3)) for n in operation.names}
    for static in statics:
        required = {p.name: 1 for p in statics if p.default is p.empty and p is not static}
        values = [
            v
            for v in CONFUSED
            if type(v) is tuple or static.default is None or type(static.default) is not tuple
        ]
        programs = [given_number(name, {static.name: v}, required, operands) for v in values]
        check_independence(programs, f"{name} {static.name}")


@pytest.mark.parametrize(
    "pair", [(0.0, -0.0), (1, True), (1, 1.0), (1.0, 1 + 0j), (np.float32(1), np.float64(1))], ids=repr
)
def test_bodies_of_loops_are_independent(pair):
    """The same lines with numbers that compare equal."""

    def program(number):
        def looped(x):
            carry, _ = lax.scan(
                lambda c, _: (fnp.copysign(c, fnp.real(number)) * x, fnp.asarray(number)), x, None, length=2
            )
            return carry

        return lambda: (looped(2.0), fx.grad(looped)(2.0), fx.jit(looped)(2.0))

    check_independence([program(n) for n in pair], repr(pair))


def test_a_tensor_in_a_transform_poisons_nothing():
    ones = torch.ones(3, dtype=torch.float64)

    def product(a, b):
        return (a * b).sum()

    programs = [
        lambda: fx.grad(lambda z: (z * z).sum())(ones),
        lambda: fx.grad(product, (0, 1))(np.ones((3, 1)), np.ones((1, 4))),
        lambda: fx.grad(product, (0, 1))(np.ones(3), np.ones(3, np.float32)),
        lambda: torch.func.grad(lambda z: (z * z).sum())(ones),
        lambda: fx.vjp(fnp.multiply, np.ones((3, 1)), ones)[1](np.ones((3, 3))),
    ]
    check_independence(programs, "tensors")
    a, b = fx.grad(product, (0, 1))(np.ones((3, 1)), np.ones((1, 4)))
    assert a.shape == (3, 1) and b.shape == (1, 4)


def test_gradients_at_complex_numbers_after_real_ones():
    """By the documented convention, whatever came before."""
    square = fx.grad(lambda x: fnp.abs(x) ** 2)
    assert square(2.0) == 4.0 and square(1 + 2j) == 2 - 4j
    part = fx.grad(fnp.imag)
    assert part(2.0) == 0.0 and part(1j) == -1j
    first, second = fx.vjp(lambda x: x[0] + x[1], (2.0, 1j))[1](1j)[0]
    assert first == 0.0 and type(first) is np.float64 and second == 1j
