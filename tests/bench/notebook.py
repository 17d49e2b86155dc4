"""Write and run examples/notebook.ipynb: `python tests/bench/notebook.py`.

The cells are here; the notebook with its outputs is what running them gives.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"

CELLS = (
    """# How long do ranks wait for each other, and why?

Eight ranks of a made-up job (tensor parallelism over 4 ranks, FSDP over 2), of which it is
known [what was put into it](README.md#tp4-fsdp2). Run this notebook in the folder
`examples`, or in the one above it; `pip install 'synctax[plot]'` draws the pictures.""",
    """from pathlib import Path

import synctax

folder = Path("tp4-fsdp2")
job = synctax.load(folder if folder.is_dir() else "examples" / folder)
job""",
    """## Measure

A row for each kind of collective: how long its first rank waits for its last
(`tax_max_us_*`), and who that is (`straggler_*`).""",
    """tax = synctax.measure(job)
tax""",
    """from synctax.report.figures.measure import cdf

cdf(tax)""",
    """## Attribute

Which kernel on which rank made the others wait, along critical paths: attention on rank 5,
and one GEMM of rank 2.""",
    """tp = synctax.measure(job, group="tp")
found = synctax.attribute(tp)
found""",
    """for sentence in found.verdict()["tp"]:
    print(sentence)""",
    """One collective, event by event: in all-reduce 39 of ranks 0 to 3, a GEMM took 3 ms
longer than its counterpart on the fastest rank.""",
    """story = found.explain(39, group_ranks="0-3")
slow, fast = story.slow.rank, story.fast.rank
print(f"{story.name}: rank {slow} came {story.tax_ns / 1e6:.2f} ms after rank {fast},")
print(f"{story.culprit_ns / 1e6:.2f} ms of it by {story.culprit}")
events = story.to_frame()
columns = ["side", "rank", "duration_us", "name", "variation_us", "culprit"]
events.loc[events["variation_us"] > 10, columns]""",
    """What would the job be like with GEMMs as on the median rank?""",
    """synctax.whatif(tp, "class=gemm:median")""",
    """## More ranks

Waits grow with the number of ranks as the largest of n block times does: fitted here on 4
ranks, so intervals are wide.""",
    """blocks = synctax.block_times(tp)
fit = synctax.fit_evt(blocks)
fit""",
    """from synctax.report.figures.evt import density_and_quantiles

density_and_quantiles(fit)""",
    """## What bandwidth is worth having

Where ranks wait anyway, less bandwidth is enough than the transfer alone would ask for.""",
    """import numpy as np

n = np.array([8.0, 72.0, 512.0])
tau = fit.tax_model().tau_us(n)
link = synctax.Link(synctax.Layout("switched"), "all_reduce", 8_388_608, 5.0)
wait = synctax.Wait(n, tau.tau_us, tau.lo_us, tau.hi_us)
rows = synctax.best_bandwidth([link], [-0.5], wait)
rows[["n", "tau_us", "gb_per_s", "hockney_gb_per_s", "reduction"]].round(2)""",
    """## Over time

Was it always so? A point for each of the six steps here; for each window, where a folder
holds many profiler windows.""",
    """trend = synctax.trend(tp, found, by="step")
print(*trend.verdict(), sep="\\n")""",
    """from synctax.report.figures.trend import trend as draw

draw(trend)""",
)
"""What begins with a sign of Markdown or a capital letter is text, the rest code."""


def made() -> Any:
    """Return the notebook without outputs."""
    from nbformat import v4

    book = v4.new_notebook()
    book.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    for number, text in enumerate(CELLS):
        new = (
            v4.new_markdown_cell
            if text[0].isupper() or text[0] == "#"
            else v4.new_code_cell
        )
        book.cells.append(new(text, id=f"cell-{number:02}"))
    return book


def run(book: Any, folder: Path) -> Any:
    """Execute a notebook in a folder, without traces of when."""
    from nbclient import NotebookClient

    NotebookClient(
        book,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    del book.metadata["language_info"]
    return book


def texts(book: Any) -> list[str]:
    """Return what its cells show as text, pictures left out."""
    shown = []
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if output.output_type == "stream":
                shown.append(output.text)
            elif "image/png" not in data:
                shown += [data[kind] for kind in sorted(data)]
    return shown


def main() -> None:
    """Write the notebook."""
    import nbformat

    book = run(made(), NOTEBOOK.parent)
    nbformat.write(book, NOTEBOOK)
    sys.stdout.write(f"{NOTEBOOK}: {NOTEBOOK.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
