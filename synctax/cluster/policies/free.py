"""Free GPUs by server, and servers by free GPUs: where a policy finds one at once."""

from bisect import bisect_left, insort
from typing import Final

import numpy as np

from synctax.arrays import I64, Bool
from synctax.cluster.jobs import Placement

_FEW: Final = 24
"""Servers that are cheaper to take one by one than by reading a whole set."""


class FreeGpus:
    """How many GPUs are free on each server.

    Servers with equally many are a set, held as the bits of one whole number: the lowest
    one is found, and a server moves from set to set, in a fraction of a microsecond for
    thousands of servers.

    Parameters
    ----------
    gpus : (k,) int64
        Free on each server; copied.

    Attributes
    ----------
    gpus : (k,) int64
        Free on each server: read-only, changes with every job.
    total : int
        Of all servers.
    levels : list of int
        Numbers of free GPUs that some server has, ascending, without 0.
    """

    __slots__ = ("_gpus", "_servers", "gpus", "levels", "total")

    def __init__(self, gpus: I64) -> None:
        self._gpus = np.array(gpus, np.int64)
        self.gpus = self._gpus.view()
        self.gpus.flags.writeable = False
        self.total = int(self._gpus.sum())
        self.levels: list[int] = np.unique(self._gpus[self._gpus > 0]).tolist()
        self._servers = {level: _bits(self._gpus == level) for level in self.levels}

    def servers(self, level: int) -> int:
        """Name the servers with so many free GPUs: bit i is set for server i."""
        return self._servers[level]

    def fits(self, placement: Placement) -> bool:
        """Tell whether all servers of a placement have as many free GPUs as it takes."""
        item = self._gpus.item
        return all(item(server) >= workers for server, workers in placement)

    def take(self, placement: Placement) -> None:
        """Give the GPUs of a placement to a job.

        Raises
        ------
        ValueError
            If a server has not so many.
        """
        if not self.fits(placement):
            raise ValueError(f"{placement} takes more GPUs than are free")
        for server, workers in placement:
            self._move(server, -workers)

    def release(self, placement: Placement) -> None:
        """Have back the GPUs of a placement."""
        for server, workers in placement:
            self._move(server, workers)

    def _move(self, server: int, more: int) -> None:
        before = self._gpus.item(server)
        after = before + more
        self._gpus[server] = after
        self.total += more
        bit, servers = 1 << server, self._servers
        if before:
            left = servers[before] ^ bit
            if left:
                servers[before] = left
            else:
                del servers[before]
                del self.levels[bisect_left(self.levels, before)]
        if after in servers:
            servers[after] |= bit
        elif after:
            servers[after] = bit
            insort(self.levels, after)


def lowest(servers: int, count: int) -> list[int]:
    """List the first servers of a set, as many as asked for or as there are.

    Examples
    --------
    >>> lowest(0b10110, 2)
    [1, 2]
    """
    found: list[int] = []
    if count > _FEW:
        octets = servers.to_bytes(servers.bit_length() // 8 + 1, "little")
        bits = np.unpackbits(np.frombuffer(octets, np.uint8), bitorder="little")
        found += np.flatnonzero(bits)[:count].tolist()
        return found
    while servers and len(found) < count:
        bit = servers & -servers
        found.append(bit.bit_length() - 1)
        servers ^= bit
    return found


def _bits(which: Bool) -> int:
    return int.from_bytes(np.packbits(which, bitorder="little").tobytes(), "little")
