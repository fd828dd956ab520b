"""How primitives run on real arrays."""
