"""torch.fx.experimental.proxy_tensor: `make_fx`, which makes a Graph of the ATen operations that a function calls.

The function runs on its arguments. A handler of operations (see `_declare.handlers`) makes a Node of each, and finds
the Nodes of operands by the identity of their values.
"""

from __future__ import annotations

import gc
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....extend import CURRENT, use_context
from ..._core.dtypes import from_numpy_dtype
from ..._core.modes import current_modes, with_modes
from ..._core.overriding import TorchFunctionMode
from ..._core.tensor import Tensor
from ..._declare.handlers import OperationCall, OperationHandler, Recorded
from ..._make.strided import empty_strided
from ...errors import ArgumentValueError, NotSupportedError
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...ops.overloads import aten_operation, called_operation
from ...utils import _pytree as pytree
from ..code import PyTreeCodeGen
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Argument, Node, Target
from ..passes.shape_prop import extract_metadata

MODES = ("real", "fake", "symbolic")
# Functions that make Tensors of numbers, or draw them: these are Nodes, too.
MAKERS = frozenset(
    [
        "arange",
        "empty",
        "empty_like",
        "eye",
        "full",
        "full_like",
        "linspace",
        "logspace",
        "normal",
        "ones",
        "ones_like",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "tensor",
        "tril_indices",
        "triu_indices",
        "zeros",
        "zeros_like",
    ]
)


class MakerMode(TorchFunctionMode):
    """The mode under which Tensors that functions make of numbers are noted."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in MAKERS and isinstance(result, Tensor):
            self.recorder.note(func, self.recorder.map(tuple(args)), self.recorder.map(kwargs or {}), result)
        return result


class Recorder(OperationHandler):
    """The handler that makes a Node of every operation.

    Args:
        graph: the Graph that takes them.
        root: the module that takes parameters and Tensors which are no inputs.
    """

    def __init__(self, graph: Graph, root: Module):
        self.graph, self.root = graph, root
        self.nodes: dict[int, Node] = {}  # by the ids of values, which are kept
        self.kept: list[Any] = []
        # The Tensors that were there before, which are kept, so that no other one gets the id of one.
        self.known = {id(x): x for x in gc.get_objects() if isinstance(x, Tensor)}

    def handle(self, call: OperationCall, proceed: Callable[[], Recorded]) -> Recorded:
        """Carry out an operation, and make its Node."""
        target, args, kwargs = self.describe(call)
        value, history = proceed()
        if isinstance(value, np.generic):
            value = np.asarray(value)  # which the result keeps
        self.note(target, args, kwargs, value)
        return value, history

    def describe(self, call: OperationCall) -> tuple[Target, tuple[Argument, ...], dict[str, Argument]]:
        """Return the call of an ATen operation for one of a declared operation, as torch calls it."""
        name, operands = call.operation.name, self.map(tuple(call.operands))
        params = {n: x for n, x in call.params.items() if x is not call.operation.defaults.get(n, call)}
        if name == "linear":
            x, _, bias = (*operands, None)[:3]
            transposed = self.find(call.operands[1].detach().t())  # an operation that makes its own Node
            if bias is None:
                return (
                    aten_operation("matmul" if len(call.operands[0].shape) > 2 else "mm"),
                    (x, transposed),
                    {},
                )
            if len(call.operands[0].shape) == 2:
                return aten_operation("addmm"), (bias, x, transposed), {}
            return aten_operation("linear"), operands, {}
        if name in ("conv1d", "conv2d", "conv3d"):
            count = len(call.params["stride"])
            numbers = [list(call.params[n]) for n in ("stride", "padding", "dilation")]
            x, weight, bias = (*operands, None)[:3]
            args = (x, weight, bias, *numbers, False, [0] * count, call.params["groups"])
            return aten_operation("convolution"), args, {}
        if "index" in params and name in ("select", "slice"):
            return operator.getitem, (*operands, params["index"]), {}
        if name == "index":
            given = iter(operands[1])
            return (
                operator.getitem,
                (operands[0], tuple(next(given) if u else slice(None) for u in params["template"])),
                {},
            )
        if name == "to_copy":
            return aten_operation("to"), (*operands, from_numpy_dtype(params["dtype"])), {}
        if name == "einsum":
            return aten_operation(name), (params["equation"], *operands[0]), {}
        if name == "layer_norm":
            return aten_operation(name), (operands[0], list(params["size"]), *operands[1:], params["eps"]), {}
        while operands and operands[-1] is None:
            operands = operands[:-1]
        target = called_operation(name, call.operands, call.is_inplace)
        target = target if target.function is not None else aten_operation(name)
        # Whether the function that users call has these parameters, in this order.
        is_same = call.operation.view or getattr(target.function, "operation", None) is call.operation
        for parameter in call.operation.parameters[len(operands) :] if is_same else ():
            if parameter.name not in params or parameter.kind is parameter.KEYWORD_ONLY:
                break
            value = params.pop(parameter.name)
            operands += (list(value) if isinstance(value, tuple) else value,)
        return target, operands, params

    def note(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument], result: Any
    ) -> None:
        """Make the Node of an operation, and those of its results if it has several."""
        node = self.add(target, args, kwargs, result)
        if isinstance(result, list | tuple):
            for place, part in enumerate(result):
                self.add(operator.getitem, (node, place), {}, part)

    def add(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument], result: Any
    ) -> Node:
        """Make a Node whose value is a result."""
        return self.name(self.graph.call_function(target, args, kwargs), result)  # type: ignore[arg-type]

    def name(self, node: Node, result: Any) -> Node:
        """Take note that a result is the value of a Node."""
        if not isinstance(result, list | tuple):
            value = result._fx_value if isinstance(result, Tensor) else result
            self.nodes[id(value)] = node
            self.kept.append(value)
            self.note_kind(node, value)
        return node

    def note_kind(self, node: Node, value: Any) -> None:
        """Note the shape, dtype and strides of a Node's value."""
        strides = tuple(s // value.itemsize for s in getattr(value, "strides", ()))
        node.meta["val"] = empty_strided(
            tuple(value.shape), strides, dtype=from_numpy_dtype(value.dtype), device="meta"
        )
        node.meta["tensor_meta"] = extract_metadata(node.meta["val"])

    def map(self, tree: Any) -> Any:
        """Put Nodes into the places of Tensors in containers."""
        return pytree.tree_map(lambda x: self.find(x) if isinstance(x, Tensor | np.ndarray) else x, tree)

    def find(self, x: Tensor | np.ndarray) -> Node:
        """Find the Node of a Tensor: an attribute of the module if the function has not computed it.

        Raises:
            NotImplementedError: it was computed by a step that is no operation.
        """
        node = self.nodes.get(id(x._fx_value if isinstance(x, Tensor) else x))
        if node is not None:
            return node
        if isinstance(x, np.ndarray) or id(x) not in self.known:
            raise NotSupportedError(
                "make_fx() records operations, and a Tensor was computed by something else",
                hint="torch.where instead of an index that is a mask; the function without torch.func transforms, "
                "backward and autograd.grad",
            )
        kind = "_param_constant" if isinstance(x, Parameter) else "_tensor_constant"
        name = f"{kind}{sum(n.startswith(kind) for n in (*self.root._parameters, *self.root._buffers))}"
        if isinstance(x, Parameter):
            self.root.register_parameter(name, x)
        else:
            self.root.register_buffer(name, x)
        return self.name(self.graph.get_attr(name), x)


def make_fx(
    f: Callable[..., Any], decomposition_table: Any = None, tracing_mode: str = "real", **options: Any
) -> Callable[..., GraphModule]:
    """Make a function that returns a GraphModule of the ATen operations that `f` calls for given arguments.

    Conditions and loops are those of these arguments. Parameters and other Tensors that are no arguments are attributes
    of the module. `node.meta["val"]` is a Tensor without entries of the shape and dtype of a Node's value.

    Args:
        f: the function, or a module.
        decomposition_table: accepted; operations are those of the library.
        tracing_mode: "real", "fake" or "symbolic", which are the same here: `f` runs on the arguments.
        options: further ones of torch, without meaning here.

    Returns:
        (arguments) → the GraphModule.

    Raises:
        ValueError: there is no such mode.
        NotImplementedError: the function uses results of a transform, or of a backward pass.

    >>> from fxgrad.compat.fx.experimental.proxy_tensor import make_fx
    >>> layer = torch.nn.Linear(3, 2)
    >>> print(make_fx(lambda x: torch.relu(layer(x)))(torch.zeros(5, 3)).code.strip())
    def forward(self, x_1):
        _param_constant0 = self._param_constant0
        _param_constant1 = self._param_constant1
        t = torch.ops.aten.t.default(_param_constant0);  _param_constant0 = None
        addmm = torch.ops.aten.addmm.default(_param_constant1, x_1, t);  _param_constant1 = x_1 = t = None
        relu = torch.ops.aten.relu.default(addmm);  addmm = None
        return relu
    """
    if tracing_mode not in MODES:
        raise ArgumentValueError(f"Unexpected tracing type: {tracing_mode}", hint=f"one of {MODES}")

    def trace(*args: Any) -> GraphModule:
        graph, root = Graph(), Module()
        recorder = Recorder(graph, root)
        names = parameter_names(f, len(args))
        leaves, spec = pytree.tree_flatten(args)
        is_flat = len(leaves) == len(args)
        counts = [1] * len(args) if is_flat else [s.num_leaves for s in spec.children_specs]
        numbers = [(name, i + 1) for name, count in zip(names, counts) for i in range(count)]
        for (name, number), leaf in zip(numbers, leaves):
            node = graph.placeholder(f"{name}_{number}")
            if isinstance(leaf, Tensor):
                recorder.name(node, leaf)
        modes = current_modes()
        with (
            use_context(with_modes(CURRENT.get(), handlers=(*modes.handlers, recorder))),
            MakerMode(recorder),
        ):
            result = f(*args)
        if is_flat:
            graph.output(recorder.map(result))
        else:
            found, out_spec = pytree.tree_flatten(result)
            graph._codegen = PyTreeCodeGen(names, spec)
            graph._codegen.out_spec = out_spec
            graph.output(recorder.map(found))
        return GraphModule(root, graph)

    return trace


def parameter_names(f: Any, count: int) -> list[str]:
    """Return names for the arguments of a function."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    names = [] if code is None or isinstance(f, Module) else list(code.co_varnames[: code.co_argcount])
    return names if len(names) == count else [f"arg{i}" for i in range(count)]


__all__ = ["make_fx"]
