"""Graphs on the batches of data engines."""
