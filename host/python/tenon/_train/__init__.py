"""Training, evaluation, and their reports."""
