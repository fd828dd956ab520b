"""Forecasts of several series: a temporal fusion transformer and N-BEATS on a table.

packages: pytorch-forecasting
tolerance: 1e-3
"""

import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import MAE, NBeats, QuantileLoss, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import TorchNormalizer

torch.manual_seed(0)
times = np.arange(40)
table = pd.concat(
    [
        pd.DataFrame({"time": times, "series": name, "value": np.sin(times / k) + 0.1 * k})
        for k, name in enumerate("ab", 2)
    ]
).reset_index(drop=True)
common = dict(
    time_idx="time", target="value", group_ids=["series"], max_encoder_length=10, min_encoder_length=10,
    max_prediction_length=4, min_prediction_length=4, time_varying_unknown_reals=["value"], target_normalizer=TorchNormalizer(),
)  # fmt: skip
plain = TimeSeriesDataSet(table, **common)
known = TimeSeriesDataSet(table, **common, static_categoricals=["series"], time_varying_known_reals=["time"])
for data, kind, options in (
    (plain, NBeats, dict(widths=[8, 8], num_blocks=[1, 1], num_block_layers=[1, 1], loss=MAE())),
    (
        known,
        TemporalFusionTransformer,
        dict(hidden_size=8, attention_head_size=2, loss=QuantileLoss(), dropout=0.0),
    ),
):
    x, y = next(iter(data.to_dataloader(train=False, batch_size=6)))
    model = kind.from_dataset(data, **options)
    loss = model.loss(model(x)["prediction"], y)
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    print(kind.__name__, loss.item(), norm.item(), model(x)["prediction"][0, 0].tolist())
