"""Checks of trees, devices and values, and the faked transformations of chex.

packages: chex
tolerance: 1e-5
"""

import chex
import jax
import jax.numpy as jnp

tree = {"w": jnp.ones((2, 3)), "b": {"x": jnp.zeros(3)}}
chex.assert_tree_shape_prefix({"a": jnp.ones((2, 3)), "b": jnp.ones((2, 5))}, (2,))
chex.assert_trees_all_equal_shapes(tree, jax.tree.map(jnp.zeros_like, tree))
chex.assert_trees_all_equal_structs(tree, tree)
chex.assert_trees_all_equal_dtypes(tree, tree)
chex.assert_axis_dimension(tree["w"], 1, 3)
chex.assert_is_broadcastable((3,), (2, 3))
for check in (
    lambda: chex.assert_trees_all_equal(tree, jax.tree.map(lambda x: x + 1, tree)),
    lambda: chex.assert_tree_all_finite({"a": jnp.array(jnp.nan)}),
    lambda: chex.assert_rank(tree["w"], 1),
    lambda: chex.assert_type(tree["w"], int),
    lambda: chex.assert_equal_shape([tree["w"], tree["b"]["x"]]),
):
    try:
        check()
    except AssertionError as error:
        print("refused", len(str(error)) > 0)
with chex.fake_jit():
    print(jax.jit(lambda x: float(x.sum()))(tree["w"]))
dims = chex.Dimensions(B=2, D=3)
chex.assert_shape(tree["w"], dims["BD"])
print(dims["BD"])
