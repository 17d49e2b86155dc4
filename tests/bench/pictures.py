"""Makes the pictures of docs again, with the commands that stand on their page.

    python tests/bench/pictures.py                      all of docs/pictures
    python tests/bench/pictures.py plan-pareto jct      these

The page is the list: every `sh` block of docs/figures.md is run, in order, in a folder that
holds `examples/` and nothing else; what it writes under the name of a picture of the page
goes to docs/pictures, in few colours. The same code gives the same files.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "figures.md"
PICTURES = ROOT / "docs" / "pictures"

COLORS = 256
"""Of a picture: as many as one byte a pixel can tell."""

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]]+)\]\(pictures/([^)\s]+\.png)\)")


def commands(page: str) -> list[str]:
    """List the commands of a page, each as a line, in order."""
    lines = "".join(_BLOCK.findall(page)).replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


def images(page: str) -> dict[str, str]:
    """List the pictures of a page with the words that stand for them."""
    return {name: alt for alt, name in _IMAGE.findall(page)}


def make(page: str, folder: Path) -> Iterator[Path]:
    """Run the commands of a page in a folder; tell each picture when it is there."""
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    shim = folder / "bin" / "synctax"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m synctax "$@"\n')
    shim.chmod(0o755)
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    wanted = set(images(page))
    for command in commands(page):
        subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        for name in sorted(wanted):
            if (folder / name).exists():
                wanted.remove(name)
                yield folder / name
    if wanted:
        raise SystemExit(f"no command of {PAGE.name} makes {', '.join(sorted(wanted))}")


def pack(source: Path, target: Path) -> None:
    """Write a picture in few colours."""
    from PIL import Image

    with Image.open(source) as image:
        how = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 2}
        few = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE, **how)
        few.save(target, optimize=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="of pictures, without .png; all if none")
    names = {f"{name}.png" for name in parser.parse_args(arguments).names}
    page = PAGE.read_text(encoding="utf-8")
    unknown = names - set(images(page))
    if unknown:
        parser.error(f"not on {PAGE.name}: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        for path in make(page, Path(folder)):
            if not names or path.name in names:
                pack(path, PICTURES / path.name)
                size = (PICTURES / path.name).stat().st_size
                sys.stdout.write(f"{path.name:<28}{size / 1000:>7.1f} kB\n")


if __name__ == "__main__":
    main()
