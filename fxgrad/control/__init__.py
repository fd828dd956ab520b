"""Control flow on Graphs: scans, while loops, branches, linear solves as primitives; `fxgrad.lax` is their surface."""
