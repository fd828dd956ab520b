"""Summaries of a model: layers, parameters, multiplications.

packages: torchinfo, fvcore
tolerance: 1e-6
"""

import torch
from fvcore.nn import parameter_count
from torchinfo import summary

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(8 * 64, 10),
)  # fmt: skip
told = summary(model, input_size=(2, 3, 8, 8), verbose=0)
print(told.total_params, told.trainable_params, told.total_mult_adds, told.total_output_bytes)
print([(layer.class_name, layer.output_size) for layer in told.summary_list])
print(dict(parameter_count(model)))
