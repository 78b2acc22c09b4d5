"""Hosts, and which one is the default."""
