"""The lines of the table, by subject: importing a file enters its lines."""
# ruff: noqa: F401

from . import chains, networks, logistic, second_order, per_sample, loops, attention, programs  # isort: skip
from . import gaussian_process, fresh, small_programs  # isort: skip
from . import convolutions, follow, integration, reductions, scatter, torch_calls  # isort: skip
