"""Case 10: a character transformer by torch, by the same script with its import changed, and by functions of arrays.

Needs torch: pip install torch==2.13.0
"""

from .measuring import digits, in_process, milliseconds, peak_of, store  # isort: skip  (it sets the number of threads)

import json
import re
import sys
import types
from pathlib import Path

import numpy as np

import fxgrad as fx

from . import functional_transformer as functional

WAYS = ("torch", "fxgrad.compat: the import changed", "fx.jit over its modules", "functions of arrays")
STEPS = 1000


def load_script(library):
    """The script, with its imports changed to another library's."""
    source = (Path(__file__).parent / "transformer.py").read_text(encoding="utf-8")
    source = re.sub(r"^(import|from) torch\b", rf"\1 {library}", source, flags=re.MULTILINE)
    if library != "torch":
        source = source.replace(f"import {library}\n", f"import {library} as torch\n")
    script = types.ModuleType(library)
    exec(compile(source, library, "exec"), script.__dict__)
    return script


def step_of(way):
    """A function of the number of windows that trains the model by one step on them."""
    script = load_script("torch" if way == "torch" else "fxgrad.compat")
    torch = script.torch
    torch.set_num_threads(1)
    text = script.encode(script.read_text()[:40_000])
    torch.manual_seed(0)
    model = script.Transformer()
    windows = {size: script.draw_windows(text, size, 65) for size in (1, 16)}
    if way in WAYS[:2]:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

        def step(size):
            loss = script.loss_of(model, windows[size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        return step
    params = {name: p.detach() for name, p in model.named_parameters()}
    run = functional.step
    if way == WAYS[2]:
        run = jitted_step(script, model)
    else:
        params = fx.tree.map(lambda p: p.numpy(), params)
        windows = {size: v.numpy() for size, v in windows.items()}
    state = functional.optimizer.init(params)
    return lambda size: run(params, state, windows[size])


def jitted_step(script, model):
    """A step of training that calls the modules, compiled."""

    def loss_of(params, windows):
        scores = script.torch.func.functional_call(model, params, (windows[:, :-1],))
        return script.F.cross_entropy(scores.reshape(-1, 27), windows[:, 1:].reshape(-1))

    def step(params, state, windows):
        value, gradient = fx.value_and_grad(loss_of)(params, windows)
        updates, state = functional.optimizer.update(gradient, state, params)
        return fx.optim.apply_updates(params, updates), state, value

    return fx.jit(step)


def memory_of(way):
    step = step_of(way)
    return peak_of(lambda: [step(1) for _ in range(5)], lambda: [step(16) for _ in range(5)])


def compare_steps():
    steps = {way: step_of(way) for way in WAYS}
    times = milliseconds({way: lambda f=f: f(16) for way, f in steps.items()}, rounds=15)
    rows = [["one step of training", "ms", "ratio", "MB"]]
    for way in WAYS:
        memory = in_process(__spec__.name, "memory", way)
        rows.append([way, digits(times[way]), f"{times[way] / times['torch']:.2f}", digits(memory)])
    return rows


def train_both():
    """The losses of a thousand steps, and the bits per character of the text that was held out."""
    losses, bits = {}, {}
    for library in ("torch", "fxgrad.compat"):
        script = load_script(library)
        text = script.encode(script.read_text())
        held_out = len(text) // 10
        model, path = script.train(text[:-held_out], STEPS)
        bits[library] = round(script.evaluate(model, text[-held_out:]), 3)
        losses[library] = np.round(path, 7).tolist()
    return {"losses": losses, "bits": bits}


def main():
    if sys.argv[1:2] == ["memory"]:
        print(json.dumps(memory_of(sys.argv[2])))
    else:
        store("transformer", "torch", {"steps": compare_steps()}, **train_both())


if __name__ == "__main__":
    main()
