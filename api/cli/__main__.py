"""`python -m api.cli`: the same as `rooflab`."""

from api.cli import main

main()
