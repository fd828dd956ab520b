"""Creation of Tensors: from data, from sizes, from random numbers, and on devices."""
