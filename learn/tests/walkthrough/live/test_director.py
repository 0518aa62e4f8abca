"""The director in a real browser: live on the reader's own Foo, and on the recorded run."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from handloop.testing.eventually import eventually
from handloop_learn.live.scenes import SCENES
from handloop_learn.live.server import LiveServer
from support.servers.live_browser import tab


def scene(page: Page) -> str:
    return page.inner_text("#count")


def wait_scene(page: Page, number: int) -> None:
    """Wait until a scene is shown; a page that is on its way has none."""

    def is_shown() -> bool:
        page.wait_for_timeout(20)
        return scene(page) == f"{number} of {len(SCENES)}"

    eventually(is_shown, f"scene {number}")


def walk(page: Page) -> list[int]:
    """Go through all scenes with the arrow. Returns: the position of each step."""
    positions, left = [], list(SCENES)
    eventually(lambda: page.evaluate("director.script.length") == len(SCENES), "a step for each scene")
    for number in range(1, len(SCENES) + 1):
        wait_scene(page, number)
        test = page.inner_text("#test")
        wanted = next(scene for scene in left if scene.without.test == test)
        left.remove(wanted)
        assert page.inner_text("#scene-title").startswith(f"({wanted.step}) ")
        assert page.get_attribute("#picture .lit", "data-step") == str(wanted.step)
        sentence = page.inner_text("#sentence")
        words = ".+".join(map(re.escape, re.split(r"\{\w+\}", wanted.sentence)))
        assert re.fullmatch(words, sentence)
        assert not re.search("[{}]|undefined", sentence)
        positions.append(page.evaluate("at"))
        if number < len(SCENES):
            page.keyboard.press("ArrowRight")
    return positions


def test_the_first_visit_follows_the_readers_own_foo(
    browser: Browser, live: LiveServer, program: Any
) -> None:
    """A button makes it, so no kubectl is needed; each scene finds its step, one after the other."""
    with tab(browser, live.url, at="") as opened:
        page = opened.page
        assert page.inner_text("#scene-title") == "Follow one Foo"
        assert page.locator("#boxes").is_hidden()
        page.click("#make")
        wait_scene(page, 1)
        program.wait_idle("default/my-foo")
        positions = walk(page)
        assert positions == sorted(positions)
        assert page.locator("#of").input_value() == "default/my-foo"
        page.keyboard.press("ArrowLeft")
        wait_scene(page, len(SCENES) - 1)
        page.click("#leave")
        page.wait_for_selector("#boxes:not([hidden])")
        page.goto(live.url)
        page.wait_for_selector("body[data-snapshots]")
        assert page.locator("#scene").is_hidden(), "the second visit does not begin with it"
        assert opened.complaints == []


def test_a_foo_of_kubectl_is_followed_too(browser: Browser, live: LiveServer, program: Any) -> None:
    """The first that is added while the director waits."""
    with tab(browser, live.url, at="#follow") as opened:
        program.foo("by-hand")
        wait_scene(opened.page, 1)
        assert opened.page.locator("#of").input_value() == "default/by-hand"


def test_the_recorded_run_has_every_scene(browser: Browser, recorded_page: str) -> None:
    """From a folder; all else is dim, each scene has its address, and a line leads to the source."""
    with tab(browser, recorded_page, at="", still=True) as opened:
        page = opened.page
        positions = walk(page)
        assert positions == sorted(positions)
        assert page.evaluate("location.hash") == f"#follow&scene={len(SCENES)}"
        opacity = "(all) => all.map((one) => Number(getComputedStyle(one).opacity))"
        assert set(page.eval_on_selector_all(".place:not(.on), .step:not(.lit), .wire", opacity)) == {0.45}
        assert page.eval_on_selector_all(".place.on, .step.lit", opacity) == [1, 1]
        page.click("#line")
        assert "workqueue/queue.py" in page.inner_text("#source-title")
        page.keyboard.press("Escape")
        page.click("#on")
        page.wait_for_selector("#scene", state="hidden")
        assert page.evaluate("location.hash").startswith("#run=apply&step=")
        assert opened.complaints == []


@pytest.mark.parametrize("number", [1, 7, len(SCENES)])
def test_an_address_leads_to_its_scene(browser: Browser, recorded_page: str, number: int) -> None:
    """Of the first, the last, and one between."""
    with tab(browser, recorded_page, at=f"#follow&scene={number}") as opened:
        wait_scene(opened.page, number)


def test_a_swipe_turns_the_page(browser: Browser, recorded_page: str) -> None:
    """To the left is on, to the right is back; a short or steep one is none."""
    swipe = """([x, y]) => {
      const at = (x, y) => [new Touch({ identifier: 1, target: document.body, clientX: x, clientY: y })];
      window.dispatchEvent(new TouchEvent("touchstart", { changedTouches: at(200, 200) }));
      window.dispatchEvent(new TouchEvent("touchend", { changedTouches: at(200 + x, 200 + y) }));
    }"""
    with tab(browser, recorded_page, at="#follow", width=390, height=844) as opened:
        wait_scene(opened.page, 1)
        for move, expected in (((-120, 0), 2), ((-120, 10), 3), ((120, 0), 2), ((-20, 0), 2), ((-90, 90), 2)):
            opened.page.evaluate(swipe, list(move))
            assert scene(opened.page).startswith(f"{expected} ")


def test_the_keyboard_alone_is_enough(browser: Browser, live: LiveServer) -> None:
    """From the first scene to an experiment, with Tab, Enter, Space and the arrows; the focus is seen."""
    with tab(browser, live.url, at="") as opened:
        page = opened.page
        tab_to(page, "#make")
        page.keyboard.press("Enter")
        wait_scene(page, 1)
        eventually(lambda: page.evaluate("director.script.length") > 2, "the next scenes")
        page.keyboard.press("ArrowRight")
        tab_to(page, "#on")
        page.keyboard.press("Space")
        wait_scene(page, 3)
        tab_to(page, "#leave")
        page.keyboard.press("Enter")
        tab_to(page, "#picture [data-step='3']")
        page.keyboard.press("Enter")
        assert "# (3) pop" in page.inner_text("#code .here")
        tab_to(page, "[data-control=touch] summary")
        page.keyboard.press("Enter")
        tab_to(page, "[data-control=touch] button")
        page.keyboard.press("Space")
        eventually(lambda: "was changed" in page.inner_text("#said"), "the answer")
        assert opened.complaints == []


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the focus is there, with a ring around it."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            break
    outline = "selector => getComputedStyle(document.querySelector(selector)).outlineStyle"
    assert page.evaluate(outline, selector) == "solid", selector
