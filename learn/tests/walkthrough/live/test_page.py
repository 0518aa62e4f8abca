"""The live page in a real browser."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Error, Page

from handloop.picture.recorder import Recorder
from handloop.testing.eventually import eventually
from handloop_learn.live.server import LiveServer
from support.builders.live_page import new_server, serving, state, step
from support.servers.live_browser import tab

LONG = "a-name-that-is-as-long-as-people-make-them-in-large-organisations"
NASTY = "<img src=x onerror=window.hacked=1>"
SWITCHES = ("pause", "slow-handler", "lose-done")
SHOWN = {
    "fail": [("results", f"again in {delay}") for delay in ("5 ms", "10 ms", "20 ms")],
}
"""Where the boxes show the effect of an experiment."""


def wait(page: Page, condition: str) -> None:
    """Wait until a condition of the page holds; the page's own policy forbids playwright's way to wait."""
    eventually(lambda: holds(page, condition), condition)


def holds(page: Page, condition: str) -> bool:
    """Whether a condition holds; a page that is just being loaded has none."""
    page.wait_for_timeout(20)
    with suppress(Error):
        return bool(page.evaluate(condition))
    return False


def act(page: Page, control: str) -> None:
    """Press the button of an experiment, and wait for the answer."""
    button = page.locator(f'[data-control="{control}"] button')
    if not button.is_visible():
        page.locator(f'[data-control="{control}"] summary').click()
    button.click()
    wait(page, "!['', '…'].includes(document.getElementById('said').textContent)")


def played(page: Page) -> list[int]:
    """The number of each step that was played."""
    return list(page.evaluate("ring.slice(0, played).map((step) => step.step)"))


def choose(page: Page, key: str) -> None:
    """Choose a Foo for the experiments."""
    page.wait_for_selector(f'#key option:text-is("{key}")', state="attached")
    page.select_option("#key", key)


def test_every_step_lights_up_after_a_foo(browser: Browser, live: LiveServer, program: Any) -> None:
    """With a sentence; nothing goes wrong or is loaded from elsewhere. Slowed down: test_first_visit."""
    with tab(browser, live.url) as opened:
        page = opened.page
        page.select_option("#pace", "fast")
        program.foo("example-foo")
        lit = set()

        def all_lit() -> bool:
            lit.update(page.eval_on_selector_all("#picture .lit", "all => all.map(n => n.dataset.step)"))
            return len(lit) == 12

        eventually(all_lit, "each of the twelve steps")
        wait(page, "document.querySelector('#objects').textContent.includes('default/example-foo')")
        # some steps are about a kind and name no key
        wait(page, "document.querySelector('#why').textContent.includes('example-foo')")
        assert opened.complaints == []


def merges(program: Any, before: int = 0) -> list[Any]:
    """The steps that added a key which waited already, without the first so many."""
    return [step for step in program.told(7) if step.facts.get("merged")][before:]


def test_each_experiment_is_ticked_when_it_was_seen(browser: Browser, live: LiveServer, program: Any) -> None:
    """One after the other, the last three of which are switches: they are switched back."""
    program.synced_foo()
    with tab(browser, live.url) as opened:
        page = opened.page
        page.click("#live")
        for control in (
            "make",
            "kill-watch",
            "scale",
            "delete-deployment",
            "fail",
            "pause",
            "slow-handler",
            "lose-done",
        ):
            act(page, control)
            if control == "make":
                choose(page, "default/a")
            before = len(merges(program))
            if control in SWITCHES:
                act(page, "touch")
            if control == "pause":
                wait(page, "document.querySelector('#queues').textContent.includes('queue: 1')")
                # the changes come one by one: a worker that is let go at the first one merges none
                eventually(partial(merges, program, before), "a key that is added once more while it waits")
                act(page, control)
            wait(page, f"document.querySelector('[data-control={control}]').classList.contains('seen')")
            for place, words in SHOWN.get(control, ()):
                wait(page, f"document.querySelector('#{place}').textContent.includes('{words}')")
            if control in SWITCHES[1:]:
                act(page, control)
        wait(page, "document.querySelector('[data-control=touch]').classList.contains('seen')")
        assert "(9 of 14 seen)" in page.inner_text("#progress")
        assert opened.complaints == []


def test_410_shows_a_relist_and_a_tombstone(browser: Browser, live: LiveServer) -> None:
    """The sentence of the step reports it, and the table counts the relist."""
    with tab(browser, live.url) as opened:
        page = opened.page
        page.click("#live")
        act(page, "expire")
        wait(page, "document.querySelector('[data-control=expire]').classList.contains('seen')")
        wait(page, "document.querySelector('#informers').textContent.includes('1 expired')")
        page.click("#first")
        for _ in range(200):
            if "tombstone" in page.inner_text("#why"):
                break
            page.click("#next")
        assert "DeletedFinalStateUnknown" in page.inner_text("#why")


def test_after_a_restart_the_page_has_a_new_snapshot(browser: Browser, program: Any) -> None:
    """Another process on the same port: its token, its ring, its state."""
    first = new_server()
    first.show(program.parts, program.controls)
    first.start()
    with tab(browser, first.url) as opened:
        page, port = opened.page, first.port
        token = "document.querySelector('meta[name=token]').content"
        before = page.evaluate(token)
        first.stop()
        wait(page, "document.querySelector('#health').textContent.includes('not connected')")
        second = new_server(port=port)
        second.show(program.parts, program.controls)
        second.start()
        try:
            wait(page, f"{token} !== '{before}' && document.body.dataset.snapshots === '1'")
            page.wait_for_selector('[data-control="pause"]')
        finally:
            page.close()
            second.stop()


def test_a_name_is_text(browser: Browser, live: LiveServer, program: Any) -> None:
    """With markup in place of every text of the stream nothing runs, and the markup is what one reads."""
    program.synced_foo()
    with tab(browser, live.url) as opened:
        page = opened.page
        page.route("**/debug/live/events", lambda route: route.fulfill(**_nasty_stream()))
        page.goto(f"{live.url}?again#play")
        page.click("#live")
        wait(page, f"document.querySelector('#why').textContent === {NASTY!r}")
        for place in ("#results", "#objects", "#queues", "#workers", "#informers", "#controls", "#key"):
            assert NASTY in (page.text_content(place) or ""), place
        shown = page.text_content(".token text") or ""
        assert f"{NASTY}: {NASTY}".startswith(shown.removesuffix("…"))
        assert len(shown) > 10
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0


def _nasty_stream() -> dict[str, Any]:
    """A stream of a program in which everything has the same bad name."""
    script = {"does": "x", "lookAt": "x", "conclude": "x"}
    control = {"title": "x", **script, "on": False, "blocked": "x"}
    election = {"leading": False, "holder": "x"}
    nasty = _renamed(state(election=election, controls=[control]))
    # by these the page finds what belongs together
    nasty["controls"][0]["name"], nasty["objects"][0]["kind"] = "pause", "Foo"
    sync = [(8, {"waiting": 0}), (11, {"forgotten": 0}), (12, {"again": False})]
    told = [
        _renamed(step(number, "x") | {"thread": "x"}) | {"facts": facts}
        for number, facts in [(7, {"merged": False, "in_flight": False}), *sync, sync[0]]
    ]
    snapshot = json.dumps({"run": "r", "missed": 0, "state": nasty})
    body = f"event: snapshot\ndata: {snapshot}\n\nevent: steps\ndata: {json.dumps(told)}\n\n"
    return {"status": 200, "headers": {"Content-Type": "text/event-stream"}, "body": body}


def _renamed(value: Any) -> Any:
    """The same with a bad name in place of every text, and of each name of an index or a reason."""
    match value:
        case str():
            return NASTY if value else ""
        case list():
            return [_renamed(each) for each in value]
        case dict():
            return {
                name: {NASTY: 1} if name in ("indexes", "relists") else _renamed(each)
                for name, each in value.items()
            }
    return value


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280, 3840])
def test_nothing_is_wider_than_the_window(
    browser: Browser, live: LiveServer, program: Any, width: int, scheme: Literal["light", "dark"]
) -> None:
    """With a long name, in both schemes; on a phone the boxes of the picture stand in a column."""
    program.foo(LONG)
    with tab(browser, live.url, width=width, height=800, scheme=scheme) as opened:
        page = opened.page
        page.wait_for_selector("#objects td")
        page.click("#live")
        program.controls.act("fail", {"key": f"default/{LONG}"})
        wait(page, "document.querySelector('#results').textContent.includes('again in')")
        eventually(lambda: played(page).count(11) >= 3, "three failures")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#picture .token").count() > 0
        places = page.evaluate("all('.place rect').map((one) => one.getBoundingClientRect().left)")
        assert (len(set(map(round, places))) > 5) is (width >= 720)


def test_who_wants_no_movement_gets_none(browser: Browser, live: LiveServer, program: Any) -> None:
    """A token stands at its step at once."""
    durations = {}
    for still in (True, False):
        with tab(browser, live.url, still=still) as opened:
            program.foo(f"still-{still}".lower())
            # a token may leave the picture at any time
            token = "document.querySelector('.token')"
            style = f"{token} && getComputedStyle({token}).transitionDuration"
            durations[still] = eventually(partial(opened.page.evaluate, style), "a token")
    assert durations[True] == "0s"
    assert durations[False].startswith("0.28s")


def test_the_ring_can_be_walked_with_the_keyboard(browser: Browser, live: LiveServer, program: Any) -> None:
    """Space stops, Home and End go to the ends, the arrows go one step."""
    with tab(browser, live.url) as opened:
        page = opened.page
        page.click("#live")
        program.synced_foo()
        wait(page, "Number(document.querySelector('#scrub').max) > 20")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Space")
        assert page.inner_text("#play") == "Play"
        page.keyboard.press("Home")
        assert page.inner_text("#position").startswith("step 0 of")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        assert page.inner_text("#position").startswith("step 1 of")
        # in one go: a step may come at any time
        end = "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true }))"
        seen = page.evaluate(f"() => {{ {end}; return document.querySelector('#position').innerText; }}")
        first, _, last = seen.removeprefix("step ").partition(" of ")
        assert first == last


def test_a_step_shows_its_source(browser: Browser, live: LiveServer) -> None:
    """File and line, with the step's own line marked; Escape closes it."""
    with tab(browser, live.url) as opened:
        page = opened.page
        page.click('#picture [data-step="3"]')
        page.wait_for_selector("#source:not([hidden])")
        assert "informers/delta_fifo.py:" in page.inner_text("#source-title")
        assert "# (3) pop" in page.inner_text("#code .here")
        page.keyboard.press("Escape")
        assert page.locator("#source").is_hidden()


def test_skipped_steps_are_counted(browser: Browser, program: Any) -> None:
    """A ring of 8 is too small for a Foo: the page shows how many it did not see."""
    server = new_server(controls=False, recorder=Recorder(size=8))
    server.show(program.parts)
    with serving(server), tab(browser, server.url) as opened:
        program.foo("a")
        opened.page.wait_for_selector("#skipped:not([hidden])")
        assert re.fullmatch(r"\+\d+ events skipped", opened.page.inner_text("#skipped"))


def test_labels_of_many_tokens_do_not_touch(browser: Browser, live: LiveServer, program: Any) -> None:
    """Each ends before the next place of its line begins, with any names."""
    with tab(browser, live.url, still=True) as opened:  # one on its way may cross another
        page = opened.page
        page.click("#live")
        program.controls.act("pause", {})
        for number in range(4):
            program.foo(f"{LONG[:58]}-{number}")
        eventually(lambda: played(page).count(7) >= 4, "four keys")
        boxes = page.eval_on_selector_all(
            ".token text",
            "all => all.map(one => one.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])",
        )
    assert len(boxes) > 5
    touching = [
        (one, other)
        for one, other in combinations(boxes, 2)
        if one[0] < other[2] and other[0] < one[2] and one[1] + 2 < other[3] and other[1] + 2 < one[3]
    ]
    assert touching == []
