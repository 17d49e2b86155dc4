"""What a benchmark ran on."""

import importlib.metadata
import os
import platform
from pathlib import Path

LIBRARIES = ("numpy", "msgspec", "isal", "orjson", "pyarrow", "pandas")


def machine() -> str:
    """Describe what this ran on, without its name."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(": ")[1] for line in info if "model name" in line), "unknown")
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return (
        f"{os.cpu_count()} cores ({model}), {memory_gb:.0f} GB; {platform.system()}, "
        f"Python {platform.python_version()}; {versions}"
    )
