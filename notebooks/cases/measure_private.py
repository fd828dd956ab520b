"""Case 11: private training by fxgrad and by Opacus: accuracies, bounds of several accountants, times and memory.

Needs torch and Opacus: pip install torch==2.13.0 opacus
"""

from .measuring import digits, in_process, milliseconds, peak_of, store  # isort: skip  (it sets the number of threads)

import json
import sys
import warnings
from itertools import pairwise

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.demo import training
from fxgrad.demo.privacy import epsilon

WAYS = (
    "fxgrad: materialised",
    "fxgrad: ghost norms",
    "fxgrad: book-keeping",
    "Opacus: hooks (materialised)",
    "Opacus: functorch (materialised)",
    "Opacus: ghost",
)
SIZES = (64, 1024, 1024, 10)
BATCH = 256
NOISES, SEEDS = (1.0, 2.0, 4.0, 8.0), range(3)


def network():
    """The weights of a wide network, in single precision, and a batch of digits."""
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(SIZES)]
    params = [{"weights": w.astype("f4"), "bias": b.astype("f4")} for w, b in layers]
    data = training.split_digits(0)
    return params, data.images[:BATCH].astype("f4"), data.labels[:BATCH]


def materialised(params, images, labels):
    """The sum of clipped gradients, of which each is computed."""
    gradients = fx.vmap(fx.grad(training.loss), in_axes=(None, 0, 0))(params, images, labels)
    squares = sum(fnp.sum(g**2, axis=tuple(range(1, g.ndim))) for g in fx.tree.leaves(gradients))
    factors = fnp.minimum(1, 1 / fnp.sqrt(squares))
    return fx.tree.map(lambda g: fnp.tensordot(factors, g, 1), gradients)


def ghost(params, images, labels):
    """The same by a pass for the norms and one for the gradient of the weighted sum of losses (Li et al. 2022)."""
    factors = fnp.minimum(1, 1 / fx.per_sample.norms(training.loss)(params, images, labels))

    def weighted(params):
        return factors @ fx.vmap(training.loss, in_axes=(None, 0, 0))(params, images, labels)

    return fx.grad(weighted)(params)


def sum_of(way):
    """A function of a number of samples to the sum of their gradients, each clipped to norm 1."""
    params, images, labels = network()
    if way.startswith("fxgrad"):
        by_name = {"materialised": materialised, "ghost norms": ghost}
        total = by_name.get(way[8:]) or fx.per_sample.clipped_sum(training.loss, 1.0)
        total = fx.jit(total)
        return lambda count: total(params, images[:count], labels[:count])
    return sum_by_opacus(way, params, images, labels)


def sum_by_opacus(way, params, images, labels):
    import torch
    from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    torch.set_num_threads(1)
    layers = [torch.nn.Linear(m, n) for m, n in pairwise(SIZES)]
    with torch.no_grad():
        for layer, given in zip(layers, params, strict=True):
            layer.weight.copy_(torch.tensor(given["weights"].T))
            layer.bias.copy_(torch.tensor(given["bias"]))
    net = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])
    images, labels = torch.tensor(images), torch.tensor(labels)
    options = {
        "noise_multiplier": 0.0,
        "max_grad_norm": 1.0,
        "expected_batch_size": BATCH,
        "loss_reduction": "sum",
    }
    mean = torch.nn.CrossEntropyLoss(reduction="sum")
    if "ghost" in way:
        model = GradSampleModuleFastGradientClipping(net, max_grad_norm=1.0, loss_reduction="sum")
        optimizer = DPOptimizerFastGradientClipping(torch.optim.SGD(net.parameters(), lr=0.1), **options)
        criterion = DPLossFastGradientClipping(model, optimizer, mean, loss_reduction="sum")

        def total(count):
            optimizer.zero_grad()
            criterion(model(images[:count]), labels[:count]).backward()
            return [p.grad for p in net.parameters()]

        return total
    model = GradSampleModule(net, loss_reduction="sum", force_functorch="functorch" in way)
    optimizer = DPOptimizer(torch.optim.SGD(net.parameters(), lr=0.1), **options)

    def total(count):
        optimizer.zero_grad()
        mean(model(images[:count]), labels[:count]).backward()
        optimizer.clip_and_accumulate()
        return [p.summed_grad for p in net.parameters()]

    return total


def as_arrays(gradients):
    """The gradients of weights as fxgrad's are laid out."""
    if isinstance(gradients[0], dict):
        return [layer["weights"] for layer in gradients]
    return [g.detach().numpy().T for g in gradients[::2]]


def compare_ways():
    rows = [["sum of clipped gradients", "ms", "MB", "largest difference"]]
    sums = {way: sum_of(way) for way in WAYS}
    expected = as_arrays(sums[WAYS[0]](BATCH))
    times = milliseconds({way: lambda f=f: f(BATCH) for way, f in sums.items()}, rounds=3)
    for way, f in sums.items():
        pairs = zip(as_arrays(f(BATCH)), expected, strict=True)
        difference = max(np.abs(a - b).max() for a, b in pairs) / max(np.abs(b).max() for b in expected)
        memory = in_process(__spec__.name, "memory", way)
        rows.append([way, digits(times[way]), digits(memory), f"{difference:.0e}"])
    return rows


def memory_of(way):
    total = sum_of(way)
    return peak_of(lambda: [total(2) for _ in range(3)], lambda: [total(BATCH) for _ in range(3)])


# -- accuracies ----------------------------------------
def train_by_opacus(data, settings):
    """The accuracy at the end of the demo's training, with Opacus's engine."""
    import torch
    from opacus import PrivacyEngine

    torch.manual_seed(settings.seed)
    torch.set_default_dtype(torch.float64)
    count = len(data.labels)
    net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))
    given = training.init(np.random.default_rng(settings.seed))
    with torch.no_grad():
        for layer, values in zip((net[0], net[2]), given, strict=True):
            layer.weight.copy_(torch.tensor(values["weights"].T))
            layer.bias.zero_()
    pairs = torch.utils.data.TensorDataset(torch.tensor(data.images), torch.tensor(data.labels))
    loader = torch.utils.data.DataLoader(pairs, batch_size=settings.batch)
    optimizer = torch.optim.SGD(net.parameters(), lr=settings.lr)
    net, optimizer, loader = PrivacyEngine().make_private(
        module=net, optimizer=optimizer, data_loader=loader,
        noise_multiplier=settings.noise, max_grad_norm=settings.clip,
    )  # fmt: skip
    done = 0
    while done < settings.steps(count):
        for images, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(images), labels).backward()
            optimizer.step()
            done += 1
            if done == settings.steps(count):
                break
    with torch.no_grad():
        answers = net(torch.tensor(data.test_images)).argmax(1)
    return (answers.numpy() == data.test_labels).mean()


def compare_accuracies():
    """The mean and the deviation of accuracies over seeds, and ε by three accountants."""
    from opacus.accountants import PRVAccountant, RDPAccountant

    data = training.split_digits(0)
    count = len(data.labels)
    rows = [["noise", "fxgrad", "Opacus", "ε, fxgrad", "ε, Opacus RDP", "ε, Opacus PRV"]]
    for noise in NOISES:
        found = {}
        for library in ("fxgrad", "Opacus"):
            accuracies = []
            for seed in SEEDS:
                settings = training.Settings(noise=noise, seed=seed)
                if library == "fxgrad":
                    accuracies.append(training.train(data, settings, progress=False).accuracies[-1])
                else:
                    accuracies.append(train_by_opacus(data, settings))
            found[library] = f"{100 * np.mean(accuracies):.1f} ± {100 * np.std(accuracies):.1f} %"
        rate, steps = settings.batch / count, settings.steps(count)
        bounds = [epsilon(noise, rate, steps, training.DELTA)]
        for accountant in (RDPAccountant(), PRVAccountant()):
            accountant.history = [(noise, rate, steps)]
            bounds.append(accountant.get_epsilon(training.DELTA))
        rows.append([noise, found["fxgrad"], found["Opacus"], *(f"{b:.3f}" for b in bounds)])
    return rows


def main():
    warnings.filterwarnings("ignore")
    if sys.argv[1:2] == ["memory"]:
        print(json.dumps(memory_of(sys.argv[2])))
        return
    methods = compare_ways()
    store("private", "torch opacus", {"methods": methods})
    store("private", "torch opacus", {"methods": methods, "accuracies": compare_accuracies()})


if __name__ == "__main__":
    main()
