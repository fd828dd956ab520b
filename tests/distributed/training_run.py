"""A training run that goes on from its checkpoints: python -m tests.distributed.training_run FOLDER STEPS [RANK STEP].

With RANK and STEP that process is killed in the middle of that step, or while its checkpoint is written; rank -1 is
all of them.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

EVERY = 2  # steps from a checkpoint to the next


def loss(params, x, y):
    return fnp.mean((fnp.tanh(x @ params["w"]) @ params["v"] - y) ** 2)


def start():
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(3, 5)), "v": rng.normal(size=5)}
    return {
        "params": params,
        "moment": fx.tree.map(np.zeros_like, params),
        "key": fx.random.key(0),
        "seen": 0,
    }


def train(folder: Path, steps: int, victim: int | None = None, last: int | None = None) -> None:
    world = fx.distributed.world()
    world.deterministic = True
    dies = victim in (world.rank, -1)
    data = np.random.default_rng(1)
    inputs, targets = data.normal(size=(20, 3)), data.normal(size=20)
    checkpoints = fx.distributed.Checkpoints(folder / "checkpoints", keep=2)
    gradient = fx.distributed.grad(loss, count=lambda params, x, y: len(x))
    state, own, first = start(), {"rank": world.rank, "losses": np.zeros(steps)}, 0
    found = checkpoints.load(state, own)
    if found is not None:
        first, state, own = found
    for step in range(first, steps):
        key, here = fx.random.split(state["key"])
        batch = np.array_split(np.asarray(fx.random.permutation(here, 20))[:7], world.size)[world.rank]
        if dies and step == last and step % EVERY:
            os.kill(os.getpid(), signal.SIGKILL)  # while others wait for its part of the gradient
        update = gradient(state["params"], inputs[batch], targets[batch])
        moment = fx.tree.map(lambda m, g: 0.9 * m + g, state["moment"], update)
        params = fx.tree.map(lambda p, m: p - 0.05 * m, state["params"], moment)
        own["losses"][step] = float(np.sum(inputs[batch]))
        state = {"params": params, "moment": moment, "key": key, "seen": state["seen"] + 7}
        if (step + 1) % EVERY == 0:
            if dies and step + 1 == last:
                die_while_writing()
            checkpoints.save(step + 1, state, own)
    if world.rank == 0:
        np.savez(folder / "result.npz", **state["params"], seen=state["seen"], key=state["key"])
    np.save(folder / f"losses-{world.rank}.npy", own["losses"])


def die_while_writing() -> None:
    """Kill this process when the next file has been written and its folder has not got its name yet."""
    sync = os.fsync

    def kill(handle: int) -> None:
        sync(handle)
        os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = kill


if __name__ == "__main__":
    train(Path(sys.argv[1]), *map(int, sys.argv[2:]))
