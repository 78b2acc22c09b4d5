"""Operators written in Python."""
