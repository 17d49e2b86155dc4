"""Let `python -m synctax` be the command line."""

from synctax.cli import main

if __name__ == "__main__":
    main(prog_name="synctax")
