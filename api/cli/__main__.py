"""`python -m api.cli`: the same as `rooflab`."""

from api.cli import main

if __name__ == "__main__":  # processes that read files apart import this module again
    main()
