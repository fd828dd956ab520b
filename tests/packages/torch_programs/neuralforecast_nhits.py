"""Forecasts of several series: N-HiTS over windows of a frame.

packages: neuralforecast
tolerance: 1e-2
"""

import logging
import warnings

import numpy as np
import pandas as pd
import torch
from neuralforecast import NeuralForecast
from neuralforecast.models import NHITS

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.manual_seed(0)
days = pd.date_range("2020-01-01", periods=60, freq="D")
frame = pd.concat(
    [pd.DataFrame({"unique_id": k, "ds": days, "y": np.sin(np.arange(60) / (3 + k))}) for k in range(2)],
    ignore_index=True,
)
options = dict(logger=False, enable_progress_bar=False, enable_checkpointing=False, accelerator="cpu")
model = NHITS(
    h=5, input_size=10, max_steps=5, batch_size=2, mlp_units=[[16, 16]] * 3, random_seed=1, **options
)
forecast = NeuralForecast(models=[model], freq="D")
forecast.fit(df=frame)
print(forecast.predict()["NHITS"].tolist())
