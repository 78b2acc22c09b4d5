"""The installed package: its files, its program, and the interpreter that imports it."""
