"""`python -m tenon`: the program."""

from ._package.program import main

main()
