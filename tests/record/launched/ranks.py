"""Run a command as N ranks, as mpirun would: `ranks.py N COMMAND...`, without torch.

Each rank has its number in the environment. All are waited for; the exit code is that of
the first rank that fails, 128 + N after signal N.
"""

import os
import socket
import subprocess
import sys


def main() -> None:
    n_ranks, command = int(sys.argv[1]), sys.argv[2:]
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    shared = {
        "WORLD_SIZE": str(n_ranks),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }
    ranks = []
    for rank in range(n_ranks):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        ranks.append(subprocess.Popen(command, env=os.environ | shared | own))
    codes = [rank.wait() for rank in ranks]
    failed = [code for code in codes if code]
    sys.exit(failed[0] if failed and failed[0] > 0 else 128 - failed[0] if failed else 0)


if __name__ == "__main__":
    main()
