"""torch.fx: programs are traced to the same Graphs and the same code as by torch, and do what they did before."""

import copy
import io
import math
import operator
import pickle

import numpy as np
import pytest
import torch

import fxgrad.compat as fxc

LIBRARIES = {"ours": fxc, "torch": torch}


@pytest.fixture(params=list(LIBRARIES))
def library(request):
    return LIBRARIES[request.param]


def in_both(program):
    """What a program returns with each of the libraries."""
    return [program(library) for library in LIBRARIES.values()]


def make_model(library):
    """A module with layers, parameters, buffers, a function and operators."""

    class Inner(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = library.nn.Parameter(library.ones(5))
            self.act = library.nn.Tanh()

        def forward(self, x):
            return self.act(x) * self.scale

    class Model(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = library.nn.Linear(4, 5)
            self.shift = library.nn.Parameter(library.full((4,), 0.5))
            self.register_buffer("mean", library.ones(5))
            self.layers = library.nn.Sequential(library.nn.ReLU(), library.nn.Linear(5, 3))
            self.inner = Inner()

        def forward(self, x, input, *, k=2, flag=True):
            y = self.inner(self.linear(x + self.shift[:4]) - self.mean)
            y = library.flatten(y, 1)
            y = library.cat([y, y], dim=1)[:, :5]
            y += 1
            rows = y.size(0) + y.shape[1]
            if flag:
                y = self.layers(1 - -y).clamp(min=0.0, max=1.0)
            a, b = y.chunk(2)
            y = library.add(y, library.ones(3), alpha=2)
            return {
                "a": (y, k),
                "b": [a, b, None, slice(1, 2)],
                "rows": math.sqrt(rows),
                "m": y @ y.t(),
                "e": y[..., None],
            }

    library.manual_seed(0)
    model = Model()
    with library.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(library.linspace(-1, 1, p.numel()).reshape(p.shape) + 0.1 * i)
    return model


def use_varargs(x, *args, **options):
    return x + args[0] * options["a"]


def annotate(torch):
    def function(x: torch.Tensor, y: int = 2, z: bool = False) -> torch.Tensor:
        return x + y

    return function


PROGRAMS = {
    "operators": lambda torch: (
        lambda x, y: (-x + y * 2 - 3 / y, x // y % 2, x**2 @ y, ~x, abs(x), x << 1 & 3 | y ^ x >> 2)
    ),
    "comparisons": lambda torch: lambda x, y: (x < y, x <= 1, x < 2, x >= y, x == y, x != 1),
    "in place": lambda torch: lambda x: operator.iadd(x, 1),
    "attributes": lambda torch: lambda x: (x.shape, x.T.mT, x.dtype, x.a.b(3).c),
    "methods": lambda torch: lambda x: x.relu().sum(dim=-1, keepdim=True).to(torch.float64).view(-1, 2),
    "functions": lambda torch: lambda x: torch.where(torch.isnan(x), torch.zeros_like(x), torch.exp(x)),
    "names": lambda torch: lambda input, self_, torch_, sum, x_1, x: input + sum + x_1 + x,
    "varargs": lambda torch: use_varargs,
    "constants": lambda torch: (
        lambda x: (x + float("inf"), {"k": [1, (x,), "a'b", True, None, ..., 1.5, 2j]}, torch.float32)
    ),
    "dead": lambda torch: lambda x: (x.exp(), x + 1)[1],
    "annotations": annotate,
    "slices": lambda torch: lambda x: x[1:, None, ::2, x, ...],
    "made": lambda torch: lambda x: torch.ones(x.shape[0]) + x,
    "numbers": lambda torch: lambda x: math.floor(math.sqrt(x)),
    "unpacked": lambda torch: lambda x: (lambda a, b, c: a + c)(*[p for p in unpack(x)]),
    "called": lambda torch: lambda f, x: f(x),
    "layers": lambda torch: torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten()
    ),
}


def unpack(x):
    a, b, c = x
    return a, b, c


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_graph_and_the_code_of_torch(name):
    def trace(library):
        module = library.fx.symbolic_trace(PROGRAMS[name](library))
        return module.code, str(module.graph), str(module)

    ours, theirs = in_both(trace)
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert ours[2] == theirs[2]


def test_modules_have_the_graph_and_the_code_of_torch():
    def trace(library):
        module = library.fx.symbolic_trace(make_model(library), {"flag": True})
        return module.code, str(module.graph), str(module)

    ours, theirs = in_both(trace)
    assert ours == theirs


CONCRETE = {
    "bool": ((lambda x, flag: x + 1 if flag else x), {"flag": True}),
    "none": ((lambda x, y=None: x if y is None else y), {"y": None}),
    "number": ((lambda x, n=1: sum([x] * n)), {"n": 3}),
    "tuple": ((lambda x, y: x + y[0] * y[1]), lambda PH: {"y": (PH, 2)}),
    "dict": ((lambda x, d: {"r": d["a"] + d["b"][0] + x}), lambda PH: {"d": {"a": PH, "b": [PH]}}),
}


@pytest.mark.parametrize("name", CONCRETE)
def test_concrete_arguments_are_checked(name):
    function, given = CONCRETE[name]

    def trace(library):
        return library.fx.symbolic_trace(function, given(library.fx.PH) if callable(given) else given).code

    ours, theirs = in_both(trace)
    assert ours == theirs


def test_inputs_in_containers_are_taken_apart(library):
    function, given = CONCRETE["dict"]
    module = library.fx.symbolic_trace(function, given(library.fx.PH))
    x, a, b = (library.full((2,), float(i)) for i in (1, 2, 3))
    assert module(x, {"a": a, "b": [b]})["r"].tolist() == [6, 6]
    assert library.fx.Interpreter(module).run(x, {"a": a, "b": [b]})["r"].tolist() == [6, 6]


def numbers_of(tree):
    """The entries of all Tensors in containers."""
    if isinstance(tree, dict):
        return [n for x in tree.values() for n in numbers_of(x)]
    if isinstance(tree, list | tuple):
        return [n for x in tree for n in numbers_of(x)]
    return tree.detach().numpy().ravel().tolist() if hasattr(tree, "detach") else []


def run_model(library, change):
    model = make_model(library)
    module = change(library, library.fx.symbolic_trace(model, {"flag": True}))
    x = library.linspace(-1, 1, 8).reshape(2, 4)
    found = module(x, x)
    loss = found["a"][0].sum() + found["m"].sum()
    loss.backward()
    return numbers_of(found), [
        p.grad.numpy().ravel().tolist() for p in model.parameters()
    ] if module else None


CHANGES = {
    "none": lambda library, module: module,
    "deepcopy": lambda library, module: keep_parameters(copy.deepcopy(module), module),
    "copy": lambda library, module: copy.copy(module),
    "transformed": lambda library, module: library.fx.Transformer(module).transform(),
    "interpreted": lambda library, module: library.fx.Interpreter(module).run,
    "traced again": lambda library, module: library.fx.symbolic_trace(module),
    "pickled": lambda library, module: keep_parameters(pickle.loads(pickle.dumps(module)), module),
    "saved": lambda library, module: keep_parameters(save_and_load(library, module), module),
}


def keep_parameters(copied, module):
    """Give a copy the parameters of a module, whose gradients are looked at; they had the same entries."""
    for (name, p), (other, q) in zip(module.named_parameters(), copied.named_parameters(), strict=True):
        assert name == other and p.tolist() == q.tolist()
        place, _, last = name.rpartition(".")
        setattr(copied.get_submodule(place), last, p)
    assert module.state_dict().keys() == copied.state_dict().keys()
    return copied


def save_and_load(library, module):
    file = io.BytesIO()
    library.save(module, file)
    file.seek(0)
    with library.serialization.safe_globals([library.fx.graph_module.reduce_graph_module, library.fx.Tracer]):
        return library.load(file, weights_only=False)


@pytest.mark.parametrize("change", CHANGES)
def test_modules_and_their_copies_compute_the_same(change):
    if change in ("pickled", "saved"):  # torch cannot take the class of a function's own
        ours = run_model(fxc, CHANGES[change])
    else:
        ours, theirs = in_both(lambda library: run_model(library, CHANGES[change]))
        np.testing.assert_allclose(
            np.concatenate([ours[0], *ours[1]]), np.concatenate([theirs[0], *theirs[1]]), 1e-5, 1e-6
        )
    plain = run_model(fxc, CHANGES["none"])
    assert ours == plain


REFUSED = {
    "condition": lambda torch: lambda x: x if x.sum() > 0 else -x,
    "loop": lambda torch: lambda x: [i for i in x],
    "length": lambda torch: lambda x: len(x),
    "integer": lambda torch: lambda x: int(x),
    "range": lambda torch: lambda x: range(x),
    "keywords": lambda torch: lambda x: dict(**x),
    "argument": lambda torch: lambda x: x.sum(object()),
    "result": lambda torch: lambda x: object,
    "key": lambda torch: lambda x: {x: 1},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_values_is_refused(name):
    def trace(library):
        with pytest.raises((TypeError, ValueError, RuntimeError, NotImplementedError)) as caught:
            library.fx.symbolic_trace(REFUSED[name](library))
        return caught.value

    ours, theirs = in_both(trace)
    assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]
    assert isinstance(ours, next(t for t in type(theirs).__mro__ if t.__module__ == "builtins"))


def test_the_error_names_the_line_of_the_program():
    def program(x):
        y = x + 1
        return 1 if y > 0 else 2

    with pytest.raises(
        fxc.fx.proxy.TraceError, match=r"test_fx.py:\d+ in .*program:  return 1 if y > 0 else 2"
    ):
        fxc.fx.symbolic_trace(program)


def test_names_of_values_are_unique():
    names = [
        "x_5",
        "x",
        "x",
        "x_1",
        "x_5",
        "x_7",
        "x",
        "Foo",
        "fooBar",
        "a.b",
        "1",
        "self",
        "torch",
        "inf",
        "input",
        "x",
        "_",
        "for",
        "len",
        "relu",
        "relu_2",
        "relu",
    ]

    def name(library):
        graph = library.fx.Graph()
        return [graph.placeholder(n).name for n in names]

    ours, theirs = in_both(name)
    assert ours == theirs


def edit(library):
    """Change a Graph in many ways, and describe it after each."""
    fx, seen = library.fx, []
    module = fx.symbolic_trace(lambda x, y: library.relu(x) + library.relu(y) * 2)
    graph = module.graph
    x, _, first, second, mul, add, output = graph.nodes

    def note():
        seen.append(
            (str(graph), [str(n.users) for n in graph.nodes], [str(n.all_input_nodes) for n in graph.nodes])
        )

    with graph.inserting_before(first):
        shifted = graph.call_method("add", (x, 1.5))
    first.args = (shifted,)
    note()
    with graph.inserting_after(second):
        clamped = graph.call_function(library.clamp, (second,), {"max": 3.0})
    changed = second.replace_all_uses_with(clamped, delete_user_cb=lambda user: user is not clamped)
    seen.append(str(changed))
    note()
    add.update_arg(1, clamped)
    mul.insert_arg(2, None)
    clamped.update_kwarg("min", 0.0)
    seen.append([graph.eliminate_dead_code(), str(mul in graph.nodes)])
    note()
    output.replace_input_with(add, first)
    seen += [str(n) for n in reversed(graph.nodes)]
    graph.lint()
    second.append(first)
    seen += [first > second, first < second, x.next.name, output.prev.name]
    copied = copy.deepcopy(graph)
    seen += [
        str(copied),
        copied.nodes.__len__(),
        str(graph.find_nodes(op="call_function", target=library.relu)),
    ]
    other = fx.Graph()
    values = {}
    seen.append(str(other.graph_copy(graph, values)))
    other.output(values[first])
    seen += [str(other), str(other.output_node())]
    module.graph = other
    seen += [module.code, module(library.tensor([-3.0, 2.0]), library.zeros(2)).tolist()]
    return seen


def test_graphs_are_changed_as_in_torch():
    ours, theirs = in_both(edit)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == other


def test_mistakes_in_graphs_are_refused():
    def make_mistakes(library):
        graph = library.fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(library.relu, (x,))
        z = graph.call_function(library.cat, ([y, y],), {"dim": 0})
        calls = [
            lambda: graph.erase_node(y),
            lambda: graph.create_node("call", "x"),
            lambda: z.args[0].append(x),
            lambda: z.kwargs.update(dim=1),
            lambda: z.kwargs.__setitem__("dim", 1),
            lambda: library.fx.GraphModule({}, with_attribute(library)),
            lambda: library.fx.Graph().inserting_before(x),
            lambda: library.fx.Graph().erase_node(z),
            lambda: library.fx.node.map_arg((x,), 3),
            lambda: library.fx.Interpreter(library.fx.symbolic_trace(lambda x: x)).run(),
        ]
        found = []
        for call in calls:
            with pytest.raises((TypeError, ValueError, RuntimeError, AssertionError)) as caught:
                call()
            found.append(str(caught.value).splitlines()[0])
        return found

    ours, theirs = in_both(make_mistakes)
    assert ours[:2] + ours[3:] == theirs[:2] + theirs[3:]


def with_attribute(library):
    graph = library.fx.Graph()
    graph.output(graph.get_attr("weight"))
    return graph


PATTERNS = {
    "function": (lambda t: lambda x: t.relu(x), lambda t: lambda x: t.sigmoid(x) * x),
    "two results": (lambda t: lambda x, y: (x + y, x * y), lambda t: lambda x, y: (x - y, x / y)),
    "chain": (lambda t: lambda x, w: t.relu(x @ w), lambda t: lambda x, w: t.tanh(t.matmul(x, w))),
    "shared input": (lambda t: lambda x: x + x, lambda t: lambda x: 2 * x),
    "literal": (lambda t: lambda x: x * 3, lambda t: lambda x: x - 3),
    "method": (lambda t: lambda x: x.neg().exp(), lambda t: lambda x: x.exp().reciprocal()),
    "to an input": (lambda t: lambda x: t.relu(x), lambda t: lambda x: x),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_replaced_as_by_torch(name):
    pattern, replacement = PATTERNS[name]

    def replace(library):
        def program(x, w):
            a = library.relu(x @ w)
            b = library.relu(library.relu(a) @ w)
            c, d = a + b, a * b
            return c + c, d * 3, (b * 2).neg().exp(), x.neg().exp().relu(), (x + w) * 4

        module = library.fx.symbolic_trace(program)
        found = library.fx.replace_pattern(module, pattern(library), replacement(library))
        module.graph.lint()
        x = library.linspace(-1, 1, 4).reshape(2, 2)
        return str(found), module.code, numbers_of(module(x, x.t()))

    ours, theirs = in_both(replace)
    assert ours[:2] == theirs[:2]
    np.testing.assert_allclose(ours[2], theirs[2], 1e-5)


def test_filters_and_callbacks_choose_the_replacement():
    def replace(library):
        from importlib import import_module

        rewriter = import_module(f"{library.fx.__name__}.subgraph_rewriter")
        module = library.fx.symbolic_trace(lambda x: library.relu(x * 2) + library.relu(x * 3))
        half = library.fx.symbolic_trace(lambda x: x / 2).graph
        found = rewriter.replace_pattern_with_filters(
            module,
            lambda x: library.relu(x * 5),
            match_filters=[lambda match, graph, pattern: 3 in match.returning_nodes[0].args[0].args],
            ignore_literals=True,
            replacement_callback=lambda match, graph, pattern: half,
        )
        return module.code, [str(r.replacements) for r in found]

    ours, theirs = in_both(replace)
    assert ours == theirs


def test_shapes_are_propagated():
    from torch.fx.passes.shape_prop import ShapeProp

    from fxgrad.compat.fx.passes.shape_prop import ShapeProp as OurShapeProp

    def propagate(library):
        layers = library.nn
        net = layers.Sequential(layers.Conv2d(1, 2, 3), layers.ReLU(), layers.Flatten(), layers.Linear(32, 3))
        module = library.fx.symbolic_trace(net)
        result = (OurShapeProp if library is fxc else ShapeProp)(module).propagate(library.zeros(2, 1, 6, 6))
        return tuple(result.shape), [str(n.meta["tensor_meta"]) for n in module.graph.nodes]

    ours, theirs = in_both(propagate)
    assert ours == theirs


def test_leaves_are_what_the_tracer_says(library):
    class Flat(library.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return module_qualified_name == "layers.1"

    graph = Flat().trace(make_model(library), {"flag": True})
    assert [n.target for n in graph.find_nodes(op="call_module")] == ["layers.1"]
    assert {n.target for n in graph.find_nodes(op="get_attr")} >= {
        "linear.weight",
        "linear.bias",
        "shift",
        "mean",
        "inner.scale",
    }


def test_proxies_of_the_users_own(library):
    class Named(library.fx.Proxy):
        def __len__(self):
            return 3

    class Own(library.fx.Tracer):
        def proxy(self, node):
            return Named(node, self)

    graph = Own().trace(lambda x: sum(x[i] for i in range(len(x))))
    assert len(graph.find_nodes(op="call_function", target=operator.getitem)) == 3


def test_modules_stack_is_noted():
    def stacks(library):
        graph = library.fx.Tracer().trace(make_model(library), {"flag": True})
        return [
            [(path, cls.__name__) for path, cls in n.meta.get("nn_module_stack", {}).values()]
            for n in graph.nodes
        ]

    ours, theirs = in_both(stacks)
    assert ours == theirs


def test_other_threads_are_not_traced():
    from threading import Thread

    class Waiting(fxc.nn.Module):
        def forward(self, x):
            found = []
            thread = Thread(target=lambda: found.append(fxc.nn.Linear(2, 2)(fxc.ones(2)).shape))
            thread.start()
            thread.join()
            seen.extend(found)
            return x

    seen = []
    fxc.fx.symbolic_trace(Waiting())
    assert seen == [(2,)]
    assert "__call__" not in vars(fxc.nn.Module)
