"""The traces that the benchmarks read: made by `synctax synth`, never downloaded."""

import gzip
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SYNTH = (
    *("--tp", "4", "--fsdp", "2", "--seed", "1", "--nccl-names", "old"),
    *("--sibling-names", "distinct", "--cpu-ops-per-kernel", "6"),
)
"""Old kernel names, since HTA knows no others; a name for every group, since TraceLens
takes siblings of one name for one group; as many CPU ranges as in a real trace."""


@dataclass(frozen=True, slots=True)
class Input:
    """A set of traces: how many of the job's ranks are written, and how large each is."""

    name: str
    ranks: int
    size_mb: int
    compress: bool = False

    def files(self, root: Path) -> list[Path]:
        """List the trace files, by rank."""
        found = (root / self.name).rglob("*.json.gz" if self.compress else "*.json")
        traces = [path for path in found if "rank" in path.name]
        return sorted(traces, key=lambda path: int("".join(filter(str.isdigit, path.name))))

    def size_bytes(self, root: Path) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.files(root))


INPUTS = {
    i.name: i
    for i in (
        Input("set8", 8, 50),
        Input("set8-gz", 8, 50, compress=True),
        Input("set8-200", 8, 200),
        Input("one50", 1, 50),
        Input("one500", 1, 500),
        Input("one500-gz", 1, 500, compress=True),
        Input("one2000", 1, 2000),
    )
}


def make(name: str, root: Path) -> Input:
    """Write an input unless it is there; a compressed one is packed from its plain twin."""
    wanted = INPUTS[name]
    if wanted.files(root):
        return wanted
    if wanted.compress:
        twin = make(name.removesuffix("-gz"), root)
        for path in twin.files(root):
            target = root / name / f"{path.relative_to(root / twin.name)}.gz"
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                path.open("rb") as plain,
                gzip.open(target, "wb", compresslevel=6) as packed,
            ):
                shutil.copyfileobj(plain, packed, 1 << 20)
        return wanted
    command = [sys.executable, "-m", "synctax", "synth", str(root / name), *SYNTH]
    command += ["--size-mb", str(wanted.size_mb)]
    if wanted.ranks == 1:
        command += ["--write-ranks", "0"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return wanted
