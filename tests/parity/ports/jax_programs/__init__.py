"""Programs that import JAX. Their `main` returns the numbers that are to agree."""
