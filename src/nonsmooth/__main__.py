"""``python -m nonsmooth``: the command line."""

from nonsmooth.cli import main

if __name__ == "__main__":
    main()
