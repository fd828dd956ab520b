"""A graph network, a batch of graphs, and padding.

packages: jraph
tolerance: 1e-4
"""

import jax
import jax.numpy as jnp
import jraph

graph = jraph.GraphsTuple(
    nodes=jnp.array([[0.1], [1.1], [2.1], [3.1]]),
    edges=jnp.ones((5, 1)),
    senders=jnp.array([0, 1, 2, 3, 0]),
    receivers=jnp.array([1, 2, 0, 0, 3]),
    n_node=jnp.array([4]),
    n_edge=jnp.array([5]),
    globals=jnp.array([[1.0]]),
)
net = jraph.GraphNetwork(
    update_edge_fn=lambda e, s, r, g: e + s - r,
    update_node_fn=lambda n, s, r, g: jnp.tanh(n + r),
    update_global_fn=lambda n, e, g: g + n.sum() + e.sum(),
)
out = jax.jit(net)(graph)
print(out.nodes.tolist(), out.edges.tolist(), out.globals.tolist())
two = jraph.batch([graph, graph])
padded = jraph.pad_with_graphs(two, 10, 12, 3)
print(padded.n_node.tolist(), jraph.get_graph_padding_mask(padded).tolist(), len(jraph.unbatch(two)))
gcn = jraph.GraphConvolution(lambda n: n * 2.0, add_self_edges=True)
print(gcn(graph).nodes.tolist())
print(jax.grad(lambda n: net(graph._replace(nodes=n)).globals.sum())(graph.nodes).tolist())
