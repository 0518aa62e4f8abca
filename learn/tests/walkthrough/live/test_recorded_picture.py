"""The picture at each step of the recordings: no label is cut, and its counts are the program's."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, expect

from support.servers.live_browser import tab
from tools.recorded_runs.catalog import FOO, RUNS
from tools.recorded_runs.shelf import read

FAULTS: Final = """(slack) => {
  const box = (one) => one.getBoundingClientRect();
  const beside = (a, b) => a.right <= b.left + slack || b.right <= a.left + slack;
  const touch = (a, b) => !beside(a, b) && a.top + slack < b.bottom && b.top + slack < a.bottom;
  const within = (a, b) => a.left >= b.left && a.right <= b.right
    && a.top + slack >= b.top && a.bottom <= b.bottom + slack;
  const found = new Set(), edge = box($("picture"));
  do {
    render();
    const words = all("#picture text").filter((one) => one.textContent);
    const texts = words.map((one) => [one.textContent, box(one)]);
    const rects = all(".place rect").map(box);
    texts.forEach(([text, mine], nth) => {
      if (text.includes("…")) found.add(`${at}: ${text} is cut`);
      if (mine.left < edge.left || mine.right > edge.right) found.add(`${at}: ${text} / the edge`);
      for (const [other, its] of texts.slice(nth + 1))
        if (touch(mine, its)) found.add(`${at}: ${text} / ${other}`);
      for (const rect of rects)
        if (touch(mine, rect) && !within(mine, rect)) found.add(`${at}: ${text} / a box`);
    });
  } while (advance());
  return [at, [...found]];
}"""
"""Play to the end, and list the labels that are cut, or overlap another one, or the edge of a box."""

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
def test_no_label_is_cut_or_overlaps_another_or_a_box(
    browser: Browser, recorded_page: str, name: str, width: int
) -> None:
    """At any step, where one key is followed as well as with the tokens of all."""
    with tab(browser, recorded_page, at=f"#run={name}&step=1", width=width, height=900, still=True) as opened:
        page = opened.page
        for noise in ("bookmarks", "events", "resyncs"):
            page.check(f"#{noise}")
        for key in (FOO, ""):
            page.select_option("#of", key)
            page.evaluate("ACTS.first()")
            at, faults = page.evaluate(FAULTS, 1.5)
            assert faults == []
            assert at == len(read(name)["steps"])


CACHED: Final = """(mark) => {
  seek(mark ? run.marks[mark] : 1, true);
  render();
  return [...drawn.values()].filter((node) => node.style.transform.split(",")[0] === spotOfIndexer())
    .map((node) => node.textContent);
  function spotOfIndexer() { return `translate(${spot("indexer", 0)[0]}px`; }
}"""
"""The labels in the Indexer at a mark."""


@pytest.mark.parametrize(
    ("name", "mark", "labels"),
    [
        ("storm", "stale", [r"Foo v\d+, stale"]),
        ("storm", "again", [r"Deployment v\d+", r"Foo v\d+, stale"]),
        ("storm", "over", []),
        ("conflict", "stale", [r"Deployment v\d+", r"Foo v\d+, stale"]),
        ("conflict", "written", [r"Deployment v\d+", r"Foo v\d+"]),
        ("expired", "", [f"{name}-foo v\\d+" for name in ("example", "example", "gone", "gone")]),
    ],
)
def test_the_indexer_shows_what_the_cache_holds(
    browser: Browser, recorded_page: str, name: str, mark: str, labels: list[str]
) -> None:
    """From the first step on, with versions; what is older than on the server is stale."""
    with tab(browser, recorded_page, at=f"#run={name}&step=1", still=True) as opened:
        shown = sorted(opened.page.evaluate(CACHED, mark))
    assert len(shown) == len(labels)
    assert all(re.fullmatch(label, text) for label, text in zip(labels, shown, strict=True)), shown


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_picture_counts_what_the_program_counted(browser: Browser, recorded_page: str, run: Any) -> None:
    """At each step queue, dirty, processing and FIFOs, folded from the steps, are those of the state."""
    with tab(browser, recorded_page, at=f"#run={run.name}&step=1") as opened:
        wrong = opened.page.evaluate(WRONG_COUNTS)
    assert wrong == []


def test_an_address_stands_still_while_it_plays(browser: Browser, recorded_page: str) -> None:
    """A link to a step ends the playback."""
    with tab(browser, recorded_page, at="#run=merge") as opened:
        page, steps = opened.page, len(read("merge")["steps"])
        expect(page.locator("#play")).to_have_text("Pause")
        page.evaluate("location.hash = '#run=merge&step=17'")
        expect(page.locator("#position")).to_have_text(f"step 17 of {steps}")
        expect(page.locator("#play")).to_have_text("Play")


def test_words_can_be_read_and_the_player_is_in_view(browser: Browser, recorded_page: str) -> None:
    """On a projector of 1280 by 720, and of 640 by 360 as at 200 %: 12 pixels at least."""
    for width, height in ((1280, 720), (640, 360)):
        at = "#run=merge&at=merged"
        with tab(browser, recorded_page, at=at, width=width, height=height, still=True) as opened:
            page = opened.page
            sizes = page.evaluate(
                """() => all("#picture text").map((one) =>
                  parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"""
            )
            assert min(sizes) >= 12
            assert page.locator(".token").count() > 2
            for shown in ("#says", "#play", "#next", ".place.on"):
                expect(page.locator(shown)).to_be_in_viewport(ratio=1)
