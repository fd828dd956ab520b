"""Meshes and shardings under JAX's door: on the one device arrays are whole, and specs are checked."""

from __future__ import annotations

import pytest

from tests.peers.test_doors import output

START = """
import jax, jax.numpy as jnp, numpy as np
from jax import P
from jax.sharding import AxisType, NamedSharding
def refused(f, *args, **options):
    try:
        f(*args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    raise AssertionError(f)
mesh = jax.make_mesh((1,), ("x",))
auto = jax.make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
"""


def test_the_mesh_of_a_program_is_set_for_a_block_or_from_now_on():
    shown = output(
        START
        + """
assert jax.sharding.get_mesh().empty and jax.sharding.get_abstract_mesh().empty
with jax.set_mesh(mesh):
    assert jax.sharding.get_mesh() is mesh
    with jax.set_mesh(auto):
        print(jax.sharding.get_abstract_mesh(), jax.sharding.get_mesh())
    assert jax.sharding.get_mesh() is mesh
assert jax.sharding.get_mesh().empty
with mesh:
    jax.lax.with_sharding_constraint(jnp.ones(2), P("x"))
abstract = jax.sharding.AbstractMesh((4,), ("x",))
with jax.sharding.use_abstract_mesh(abstract):
    assert jax.sharding.get_abstract_mesh() == abstract and jax.sharding.get_mesh().empty
jax.set_mesh(mesh)
assert jax.sharding.get_mesh() is mesh
print(refused(jax.set_mesh, 3), refused(jax.jit(lambda: jax.set_mesh(mesh))), sep="\\n")
"""
    ).splitlines()
    assert shown[0] == ("AbstractMesh('x': 1, axis_types=(Auto,)) Mesh('x': 1, axis_types=(Auto,))")
    assert shown[1:] == [
        "StructureError: set_mesh takes a mesh, not 3",
        "StructureError: set_mesh inside of jax.jit",
    ]


PLACING = ["jax.reshard", "jax.sharding.reshard", "jax.device_put", "jax.lax.with_sharding_constraint"]


@pytest.mark.parametrize("name", PLACING)
def test_specs_are_checked_and_arrays_are_whole(name):
    shown = output(
        START
        + f"place = {name}"
        + """
x = jnp.arange(4.0)
tree = {"b": x, "a": (x, 2 * x)}
print(refused(place, x, P("x")).split(" needs ")[-1])
jax.set_mesh(mesh)
for spec in (P("x"), P(None), NamedSharding(mesh, P("x")), P()):
    found = [place(x, spec), jax.jit(lambda x: place(x, spec))(x), jax.grad(lambda x: 2 * place(x, spec).sum())(x)]
    assert all(isinstance(y, jax.Array) for y in found)
    print(*found)
    placed = place(tree, spec)
    assert [*placed] == ["a", "b"] and (placed["a"][1] == 2 * x).all()
assert (place(tree, {"a": P("x"), "b": P(None)})["b"] == x).all()
print(refused(place, x, P("y")), refused(place, x, P(None, "x")), sep="\\n")
"""
    ).splitlines()
    assert shown[0] == "a mesh"
    assert set(shown[1:5]) == {"[0. 1. 2. 3.] [0. 1. 2. 3.] [2. 2. 2. 2.]"}
    assert shown[5].startswith("UnboundAxisError") and shown[6].startswith("ShapeError")


def test_resharding_is_for_explicit_axes():
    shown = output(
        START
        + """
jax.set_mesh(auto)
print(refused(jax.reshard, jnp.ones(2), P("x")), refused(jax.reshard, jnp.ones(2), None), sep="\\n")
print(refused(jax.reshard, jnp.ones(2), 3))
"""
    ).splitlines()
    assert shown == [
        "StructureError: reshard: the axis 'x' is Auto, not Explicit",
        "StructureError: reshard: a sharding is None",
        "TypeError: reshard takes a NamedSharding, a PartitionSpec or a device, not 3",
    ]


def test_functions_of_parts_use_the_mesh_that_was_set():
    shown = output(
        START
        + """
x = jnp.arange(4.0)
print(refused(jax.smap, lambda x: x, in_axes=0, out_axes=0, axis_name="x"))
jax.set_mesh(mesh)
both = jax.smap(lambda x, y: (x + y, jax.lax.psum(y, "x")), in_axes=(0, None), out_axes=(0, None), axis_name="x")
print(*both(x, 2.0), *jax.shard_map(lambda x: x * 2, in_specs=P("x"), out_specs=P("x"))(x))
print(jax.sharding.auto_axes(lambda x: 2 * x, out_sharding=P("x"))(x))
print(jax.sharding.explicit_axes(lambda x: 2 * x)(x, in_sharding=P("x")))
print(refused(jax.sharding.auto_axes(lambda x: x, out_sharding=P("y")), x))
"""
    ).splitlines()
    assert shown[0] == "StructureError: smap needs a mesh"
    assert shown[1] == "[2. 3. 4. 5.] 2.0 0.0 2.0 4.0 6.0"
    assert shown[2] == shown[3] == "[0. 2. 4. 6.]" and shown[4].startswith("UnboundAxisError")


def test_arrays_from_parts_and_parts_of_arrays():
    shown = output(
        START
        + """
from jax.experimental import mesh_utils
sharding, x = NamedSharding(mesh, P("x")), np.arange(4.0, dtype=np.float32)
print(
    jax.make_array_from_callback((4,), sharding, lambda index: x[index]),
    jax.make_array_from_process_local_data(sharding, x),
    jax.make_array_from_single_device_arrays((4,), sharding, [jnp.asarray(x)]),
    jnp.asarray(x).addressable_data(0),
    jnp.asarray(x).addressable_shards[0].data,
)
assert isinstance(jnp.asarray(x).global_shards[0], jax.Shard)
print(mesh_utils.create_device_mesh((1, 1)).shape, mesh.device_ids, jax.process_indices())
print(refused(jax.make_array_from_callback, (3,), sharding, lambda index: x[index]))
print(refused(mesh_utils.create_device_mesh, (2,)))
"""
    ).splitlines()
    assert shown[0] == " ".join(["[0. 1. 2. 3.]"] * 5) and shown[1] == "(1, 1) [0] [0]"
    assert shown[2].startswith("ShapeError") and "2 devices" in shown[3]


def test_forward_and_backward_passes_are_functions_of_their_own():
    shown = output(
        """
import jax, jax.numpy as jnp
import jax.test_util
x = w = jnp.ones((2, 2))
for jitted in (True, False):
    forward, backward = jax.fwd_and_bwd(lambda x, w: x @ w, argnums=(0, 1), jitted=jitted)
    y, residuals = forward(x, w)
    print(*(g.sum() for g in backward(residuals, y)))
forward, backward = jax.fwd_and_bwd(lambda n, x: (n * x.sum(), n), argnums=1, has_aux=True)
y, residuals, aux = forward(3.0, x)
print(y, aux, backward(residuals, 1.0)[0])
jax.test_util.check_grads(jnp.sin, (1.0,), order=2)
kernel = jax.nn.initializers.delta_orthogonal()(jax.random.key(0), (3, 3, 2, 4))
print(jnp.round(kernel[1, 1] @ kernel[1, 1].T, 4), jnp.abs(kernel).sum() == jnp.abs(kernel[1, 1]).sum())
"""
    )
    assert shown == "16.0 16.0\n16.0 16.0\n12.0 3.0 [3. 3.]\n[[1. 0.]\n [0. 1.]] True\n"


def test_arrays_say_how_they_were_placed():
    shown = output(
        START
        + """
from jax.sharding import NamedSharding, SingleDeviceSharding
mesh = jax.make_mesh((1,), ("i",))
whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("i"))
x, key = jnp.arange(4.0), jax.random.key(0)
tree = jax.device_put({"a": x, "key": key}, {"a": rows, "key": whole})
print(jax.tree.map(lambda v: v.sharding == whole, tree), tree["a"].sharding == rows)
print(x.sharding == SingleDeviceSharding(jax.devices()[0]), x.committed, tree["a"].committed, key.is_fully_addressable)
print(jax.jit(lambda x: 2 * x, out_shardings=rows)(x).sharding == rows, jnp.zeros(4, device=whole).sharding == whole)
print(whole, x.sharding.is_equivalent_to(rows, 1), rows.devices_indices_map((4,)), rows.num_devices, x.device)
print(x.addressable_shards[0], jax.device_put(x, jax.devices()[0]).committed, x.aval)
print(jnp.sin(tree["a"]).sharding)
"""
    ).splitlines()
    assert shown == [
        "{'a': False, 'key': True} True",
        "True False True True",
        "True True",
        "NamedSharding(mesh=Mesh('i': 1, axis_types=(Explicit,)), spec=P(), memory_kind=device) True "
        "{CpuDevice(id=0): (slice(None, None, None),)} 1 cpu:0",
        "Shard(device=CpuDevice(id=0), index=(slice(None, None, None),), replica_id=0, data=[0. 1. 2. 3.]) True "
        "float32[4]",
        "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)",
    ]


def test_none_leaves_whole_parts_of_results_where_they_are():
    shown = output(
        START
        + """
f = jax.jit(lambda x: ((x, {"a": x}), x), out_shardings=(None, NamedSharding(mesh, P("x"))))
(a, b), c = f(jnp.ones(2))
print(a.shape, b["a"].shape, c.sharding == NamedSharding(mesh, P("x")))
"""
    )
    assert shown.split() == ["(2,)", "(2,)", "True"]
