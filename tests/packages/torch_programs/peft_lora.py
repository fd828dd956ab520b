"""Low-rank adapters of a language model: only they are trained, then they are merged.

packages: peft, transformers
tolerance: 1e-4
"""

import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
base = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
    )
)
config = LoraConfig(
    task_type=TaskType.CAUSAL_LM, r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["q_proj", "v_proj"]
)
model = get_peft_model(base, config)
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
ids = torch.randint(60, (2, 12))
for _ in range(4):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
merged = model.merge_and_unload().eval()
with torch.no_grad():
    print(merged(input_ids=ids).logits[0, -1, :5].tolist())
