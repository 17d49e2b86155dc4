"""Fuzzes the compiled reader for as long as it is told; see README.md.

python -m tests.fuzz.run {oracle,agree} [--seconds N] [--keep]
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.fuzz.build import HERE, SMALL, build, dictionary
from tests.trace.native.mutations import TOKENS

FOLDER = HERE.parents[1] / "build" / "fuzz"
FLAGS = (*SMALL, "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all")
LONGEST = 3_000
"""Bytes of a text: some ten events."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=["oracle", "agree"])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument(
        "--keep", action="store_true", help="add what reaches more to the corpus"
    )
    chosen = parser.parse_args()
    clang = shutil.which("clang")
    if clang is None:
        sys.exit("clang is needed: it has libFuzzer")
    if chosen.target == "oracle":
        program = build("oracle.c", FOLDER, clang, FLAGS, python=True)
    else:
        program = build("agree.c", FOLDER, clang, (*FLAGS, "-DFUZZ"))
    words = FOLDER / "words.dict"
    words.write_text(dictionary(TOKENS))
    found = FOLDER / f"found-{chosen.target}"
    found.mkdir(exist_ok=True)
    code = fuzzed(
        program, found, HERE / "corpus", f"-dict={words}", f"-max_len={LONGEST}",
        f"-max_total_time={chosen.seconds}", "-timeout=60", "-rss_limit_mb=4000",
        f"-artifact_prefix={FOLDER}/{chosen.target}-",
    )  # fmt: skip
    if chosen.keep and not code:
        code = fuzzed(program, "-merge=1", HERE / "corpus", found)
    return code


def fuzzed(program: Path, *arguments: str | Path) -> int:
    python = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONHOME": sys.base_prefix,
    }
    return subprocess.run(
        [program, *arguments],
        check=False,
        env={**os.environ, **python, "ASAN_OPTIONS": "detect_leaks=0"},
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
