"""What a command imports: start-up is a good part of the time of a short one."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT

HEAVY = ("pandas", "scipy", "networkx", "matplotlib", "pyarrow")
"""Each takes as long to import as megabytes of trace take to be read."""
EXAMPLE = str(ROOT / "examples" / "tp4-fsdp2")


@pytest.mark.parametrize("rows", [[], ["--per-rank"], ["--per-collective"]])
def test_to_print_what_measure_found_needs_numpy_alone(rows, tmp_path):
    code = (
        "import sys\n"
        "from synctax.cli import main\n"
        f"main.main(['measure', {EXAMPLE!r}, '--no-cache', *{rows!r}],"
        " standalone_mode=False)\n"
        f"sys.stderr.write(str(sorted(set({HEAVY!r}) & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stderr.endswith("[]")
    assert done.stdout


def test_rows_are_those_of_the_frame():
    import synctax
    from synctax.collectives import summary
    from synctax.report.tables import records
    from synctax.texts import is_absent

    tax = synctax.measure(synctax.load(EXAMPLE))
    for rows, frame in (
        (summary.summary(tax), tax.to_frame()),
        (summary.per_rank(tax), tax.per_rank()),
        (summary.per_collective(tax), tax.per_collective()),
    ):
        of_frame = [
            {k: None if is_absent(v) else v for k, v in row.items()}
            for row in records(frame)
        ]
        assert rows.records() == of_frame
        assert [set(map(type, row.values())) for row in rows.records()] == [
            set(map(type, row.values())) for row in of_frame
        ]
