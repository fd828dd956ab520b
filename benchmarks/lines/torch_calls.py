"""Single calls of torch's functions on a hundred numbers, where what is paid for is the way to the kernel."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import tape
from ..line import Contenders, Run, line

Call = Callable[[Any, dict[str, Any]], Any]
CALLS: dict[str, tuple[str, Call]] = {
    "normal_": ("normal numbers in place", lambda torch, v: v["x"].normal_(generator=v["generator"])),
    "randn": ("normal numbers", lambda torch, v: torch.randn(v["x"].shape, generator=v["generator"])),
    "randint": (
        "whole numbers",
        lambda torch, v: torch.randint(0, 9, v["x"].shape, generator=v["generator"]),
    ),
    "median": ("a median", lambda torch, v: v["x"].median()),
    "median_dim": ("medians of rows", lambda torch, v: v["rows"].median(1)),
    "max_dim": ("maxima of rows", lambda torch, v: v["rows"].max(1)),
    "cummax": ("running maxima", lambda torch, v: v["x"].cummax(0)),
    "max_pool2d": ("maxima of windows", lambda torch, v: torch.nn.functional.max_pool2d(v["image"], 2)),
    "isin": ("places among ten others", lambda torch, v: torch.isin(v["places"], v["few"])),
    "repeat_interleave": ("each twice", lambda torch, v: v["x"].repeat_interleave(2)),
    "take": ("entries at places", lambda torch, v: v["x"].take(v["places"])),
    "gather": ("entries of rows at places", lambda torch, v: v["rows"].gather(1, v["columns"])),
    "masked_select": ("entries under a mask", lambda torch, v: v["x"].masked_select(v["mask"])),
    "masked_fill": ("a number under a mask", lambda torch, v: v["x"].masked_fill(v["mask"], 2.0)),
    "masked_fill_": ("the same in place", lambda torch, v: v["own"].masked_fill_(v["mask"], 2.0)),
    "masked_scatter": ("entries into a mask", lambda torch, v: v["x"].masked_scatter(v["mask"], v["own"])),
    "index_add": ("rows added at places", lambda torch, v: v["rows"].index_add(0, v["numbers"], v["others"])),
    "index_copy": ("rows written", lambda torch, v: v["rows"].index_copy(0, v["numbers"], v["others"])),
    "index_fill": ("rows filled", lambda torch, v: v["rows"].index_fill(0, v["numbers"], 2.0)),
    "scatter": ("a number at places", lambda torch, v: v["rows"].scatter(1, v["columns"], 2.0)),
    "cross_entropy": (
        "the loss of classes",
        lambda torch, v: torch.nn.functional.cross_entropy(v["rows"], v["numbers"]),
    ),
}
GRADIENTS = (
    "median",
    "max_dim",
    "max_pool2d",
    "take",
    "gather",
    "masked_select",
    "index_add",
    "cross_entropy",
)


def operands() -> dict[str, np.ndarray]:
    """Arrays of a hundred entries, and places in them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100).astype("f4")
    rows = rng.standard_normal((10, 10)).astype("f4")
    return {
        "x": x,
        "own": rng.standard_normal(100).astype("f4"),
        "rows": rows,
        "others": rng.standard_normal((10, 10)).astype("f4"),
        "image": rows.reshape(1, 1, 10, 10),
        "places": rng.integers(0, 100, 100),
        "few": rng.integers(0, 100, 10),
        "columns": rng.integers(0, 10, (10, 10)),
        "numbers": rng.permutation(10),
        "mask": x > 0,
    }


def enter(name: str, title: str, call: Call, leaves: tuple[str, ...] = ()) -> None:
    """Enter the line of a call whose operands of these names require gradients."""

    def make(quick: bool) -> Contenders:
        def program(torch: Any, *arrays: Any) -> Run:
            given = dict(zip(operands(), arrays))
            for leaf in leaves:
                given[leaf].requires_grad_()
            given["generator"] = torch.Generator().manual_seed(0)
            return lambda: call(torch, given)

        return tape(program, *operands().values())

    make.__name__, make.__doc__ = f"call_{name}", f"{title}, 100 entries"
    line(tolerance=1e-5)(make)


for called, (meaning, function) in CALLS.items():
    enter(called, meaning, function)
    if called in GRADIENTS:
        enter(f"{called}_recorded", f"{meaning}, recorded", function, ("x", "rows", "image"))
