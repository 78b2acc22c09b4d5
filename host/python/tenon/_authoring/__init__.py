"""Tools for authors of operators: building, checking and translating them."""
