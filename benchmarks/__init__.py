"""What differentiation costs beside its peers: `python -m benchmarks` runs every line and prints one table."""
