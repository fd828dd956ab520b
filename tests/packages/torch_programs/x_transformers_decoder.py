"""A decoder with rotary positions, gated feed-forward and cached generation; an encoder of pictures.

packages: x-transformers
tolerance: 1e-4
"""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, ViTransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=40, max_seq_len=32,
        attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True, attn_qk_norm=True),
    )
)  # fmt: skip
ids = torch.randint(40, (2, 16))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(3):
    loss = model(ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(model.generate(ids[:, :4], 6, temperature=0.0).tolist())
vit = ViTransformerWrapper(
    image_size=16, patch_size=4, num_classes=3, attn_layers=Encoder(dim=32, depth=1, heads=2)
)
print(vit(torch.randn(2, 3, 16, 16)).flatten().tolist())
