"""torch.fx: programs of torch as Graphs that programs look at and change."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from . import experimental, passes
    from ._symbolic_trace import PH as PH
    from ._symbolic_trace import Tracer as Tracer
    from ._symbolic_trace import symbolic_trace as symbolic_trace
    from ._symbolic_trace import wrap as wrap
    from .graph import CodeGen as CodeGen
    from .graph import Graph as Graph
    from .graph_module import GraphModule as GraphModule
    from .interpreter import Interpreter as Interpreter
    from .interpreter import Transformer as Transformer
    from .node import Node as Node
    from .node import has_side_effect as has_side_effect
    from .node import map_arg as map_arg
    from .proxy import Proxy as Proxy
    from .subgraph_rewriter import replace_pattern as replace_pattern

LazyPackage.of(__name__)
