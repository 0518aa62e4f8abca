"""The view of a user who starts the program, opens the URL of its banner, and does what the page offers."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from handloop.testing.eventually import eventually as until
from handloop_learn.live.scenes import SCENES
from support.rigs.program import ON_FREE_PORTS, running, wait_ready_page
from support.servers.live_browser import tab

SECONDS: Final = 60.0
"""Some 4 s on an idle machine; the page is drawn by a browser beside other tests."""


def text(page: Page, selector: str) -> str:
    """What stands there a moment later."""
    page.wait_for_timeout(20)
    return page.inner_text(selector)


def wait_scene(page: Page, number: int) -> None:
    """Wait until a scene is shown, and the step of the next one has come."""
    more = min(number + 2, len(SCENES))
    until(lambda: page.evaluate("director.script.length") >= more, "the next step", seconds=SECONDS)
    until(lambda: text(page, "#count").startswith(f"{number} "), f"scene {number}")


def test_from_the_first_scene_to_a_stolen_lease(browser: Browser, tmp_path: Path) -> None:
    """With the page's buttons alone: a Foo in all scenes, an experiment, and the end of the program."""
    arguments = ("--sandbox", "--sandbox-kubeconfig", str(tmp_path / "kubeconfig"), "--leader-elect")
    with running(*arguments, *ON_FREE_PORTS, folder=tmp_path) as program:
        url = program.wait_line(r'live="(http://127[^"]+)"')[1]
        wait_ready_page(program)
        with tab(browser, url, at="") as opened:
            page = opened.page
            page.wait_for_selector("#health :text('caches synced')")
            page.click("#make")
            for number, scene in enumerate(SCENES[1:], 1):
                wait_scene(page, number)
                page.click("#on")
                if scene.without:
                    page.click("#on")
            page.wait_for_selector("#scene", state="hidden")
            assert "2 of 2 watch" in page.inner_text("#picture"), "MyApp is hidden"
            assert "leader" in page.inner_text("#health")
            assert opened.complaints == []
            page.click("[data-control=steal-lease] summary")
            page.click("[data-control=steal-lease] button")
            until(lambda: "somebody-else" in text(page, "#ended"), "the end", seconds=SECONDS)
            assert page.inner_text("#health") == "not connected"
            page.click("#last")
            until(lambda: "✓ seen" in text(page, "[data-control=steal-lease]"), "a tick")
        assert program.wait() != 0
