"""`python -m tenon`: the program."""

from ._program import main

main()
