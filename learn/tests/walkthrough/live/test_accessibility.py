"""The findings of axe-core on the live page."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from handloop_learn.live.server import LiveServer
from support.servers.live_browser import tab

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


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
        found = Axe().run(page, options=RULES).response["violations"]
    assert [(rule["id"], rule["impact"], [node["html"] for node in rule["nodes"]]) for rule in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("at", ["#follow&scene=8", "#run=failures&at=second"])
def test_axe_finds_nothing_serious_without_a_program(
    browser: Browser, recorded_page: str, at: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    """In a scene of the director, and in the middle of a recorded run."""
    with tab(browser, recorded_page, at=at, width=width, height=800, scheme=scheme, still=True) as opened:
        found = Axe().run(opened.page, options=RULES).response["violations"]
    assert [(rule["id"], rule["impact"], [node["html"] for node in rule["nodes"]]) for rule in found] == []
