"""What programs cost through the doors: those written for JAX beside the same programs under this library's own names,
and calls of NumPy and SciPy outside of transforms beside the libraries themselves.

Decides whether the doors are short enough. Every row of the first table has the time under `fnp` and `fx`, and how many
times as long the program of `jnp` and `jax` takes: low quantiles of many short rounds; where JAX is installed, another
process takes turns with them. A row of the second has, beside the times, by how many microseconds a call is longer, of
which one is allowed. `door.py jax` and `door.py numpy` print one; further words choose rows of the first by parts of
names.
"""

import measure  # isort: skip  (it sets the number of threads)

import importlib.util
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy

OWN = sys.argv[1:] != ["worker"]  # in the other process JAX is itself
if OWN:
    import fxgrad as fx
    import fxgrad.numpy as fnp

    fx.install("jax")

Program = Callable[[], object]


def make_programs(
    np: Any, lib: Any, asarray: Callable[[Any], Any], at: Callable[[Any], Any]
) -> dict[str, Program]:
    """The programs by what they show, of a library's two modules, and how it makes arrays and updates them."""
    rng = numpy.random.default_rng(0)
    shapes = {"w1": (16, 32), "b1": (32,), "w2": (32, 1), "b2": (1,)}
    params = {name: asarray(rng.normal(size=shape).astype("f4") / 4) for name, shape in shapes.items()}
    x, w, batch, xs, matrix = (
        asarray(rng.normal(size=shape).astype("f4")) for shape in ((4,), (16,), (32, 16), (8, 16), (32, 32))
    )
    places = asarray(numpy.arange(0, 16, 3, dtype="i4"))
    key, start = lib.random.PRNGKey(0), asarray(numpy.float32(0.5))

    def five(x: Any) -> Any:
        return np.sin(x) * x + np.exp(x) * 2.0

    def forward(p: Any, x: Any) -> Any:
        return np.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]

    def loss(p: Any, x: Any) -> Any:
        return np.mean(forward(p, x) ** 2)

    def of_one(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(w * x))

    def step(c: Any, x: Any) -> Any:
        c = np.tanh(c * 0.9 + x)
        return c, np.sum(c)

    def statistics(a: Any) -> Any:
        return np.sum(a, axis=0), np.mean(a), np.max(a, axis=1), np.argmax(a), np.std(a), np.var(a, axis=0)

    def entries(x: Any) -> Any:
        return x[2] + x[-1], x[1:9:2], x[None, :], at(x)[3].set(1.0), at(x)[places].add(2.0), x[places]

    def draw(key: Any) -> Any:
        key, other = lib.random.split(key)
        shape = (4, 4)
        return lib.random.normal(key, shape, np.float32), lib.random.uniform(other, shape, np.float32)

    def near_root(x: Any) -> Any:
        return lib.lax.while_loop(lambda x: np.sum(x * x) < 40.0, lambda x: x * 1.1 + 0.1, x)

    def update(p: Any, g: Any) -> Any:
        return lib.tree.map(lambda a, b: a - 0.1 * b, p, g)

    grad, jitted = lib.grad(loss), lib.jit(five)
    each, trained = lib.vmap(lib.grad(of_one), (None, 0)), lib.jit(lib.value_and_grad(loss))
    return {
        "x + x": lambda: x + x,
        "x * 2": lambda: x * 2.0,
        "sin(x)": lambda: np.sin(x),
        "sum(x)": lambda: np.sum(x),
        "dot(x, x)": lambda: np.dot(x, x),
        "where(x, x, x)": lambda: np.where(x, x, x),
        "reshape(x, (2, 2))": lambda: np.reshape(x, (2, 2)),
        "chain": lambda: five(w),
        "forward pass": lambda: forward(params, batch),
        "grad(loss)": lambda: grad(params, batch),
        "vmap(grad(f))": lambda: each(w, xs),
        "scan": lambda: lib.lax.scan(step, w, xs),
        "indexing": lambda: entries(w),
        "random draws": lambda: draw(key),
        "reductions": lambda: statistics(matrix),
        "tree.map": lambda: update(params, params),
        "while_loop": lambda: near_root(start),
        "jit(chain)": lambda: jitted(w),
        "jit(value_and_grad(loss))": lambda: trained(params, batch),
    }


def programs_of_jax() -> dict[str, Program]:
    """The programs under the names of JAX, which may be the door's."""
    import jax

    return make_programs(jax.numpy, jax, jax.numpy.asarray, lambda x: x.at)


def programs_of_fxgrad() -> dict[str, Program]:
    """The programs under this library's own names."""
    return make_programs(fnp, fx, lambda x: x, lambda x: fnp.at(x))


def low(times: list[float]) -> float:
    """A low quantile, in µs: what others do on the machine makes times longer only."""
    return 1e6 * statistics.quantiles(times, n=20)[1]


def time_one(programs: dict[str, Program], name: str, calls: int) -> float:
    """Seconds of a call."""
    return measure.take_turns({name: programs[name]}, rounds=1, calls=calls)[name][0]


def work() -> None:
    """Answer lines that ask for programs of JAX with their times."""
    programs = programs_of_jax()
    for line in sys.stdin:
        name, calls = line.rstrip("\n").split("\t")
        print(time_one(programs, name, int(calls)), flush=True)


def open_peer() -> Callable[[str, int], float]:
    """Return what times a program of JAX in another process; never, where JAX is not installed."""
    if importlib.util.find_spec("jaxlib") is None:
        return lambda name, calls: float("nan")
    command = [sys.executable, __file__, "worker"]
    peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(name: str, calls: int) -> float:
        print(f"{name}\t{calls}", file=peer.stdin, flush=True)
        return float(peer.stdout.readline())

    return ask


def print_jax(chosen: list[str]) -> None:
    """Print a row a program of JAX's."""
    print(f"{'':28}    fxgrad     door   times        JAX   times")
    own, door, peer = programs_of_fxgrad(), programs_of_jax(), open_peer()
    for name in own:
        if chosen and not any(part in name for part in chosen):
            continue
        calls = max(1, int(4e-4 / time_one(own, name, 9)))
        for programs in (own, door):
            for _ in range(500):  # until code is settled
                time_one(programs, name, calls)
        peer(name, max(20, 5 * calls))
        times: dict[str, list[float]] = {"own": [], "door": [], "peer": []}
        for turn in range(200):
            times["own"].append(time_one(own, name, calls))
            times["door"].append(time_one(door, name, calls))
            if turn % 8 == 0:
                times["peer"].append(peer(name, calls))
        ours, theirs, other = map(low, times.values())
        print(
            f"{name:28} {ours:9.2f} {theirs:9.2f} {theirs / ours:7.2f}  {other:9.2f} {theirs / other:7.2f}",
            flush=True,
        )


CALLS = """
np.sin(x); np.add(x, y); np.zeros(3); np.ones((3, 3)); np.full(3, 1.0); np.arange(3); np.linspace(0, 1, 3); np.eye(3)
np.array([1.0, 2.0]); np.asarray(x); np.dot(x, y); np.matmul(a, x); np.where(mask, x, y); np.concatenate(pair)
np.stack(pair); np.sum(x); np.mean(a, axis=0); np.cumsum(x); np.sort(x); np.argmax(x); np.clip(x, 0.2, 0.5)
np.reshape(a, 9); np.transpose(a); np.take(x, n); np.outer(x, y); np.einsum("ij,j->i", a, x); np.interp(0.5, x, y)
np.diff(x); np.linalg.solve(a, x); np.linalg.norm(x); np.linalg.inv(a); np.fft.fft(x)
scipy.linalg.solve_triangular(lower, x, lower=True); scipy.linalg.cholesky(a); scipy.linalg.expm(a)
scipy.special.erf(x); scipy.special.gammaln(x); scipy.special.logsumexp(x); scipy.stats.norm.logpdf(x, 0.0, 1.0)
scipy.stats.norm.cdf(x); scipy.signal.convolve(x, y); scipy.fft.fft(x); scipy.integrate.trapezoid(y, x)
scipy.optimize.brentq(np.cos, 1.0, 2.0)
"""


def make_calls(np: Any, scipy: Any) -> dict[str, Callable[[], object]]:
    """The calls above, of NumPy and SciPy as they are given."""
    x, y, n, a = np.linspace(0.1, 0.9, 3), np.arange(3.0), np.arange(3), np.eye(3) + 0.1
    names = {"np": np, "scipy": scipy, "x": x, "y": y, "n": n, "a": a, "lower": np.tril(a), "mask": x > 0.5}
    names["pair"] = (x, y)
    return {text: eval(f"lambda: {text}", names) for text in CALLS.strip().replace("\n", "; ").split("; ")}


def print_numpy() -> None:
    """Print a row a call of NumPy or SciPy."""
    import scipy

    own = make_calls(numpy, scipy)
    with fx.install("numpy", "scipy"):
        import numpy as numpy_
        import scipy as scipy_
    door = make_calls(numpy_, scipy_)
    print(f"{'':52}  library    door  beyond (µs)")
    for text in own:
        times = measure.take_turns({"library": own[text], "door": door[text]}, rounds=300, calls=20)
        alone, shown = (low(times[name]) for name in times)
        print(f"{text:52} {alone:8.2f} {shown:7.2f} {shown - alone:7.2f}")


def main() -> None:
    """Print the tables that are asked for, or both."""
    table, *chosen = sys.argv[1:] or [""]
    if table in ("", "jax"):
        print_jax(chosen)
    if table in ("", "numpy"):
        print_numpy()


if __name__ == "__main__":
    main() if OWN else work()
