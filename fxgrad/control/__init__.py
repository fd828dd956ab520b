"""Control flow on Graphs: scans, while loops, branches and linear solves as primitives. `fxgrad.lax` is their public
API.
"""
