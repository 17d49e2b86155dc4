"""The scanner without Python: on other machines, and where memory runs out."""

import shutil
import subprocess

import pytest

from tests.fuzz.build import SMALL, build, corpus
from tests.trace.native.texts import listed, simple

COMPILER = shutil.which("gcc") or shutil.which("cc")
MACHINES = {
    "portable": (COMPILER or "cc", "", ("-DSYNCTAX_PORTABLE",)),
    "clang": ("clang", "", ()),
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64", ("-static",)),  # NEON
    "arm": ("arm-linux-gnueabihf-gcc", "qemu-arm", ("-static",)),  # 32 bits
    "s390x": ("s390x-linux-gnu-gcc", "qemu-s390x", ("-static",)),  # big end first
}
"""Cross compilers and emulators as Debian names them."""

STRICT = (
    *SMALL, "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wno-missing-field-initializers",
    "-Werror",
)  # fmt: skip

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="a C compiler is needed")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The digests of the corpus on this machine, and the program that makes them."""
    program = build("agree.c", tmp_path_factory.mktemp("here"), COMPILER, STRICT)
    return program, digests(program)


def digests(*command, files=None):
    done = subprocess.run(
        [*command, *(files or corpus())], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.splitlines()


@needs_compiler
def test_vector_units_and_cuts_agree(here):
    assert len(set(here[1])) > len(corpus()) // 2


@needs_compiler
@pytest.mark.parametrize("name", MACHINES)
def test_other_machines_agree(name, tmp_path, here):
    compiler, emulator, flags = MACHINES[name]
    if not shutil.which(compiler) or (emulator and not shutil.which(emulator)):
        pytest.skip(f"{compiler} and {emulator} are needed")
    program = build("agree.c", tmp_path, compiler, (*STRICT, *flags))
    assert digests(*filter(None, [emulator]), program) == here[1]


def test_where_memory_runs_out_nothing_is_lost(tmp_path, here):
    sanitized = (*SMALL, "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    try:
        program = build("agree.c", tmp_path, COMPILER, sanitized)
    except subprocess.CalledProcessError:
        program = here[0]  # no sanitizers: results are compared all the same
    many = tmp_path / "many.json"
    many.write_bytes(listed(*(event(i) for i in range(50))))
    [line] = digests(program, "--failing", files=[many])
    allocations, digest = line.split()
    assert [digest] == digests(here[0], files=[many])
    assert int(allocations) > 100


def event(number: int) -> bytes:
    """Of every table, with texts that are new in every dictionary that grows."""
    kind = (b"kernel", b"cuda_sync", b"cpu_op", b"c%d" % (number % 100))[number % 4]
    name = b'"nccl:%d"' % number
    args = b'"stream":%d,"Seq":%d,"dtype":"%d","grid":[%d]' % ((number,) * 4)
    return simple(args=args).replace(b"cpu_op", kind).replace(b'"a"', name)
