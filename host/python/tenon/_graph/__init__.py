"""Graphs, their values and sessions, and gradients of functions."""
