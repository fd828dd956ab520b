"""fx.save and fx.load: trees come back as they were, and damaged files are refused."""

import io
import json

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

PARAMS = {
    "layers": [{"w": np.arange(6.0).reshape(2, 3)}, {"w": np.zeros((0, 2), np.float32)}],
    "/../b": np.array(3),
}
OPTIMIZERS = {
    "adam": fx.optim.adam(0.1),
    "many": fx.optim.MultiSteps(fx.optim.lion(0.1), 2),
    "masked": fx.optim.masked(fx.optim.sgd(0.1, 0.9), lambda p: fx.tree.map(lambda x: x.ndim > 0, p)),
    "injected": fx.optim.inject_hyperparams(fx.optim.adamw)(0.1),
}
OTHERS = [
    1,
    2.5,
    True,
    "name",
    None,
    np.float32(2),
    np.True_,
    fx.random.key(3),
    np.array([1 + 2j], np.complex64),
]
ENDINGS = [".npz", ".safetensors"]


def same(a, b):
    assert fx.tree.structure(a) == fx.tree.structure(b)
    for x, y in zip(fx.tree.leaves(a), fx.tree.leaves(b), strict=True):
        assert type(x) is type(y) and np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_goes_on_where_it_stopped(name, ending, tmp_path):
    optimizer = OPTIMIZERS[name]
    params = {"w": np.array([1.0, 2.0]), "b": np.array(0.5)}
    state = optimizer.init(params)

    def steps(params, state, count):
        for _ in range(count):
            updates, state = optimizer.update(fx.tree.map(lambda p: 2 * p, params), state, params)
            params = fx.optim.apply_updates(params, updates)
        return params, state

    at_three = steps(params, state, 3)
    fx.save(tmp_path / f"run{ending}", at_three)
    loaded = fx.load(tmp_path / f"run{ending}", (params, state))
    for x, y in zip(*map(fx.tree.leaves, (steps(*loaded, 2), steps(*at_three, 2))), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("ending", ENDINGS)
def test_leaves_come_back_as_they_were(ending, tmp_path):
    tree = (PARAMS, OTHERS, np.ones(2, fnp.bfloat16))
    fx.save(tmp_path / f"a{ending}", tree)
    same(fx.load(tmp_path / f"a{ending}", tree), tree)
    assert [p.name for p in tmp_path.iterdir()] == [f"a{ending}"]
    by_name = fx.load(tmp_path / f"a{ending}")
    np.testing.assert_array_equal(by_name["[0]['layers'][0]['w']"], PARAMS["layers"][0]["w"])


def test_other_programs_read_and_write_the_files(tmp_path):
    fx.save(tmp_path / "a.npz", PARAMS)
    with np.load(tmp_path / "a.npz") as stored:
        np.testing.assert_array_equal(stored["['layers'][0]['w']"], PARAMS["layers"][0]["w"])
    np.savez(tmp_path / "b.npz", **{"['y']": np.ones(2), "['x']": np.zeros(3)})
    same(
        fx.load(tmp_path / "b.npz", {"x": np.ones(3), "y": np.zeros(2)}), {"x": np.zeros(3), "y": np.ones(2)}
    )
    safetensors = pytest.importorskip("safetensors.numpy")
    fx.save(tmp_path / "a.safetensors", PARAMS)
    same(safetensors.load_file(tmp_path / "a.safetensors"), fx.load(tmp_path / "a.safetensors"))
    safetensors.save_file({"['x']": np.ones(2)}, tmp_path / "b.safetensors")
    same(fx.load(tmp_path / "b.safetensors", {"x": np.zeros(2)}), {"x": np.ones(2)})


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_cut_is_noticed(ending, tmp_path):
    file = tmp_path / f"a{ending}"
    fx.save(file, {"w": np.arange(3.0)})
    whole = file.read_bytes()
    for size in range(0, len(whole), 7):
        file.write_bytes(whole[:size])
        with pytest.raises(fx.CheckpointError, match="cannot be read"):
            fx.load(file, {"w": np.zeros(3)})


def test_objects_are_refused(tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, **{"['w']": np.array([print], object)})
    (tmp_path / "a.npz").write_bytes(buffer.getvalue())
    header = json.dumps({"w": {"dtype": "F64", "shape": [2], "data_offsets": [-16, 0]}}).encode()
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    for ending in ENDINGS:
        with pytest.raises(fx.CheckpointError):
            fx.load(tmp_path / f"a{ending}", {"w": np.zeros(2)})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: fx.load(p / "a.npz", {"w": np.zeros(3)}), fx.ShapeError, r"\['w'\] was saved with shape"),
        (lambda p: fx.load(p / "a.npz", {"w": np.zeros(2, int)}), fx.DTypeError, "with dtype float64"),
        (lambda p: fx.load(p / "a.npz", {"v": np.zeros(2)}), fx.StructureError, r"there is no \['v'\]"),
        (lambda p: fx.load(p / "b.npz"), fx.CheckpointError, "b.npz"),
        (lambda p: fx.load(p / "a.pt"), fx.StructureError, "does not tell the format"),
        (lambda p: fx.save(p / "none" / "a.npz", 1.0), fx.CheckpointError, "none"),
        (lambda p: fx.save(p / "a.npz", {"f": print}), TypeError, "'f'"),
        (lambda p: fx.save(p / "a.safetensors", np.ones(1, complex)), fx.DTypeError, "complex128"),
        (lambda p: fx.jit(lambda x: fx.save(p / "c.npz", x))(1.0), TypeError, "no value yet"),
    ],
)
def test_messages(call, error, words, tmp_path):
    fx.save(tmp_path / "a.npz", {"w": np.ones(2)})
    with pytest.raises(error, match=words):
        call(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
