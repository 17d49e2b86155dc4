"""How fast a big page opens and scrolls: `python -m tests.page.big_page [FILE]`.

Writes the page of 256 ranks and 50,000 collectives, made up, or takes one that `synctax
report` wrote (`--made FILE`); opens it in Debian's chromium where that is installed, and
prints what it took.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.page.browser.handmade import page_data, page_html

RANKS = 256
COLLECTIVES = 50_000
PATHS = 500
FRAMES = 60

SCROLL = """async ([target, frames]) => {
    const element = target ? document.querySelector(target) : document.scrollingElement;
    const far = element.scrollHeight - element.clientHeight;
    const times = [];
    let before = await new Promise(requestAnimationFrame);
    for (let k = 1; k <= frames; k += 1) {
        element.scrollTop = far * k / frames;
        const now = await new Promise(requestAnimationFrame);
        times.push(now - before);
        before = now;
    }
    return times;
}"""

FILTER = """async () => {
    const choice = document.getElementById("filter-group");
    const count = document.getElementById("filter-count");
    const [text, began] = [count.textContent, performance.now()];
    choice.value = "role-0";
    choice.dispatchEvent(new Event("input", { bubbles: true }));
    while (count.textContent === text) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""


def write(at: Path) -> Path:
    """Write the page."""
    at.write_text(page_html(page_data(RANKS, COLLECTIVES, paths=PATHS)), "utf-8")
    return at


def measure(page: Any, at: Path) -> dict[str, str]:
    """Open the page and scroll through it; what it took, in words."""
    session = page.context.new_cdp_session(page)
    # of its own thread: other programs take no part in it
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    began = time.perf_counter()
    page.goto(at.as_uri())
    page.wait_for_selector("html[data-chart-ready='1']", state="attached")
    told = {
        "size": f"{at.stat().st_size / 1e6:.1f} MB",
        "ready": f"{1000 * (time.perf_counter() - began):.0f} ms",
    }
    metrics = session.send("Performance.getMetrics")["metrics"]
    (busy_s,) = [one["value"] for one in metrics if one["name"] == "TaskDuration"]
    told["ready, CPU"] = f"{1000 * busy_s:.0f} ms"
    heap = session.send("Runtime.getHeapUsage")
    told["heap"] = f"{heap['usedSize'] / 1e6:.0f} MB"
    for name, target in (("list", "#collectives"), ("page", None)):
        times = page.evaluate(SCROLL, [target, FRAMES])
        told[f"frames, {name}"] = (
            f"median {statistics.median(times):.1f} ms, longest {max(times):.1f} ms"
        )
    told["filter"] = f"{page.evaluate(FILTER):.0f} ms"
    return told


def main() -> None:
    """Write, open, and tell."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--made", type=Path, help="a page that is there already")
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        at = asked.made or write(asked.file or Path(folder, "big.html"))
        at = at.resolve()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(asked.times):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            for name, took in measure(page, at).items():
                print(f"{name:13} {took}")  # noqa: T201
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
