"""Pictures of the recorded graph: what they show, once, and how much of it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from shutil import which

import pytest

import fxgrad.compat as torch
from fxgrad.compat import nn
from fxgrad.compat.autograd import picture as pictures

picture = torch.autograd.graph.picture
DRAWS = which("dot") is not None and find_spec("graphviz") is not None
HERE = re.compile(r"\s+\S*test_picture\.py:\d+$")


def rows(of, **options) -> list[str]:
    """The lines of the text, with one space between their parts and without the user's lines."""
    return [re.sub(r"  +", " ", HERE.sub("", line)) for line in str(picture(of, **options)).splitlines()]


def test_a_chain_runs_straight_down():
    x = torch.ones(2, 3, requires_grad=True)
    assert rows(x.exp().sin()) == [
        "1 SinBackward0 f32[2,3] saves self f32[2,3] 24 B",
        "2 ExpBackward0 f32[2,3] saves result f32[2,3] (shared)",
        "3 leaf f32[2,3]",
        "nodes: 3, memory kept beside the leaves': 24 B",
    ]


def test_what_has_several_operands_branches_and_what_is_shared_stands_once():
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = x.exp()
    assert rows(y * w + y, params={"w": w}) == [
        "1 AddBackward0 f32[3]",
        "├─ 2 MulBackward0 f32[3] saves self f32[3] 12 B, other f32[3] (shared)",
        "│ ├─ 4 ExpBackward0 f32[3] saves result f32[3] (shared)",
        "│ │ 5 leaf f32[3]",
        "│ └─ 3 w f32[3]",
        "└─ 4 ExpBackward0 (above)",
        "nodes: 5, memory kept beside the leaves': 12 B",
    ]


def test_every_node_has_the_users_line():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = y.sin()
    line = test_every_node_has_the_users_line.__code__.co_firstlineno
    sites = re.findall(r"test_picture\.py:(\d+)$", str(picture(z)), re.M)
    assert [int(site) - line for site in sites] == [3, 2]


def test_parameters_have_their_names():
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1))
    text = str(picture(model(torch.ones(2, 4)), params=dict(model.named_parameters())))
    for name, shape in {"0.weight": "5,4", "0.bias": "5", "2.weight": "1,5", "2.bias": "1"}.items():
        assert re.search(rf"\d+ {re.escape(name)} +f32\[{shape}\]$", text, re.M), text


def test_shapes_are_known_whatever_is_saved():
    x = torch.ones(2, 3, requires_grad=True)
    y = (x + 1).reshape(3, 2).transpose(0, 1).sum(0)[1:].unsqueeze(0)
    avals = re.findall(r"f32\[[\d,]*\]", re.sub(r"saves.*", "", str(picture(y))))
    assert avals == ["f32[1,2]", "f32[2]", "f32[3]", "f32[2,3]", "f32[3,2]", "f32[2,3]", "f32[2,3]"]


def test_functions_and_results_of_several():
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2, x.sum()

        @staticmethod
        def backward(ctx, a, b):
            raise AssertionError("a picture runs no code of the user's")

    x = torch.ones(3, requires_grad=True).exp()
    a, b = Two.apply(x)
    assert rows((a, b))[:3] == [
        "1 TwoBackward [0] f32[3], f32[] saves saved_tensors[0] f32[3] 12 B",
        "2 ExpBackward0 f32[3] saves result f32[3] (shared)",
        "3 leaf f32[3]",
    ]
    assert rows((a, b))[3] == "1 TwoBackward [1] (above)"


def test_what_hooks_have_packed():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numel(), lambda n: torch.ones(n)):
        y = x.exp()
    runs = []
    z = torch.utils.checkpoint.checkpoint(lambda x: runs.append(1) or x.sin(), y, use_reentrant=False)
    assert rows(z)[:2] == [
        "1 SinBackward0 f32[3] saves self (packed)",
        "2 ExpBackward0 ? saves result (packed)",
    ]
    assert len(runs) == 1


def test_what_backward_has_freed():
    y = torch.ones(3, requires_grad=True).exp()
    y.sum().backward()
    assert rows(y)[0] == "1 ExpBackward0 f32[3] freed"


def test_deep_graphs_are_cut():
    y = x = torch.ones(3, requires_grad=True)
    for _ in range(10_000):
        y = y * 1.5
    assert len(rows(y)) == 203
    assert rows(y, max_nodes=2)[2:] == [
        "…",
        "nodes: 2, memory kept beside the leaves': 0 B",
        "… 9999 earlier nodes are not shown (max_nodes=2)",
    ]
    assert rows(y, max_nodes=10_001)[-2] == "10001 leaf f32[3]"
    assert x.grad is None


def test_a_node_and_an_edge_and_a_leaf():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    edge = torch.autograd.graph.get_gradient_edge(y)
    for of in (y, y.grad_fn, edge):
        assert rows(of)[0].startswith("1 ExpBackward0")
    assert rows(x)[0] == "1 leaf f32[3]"


def test_inside_transforms():
    texts = []

    def f(x):
        y = (x * x).sin()
        texts.append(rows(y))
        return y.sum()

    torch.func.grad(f)(torch.ones(3))
    torch.func.vmap(torch.func.grad(f))(torch.ones(2, 3))
    for text in texts:
        assert text[0].startswith("1 SinBackward0 f32[3]")
        assert text[1].startswith("2 MulBackward0 f32[3]")


def test_refusals():
    with pytest.raises(RuntimeError, match="does not require a gradient"):
        picture(torch.ones(3))
    with pytest.raises(TypeError, match="must be a Tensor, a Node"):
        picture("x")


@pytest.mark.parametrize("suffix", ["txt", "html", "svg", "png"])
def test_files(tmp_path, suffix):
    found = picture(torch.ones(3, requires_grad=True).exp())
    path = tmp_path / f"graph.{suffix}"
    if suffix in ("svg", "png") and not DRAWS:
        with pytest.raises(RuntimeError, match="needs Graphviz"):
            found.save(path)
        return
    found.save(str(path))
    begins = {"txt": b"1 Exp", "html": b"<div", "svg": b"<?xml", "png": b"\x89PNG"}
    assert path.read_bytes().startswith(begins[suffix])


def test_a_format_that_is_none(tmp_path):
    if DRAWS:
        with pytest.raises(RuntimeError, match="no format of pictures is called 'nonsense'"):
            picture(torch.ones(3, requires_grad=True)).save(tmp_path / "a.nonsense")


def test_drawings():
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    pytest.importorskip("graphviz")
    source = pictures.build_drawing(picture(y, params={"x<y": x}).graph).source
    assert source.count("shape=ellipse") == 1
    assert source.count("->") == 5
    assert "x<y: f32[3]" in source
    assert "not shown" in pictures.build_drawing(picture(y, max_nodes=2).graph).source


def test_without_graphviz(monkeypatch, tmp_path):
    monkeypatch.setattr("fxgrad.core.picture.which", lambda name: None)
    found = picture(torch.ones(3, requires_grad=True).exp())
    bundle = found._repr_mimebundle_()
    assert list(bundle) == ["text/html"] and "ExpBackward0" in bundle["text/html"]
    with pytest.raises(RuntimeError, match="needs Graphviz"):
        found.save(tmp_path / "a.svg")


def test_notebooks_show_tensors_and_nodes_on_request():
    y = torch.ones(3, requires_grad=True).exp()
    assert not hasattr(y, "_repr_mimebundle_")
    torch.autograd.graph.set_picture_in_notebooks(True)
    try:
        for shown in (y, y.grad_fn):
            ((kind, content),) = shown._repr_mimebundle_(include=None, exclude=None).items()
            assert kind == ("image/svg+xml" if DRAWS else "text/html")
            assert "ExpBackward0" in content
        assert torch.ones(3)._repr_mimebundle_() is None
    finally:
        torch.autograd.graph.set_picture_in_notebooks(False)
    assert not hasattr(y, "_repr_mimebundle_")
    assert not hasattr(type(y.grad_fn), "_repr_mimebundle_")
