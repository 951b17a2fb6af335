"""How soon the page of `weft serve` shows links, in Chromium: the first time and after each edit; and reasons.

The first time, no sentence of the text was scored before. Edits are made in a text that rests. The reasons of breaks
are measured in the same text with a sentence of another text in it, because a text without breaks has no reasons. The
service runs in a process of its own. All times are taken by the clock of the browser, from what a person does (a paste,
a key) to the frame in which the new links are drawn; the pause after the last key is part of them.

    python benchmarks/page.py --out results/benchmarks/page.json

On a machine that is busy with other things, `chrt -r 1` before the command gives the browser and the service the time
that they would have on an idle one; the result says so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from weft.io.atomic_files import write_atomically
from weft.version import VERSION

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]
EXAMPLE = "Sound essay"  # of the page; it has 15 sentences
BARS = {"first_ms": 300.0, "edit_ms": 150.0}

PATIENCE = 30_000  # milliseconds, after which a result that does not come is an error
INTRUDER, PLACE = "The committee adjourned its meeting without a vote on the budget.", 5

# Each resolves with milliseconds. The first: until the next result is drawn, just after the frame that follows it.
NEXT_RESULT = """([act, patience]) => new Promise((resolve, reject) => {
    const start = performance.now();
    const drawn = () => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
    const watch = new MutationObserver(() => { watch.disconnect(); drawn() });
    watch.observe(document.body, {attributeFilter: ["data-scored"]});
    setTimeout(() => reject(new Error(`no result within ${patience} ms`)), patience);
    act.text === undefined ? window.clickExample() : window.write(act);
})"""
# The second: what the next request takes.
REQUEST = """patience => new Promise((resolve, reject) => {
    let start = null;
    new MutationObserver((_, watch) => {
        const asking = document.body.dataset.asking !== "0";
        if (asking && start === null) start = performance.now();
        if (!asking && start !== null) { watch.disconnect(); resolve(performance.now() - start) }
    }).observe(document.body, {attributeFilter: ["data-asking"]});
    setTimeout(() => reject(new Error(`no request was sent and answered within ${patience} ms`)), patience);
})"""
# What the benchmark does on the page: it chooses the example, and writes as a person does.
ACTIONS = """name => import("/script/shared/examples.js").then(({EXAMPLES}) => {
    const area = document.getElementById("text-area");
    const buttons = [...document.querySelectorAll("#examples button")];
    window.clickExample = () => buttons.find(one => one.textContent === name).click();
    window.write = ({text, start, end}) => {
        area.setRangeText(text, start, end ?? area.value.length, "end");
        area.dispatchEvent(new Event("input", {bubbles: true}));
    };
    return EXAMPLES.find(one => one.name === name).text;
})"""
# Where each sentence of the page begins.
STARTS = """() => {
    const text = document.getElementById("text-area").value;
    let place = 0;
    return [...document.querySelectorAll("#mirror span")].map(({textContent}) => {
        const start = text.indexOf(textContent, place);
        place = start + textContent.length;
        return start;
    });
}"""


@contextmanager
def service(model: str) -> Iterator[str]:
    """Run `weft serve` and give its address."""
    command = [sys.executable, "-m", "weft", "serve", "--port", "0", "--model", model]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        found = re.search(r"http://\S+", next(line for line in process.stderr if "http://" in line))
        assert found is not None
        yield found.group()
    finally:
        process.terminate()
        process.wait(timeout=30)


def timed(tab: Page, **act: object) -> float:
    """Milliseconds from an action, the choice of the example if none is given, to the frame that shows its result."""
    return float(tab.evaluate(NEXT_RESULT, [act, PATIENCE]))


def open_page(context: BrowserContext, address: str) -> tuple[Page, str]:
    """Return the page, loaded, and the text of the example."""
    tab = context.new_page()
    tab.goto(address, timeout=PATIENCE)
    return tab, str(tab.evaluate(ACTIONS, EXAMPLE))


def first_scores(browser: Browser, address: str, rounds: int) -> list[float]:
    """Times from a paste of a text, as soon as the page is loaded, to its links; every sentence is new each time."""
    times = []
    for number in range(rounds):
        with browser.new_context() as context:
            tab, text = open_page(context, address)
            times.append(timed(tab, text=text.replace(".", f" {number}."), start=0))
    return times


def rest(tab: Page) -> None:
    """Wait until the reasons, which follow the links and are not timed, have arrived as well."""
    tab.wait_for_timeout(900)
    tab.wait_for_function("() => document.body.dataset.asking === '0'", timeout=PATIENCE)


def edit(tab: Page, number: int) -> float:
    """Time from a letter that is written into a sentence, each time another one, to the new links."""
    starts = tab.evaluate(STARTS)
    place = starts[number % len(starts)] + 12
    return timed(tab, text="aeiou"[number % 5], start=place, end=place)


def edits(tab: Page, rounds: int) -> list[float]:
    """Times of edits of a text that rests."""
    times = []
    for number in range(rounds):
        times.append(edit(tab, number))
        rest(tab)
    return times


def reasons(tab: Page, text: str, rounds: int) -> list[float]:
    """Times from the request for the reasons of the breaks, which follows an edit, to its answer.

    Every edit is made in the same text, because many edits of one text could mend its break.
    """
    sentences = text.split(". ")
    broken = ". ".join([*sentences[:PLACE], INTRUDER.removesuffix("."), *sentences[PLACE:]])
    times = []
    for number in range(rounds):
        timed(tab, text=broken, start=0)
        rest(tab)
        edit(tab, number)
        if not tab.locator("#links .marked").count():
            raise SystemExit(f"the text has no break after edit {number}, so the page asks for no reasons")
        times.append(float(tab.evaluate(REQUEST, PATIENCE)))
        rest(tab)
    return times


def summary(times: list[float]) -> dict[str, Any]:
    """The median, the slowest and all times, in milliseconds."""
    rounded = [round(time, 1) for time in times]
    return {"median": round(statistics.median(times), 1), "slowest": max(rounded), "times": rounded}


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", default="weft-reader")
    parser.add_argument("--rounds", type=int, default=30, help="edits")
    parser.add_argument("--first", type=int, default=10, help="fresh pages")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        parser.error("Chromium is missing: apt-get install chromium")
    with service(options.model) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        first = first_scores(browser, address, options.first)
        with browser.new_context() as context:
            tab, text = open_page(context, address)
            timed(tab)
            rest(tab)
            sentences = tab.evaluate("document.querySelectorAll('#mirror span').length")
            after_edits = edits(tab, options.rounds)
            reason_times = reasons(tab, text, options.rounds)
        version = browser.version
        browser.close()
    result = {
        "benchmark": "page",
        "machine": {
            "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version(),
            "weft": VERSION, "chromium": version, "load_at_start": round(load, 2),
            "real_time_priority": os.sched_getscheduler(0) != os.SCHED_OTHER,
        },
        "model": options.model,
        "sentences": sentences,
        "first_ms": summary(first),
        "edit_ms": summary(after_edits),
        "reasons_ms": summary(reason_times),
        "bars_ms": BARS,
        "within_bars": {
            "first_ms": statistics.median(first) < BARS["first_ms"],
            "edit_ms": statistics.median(after_edits) < BARS["edit_ms"],
        },
    }  # fmt: skip
    print({name: result[name] for name in ("first_ms", "edit_ms", "reasons_ms", "within_bars")})
    if options.out is not None:
        with write_atomically(options.out) as file:
            file.write(json.dumps(result, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
