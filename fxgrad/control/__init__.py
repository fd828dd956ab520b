"""Control flow on Graphs: scans, while loops, branches and linear solves as primitives, used by `fxgrad.lax`."""
