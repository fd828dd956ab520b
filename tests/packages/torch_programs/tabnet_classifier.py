"""A network of tables with attentive feature selection, with the interface of scikit-learn.

packages: pytorch-tabnet
tolerance: 1e-3
"""

import numpy as np
import torch
from pytorch_tabnet.tab_model import TabNetClassifier

rng = np.random.default_rng(0)
x = rng.standard_normal((128, 6)).astype(np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(int)
model = TabNetClassifier(
    n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, device_name="cpu", optimizer_params={"lr": 2e-2}
)
model.fit(x, y, max_epochs=3, batch_size=64, virtual_batch_size=32, drop_last=False)
print([float(v) for v in model.history["loss"]], model.predict_proba(x[:3]).tolist())
explained, masks = model.explain(x[:4])
print(explained.sum(0).tolist(), torch.tensor(masks[0]).sum().item())
