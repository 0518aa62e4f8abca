"""The live page as a figure in a page of text: `#embed&run=merge&at=merged` in an iframe."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tools.recorded_runs.shelf import read

PLACE = "#embed&run=merge&at=merged"


@pytest.mark.parametrize("width", [360, 736])
def test_a_figure_is_the_player_alone(
    browser: Browser, recorded_page: str, tmp_path: Path, width: int
) -> None:
    """The picture, a sentence and its buttons, within its frame. It waits, and leaves its address."""
    text = tmp_path / "chapter.html"
    frame = (
        f'<iframe loading="lazy" style="width:{width}px;height:640px;border:0" src="{recorded_page}{PLACE}">'
    )
    text.write_text(frame, encoding="utf-8")
    run = read("merge")
    steps, at = run["steps"], run["marks"]["merged"]
    with browser.new_context(viewport={"width": 800, "height": 700}) as context:
        page = context.new_page()
        page.goto(text.as_uri())
        figure = page.frame_locator("iframe")
        expect(figure.locator("#says")).to_have_text(run["says"]["merged"])
        for shown in ("#says", "#play", "#next", "#whole"):
            expect(figure.locator(shown)).to_be_in_viewport()
        for hidden in ("#why", "#follow", "#runs", "#boxes", "#scrub"):
            expect(figure.locator(hidden)).to_be_hidden()
        expect(figure.locator("#whole")).to_have_attribute("href", f"#run=merge&step={at}")
        figure.locator("#next").click()
        expect(figure.locator("#why")).to_have_text(steps[at]["why"])
        (_, inner) = page.frames
        assert inner.evaluate("[location.hash, document.documentElement.scrollWidth]") == [PLACE, width]
