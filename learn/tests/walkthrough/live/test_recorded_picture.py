"""The picture at each step of the recorded runs: no labels overlap, and its counts are the program's."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.sync_api import Browser, expect

from support.servers.live_browser import tab
from tools.recorded_runs.catalog import RUNS
from tools.recorded_runs.shelf import read

OVERLAPS: Final = """(slack) => {
  const box = (one) => one.getBoundingClientRect();
  const seen = (selector) => all(selector).filter((one) => one.getClientRects().length);
  const beside = (a, b) => a.right <= b.left + slack || b.right <= a.left + slack;
  const touch = (a, b) => !beside(a, b) && a.top + slack < b.bottom && b.top + slack < a.bottom;
  const within = (a, b) => a.left >= b.left && a.right <= b.right
    && a.top + slack >= b.top && a.bottom <= b.bottom + slack;
  const found = new Set(), isList = seen("#steps").length > 0;
  do {
    render();
    const texts = seen(isList ? "#steps b, #steps span" : "#picture text").filter((one) => one.textContent)
      .map((one) => [one.textContent, box(one)]);
    const rects = seen(isList ? "#steps button" : ".place rect").map(box);
    texts.forEach(([text, mine], nth) => {
      for (const [other, its] of texts.slice(nth + 1))
        if (touch(mine, its)) found.add(`${at}: ${text} / ${other}`);
      for (const rect of rects)
        if (touch(mine, rect) && !within(mine, rect)) found.add(`${at}: ${text} / a box`);
    });
  } while (advance());
  return [at, [...found]];
}"""
"""Play to the end, and list the labels that overlap another one, or the edge of a box."""

WRONG_COUNTS: Final = """() => states.slice(1).filter(({ state }) => state.ready).map(({ seq, state }) => {
  seek(seq);
  const numbers = (one) => [one.length, one.dirty.size, one.processing.size];
  const folded = [
    state.queues.map(({ name }) => numbers(queueOf(view, name))),
    sum(view.fifo.values(), (keys) => keys),
  ];
  const counted = [
    state.queues.map(({ counts }) => [counts.queued, counts.dirty, counts.processing]),
    sum(state.informers, (row) => row.fifo),
  ];
  return String(folded) === String(counted) ? "" : `${seq}: ${folded}, not ${counted}`;
}).filter(Boolean)"""
"""Go to each state, and compare its numbers with the picture's."""


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("name", [run.name for run in RUNS])
def test_no_label_overlaps_another_or_a_box(
    browser: Browser, recorded_page: str, name: str, width: int
) -> None:
    """At any step, with the tokens of all keys."""
    with tab(browser, recorded_page, at=f"#run={name}&step=1", width=width, height=900, still=True) as opened:
        page = opened.page
        page.select_option("#of", "")
        for noise in ("bookmarks", "events", "resyncs"):
            page.check(f"#{noise}")
        page.click("#first")
        at, overlaps = page.evaluate(OVERLAPS, 1.5)
    assert at == len(read(name)["steps"])
    assert overlaps == []


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_picture_counts_what_the_program_counted(browser: Browser, recorded_page: str, run: Any) -> None:
    """At each step queue, dirty, processing and FIFOs, folded from the steps, are those of the state."""
    with tab(browser, recorded_page, at=f"#run={run.name}&step=1") as opened:
        wrong = opened.page.evaluate(WRONG_COUNTS)
    assert wrong == []


def test_an_address_stands_still_after_live(browser: Browser, recorded_page: str) -> None:
    """LIVE shows all steps at once; a link to one of them ends it."""
    with tab(browser, recorded_page, at="#run=merge&step=1") as opened:
        page, steps = opened.page, len(read("merge")["steps"])
        page.click("#live")
        expect(page.locator("#position")).to_have_text(f"step {steps} of {steps}")
        page.evaluate("location.hash = '#run=merge&step=17'")
        expect(page.locator("#position")).to_have_text(f"step 17 of {steps}")
        expect(page.locator("#play")).to_have_text("Play")
