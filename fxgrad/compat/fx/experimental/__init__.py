"""torch.fx.experimental: Graphs of ATen operations."""
