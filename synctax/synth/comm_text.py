"""What a trace says of a collective: arguments of its kernel and of its CPU ranges."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from synctax.synth.answers import sequence
from synctax.synth.frame import Face
from synctax.synth.job import SynthJob
from synctax.synth.names import INPUT_TYPES, NAMES, kernel_name
from synctax.synth.program import Comm, Program, in_out_elements, split_elements

TRUNCATED_AT = 30
"""Kineto writes this many entries of a list of an event."""


@dataclass(frozen=True, slots=True)
class CommText:
    """Writes the metadata of one rank's collectives."""

    job: SynthJob
    program: Program
    who: Face

    def annotation(self, comm: Comm) -> str:
        """Name the process group's range."""
        return NAMES[comm.op].annotation

    def kernel(self, comm: Comm, step: int) -> tuple[str, str]:
        """Give the kernel's name, and its arguments from a comma on."""
        name = kernel_name(comm.op, comm.dtype, self.job.nccl_names)
        args = ""
        if self.job.metadata == "full":
            args = f", {self._metadata(comm, step)}"
        if self.job.marker:
            args += f', "synctax marker": "{self._marker(comm, step)}"'
        return name, args

    def cpu_ranges(
        self, comm: Comm, step: int, external: int
    ) -> list[tuple[str, str, str]]:
        """Give category, name and arguments of the three nested ranges, outermost first.

        The kernel's external id is that of the middle one, `record_param_comms`.
        """
        names = NAMES[comm.op]
        size, member = self._place(comm)
        sent, received = in_out_elements(comm, size, member)
        kind = INPUT_TYPES[comm.dtype]
        head = f'"External id": %d,"Record function id": 0, "Ev Idx": {external}, '
        operator = _operator_args(comm.op, kind, sent, received)
        about = "" if self.job.metadata == "none" else self._record_args(comm, step)
        return [
            ("cpu_op", names.operator, head % (external - 2) + operator),
            ("cpu_op", "record_param_comms", (head % external + about).rstrip(", ")),
            (
                "user_annotation",
                names.annotation,
                head % (external - 1)
                + f'"Concrete Inputs": [""], "Input type": ["{kind}"], '
                + f'"Input Strides": [[1]], "Input Dims": [[{sent}]]',
            ),
        ]

    def _place(self, comm: Comm) -> tuple[int, int]:
        dimension = self.program.dimensions[comm.dimension]
        return dimension.size, self._members(comm).index(self.who.rank)

    def _members(self, comm: Comm) -> list[int]:
        dimension = self.program.dimensions[comm.dimension]
        members: list[int] = dimension.members[dimension.group_of[self.who.rank]].tolist()
        return members

    def _marker(self, comm: Comm, step: int) -> str:
        key = self.program.dimensions[comm.dimension].key
        index = step * self.program.per_step[comm.dimension] + comm.ordinal
        return f"{key} {self._members(comm)[0]} {index}"

    def _record_args(self, comm: Comm, step: int) -> str:
        members = self._members(comm)
        # For rooted operations `Rank` is the root, else the place in the group.
        rank = 0 if comm.op == "broadcast" else members.index(self.who.rank)
        return (
            f'{self._metadata(comm, step)}, "Rank": {rank}, '
            f'"Global rank start": {members[0]}, '
            f'"Global rank stride": {members[1] - members[0]}'
        )

    def _metadata(self, comm: Comm, step: int) -> str:
        dimension = self.program.dimensions[comm.dimension]
        members = self._members(comm)
        size, member = self._place(comm)
        sent, received = in_out_elements(comm, size, member)
        in_split, out_split = "[]", "[]"
        name = NAMES[comm.op].collective
        if comm.uneven:
            splits = split_elements(comm, size)
            in_split = self._listed(splits[member])
            out_split = self._listed([row[member] for row in splits])
            name = "all_to_allv"
        group = dimension.names[int(dimension.group_of[self.who.rank])]
        found = (
            f'"Collective name": "{name}", "In msg nelems": {sent}, '
            f'"Out msg nelems": {received}, "Group size": {size}, "dtype": "{comm.dtype}", '
            f'"In split size": "{in_split}", "Out split size": "{out_split}", '
            f'"Process Group Name": "{group}", '
            f'"Process Group Description": "{dimension.description}", '
            f'"Process Group Ranks": "{self._listed(members)}"'
        )
        seq = sequence(self.program, comm, step)
        if self.job.seq:
            found += f', "Seq": {seq}'
        if self.job.comms_id:
            found += f', "Comms Id": {_comms_id(dimension.key, members, seq)}'
        return found

    def _listed(self, values: Sequence[int]) -> str:
        cut = self.job.truncate_ranks and len(values) > TRUNCATED_AT
        shown = ", ".join(map(str, values[:TRUNCATED_AT] if cut else values))
        return f"[{shown}, ...]" if cut else f"[{shown}]"


def _comms_id(key: str, members: Sequence[int], seq: int) -> int:
    """Identify a call: 64 bits, often more than an int64 holds."""
    text = f"{key} {members} {seq}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") | 1


def _operator_args(op: str, kind: str, sent: int, received: int) -> str:
    if op in ("all_reduce", "broadcast"):
        return (
            '"Concrete Inputs": ["", "", "", "", "-1"], '
            '"Input type": ["TensorList", "", "", "", "Scalar"], '
            '"Input Strides": [[[1]], [], [], [], []], '
            f'"Input Dims": [[[{sent}]], [], [], [], []]'
        )
    return (
        '"Concrete Inputs": ["", "", "", "False", "-1"], '
        f'"Input type": ["{kind}", "{kind}", "", "Scalar", "Scalar"], '
        '"Input Strides": [[1], [1], [], [], []], '
        f'"Input Dims": [[{received}], [{sent}], [], [], []]'
    )
