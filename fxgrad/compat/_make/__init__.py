"""Tensors from data, from nothing, from samplers, and on devices."""
