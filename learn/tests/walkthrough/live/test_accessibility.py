"""The findings of axe-core on the live page."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from handloop_learn.live.server import LiveServer
from support.servers.live_browser import tab

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
EXCUSED = ("shortTextContent", "elmPartiallyObscured", "elmPartiallyObscuring")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_axe_finds_nothing_serious(
    browser: Browser, live: LiveServer, program: Any, width: int, scheme: Literal["light", "dark"]
) -> None:
    """With tokens, results, a step's source and a tick on the page; no lesser findings, either."""
    program.synced_foo()
    with tab(browser, live.url, width=width, height=800, scheme=scheme, still=True) as opened:
        page = opened.page
        page.click("#live")
        page.wait_for_selector("#key option", state="attached")
        program.controls.act("fail", {"key": "default/a"})
        page.wait_for_selector("#results .failed")
        page.locator('[data-step="3"]:visible').click()
        page.wait_for_selector("#source:not([hidden])")
        assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize(
    "at", ["#follow&scene=0", "#follow&scene=8", "#run=failures&at=second", "#embed&run=merge&at=merged"]
)
def test_axe_finds_nothing_serious_without_a_program(
    browser: Browser, recorded_page: str, at: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    """In scenes of the director, whose other words are dim; in the middle of a recording; and in a figure."""
    with tab(browser, recorded_page, at=at, width=width, height=1600, scheme=scheme, still=True) as opened:
        assert findings(opened.page) == []


def test_the_picture_declares_the_colours_behind_its_words(browser: Browser, recorded_page: str) -> None:
    """Of boxes and circles, which axe cannot see: so that what it judges is what one sees."""
    painted = """() => all(".place, .step").map((one) => {
      const shape = getComputedStyle(one.querySelector("rect, circle")).fill;
      return shape === getComputedStyle(one.querySelector("text")).backgroundColor;
    })"""
    for at in ("#follow&scene=8", "#run=failures&at=second"):
        with tab(browser, recorded_page, at=at, still=True) as opened:
            assert set(opened.page.evaluate(painted)) == {True}


def findings(page: Page) -> list[tuple[str, str, str]]:
    """What axe finds, and the contrasts that it cannot judge; single letters, and what is clipped, aside."""
    found = Axe().run(page, options=RULES).response
    undecided = [rule for rule in found["incomplete"] if rule["id"] == "color-contrast"]
    return [
        (rule["id"], node["impact"], node["html"])
        for rule in found["violations"] + undecided
        for node in rule["nodes"]
        if not any((check["data"] or {}).get("messageKey") in EXCUSED for check in node["any"])
    ]
