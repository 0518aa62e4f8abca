"""The director in a real browser: live on the reader's own Foo, and on the recording."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from handloop.testing.eventually import eventually
from handloop_learn.live.scenes import SCENES, Scene
from handloop_learn.live.server import LiveServer
from support.servers.live_browser import tab
from tools.recorded_runs.shelf import read


def scene(page: Page) -> str:
    return page.inner_text("#count")


def wait_scene(page: Page, number: int) -> None:
    """Wait until a scene is shown; a page that is on its way has none."""

    def is_shown() -> bool:
        page.wait_for_timeout(20)
        return scene(page) == f"{number} of {LAST}"

    eventually(is_shown, f"scene {number}")


LAST: Final = len(SCENES) - 1


def walk(page: Page) -> list[int]:
    """Go from scene 1 through all with the arrow, which first shows the answer. Returns: their positions."""
    positions, left = [], list(SCENES[1:])
    eventually(lambda: page.evaluate("director.script.length") == len(SCENES), "a step for each scene")
    for number in range(1, len(SCENES)):
        wait_scene(page, number)
        sentence = page.inner_text("#sentence")
        wanted = next(scene for scene in left if is_of(scene, sentence))
        left.remove(wanted)
        assert page.inner_text("#scene-title").startswith(f"({wanted.step}) ")
        assert page.get_attribute("#picture .lit", "data-step") == str(wanted.step)
        assert not re.search("[{}]|undefined", sentence)
        positions.append(page.evaluate("at"))
        assert page.locator("#asked").is_visible() is bool(wanted.without)
        assert page.locator("#answer").is_hidden()
        if wanted.without:
            page.keyboard.press("ArrowRight")
            told = f"{page.inner_text('#part')}: {page.inner_text('#without')}"
            assert told.lower() == wanted.without.words.lower()
            assert page.inner_text("#test") == wanted.without.test
        if number < LAST:
            page.keyboard.press("ArrowRight")
    return positions


def is_of(scene: Scene, sentence: str) -> bool:
    """Whether a sentence is the scene's, with any facts."""
    return bool(re.fullmatch(".+".join(map(re.escape, re.split(r"\{\w+\}", scene.sentence))), sentence))


def test_the_first_visit_follows_the_readers_own_foo(
    browser: Browser, live: LiveServer, program: Any
) -> None:
    """A button makes it, so no kubectl is needed; each scene finds its step, one after the other."""
    with tab(browser, live.url, at="") as opened:
        page = opened.page
        assert page.inner_text("#scene-title") == "Follow one Foo"
        assert page.locator("#legend li").count() == 4
        assert page.locator("#boxes").is_hidden()
        page.click("#make")
        wait_scene(page, 1)
        program.wait_idle("default/my-foo")
        program.make_available("my-foo")
        positions = walk(page)
        assert positions == sorted(positions)
        assert page.locator("#of").input_value() == "default/my-foo"
        page.keyboard.press("ArrowLeft")
        wait_scene(page, LAST - 1)
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
        eventually(lambda: opened.page.evaluate("director.script.length") > 1, "its first step")
        opened.page.keyboard.press("ArrowRight")
        wait_scene(opened.page, 1)
        assert opened.page.locator("#of").input_value() == "default/by-hand"


def test_the_recording_has_every_scene(browser: Browser, recorded_page: str) -> None:
    """From a folder; all else is dim, each scene has its address, and a line leads to the source."""
    with tab(browser, recorded_page, at="", still=True) as opened:
        page = opened.page
        wait_scene(page, 0)
        page.keyboard.press("ArrowRight")
        positions = walk(page)
        assert positions == sorted(positions)
        assert page.inner_text("#sentence").endswith("1 of 1 available.")
        assert page.evaluate("location.hash") == f"#follow&scene={LAST}"
        colour = "(all) => all.map((one) => getComputedStyle(one).color)"
        dim = set(page.eval_on_selector_all(".place:not(.on) .name, .step:not(.lit) .word", colour))
        assert len(dim) == 1
        assert not dim & set(page.eval_on_selector_all(".place.on .name, .step.lit .word", colour))
        page.click("#line")
        assert "workqueue/queue.py" in page.inner_text("#source-title")
        page.keyboard.press("Escape")
        page.go_back()
        wait_scene(page, LAST - 1)
        page.keyboard.press("End")
        page.click("#on")
        page.wait_for_selector("#scene", state="hidden")
        assert page.evaluate("location.hash").startswith("#run=apply&step=")
        assert opened.complaints == []


@pytest.mark.parametrize("number", [0, 1, 7, LAST])
def test_an_address_leads_to_its_scene(browser: Browser, recorded_page: str, number: int) -> None:
    """Of the first, the last, and one between."""
    with tab(browser, recorded_page, at=f"#follow&scene={number}") as opened:
        wait_scene(opened.page, number)


def test_a_swipe_turns_the_page(browser: Browser, recorded_page: str) -> None:
    """To the left is on, to the right is back; a short or steep one is none."""
    swipe = """([x, y, on]) => {
      const target = document.querySelector(on);
      const touch = (name, clientX, clientY) => target.dispatchEvent(new TouchEvent(name, {
        changedTouches: [new Touch({ identifier: 1, target, clientX, clientY })], bubbles: true }));
      touch("touchstart", 200, 200);
      touch("touchend", 200 + x, 200 + y);
    }"""
    with tab(browser, recorded_page, at="#follow", width=390, height=844) as opened:
        page = opened.page
        wait_scene(page, 0)
        for move, expected in (((-120, 0), 1), ((120, 0), 0), ((-20, 0), 0), ((-90, 90), 0), ((-120, 10), 1)):
            page.evaluate(swipe, [*move, "#scene"])
            assert scene(page).startswith(f"{expected} ")
        page.evaluate("director.answered.add(1)")
        page.evaluate(swipe, [-120, 0, "#picture"])
        assert scene(page).startswith("2 ")
        page.evaluate("director.answered.add(2)")
        page.click("#line")
        page.evaluate(swipe, [-120, 0, "#source pre"])
        assert scene(page).startswith("2 "), "it moves the source"
        page.keyboard.press("PageDown")
        assert scene(page).startswith("3 ")
        assert page.locator("#source").is_hidden(), "it is of another scene"


def test_a_remote_turns_scenes_and_moments(browser: Browser, recorded_page: str) -> None:
    """PageDown and PageUp, as presenters' remotes send them."""
    marks = read("merge")["marks"]
    with tab(browser, recorded_page, at="#run=merge&at=busy") as opened:
        page = opened.page
        for key, mark in (("PageDown", "queued"), ("PageDown", "merged"), ("PageUp", "queued")):
            page.keyboard.press(key)
            assert page.evaluate("at") == marks[mark]
        page.evaluate("location.hash = '#follow&scene=17'")
        wait_scene(page, 17)
        page.keyboard.press("PageDown")
        wait_scene(page, 18)
        page.keyboard.press("PageUp")
        wait_scene(page, 17)


def test_the_picture_is_one_stop_of_tab(browser: Browser, recorded_page: str) -> None:
    """The arrows go from step to step; Space and Enter show the source; the playback stays where it is."""
    with tab(browser, recorded_page, at="#run=merge&at=merged") as opened:
        page = opened.page
        stops = "all('#picture [tabindex=\"0\"]').map((one) => one.dataset.step)"
        assert page.evaluate(stops) == ["7"]
        page.focus("#picture [data-step='7']")
        before = page.evaluate("at")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        assert "# (8) get key" in page.inner_text("#code .here")
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        assert page.inner_text("#source-title").startswith("(1)")
        assert page.evaluate(stops) == ["1"]
        assert page.evaluate("[at, playing]") == [before, False]


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
        wait_scene(page, 2)
        tab_to(page, "#leave")
        page.keyboard.press("Enter")
        tab_to(page, "#picture g.step")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        assert "# (3) pop" in page.inner_text("#code .here")
        tab_to(page, "[data-control=touch] summary")
        page.keyboard.press("Enter")
        page.wait_for_selector("#key option", state="attached")
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
    outline = """(selector, one = document.activeElement) =>
      [one.matches(selector), getComputedStyle(one).outlineStyle]"""
    assert page.evaluate(outline, selector) == [True, "solid"], selector
