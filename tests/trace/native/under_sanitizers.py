"""Reads texts that are nearly traces with a module built with sanitizers, and those that
fuzzing kept; see the test.

python under_sanitizers.py MODULE SEED COUNT
"""

import importlib.util
import random
import sys

import synctax.trace


def load(path: str) -> None:
    spec = importlib.util.spec_from_file_location("synctax.trace._scan", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    synctax.trace._scan = module
    spec.loader.exec_module(module)


def run(seed: int, count: int) -> int:
    from synctax.trace import readers
    from tests.fuzz.build import corpus
    from tests.trace.native.mutations import mutated
    from tests.trace.native.reading import native
    from tests.trace.native.texts import made

    rng = random.Random(seed)
    texts = made()
    changed = [mutated(rng.choice(texts), rng) for _ in range(count)]
    rows = 0
    for text in [*changed, *(path.read_bytes() for path in corpus())]:
        variant = rng.choice(readers.variants())
        found = native(
            text, chunk=rng.choice([80, 300, 5_000]), block=1_000, variant=variant
        )
        rows += 0 if isinstance(found, str) else len(found.events)
    return rows


if __name__ == "__main__":
    load(sys.argv[1])
    sys.stdout.write(f"{run(int(sys.argv[2]), int(sys.argv[3]))} rows\n")
