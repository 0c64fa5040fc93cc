"""Sparse trees: how their memory is laid out, what the host does with it."""
