"""Attention mechanisms in PyTorch, small and tested, with the pictures that explain them."""

__version__ = "0.1.0"
