"""Programs that import autograd. Their `main` returns the numbers that are to agree."""
