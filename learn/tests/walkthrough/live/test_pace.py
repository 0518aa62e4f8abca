"""How long the page shows a sentence, by a clock that only the test moves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from support.servers.live_browser import tab
from tools.recorded_runs.shelf import read

FRAME_MILLISECONDS = 100
"""The page counts no more than this from one frame to the next."""


@pytest.fixture
def page(browser: Browser, recorded_page: str) -> Iterator[Page]:
    with tab(browser, recorded_page, at="#run=apply&step=1") as opened:
        opened.page.clock.install(time=0)
        opened.page.reload()
        opened.page.wait_for_selector("#recorded a", state="attached")
        opened.page.clock.pause_at(60)
        yield opened.page


def milliseconds_shown(page: Page) -> tuple[str, int]:
    """The sentence that is shown, and how long it stays."""
    sentence, passed = page.inner_text("#why"), 0
    while page.inner_text("#why") == sentence:
        page.clock.run_for(FRAME_MILLISECONDS)
        passed += FRAME_MILLISECONDS
        assert passed < 20_000
    return sentence, passed


def test_a_sentence_stays_as_long_as_it_takes_to_read(page: Page) -> None:
    """60 ms a letter, 1.5 s at least; the lit step, the token and the sentence change together."""
    page.select_option("#pace", "read")
    page.clock.run_for(FRAME_MILLISECONDS)
    for _ in range(5):
        sentence, passed = milliseconds_shown(page)
        assert passed >= max(1500, 60 * len(sentence)) - FRAME_MILLISECONDS
        number = page.evaluate("view.step.step")
        assert page.get_attribute("#picture .lit", "data-step") == str(number)


def test_a_sentence_that_was_seen_stays_for_a_moment(page: Page) -> None:
    """1.5 s, whatever the numbers in it; another one stays as long as it takes to read."""
    page.evaluate("seek(26); render()")
    page.select_option("#pace", "read")
    page.clock.run_for(FRAME_MILLISECONDS)
    first = [milliseconds_shown(page) for _ in range(18)]
    kinds = [re.sub(r"\d+", "", sentence) for sentence, _ in first]
    again = [passed for nth, (_, passed) in enumerate(first) if kinds[nth] in kinds[:nth]]
    assert len(again) > 2
    assert max(again) <= 1500 + 2 * FRAME_MILLISECONDS


def test_moments_stop_and_the_rest_glides(page: Page) -> None:
    """Each with its line; of the steps between, none stays for longer than a fifth of a second."""
    run = read("apply")
    marks, says = run["marks"], run["says"]
    page.evaluate(f"seek({marks['queued']}, true); render()")
    assert page.inner_text("#says") == says["queued"]
    page.select_option("#pace", "moments")
    passed = 0
    while page.inner_text("#says") == says["queued"]:
        page.clock.run_for(FRAME_MILLISECONDS)
        passed += FRAME_MILLISECONDS
        assert passed < 10_000
    assert page.inner_text("#says") == says["read"]
    assert page.evaluate("at") == marks["read"]
    assert passed <= 200 * (marks["read"] - marks["queued"]) + 2 * FRAME_MILLISECONDS
    words, passed = page.inner_text("#says"), 0
    while page.evaluate("at") == marks["read"]:
        page.clock.run_for(FRAME_MILLISECONDS)
        passed += FRAME_MILLISECONDS
    assert passed >= 60 * len(words) - FRAME_MILLISECONDS


def test_fast_is_fast_only_where_it_is_asked_for(page: Page) -> None:
    """A third of a second a sentence."""
    page.select_option("#pace", "fast")
    page.clock.run_for(FRAME_MILLISECONDS)
    assert milliseconds_shown(page)[1] <= 500


def test_the_reader_may_step_at_any_pace(page: Page) -> None:
    """The arrows wait for nothing."""
    steps = read("apply")["steps"]
    for step in steps[1:4]:
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#why") == step["why"]
