"""The lines of the table, by subject: importing a file enters its lines."""

from . import chains, networks, logistic, second_order, per_sample, loops, attention, gaussian_process, fresh  # isort: skip  # noqa: F401
