"""Start the command line: what `synctax` and `python -m synctax` run."""

import signal


def start() -> None:
    """Import the command line and run it.

    Ctrl-C while it is imported ends the process at once, without a traceback: nothing has
    begun that would have to be tidied up.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from synctax.cli import main

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main(prog_name="synctax")


if __name__ == "__main__":
    start()
