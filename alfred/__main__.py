"""`python -m alfred` is `alfred`."""

from alfred.cli.entry import main

if __name__ == "__main__":
    main()
