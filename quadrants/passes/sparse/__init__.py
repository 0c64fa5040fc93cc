"""Sparse trees become ordinary arrays, loops and functions of IR, so that every dialect can say them."""
