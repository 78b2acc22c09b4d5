"""Operators and graphs in torch."""
