"""Operators by name, their manifests, and the arguments of their calls."""
