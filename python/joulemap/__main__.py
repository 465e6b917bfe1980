"""`python -m joulemap`: the command, where its folder is not on PATH."""

from joulemap._cli import main

main()
