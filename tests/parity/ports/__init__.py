"""Programs in the styles of JAX and autograd: test_ports.py runs them as they stand, and with their imports changed."""
