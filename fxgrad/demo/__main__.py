"""The command `python -m fxgrad.demo`."""

from .training import main

if __name__ == "__main__":
    main()
