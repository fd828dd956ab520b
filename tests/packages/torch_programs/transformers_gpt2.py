"""A small GPT-2: training steps, then greedy, sampled and beam generation.

packages: transformers
tolerance: 1e-4
"""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=49
)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(49, (4, 16))
for _ in range(3):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
model.eval()
start, mask = ids[:2, :4], torch.ones(2, 4, dtype=torch.long)
options = dict(attention_mask=mask, max_new_tokens=8, pad_token_id=49)
print(model.generate(start, do_sample=False, **options).tolist())
print(model.generate(start, do_sample=False, num_beams=3, **options).tolist())
torch.manual_seed(5)
print(model.generate(start, do_sample=True, top_k=20, top_p=0.9, temperature=0.8, **options).tolist())
