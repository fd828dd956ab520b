"""The compiler of Graphs: Graph → straight-line Python."""
