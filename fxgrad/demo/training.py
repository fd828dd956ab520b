"""DP-SGD: training of a network whose parameters reveal little about any single training image.

Differentially private training needs the gradient of *every sample*, so that each can be clipped to the same
norm before noise hides what any one of them contributed (Abadi et al., "Deep learning with differential
privacy", 2016). Most libraries hand back the sum over the batch only. Here the loss is written for one image,
and the rest is composition:

    per_sample_gradients = fx.vmap(fx.grad(loss), in_axes=(None, 0, 0))

Training needs no more than the sum of the clipped gradients, which is there without writing them out:

    total = fx.per_sample.clipped_sum(loss, 1.0)(params, images, labels)

The same program trains on many processes, `mpirun -n 4 python -m fxgrad.demo`: each adds up its share of a batch, and
the sums are added up over all of them.

`--device cuda` trains on a GPU, with the same batches and the same noise.

The data are 1797 hand-written digits that come with the package; nothing is downloaded.
"""

import argparse
import contextlib
import importlib.util
import io
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.demo.data import load_digits
from fxgrad.demo.privacy import epsilon
from fxgrad.distributed import Communicator, world

Params = list[dict[str, Any]]
LAYERS = (64, 32, 10)  # pixels → hidden units → digits
DELTA = 1e-5  # privacy is stated as (ε, δ); δ must be far below one over the number of samples
TOLERANCE = 1e-10  # how far vectorised and one-by-one gradients may lie apart
ALONE = Communicator()  # the group of this process and no other


# --------------------------------------------------------------------------- the model, written for one image


def init(rng: np.random.Generator) -> Params:
    """Return the initial parameters: a list of layers, each a dict. Any nesting of containers would do."""
    return [
        {"weights": rng.standard_normal((inputs, outputs)) / np.sqrt(inputs), "bias": np.zeros(outputs)}
        for inputs, outputs in itertools.pairwise(LAYERS)
    ]


def scores(params: Params, image):
    """Return one number for each digit: the greater, the likelier."""
    *hidden, last = params
    for layer in hidden:
        image = fnp.tanh(image @ layer["weights"] + layer["bias"])
    return image @ last["weights"] + last["bias"]


def loss(params: Params, image, label):
    """The cross-entropy of one image: log Σ exp(scores), less the score of the right digit."""
    logits = scores(params, image)
    top = fnp.max(logits)  # taken out of the exponential, which overflows otherwise
    return top + fnp.log(fnp.sum(fnp.exp(logits - top))) - logits[label]


# ------------------------------------------------------------ DP-SGD: a gradient a sample, clipped and noised

per_sample_gradients = fx.vmap(fx.grad(loss), in_axes=(None, 0, 0))


def gradient_norms(params: Params, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the length of the gradient of each sample, over all the parameters together."""
    return np.asarray(fx.device_get(fx.per_sample.norms(loss)(params, images, labels)))


def private_sum(
    params: Params,
    images,
    labels,
    bound: float,
    noise: float,
    rng: np.random.Generator,
    group: Communicator = ALONE,
    device: str = "cpu",
):
    """Return the sum of per-sample gradients, each clipped to the norm `bound`, with Gaussian noise of `noise` times
    that norm; all of it is on the device. Each process of the group takes its share of the samples, all return the same
    sum."""
    share = slice(group.rank, None, group.size)  # one sample more for some than for others
    total = fx.per_sample.clipped_sum(loss, bound)(params, images[share], labels[share])
    if group.size > 1:
        flat, unravel = fx.tree.ravel_pytree(total)
        total = unravel(group.all_reduce(flat))
    # Generators of one seed draw the same noise everywhere: it is added once, to the sum over all processes.
    drawn = fx.tree.map(lambda leaf: rng.normal(0.0, noise * bound, leaf.shape), total)
    return fx.tree.map(lambda leaf, extra: leaf + extra, total, fx.device_put(drawn, device))


class Data(NamedTuple):
    """Images and labels to train on, and others to test with."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def split_digits(seed: int) -> Data:
    """Return the digits in random order, four fifths of them to train on."""
    images, labels = load_digits()
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = np.split(order, [len(labels) * 4 // 5])
    return Data(images[train], labels[train], images[test], labels[test])


@dataclass(frozen=True)
class Settings:
    """The settings of training; `noise` is a multiple of the clipping norm."""

    epochs: int = 15
    batch: int = 128
    clip: float = 1.0
    lr: float = 2.0
    noise: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            may_be_zero = name in ("noise", "seed")
            if not (0 < value < np.inf or (value == 0 and may_be_zero)):
                least = "zero or above" if may_be_zero else "above zero"
                raise ValueError(f"{name} must be a finite number {least}, not {value}")

    def steps(self, count: int) -> int:
        """Return how many steps the epochs over `count` samples take."""
        return max(1, round(self.epochs * count / self.batch))

    def epsilon(self, count: int) -> float:
        """Return the privacy spent: training is (ε, DELTA)-differentially private."""
        return epsilon(self.noise, self.batch / count, self.steps(count), DELTA)


class Run(NamedTuple):
    """A training run: the parameters it ended with, and the test accuracy on the way."""

    params: Params
    steps: list[int]
    accuracies: list[float]


def evaluate(params: Params, images: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the mean loss and the share of right answers."""
    losses = fx.vmap(loss, in_axes=(None, 0, 0))(params, images, labels)
    answers = fnp.argmax(scores(params, images), axis=1)  # `@` takes a stack of images as well as one
    return float(fnp.mean(losses)), float(fnp.mean(answers == labels))


def train(
    data: Data,
    settings: Settings,
    title: str = "",
    progress: bool = True,
    group: Communicator = ALONE,
    device: str = "cpu",
) -> Run:
    """Train by DP-SGD. Runs of one seed start alike and see the same batches, whatever their noise and however many
    processes share them, and on whatever device the data are: what is random is drawn on the host."""
    rng = np.random.default_rng(settings.seed)
    params, count = fx.device_put(init(rng), device), len(data.labels)
    steps, measured, accuracies = settings.steps(count), [], []
    # By the *expected* number of samples: the actual one would tell something about the data.
    rate = settings.lr / settings.batch
    with tqdm(total=steps, desc=title, disable=not progress, unit="step") as bar:
        for step in range(1, steps + 1):
            # Each sample takes part with the same probability, independently: what the privacy bound assumes.
            chosen = fx.device_put(np.flatnonzero(rng.random(count) < settings.batch / count), device)
            batch = data.images[chosen], data.labels[chosen]
            total = private_sum(params, *batch, settings.clip, settings.noise, rng, group, device)
            params = fx.tree.map(lambda p, g: p - rate * g, params, total)
            if step % 10 == 0 or step == steps:
                test_loss, accuracy = evaluate(params, data.test_images, data.test_labels)
                bar.set_postfix_str(f"loss {test_loss:.2f}, accuracy {accuracy:.1%}", refresh=False)
                measured.append(step)
                accuracies.append(accuracy)
            bar.update()
    return Run(params, measured, accuracies)


# ---------------------------------------------------------------------------- is it right, and how fast is it


def gradients_by_loop(params: Params, images: np.ndarray, labels: np.ndarray) -> Params:
    """Compute the same gradients without vmap, by a loop over the samples."""
    gradients = [fx.grad(loss)(params, image, label) for image, label in zip(images, labels)]
    return fx.tree.map(lambda *leaves: np.stack(leaves), *gradients)


def greatest_difference(params: Params, images: np.ndarray, labels: np.ndarray) -> float:
    """Return how far the vectorised gradients lie from the one-by-one ones, at worst."""
    pairs = zip(
        fx.tree.leaves(per_sample_gradients(params, images, labels)),
        fx.tree.leaves(gradients_by_loop(params, images, labels)),
    )
    return float(np.max([float(fnp.max(fnp.abs(vectorised - single))) for vectorised, single in pairs]))


def median_seconds(*functions: Callable[[], Any], rounds: int) -> list[float]:
    """Measure the median time of each function; they take turns, so that what slows the machine slows them
    all."""

    def seconds(function: Callable[[], Any]) -> float:
        start = time.perf_counter()
        fx.block_until_ready(function())
        return time.perf_counter() - start

    return np.median([[seconds(function) for function in functions] for _ in range(rounds)], axis=0).tolist()


# ------------------------------------------------------------------------------------------------- the report


def report_gradients(data: Data, params: Params, samples: int, rounds: int) -> None:
    """Compare vmap(grad) with the loop, in values and in time. Ends the program if the values differ."""
    batch = params, data.images[:samples], data.labels[:samples]
    difference = greatest_difference(*batch)
    print(f"\nPer-sample gradients of {samples} images, by vmap(grad(loss)) and one by one")
    print(f"  greatest difference  {difference:.1e}, to be below {TOLERANCE:.0e}")
    if not difference < TOLERANCE:  # so written, NaN fails too
        sys.exit("fxgrad.demo: FAILED: the vectorised gradients are not those of the single samples.")
    vectorised, loop = median_seconds(
        lambda: per_sample_gradients(*batch), lambda: gradients_by_loop(*batch), rounds=rounds
    )
    print(f"  vectorised           {1e3 * vectorised:.2f} ms")
    print(f"  one by one           {1e3 * loop:.2f} ms, {loop / vectorised:.1f} times as long")


def report_norms(stage: str, norms: np.ndarray, bound: float) -> None:
    """Print the distribution of gradient norms, in numbers and as a histogram around the clipping norm."""
    low, quarter, median, three_quarters, high = np.quantile(norms, [0, 0.25, 0.5, 0.75, 1])
    print(f"\nNorms of {len(norms)} per-sample gradients {stage}: {np.mean(norms > bound):.1%} are clipped")
    print(f"  min {low:.2g}, quartiles {quarter:.2g}, {median:.2g}, {three_quarters:.2g}, max {high:.2g}")
    edges = bound * np.array([0, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, np.inf])
    counts, _ = np.histogram(norms, edges)
    for number, left, right in zip(counts, edges, edges[1:]):
        span = f"{left:.4g} to {right:.4g}" if np.isfinite(right) else f"above {left:.4g}"
        print(f"  {span:>14} {number:5d} {'█' * round(40 * number / max(counts))}".rstrip())


def report_result(name: str, settings: Settings, run: Run, count: int) -> None:
    """Print one line: what was learned, and what of privacy it cost."""
    spent = settings.epsilon(count)
    privacy = f"ε = {spent:.2f} at δ = {DELTA:g}" if np.isfinite(spent) else "no privacy guaranteed"
    print(f"  {name:15}  test accuracy {run.accuracies[-1]:6.1%}   {privacy}")


# ----------------------------------------------------------------------------------------------- the pictures


def plot_digits(axes, params: Params, images: np.ndarray, labels: np.ndarray) -> None:
    """Plot as many digits as there are axes, and what the network takes them for: wrong answers in red."""
    answers = np.argmax(scores(params, images), axis=1)
    for ax, image, label, answer in zip(axes, images, labels, answers):
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{answer}", color="black" if answer == label else "red")
        ax.axis("off")


def plot_norms(ax, norms: dict[str, np.ndarray], bound: float) -> None:
    """Plot histograms of gradient norms, and the norm to which they are clipped."""
    bins = np.histogram_bin_edges(np.concatenate(list(norms.values())), 40)
    for title, values in norms.items():
        ax.hist(values, bins, alpha=0.6, label=title)
    ax.axvline(bound, color="black", linestyle="--", label="clipped to")
    ax.set(title="Per-sample gradients", xlabel="norm", ylabel="samples")
    ax.legend()


def plot_accuracies(ax, runs: dict[str, Run]) -> None:
    """Plot test accuracy on the way, one line a run."""
    for title, run in runs.items():
        ax.plot(run.steps, run.accuracies, label=title)
    ax.set(title="Test accuracy", xlabel="step", ylim=(0, 1))
    ax.legend()


def save_plot(path: str, data: Data, runs: dict[str, Run], norms: dict[str, np.ndarray], bound: float):
    """Save everything in one picture."""
    from matplotlib.figure import Figure  # without pyplot, which would look for a display

    figure = Figure(figsize=(10, 6), layout="constrained")
    grid = figure.add_gridspec(2, 10, height_ratios=(1, 3))
    *_, last = runs.values()
    digits = [figure.add_subplot(grid[0, column]) for column in range(10)]
    plot_digits(digits, last.params, data.test_images, data.test_labels)
    plot_norms(figure.add_subplot(grid[1, :5]), norms, bound)
    plot_accuracies(figure.add_subplot(grid[1, 5:]), runs)
    figure.savefig(path)


# ------------------------------------------------------------------------------------------------ the command


def parse(arguments: list[str] | None) -> tuple[argparse.Namespace, Settings]:
    """Parse the command line: what to report, and how to train."""
    default = Settings()
    parser = argparse.ArgumentParser("python -m fxgrad.demo", description="DP-SGD on hand-written digits.")
    option = parser.add_argument
    option("--noise", type=float, default=default.noise, metavar="SIGMA", help="in clipping norms")
    option("--epochs", type=int, help=f"passes over the data ({default.epochs}, or 5 with --short)")
    option("--batch", type=int, default=default.batch, help="samples a step, on average")
    option("--clip", type=float, default=default.clip, help="the greatest norm of a gradient")
    option("--lr", type=float, default=default.lr, help="learning rate")
    option("--seed", type=int, default=default.seed)
    option("--device", default="cpu", help='where to train: "cpu", "cuda", "cuda:1" (needs CuPy)')
    option("--short", action="store_true", help="a few seconds: 5 epochs, fewer gradients compared")
    option("--plot", metavar="FILE", help="save a picture (needs matplotlib)")
    option("--no-progress", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    if options.epochs is None:
        options.epochs = 5 if options.short else default.epochs
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib: pip install 'fxgrad[plot]'")
    try:
        fx.device_put(0.0, options.device)
        return options, Settings(**{name: getattr(options, name) for name in asdict(default)})
    except fx.FxgradError as error:  # of the device; the first line says what is wrong
        parser.error(f"{str(error).splitlines()[0]}; {error.hint}")
    except ValueError as error:
        parser.error(str(error))


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Print nothing but what an exception says."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        try:
            yield
        except SystemExit as exit:
            code = 1 if isinstance(exit.code, str) else exit.code  # Python prints strings
            raise SystemExit(code) from None


def main(arguments: list[str] | None = None) -> None:
    """Check the gradients, train without and with noise, and report. Of many processes the first one speaks."""
    group = world()
    with silence() if group.rank else contextlib.nullcontext():
        demonstrate(arguments, group)


def demonstrate(arguments: list[str] | None, group: Communicator) -> None:
    """Carry the demo out as a member of a group."""
    options, settings = parse(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a console without Greek letters shows "?" and goes on
    data = fx.device_put(split_digits(settings.seed), options.device)
    count = len(data.labels)
    if settings.batch > count:
        sys.exit(f"fxgrad.demo: --batch {settings.batch} exceeds the {count} images to train on.")
    start = fx.device_put(init(np.random.default_rng(settings.seed)), options.device)
    size = sum(leaf.size for leaf in fx.tree.leaves(start))
    print(f"{count} images of digits to train on, {len(data.test_labels)} to test with;")
    print(f"a network {' → '.join(map(str, LAYERS))} with {size} parameters.")
    if group.rank == 0:
        report_gradients(data, start, *((32, 3) if options.short else (256, 9)))

    by = f" by {group.size} processes" if group.size > 1 else ""
    print(
        f"\n{settings.steps(count)} steps{by}, every gradient clipped to norm {settings.clip:g}:", flush=True
    )
    plans = {"without noise": replace(settings, noise=0.0)}
    if settings.noise:
        plans[f"noise σ = {settings.noise:g}"] = settings
    progress = not options.no_progress
    runs = {name: train(data, plan, name, progress, group, options.device) for name, plan in plans.items()}
    for name, run in runs.items():
        report_result(name, plans[name], run, count)

    stages = {"before training": start, "after it, without noise": runs["without noise"].params}
    norms = {stage: gradient_norms(params, data.images, data.labels) for stage, params in stages.items()}
    for stage, values in norms.items():
        report_norms(stage, values, settings.clip)
    if options.plot and group.rank == 0:
        save_plot(options.plot, *fx.device_get((data, runs)), norms, settings.clip)
        print(f"\nPicture saved: {options.plot}")
