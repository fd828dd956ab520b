"""Case 12: curvature by fxgrad, by laplace-torch and by torch.

Needs torch and laplace-torch: pip install torch==2.13.0 laplace-torch
"""

from .measuring import digits, in_process, milliseconds, peak_of, store  # isort: skip  (it sets the number of threads)

import json
import sys
import warnings

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

from . import curvature

WAYS = (
    "GGN, fxgrad",
    "GGN, laplace-torch",
    "Hessian, fxgrad",
    "Hessian, torch.func",
    "regression's GGN, fxgrad",
    "regression's GGN, laplace-torch",
)


def matrix_of(way):
    """A function of a number of examples to a matrix of curvature of the sum of losses."""
    if "regression" in way:
        return matrix_of_regression(way)
    params = curvature.initial_classifier()
    images, labels, *_ = curvature.digits()
    flat, unravel = fx.tree.ravel_pytree(params)
    if way == "GGN, fxgrad":

        def matrix(flat, images, labels):
            model = lambda w: fx.vmap(curvature.scores, (None, 0))(unravel(w), images)  # noqa: E731
            losses = lambda s: -fnp.sum(fx.nn.log_softmax(s)[np.arange(len(labels)), labels])  # noqa: E731
            return fx.ggn_product(model, losses)(flat).todense()

        return lambda count: matrix(flat, images[:count], labels[:count])
    if way == "Hessian, fxgrad":

        def total(flat, images, labels):
            return fnp.sum(fx.vmap(curvature.loss, (None, 0, 0))(unravel(flat), images, labels))

        hessian = fx.jit(fx.hessian(total))
        return lambda count: hessian(flat, images[:count], labels[:count])
    import torch

    net = torch_classifier(params)
    images, labels = torch.tensor(images), torch.tensor(labels)
    if way == "Hessian, torch.func":
        named = {name: p.detach() for name, p in net.named_parameters()}
        sizes = [p.numel() for p in named.values()]
        flat = torch.cat([p.reshape(-1) for p in named.values()])

        def total(flat, images, labels):
            parts = torch.split(flat, sizes)
            given = {name: part.view_as(p) for (name, p), part in zip(named.items(), parts, strict=True)}
            found = torch.func.functional_call(net, given, (images,))
            return torch.nn.functional.cross_entropy(found, labels, reduction="sum")

        hessian = torch.func.hessian(total)
        return lambda count: hessian(flat, images[:count], labels[:count]).numpy()
    return fit_laplace(net, "classification", images, labels)


def torch_classifier(params):
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    net = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.Tanh(), torch.nn.Linear(8, 10))
    with torch.no_grad():
        for layer, names in ((net[0], ("in", "shift")), (net[2], ("out", "bias"))):
            layer.weight.copy_(torch.tensor(params[names[0]].T))
            layer.bias.copy_(torch.tensor(params[names[1]]))
    return net


def matrix_of_regression(way):
    x, y = curvature.gap_data()
    params = curvature.start()
    if "fxgrad" in way:
        return lambda count: curvature.posterior_precision(params, x[:count]) - np.eye(151)
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    net = torch.nn.Sequential(torch.nn.Linear(1, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor(params["in"][:, None]))
        net[0].bias.copy_(torch.tensor(params["shift"]))
        net[2].weight.copy_(torch.tensor(params["out"][None]))
        net[2].bias.copy_(torch.tensor(params["bias"]))
    return fit_laplace(net, "regression", torch.tensor(x[:, None]), torch.tensor(y[:, None]))


def fit_laplace(net, likelihood, inputs, targets):
    import torch
    from laplace import Laplace

    def matrix(count):
        pairs = torch.utils.data.TensorDataset(inputs[:count], targets[:count])
        noise = {"sigma_noise": curvature.NOISE} if likelihood == "regression" else {}
        approximation = Laplace(net, likelihood, subset_of_weights="all", hessian_structure="full", **noise)
        approximation.fit(torch.utils.data.DataLoader(pairs, batch_size=count))
        factor = 1 / curvature.NOISE**2 if likelihood == "regression" else 1.0
        return factor * approximation.H.detach().numpy()

    return matrix


def memory_of(way):
    matrix = matrix_of(way)
    full = 50 if "regression" in way else 500
    return peak_of(lambda: [matrix(2) for _ in range(3)], lambda: [matrix(full) for _ in range(3)])


def main():
    warnings.filterwarnings("ignore")
    if sys.argv[1:2] == ["memory"]:
        print(json.dumps(memory_of(sys.argv[2])))
        return
    rows = [["matrix", "ms", "MB", "eigenvalues differ by"]]
    matrices = {way: matrix_of(way) for way in WAYS}
    count = {way: 50 if "regression" in way else 500 for way in WAYS}
    times = milliseconds({way: lambda way=way: matrices[way](count[way]) for way in WAYS}, rounds=3)
    for first, second in zip(WAYS[::2], WAYS[1::2], strict=True):
        spectra = [np.linalg.eigvalsh(matrices[way](count[way])) for way in (first, second)]
        difference = np.abs(spectra[0] - spectra[1]).max() / spectra[0].max()
        for way in (first, second):
            memory = in_process(__spec__.name, "memory", way)
            rows.append([way, digits(times[way]), digits(memory), f"{difference:.0e}"])
    store("curvature", "torch laplace-torch", {"matrices": rows})


if __name__ == "__main__":
    main()
