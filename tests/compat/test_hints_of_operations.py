"""The hints of operations and modules are right: the call that fails, words of its hint, the call that follows them."""

import pytest

import fxgrad.compat as torch
from fxgrad.core.errors import FxgradError

nn, F, linalg, utils = torch.nn, torch.nn.functional, torch.linalg, torch.nn.utils
prune, orthogonal = utils.prune, utils.parametrizations.orthogonal
pack_padded_sequence, fuse = utils.rnn.pack_padded_sequence, utils.fuse_linear_bn_eval
logits_loss, future_mask = F.binary_cross_entropy_with_logits, nn.Transformer.generate_square_subsequent_mask
contiguous = torch.contiguous_format

s = torch.tensor(2.0)
v = torch.tensor([1.0, 2.0, 3.0])
x = torch.arange(6.0).reshape(2, 3)
n = torch.tensor([1, 2, 3])
b = torch.tensor([True, False])
c = torch.tensor([1 + 2j])
square = torch.tensor([[2.0, 1.0], [1.0, 2.0]])
four = torch.eye(4).reshape(2, 2, 4)
labels = torch.tensor([0, 1])
image = torch.ones(1, 2, 4, 4)
weight = torch.ones(3, 2, 3, 3)
grid = torch.ones(1, 1, 1, 2)
sequence = torch.ones(2, 1, 4)
upsample = nn.ConvTranspose2d(2, 4, 3, stride=2)


class Forgetful(nn.Module):
    pass


def derived(**members):
    return type("Derived", (Forgetful,), members)


def layer():
    return nn.Linear(3, 2)


def attend(**options):
    return nn.MultiheadAttention(4, 2)(sequence, sequence, sequence, **options)


def translate(**options):
    return nn.Transformer(4, 2, 1, 1, 8, **options)(sequence, torch.ones(2, 3, 4))


# The call that fails → words of the hint → the call that follows the hint.
OPERATIONS = """
x.sum(dim=(0, 0, 1)) → dim=(0, 1) → x.sum(dim=(0, 1))
x.reshape(-1, -1) → x.reshape(x.shape[0], -1) → x.reshape(x.shape[0], -1)
x.reshape(4, 2) → [3, 2] → x.reshape([3, 2])
x.reshape(4, -1) → [6] → x.reshape([6])
x[5] → places are -2 … 1 → x[1]
x[0, 0, 0] → at most 2; x[..., i] → x[..., 0]
x[::-1] → x.flip(dim) → x.flip(0)
x["first"] → torch.tensor(…) → x[torch.tensor([0])]
s[0] → x.item() → s.item()
x[x] → index.long() → x[x.long() % 2]
x[v > 1] → x[:, mask] → x[:, v > 1]
x[labels, n - 1] → x[rows.unsqueeze(-1), columns] → x[labels.unsqueeze(-1), n - 1]
x.index_select(0, labels[None]) → index.flatten() → x.index_select(0, labels[None].flatten())
x.index_select(0, n) → places are 0 … 1 → x.index_select(0, torch.tensor([1]))
x.gather(0, x) → index.long() → x.gather(0, (x % 2).long())
x.gather(0, 0 * n.repeat(1, 2)) → index.narrow(1, 0, 3) → x.gather(0, 0 * n.repeat(1, 2).narrow(1, 0, 3))
x.index_add(0, labels, x[:1]) → index[:1] → x.index_add(0, labels[:1], x[:1])
x.scatter_reduce(0, labels[:, None], x, "max") → reduce="amax" → x.scatter_reduce(0, labels[:, None], x, "amax")
x.masked_fill(x, 1.0) → mask.bool() → x.masked_fill(x.bool(), 1.0)
x.masked_fill(x > 0, v) → torch.where(mask, value, x) → torch.where(x > 0, v, x)
torch.add(n, n, alpha=1.5) → input.float() → torch.add(n.float(), n, alpha=1.5)
b - b → a ^ b → b ^ b
1 - b → ~mask → ~b
-b → x.to(torch.int64) → -b.to(torch.int64)
n // 0 → divisor.float() → n // torch.tensor(0).float()
torch.div(x, x, rounding_mode="down") → "floor" → torch.div(x, x, rounding_mode="floor")
torch.clamp(x) → torch.clamp(x, min=0.0) → torch.clamp(x, min=0.0)
torch.maximum(c, c) → x.abs() → torch.maximum(c.abs(), c.abs())
torch.sign(c) → torch.sgn(x) → torch.sgn(c)
~x → ~x.bool() → ~x.bool()
torch.isclose(x, x.double()) → .to(torch.float32) → torch.isclose(x, x.double().to(torch.float32))
torch.view_as_complex(n) → x.float() → torch.view_as_complex(n[:2].float())
torch.view_as_complex(x) → torch.complex(real, imag) → torch.complex(x, x)
torch.nansum(c) → torch.where(x.isnan(), 0, x) → torch.where(c.isnan(), 0, c).sum()
torch.max(x[:0], 0) → x.size(0) > 0 → torch.max(x, 0)
x.repeat(2) → x.repeat(1, 2) → x.repeat(1, 2)
x.roll(1, (0, 1)) → shifts=(1, 1) → x.roll((1, 1), (0, 1))
n.repeat_interleave(n, output_size=3) → output_size=6 → n.repeat_interleave(n, output_size=6)
torch.trace(x[None]) → torch.diagonal(x, 0, -2, -1).sum(-1) → torch.diagonal(x[None], 0, -2, -1).sum(-1)
x.contiguous(memory_format=torch.channels_last) → contiguous_format → x.contiguous(memory_format=contiguous)
torch.cat([s, s]) → torch.stack → torch.stack([s, s])
torch.cat([x, 3.0]) → torch.tensor(3.0) → torch.cat([x.flatten(), torch.tensor(3.0).reshape(1)])
torch.cat([x, torch.ones(3, 3)], 1) → dim=0 → torch.cat([x, torch.ones(3, 3)], 0)
torch.stack([x, v]) → torch.cat → torch.cat([x, v[None]])
torch.block_diag(x[None]) → torch.block_diag(*x) → torch.block_diag(*x[None])
torch.einsum("ij,jk->ik", x) → ij, jk → torch.einsum("ij,jk->ik", x, x.T)
x @ x → mat1 @ mat2.mT → x @ x.mT
x @ square → 3 rows → x @ torch.ones(3, 2)
torch.mv(x, x) → torch.matmul → torch.matmul(x, x.T)
torch.dot(v, v[:2]) → torch.outer → torch.outer(v, v[:2])
torch.tensordot(x, x, ([0], [0, 1])) → dims=([0], [0]) → torch.tensordot(x, x, ([0], [0]))
torch.addmm(torch.ones(5), x, x.T) → sizes of 1 expand → torch.addmm(torch.ones(1), x, x.T)
x.select(0, 5) → places are -2 … 1 → x.select(0, 1)
x.narrow(0, 0, 3) → length=2 → x.narrow(0, 0, 2)
x.split([1, 3]) → torch.split(x, n) → torch.split(x, 1)
torch.hsplit(x, 2) → torch.tensor_split(x, 2, 1) → torch.tensor_split(x, 2, 1)
torch.dsplit(x, 1) → torch.atleast_3d(x) → torch.dsplit(torch.atleast_3d(x), 1)
n.unfold(0, 5, 1) → size=3 → n.unfold(0, 3, 1)
x.T.view(6) → x.reshape(6) → x.T.reshape(6)
x.view(torch.float64) → x.to(torch.float64) → x.to(torch.float64)
x.expand(3) → x.expand(-1, 3) → x.expand(-1, 3)
x.flatten(1, 0) → start_dim=0, end_dim=1 → x.flatten(0, 1)
x.unflatten(0, (3, 2)) → x.unflatten(0, [1, 2]) → x.unflatten(0, [1, 2])
x.permute(0) → x.permute(1, 0) → x.permute(1, 0)
v.mT → x.unsqueeze(-1) → v.unsqueeze(-1).mT
torch.quantile(x, 50) → q=0.5 → torch.quantile(x, 0.5)
torch.quantile(n, 0.5) → x.to(torch.float32) → torch.quantile(n.to(torch.float32), 0.5)
torch.kthvalue(n, 4) → k = 1 … 3 → torch.kthvalue(n, 3)
torch.bincount(x) → x.flatten().long() → torch.bincount(x.flatten().long())
torch.histc(x, 3, 5, 1) → min=1, max=5 → torch.histc(x, 3, 1, 5)
torch.stft(v, 2, 0, return_complex=True) → hop_length=1 → torch.stft(v, 2, 1, window=v[:2], return_complex=True)
torch.fft.fft2(x, s=(1, 2, 3), dim=None) → s=(2, 3) → torch.fft.fft2(x, s=(2, 3), dim=None)
torch.fft.rfft(c) → torch.fft.fft → torch.fft.fft(c)
linalg.inv(x) → torch.linalg.pinv → linalg.pinv(x)
linalg.inv(torch.zeros(2, 2)) → torch.linalg.pinv → linalg.pinv(torch.zeros(2, 2))
linalg.cholesky(-square) → x + eps * torch.eye(n) → linalg.cholesky(-square + 4 * torch.eye(2))
linalg.solve(torch.eye(3), x) → B.mT → linalg.solve(torch.eye(3), x.mT)
linalg.tensorinv(four, 1) → ind=2 → linalg.tensorinv(four, 2)
linalg.matrix_norm(v) → torch.linalg.vector_norm → linalg.vector_norm(v)
linalg.qr(x, "full") → mode='complete' → linalg.qr(x, "complete")
torch.lobpcg(torch.eye(2)) → torch.linalg.eigh(A) → linalg.eigh(torch.eye(2))
"""

LAYERS = """
F.cross_entropy(x, 7 * labels) → ignore_index=7 → F.cross_entropy(x, 7 * labels, ignore_index=7)
F.cross_entropy(x, torch.tensor(0)) → target.expand([2]) → F.cross_entropy(x, torch.tensor(0).expand([2]))
F.one_hot(n, 2) → num_classes=4 → F.one_hot(n, 4)
F.mse_loss(x, x, reduction="avg") → reduction="mean" → F.mse_loss(x, x, reduction="mean")
F.binary_cross_entropy(x, x) → torch.sigmoid(x) → F.binary_cross_entropy(torch.sigmoid(x), x / 6)
logits_loss(x, v) → target.expand([2, 3]) → logits_loss(x, v.expand([2, 3]))
F.glu(x) → x.narrow(1, 0, 2) → F.glu(x.narrow(1, 0, 2))
F.dropout(x, 50) → p=0.5 → F.dropout(x, 0.5)
F.linear(x, torch.ones(3, 4)) → weight.T → F.linear(x, torch.ones(3, 4).T)
F.embedding(torch.tensor([5]), x) → num_embeddings=6 → F.embedding(torch.tensor([5]), torch.ones(6, 3))
F.embedding_bag(labels, x) → offsets=torch.tensor([0]) → F.embedding_bag(labels, x, torch.tensor([0]))
F.conv2d(image, weight, groups=2) → groups: one of [1, 3] → F.conv2d(image, weight, groups=1)
F.conv2d(image.movedim(1, -1), weight) → x.movedim(-1, 1) → F.conv2d(image.movedim(1, -1).movedim(-1, 1), weight)
F.conv2d(image[None], weight) → x.flatten(0, 1) → F.conv2d(image[None].flatten(0, 1), weight)
F.conv2d(image, weight, None, 2, "same") → padding=(1, 1) → F.conv2d(image, weight, None, 2, (1, 1))
F.max_pool2d(x, 2) → x.reshape([1, 2, 3]) → F.max_pool2d(x.reshape([1, 2, 3]), 2)
F.max_pool2d(image, 5) → kernel_size=(4, 4) → F.max_pool2d(image, (4, 4))
F.max_pool2d(image, 2, padding=2) → padding=1 → F.max_pool2d(image, 2, padding=1)
F.pad(x, (3, 3), "reflect") → mode="replicate" → F.pad(x, (3, 3), "replicate")
F.interpolate(image, 8, mode="linear") → mode="bilinear" → F.interpolate(image, 8, mode="bilinear")
F.interpolate(image) → scale_factor=2.0 → F.interpolate(image, scale_factor=2.0)
F.pixel_unshuffle(image, 3) → one of [1, 2, 4] → F.pixel_unshuffle(image, 2)
F.grid_sample(image, grid[0], align_corners=True) → unsqueeze(0) → F.grid_sample(image, grid, align_corners=True)
F.layer_norm(x, (4,)) → normalized_shape=[3] → F.layer_norm(x, (3,))
F.group_norm(image, 3) → num_groups: one of [1, 2] → F.group_norm(image, 2)
F.batch_norm(x[:1], None, None, training=True) → more than one entry → F.batch_norm(x, None, None, training=True)
nn.Conv2d(4, 6, 3, groups=4) → groups: one of [1, 2] → nn.Conv2d(4, 6, 3, groups=2)
upsample(image, output_size=(20, 20)) → output_size=[9, 9] → upsample(image, output_size=[9, 9])
nn.BatchNorm1d(2)(image) → BatchNorm2d is for 4D → nn.BatchNorm2d(2)(image)
nn.MultiheadAttention(10, 3) → num_heads: one of [1, 2, 5, 10] → nn.MultiheadAttention(10, 5)
attend(is_causal=True) → generate_square_subsequent_mask(2) → attend(is_causal=True, attn_mask=future_mask(2))
nn.GRU(4, 3)(sequence, torch.ones(1, 3)) → hx.unsqueeze(1) → nn.GRU(4, 3)(sequence, torch.ones(1, 3).unsqueeze(1))
nn.LSTM(4, 3)(sequence.double()) → input.to(torch.float32) → nn.LSTM(4, 3)(sequence.double().to(torch.float32))
nn.LSTM(3, 4, 1, 1) → bias=True → nn.LSTM(3, 4, 1, bias=True)
translate() → batch_first=True → translate(batch_first=True)
nn.TransformerEncoderLayer(4, 2, 8, 0.1, "silu") → functional.silu → nn.TransformerEncoderLayer(4, 2, 8, 0.1, F.silu)
nn.AdaptiveLogSoftmaxWithLoss(16, 9, [5, 3]) → cutoffs=[3, 5] → nn.AdaptiveLogSoftmaxWithLoss(16, 9, [3, 5])
nn.init.orthogonal_(v) → torch.nn.init.normal_ → nn.init.normal_(v.clone())
nn.Embedding(3, 2, padding_idx=5) → places are -3 … 2 → nn.Embedding(3, 2, padding_idx=2)
nn.Sequential(nn.ReLU) → ReLU(…) → nn.Sequential(nn.ReLU())
layer().register_parameter("more", x) → torch.nn.Parameter(x) → layer().register_parameter("more", nn.Parameter(x))
layer().load_state_dict(layer()) → other.state_dict() → layer().load_state_dict(layer().state_dict())
layer().load_state_dict({"weight": x}) → strict=False → layer().load_state_dict({"weight": x}, strict=False)
layer().to(torch.int64) → module.to(torch.float64) → layer().to(torch.float64)
Forgetful()(x) → def forward(self, x) → derived(forward=lambda self, x: x)()(x)
Forgetful(3) → def __init__ → derived(__init__=lambda self, size: nn.Module.__init__(self))(3)
pack_padded_sequence(x, [2, 2]) → batch_first=True → pack_padded_sequence(x, [2, 2], True)
pack_padded_sequence(x.T, [1, 2]) → enforce_sorted=False → pack_padded_sequence(x.T, [1, 2], enforce_sorted=False)
prune.l1_unstructured(layer(), "weight", 50.0) → amount=0.5 → prune.l1_unstructured(layer(), "weight", 0.5)
orthogonal(layer(), "w") → weight, bias → orthogonal(layer(), "weight")
fuse(layer(), nn.BatchNorm1d(2)) → bn.eval() → fuse(layer().eval(), nn.BatchNorm1d(2).eval())
"""
CASES = [line.split(" → ") for line in (OPERATIONS + LAYERS).splitlines() if line]


@pytest.mark.filterwarnings("ignore:A window was not provided")
@pytest.mark.parametrize(("failing", "words", "cured"), CASES, ids=[failing for failing, _, _ in CASES])
def test_the_hint_leads_to_what_works(failing, words, cured):
    with pytest.raises(FxgradError) as caught:
        eval(failing)
    assert words in str(caught.value.hint)
    eval(cured)


def test_a_state_of_data_parallel_is_told_from_others():
    state = {f"module.{name}": value for name, value in layer().state_dict().items()}
    with pytest.raises(FxgradError) as caught:
        layer().load_state_dict(state)
    assert "consume_prefix_in_state_dict_if_present" in str(caught.value.hint)
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    layer().load_state_dict(state)
