"""How primitives run on real arrays, and the compiler of Graphs. Knows arrays and Graphs, nothing above."""
