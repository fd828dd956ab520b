"""CUDA devices, with the stand-in for CuPy."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import fxgrad.compat as fxt


@pytest.fixture
def cuda(stand_in):
    """The stand-in, by the name of the device."""
    return stand_in


def test_there_and_back(cuda):
    x = fxt.tensor([1.0, 2.0])
    there = x.to("cuda")
    assert there.is_cuda and str(there.device) == "cuda:0" and x.is_cpu
    assert there.to("cuda:0") is there and there.cuda() is there and x.cpu() is x
    assert there.type() == "torch.cuda.FloatTensor"
    assert repr(there) == "tensor([1., 2.], device='cuda:0')"
    assert there.cpu().numpy().tolist() == [1, 2] and type(there.cpu().numpy()) is np.ndarray
    assert there.numpy(force=True).tolist() == [1, 2]
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        there.numpy()


def test_there_every_time(cuda):
    for _ in range(3):
        x = fxt.tensor([1.0, 2.0], requires_grad=True)
        assert x.cuda().is_cuda and x.detach().cuda().is_cuda


def test_created_there(cuda):
    assert fxt.cuda.is_available() and fxt.cuda.device_count() == 2
    assert fxt.zeros(2, device="cuda").is_cuda
    with fxt.device("cuda"):
        made = fxt.ones(2)
        assert fxt.ones_like(made).is_cuda and fxt.tensor([1]).is_cuda
    assert made.new_zeros(1).is_cuda and fxt.zeros_like(made).is_cuda
    assert fxt.zeros(1).is_cpu
    assert str(pickle.loads(pickle.dumps(made)).device) == "cuda:0"
    assert copy.deepcopy(made).is_cuda


def test_gradients_come_back(cuda):
    x = fxt.tensor([1.0, 2.0], requires_grad=True)
    y = x.cuda()
    assert y.grad_fn.name() == "ToCopyBackward0"
    (y.cpu() * 3).sum().backward()
    assert x.grad.tolist() == [3, 3] and x.grad.is_cpu


def test_moved_inside_vmap(cuda):
    y = fxt.func.vmap(lambda x: x.to("cuda"))(fxt.ones(2, 3))
    assert y.is_cuda and tuple(y.shape) == (2, 3)


def test_modules_move(cuda):
    m = fxt.nn.Linear(2, 2).cuda()
    assert all(p.is_cuda for p in m.parameters())
    assert all(p.is_cpu for p in m.cpu().parameters())


def test_conjugates_there_are_views(cuda):
    x = fxt.tensor([1 + 2j, 3 - 1j]).cuda()
    c = x.conj()
    c.mul_(2)
    c.imag.fill_(5.0)
    assert c.is_conj() and c.is_cuda and c._base is x
    assert x.tolist() == [2 - 5j, 6 - 5j] and c.tolist() == [2 + 5j, 6 + 5j]
    y = x.clone().requires_grad_()
    (y.conj() * y.conj()).sum().real.backward()
    assert y.grad.tolist() == (2 * c).tolist()


def test_saved_there(cuda):
    for archive in (True, False):
        file = io.BytesIO()
        x = fxt.tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda")
        fxt.save([x, x.detach()], file, _use_new_zipfile_serialization=archive)
        for location, there in ((None, True), ("cpu", False), ({"cuda:0": "cpu"}, False), ("cuda:0", True)):
            file.seek(0)
            back, again = fxt.load(file, location)
            assert back.is_cuda is again.is_cuda is there
            assert back.cpu().tolist() == again.cpu().tolist() == [[1, 2], [3, 4]]
