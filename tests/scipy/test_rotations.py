"""fxgrad.scipy.spatial.transform.Rotation against SciPy's values and against differences."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Reference

import fxgrad as fx
from fxgrad.scipy.spatial.transform import Rotation

rng = np.random.default_rng(0)
Q = rng.normal(size=(40, 4))
Q[:4] = np.eye(4)
V = rng.normal(size=(40, 3))
SEQUENCES = [
    form("".join(s))
    for s in product("xyz", repeat=3)
    if s[0] != s[1] != s[2]
    for form in (str.lower, str.upper)
]
METHODS = {
    "as_quat": lambda r: r.as_quat(),
    "canonical": lambda r: r.as_quat(canonical=True)[4:],
    "scalar first": lambda r: r.as_quat(scalar_first=True),
    "as_matrix": lambda r: r.as_matrix(),
    "as_rotvec": lambda r: r.as_rotvec(degrees=True),
    "apply": lambda r: r.apply(V),
    "inverse": lambda r: r.apply(V[0], inverse=True),
    "inv": lambda r: r.inv().as_matrix(),
    "magnitude": lambda r: r.magnitude(),
    "product": lambda r: (r * r[::-1]).as_matrix(),
    "power": lambda r: (r**0.3).as_matrix(),
    "part": lambda r: r[3].as_matrix(),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_scipys(name):
    ours = fx.jit(lambda q: METHODS[name](Rotation.from_quat(q)))(Q)
    np.testing.assert_allclose(ours, METHODS[name](Reference.from_quat(Q)), atol=1e-12)
    if name != "apply":  # whose vectors are as many as rotations
        fx.testing.check_grads(lambda q: METHODS[name](Rotation.from_quat(q)), (Q[4:],), order=1)


def test_matrices_vectors_and_quaternions():
    matrices = Reference.from_quat(Q).as_matrix()
    np.testing.assert_allclose(
        fx.jit(lambda m: Rotation.from_matrix(m).as_matrix())(matrices), matrices, atol=1e-12
    )
    for vectors in (V, 1e-4 * V, 0 * V):
        expected = Reference.from_rotvec(vectors).as_quat()
        np.testing.assert_allclose(Rotation.from_rotvec(vectors).as_quat(), expected, atol=1e-13)
        fx.testing.check_grads(lambda v: Rotation.from_rotvec(v).apply(V[0]), (vectors[:3],), order=2)
        fx.testing.check_grads(lambda v: Rotation.from_rotvec(v).as_rotvec(), (vectors[:3],), order=1)


@pytest.mark.parametrize("seq", SEQUENCES)
def test_euler_angles(seq):
    angles = rng.uniform(-3, 3, (20, 3))
    expected = Reference.from_euler(seq, angles)
    ours = Rotation.from_euler(seq, angles)
    np.testing.assert_allclose(ours.as_matrix(), expected.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(fx.jit(lambda r: r.as_euler(seq))(ours), expected.as_euler(seq), atol=1e-9)
    np.testing.assert_allclose(
        Rotation.from_euler(seq[0], 90, degrees=True).as_matrix(),
        Reference.from_euler(seq[0], 90, degrees=True).as_matrix(),
        atol=1e-12,
    )


def test_rotations_that_are_made_of_nothing():
    key = fx.random.key(0)
    turns = Rotation.concatenate([Rotation.random(500, key), Rotation.random(), Rotation.identity(2)])
    assert len(turns) == 503 and turns[-1].magnitude() == 0
    assert np.abs(turns.as_matrix().mean(0)).max() < 0.1
    with pytest.raises(fx.StructureError, match="need a key"):
        fx.jit(lambda x: Rotation.random().apply(x))(V)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Rotation.from_euler("xXz", [1, 2, 3]),
        lambda: Rotation.from_euler("xxz", [1, 2, 3]),
        lambda: Rotation.from_euler("xyz", [1, 2]),
        lambda: Rotation.from_quat([1, 2]),
        lambda: Rotation.identity().apply([1, 2]),
        lambda: Rotation.identity().as_euler("xy"),
        lambda: Rotation.identity()[0],
        lambda: len(Rotation.identity()),
    ],
)
def test_messages(call):
    with pytest.raises(
        (fx.StructureError, fx.ShapeError, TypeError), match=r"Rotation|angles|shape|axes|rotation"
    ):
        call()
