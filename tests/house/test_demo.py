"""The demo: the data it ships, its privacy accountant, and the command as a visitor runs it."""

import hashlib
import importlib.util
import math
import subprocess
import sys
from importlib import resources

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.demo import privacy, training
from fxgrad.demo.data import load_digits
from fxgrad.kernels.native import engine


def run_demo(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-X", "utf8", "-m", "fxgrad.demo", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)


# --------------------------------------------------------------------------------------------------- the data


def test_digits_are_the_ones_of_the_source():
    images, labels = load_digits()
    assert images.shape == (1797, 64) and images.dtype == np.float64
    assert labels.shape == (1797,) and labels.dtype == np.int64
    assert images.min() == 0 and images.max() == 1
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    # Of the values as scikit-learn has them, so that a newly compressed file of the same digits passes.
    content = (images * 16).astype(np.uint8).tobytes() + labels.astype(np.uint8).tobytes()
    digest = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"
    assert hashlib.sha256(content).hexdigest() == digest


def test_the_file_is_small_and_names_its_licence():
    folder = resources.files("fxgrad.demo.data")
    assert len(folder.joinpath("digits.npz").read_bytes()) < 150_000
    readme = folder.joinpath("README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in readme and "10.24432/C50P49" in readme


def test_each_call_gives_fresh_arrays():
    load_digits()[0][:] = 7
    assert load_digits()[0].max() == 1


# ------------------------------------------------------------------------------------- the privacy accountant


def divergence_by_quadrature(order: int, noise: float, rate: float) -> float:
    """The definition: log ∫ pᵅ r¹⁻ᵅ / (α-1), with r = N(0, σ²) and p its mixture with N(1, σ²)."""
    x = np.linspace(-40 * noise, order + 40 * noise, 400_001)
    log_r = -(x**2) / (2 * noise**2) - math.log(noise * math.sqrt(2 * math.pi))
    log_p = log_r + np.log1p(rate * np.expm1((2 * x - 1) / (2 * noise**2)))
    logs = order * log_p + (1 - order) * log_r
    top = logs.max()
    return (top + math.log(np.trapezoid(np.exp(logs - top), x))) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 8, 32])
@pytest.mark.parametrize("noise", [0.8, 2.0])
def test_divergence_is_the_integral_that_defines_it(order, noise):
    for rate in (0.01, 0.1, 0.7):
        expected = divergence_by_quadrature(order, noise, rate)
        assert privacy.renyi_divergence(order, noise, rate) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [2, 5, 200])
def test_divergence_when_every_sample_takes_part_is_that_of_the_gaussian_mechanism(order):
    assert privacy.renyi_divergence(order, 1.5, 1.0) == pytest.approx(order / (2 * 1.5**2), rel=1e-15)
    assert privacy.renyi_divergence(order, 1.5, 1 - 1e-12) == pytest.approx(order / 4.5, rel=1e-9)


def test_divergence_of_order_two_has_a_closed_form():
    for rate in (1e-4, 0.05, 0.5):
        expected = math.log1p(rate**2 * math.expm1(1 / 1.3**2))
        assert privacy.renyi_divergence(2, 1.3, rate) == pytest.approx(expected, rel=1e-8)


def test_divergence_at_the_edges():
    assert privacy.renyi_divergence(5, 1.0, 0.0) == 0
    assert privacy.renyi_divergence(5, 0.0, 0.1) == math.inf
    assert math.isfinite(privacy.renyi_divergence(256, 0.05, 0.1))  # e^(256²/2σ²) alone would overflow


def test_epsilon_bounds_the_exact_one_of_the_gaussian_mechanism_and_not_by_much():
    """δ(ε) = Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ) is exact for one Gaussian release (Balle and Wang 2018)."""

    def normal_cdf(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    def delta(epsilon: float, noise: float) -> float:
        shift = epsilon * noise
        return normal_cdf(0.5 / noise - shift) - math.exp(epsilon) * normal_cdf(-0.5 / noise - shift)

    for noise in (1.0, 2.0, 4.0):
        bound = privacy.epsilon(noise, rate=1.0, steps=1, delta=1e-5)
        assert delta(bound, noise) <= 1e-5 < delta(0.9 * bound, noise)


def test_epsilon_grows_with_steps_and_shrinks_with_noise():
    spent = [privacy.epsilon(2.0, 0.1, steps, 1e-5) for steps in (1, 10, 100, 1000)]
    assert spent == sorted(spent) and spent[0] > 0
    assert privacy.epsilon(4.0, 0.1, 100, 1e-5) < privacy.epsilon(2.0, 0.1, 100, 1e-5)


@pytest.mark.parametrize("target", [0.5, 8.0])
def test_the_noise_for_an_epsilon_keeps_it_and_is_the_least_that_does(target):
    noise = privacy.noise_for(target, 0.2, 100, 1e-5)
    assert privacy.epsilon(noise, 0.2, 100, 1e-5) <= target < privacy.epsilon(0.998 * noise, 0.2, 100, 1e-5)


def test_what_is_no_probability_or_out_of_reach_is_named():
    with pytest.raises(ValueError, match="rate=2"):
        privacy.epsilon(1.0, 2, 100, 1e-5)
    with pytest.raises(ValueError, match="no noise gives ε"):
        privacy.noise_for(0.001, 0.2, 100, 1e-5)


# ------------------------------------------------------------------------------------------------ the command


def test_short_demo_checks_trains_and_reports(tmp_path):
    picture = tmp_path / "digits.png"
    plot = ["--plot", str(picture)] if importlib.util.find_spec("matplotlib") else []
    result = run_demo("--short", "--no-progress", *plot)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    if plot:
        assert picture.read_bytes().startswith(b"\x89PNG")
    lines = result.stdout.splitlines()
    difference, vectorised, loop = (
        find(lines, key) for key in ("greatest difference", "vectorised", "one by one ")
    )
    assert float(difference.split()[2].rstrip(",")) < 1e-10
    assert "ms" in vectorised and "times as long" in loop
    clean, noisy = find(lines, "without noise "), find(lines, "noise σ = 2 ")
    assert accuracy(clean) >= 85 and accuracy(noisy) >= 75
    assert clean.endswith("no privacy guaranteed") and noisy.endswith("ε = 1.72 at δ = 1e-05")
    assert find(lines, "before training: 100.0% are clipped")
    assert find(lines, "after it, without noise: ")


def find(lines: list[str], key: str) -> str:
    """The last line with `key` in it: results come after titles."""
    return [line for line in lines if key in line][-1]


def accuracy(line: str) -> float:
    return float(line.split("accuracy")[1].split("%")[0])


def test_progress_bar_shows_loss_and_accuracy():
    result = run_demo("--short", "--epochs", "1", "--noise", "0")
    assert result.returncode == 0, result.stderr
    assert "loss" in result.stderr and "accuracy" in result.stderr
    assert "noise σ" not in result.stdout  # one run only


def test_wrong_gradients_end_the_demo(monkeypatch):
    right = training.per_sample_gradients

    def wrong(*arguments):
        gradients = right(*arguments)
        gradients[1]["bias"] = gradients[1]["bias"] + np.nan
        return gradients

    monkeypatch.setattr(training, "per_sample_gradients", wrong)
    data = training.split_digits(0)
    with pytest.raises(SystemExit, match="FAILED"):
        training.report_gradients(data, training.init(np.random.default_rng(0)), samples=2, rounds=1)


def test_training_repeats_bit_for_bit():
    data, settings = training.split_digits(3), training.Settings(epochs=1, batch=256, seed=3)
    # Machine code for small arrays rounds in its own way, and takes over when batches of a size come again.
    runs = 4 if engine.mode() == "always" else 2
    *_, first, second = (training.train(data, settings, progress=False) for _ in range(runs))
    assert first.accuracies == second.accuracies
    for left, right in zip(first.params, second.params):
        assert all(np.array_equal(left[name], right[name]) for name in left)


def test_gradients_are_clipped_and_added_up():
    data = training.split_digits(0)
    params, images, labels = training.init(np.random.default_rng(0)), data.images[:8], data.labels[:8]
    gradients = training.per_sample_gradients(params, images, labels)
    flat = np.concatenate([leaf.reshape(8, -1) for leaf in fx.tree.leaves(gradients)], axis=1)
    norms = np.linalg.norm(flat, axis=1)
    np.testing.assert_allclose(training.gradient_norms(params, images, labels), norms)
    bound = float(np.median(norms))
    clipped = np.minimum(1, bound / norms) @ flat
    total = training.private_sum(params, images, labels, bound, 0.0, np.random.default_rng(0))
    np.testing.assert_allclose(np.concatenate([leaf.ravel() for leaf in fx.tree.leaves(total)]), clipped)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise", "-1"], "noise must be a finite number zero or above, not -1.0"),
        (["--batch", "0"], "batch must be a finite number above zero, not 0"),
        (["--clip", "nan"], "clip must be a finite number above zero, not nan"),
        (["--batch", "100000"], "exceeds the 1437 images"),
    ],
)
def test_bad_options_are_named(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit:
        training.main(arguments)
    assert message in capsys.readouterr().err + str(exit.value)
