"""Declarations of operations, and the functions for users that are derived from them."""
