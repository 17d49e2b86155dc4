"""An interpreter that has everything imported and runs commands in forks of itself.

Pages have dozens of commands and programs. Each would import for longer than it runs.
"""

import ast
import atexit
import gc
import importlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import click

from synctax.cli import COMMANDS, main

LIBRARIES = ("pandas", "pyarrow.parquet", "scipy.optimize", "scipy.special")
"""What commands import when they need it."""

# Without `site` and alone, since it starts once a command.
CLIENT = """\
import os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    told = repr((os.getcwd(), sys.argv[1:], dict(os.environ)))
    socket.send_fds(server, [b"\\0"], [0, 1, 2])
    server.sendall(told.encode("utf-8", "surrogateescape"))
    server.shutdown(socket.SHUT_WR)
    sys.exit(int(server.recv(9)))
"""


class Warm:
    """The interpreter, as long as this object lives or its process; a program to ask it."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        address = str(Path(self.folder.name) / "s")  # a socket's path has 100 bytes
        self.process = subprocess.Popen(
            [sys.executable, __file__, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == b"ready\n"
        self.client = Path(self.folder.name) / "client.py"
        self.client.write_text(CLIENT.format(address=address))

    @property
    def command(self) -> list[str]:
        """What to run in place of `python -m synctax`, and of `python` before `-c`."""
        return [sys.executable, "-IS", str(self.client)]

    def close(self) -> None:
        self.process.communicate(timeout=60)
        self.folder.cleanup()


def serve(address: str) -> None:
    """Answer until the other end of stdin is closed."""
    for name in COMMANDS:
        main.get_command(click.Context(main), name)
    for name in LIBRARIES:
        importlib.import_module(name)
    # of threads that numpy's libraries start: their forks are told
    warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
    gc.collect()
    gc.freeze()  # or every fork would look through all libraries, and copy them
    waiting: list[int] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)  # noqa: T201
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                child = os.fork()
                if child:
                    waiting.append(child)
                    waiting = [one for one in waiting if not os.waitpid(one, os.WNOHANG)[0]]
                    continue
                listener.close()
                os._exit(answer(connection))
    for child in waiting:
        os.waitpid(child, 0)


def answer(connection: socket.socket) -> int:
    """Run the command in one more fork, and tell its exit code; return that of a fork."""
    _, descriptors, *_ = socket.recv_fds(connection, 1, 3)
    told = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    folder, arguments, environment = ast.literal_eval(
        told.decode("utf-8", "surrogateescape")
    )
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(b"%d" % (code if code >= 0 else 128 - code))
        return 0
    connection.close()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return run(arguments)


def run(arguments: list[str]) -> int:
    """Run a command or a program, end as an interpreter does, but take nothing apart."""
    code = None
    try:
        if arguments[:1] == ["-c"]:
            exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            main(arguments, prog_name="synctax")
    except SystemExit as end:
        code = end.code
    except Exception:  # noqa: BLE001 - the last line of defence, it reports
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    serve(sys.argv[1])
