"""Eager calls of operators."""
