"""torch.fx.passes: interpreters and changes of Graphs."""
