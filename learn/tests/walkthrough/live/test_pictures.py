"""
The pictures of the live page in docs/: taken from a real page with a real Foo, and still what it looks like.

`make pictures` takes them anew.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from PIL import Image, ImageChops, ImageSequence
from playwright.sync_api import Browser, Page

from handloop.testing.eventually import eventually
from handloop_learn.live.server import LiveServer
from support.servers.live_browser import tab

COLOURS: Final = 128
CELL: Final = 8
"""Pixels of a picture that are compared as one: letters differ from run to run, boxes do not."""
VISIBLE: Final = 16
"""Of 255 shades of grey: by so many a cell has to differ, if it is to count."""
GLIDE_MILLISECONDS: Final = (90, 180)
"""When a moving token is pictured on its way, of the 280 ms that it takes."""
FRAME_MILLISECONDS: Final = 70
REST_MILLISECONDS: Final = 200
LAST_MILLISECONDS: Final = 900
MOST_MILLISECONDS: Final = 12_000
"""How long the animation of README takes."""
# the few coloured tokens among much grey keep their colours
_FEW_COLOURS: Final[dict[str, Any]] = {"method": Image.Quantize.FASTOCTREE, "dither": Image.Dither.NONE}


def picture_of(page: Page, selector: str = "") -> Image.Image:
    """What the window shows; with a selector that element alone."""
    taken = page.locator(selector).screenshot() if selector else page.screenshot()
    return Image.open(io.BytesIO(taken)).convert("RGB")


def write_still(picture: Image.Image, path: Path) -> None:
    """Write a PNG with few colours."""
    picture.quantize(COLOURS, **_FEW_COLOURS).save(path, optimize=True)


def difference(one: Image.Image, other: Image.Image) -> float:
    """The share of cells, 0 to 1, whose mean colours differ visibly."""
    assert one.size == other.size
    cells = one.width // CELL, one.height // CELL
    small = [picture.convert("L").resize(cells, Image.Resampling.BOX) for picture in (one, other)]
    histogram = ImageChops.difference(*small).histogram()
    return sum(histogram[VISIBLE:]) / sum(histogram)


def glide(page: Page, selector: str) -> list[Image.Image]:
    """The tokens on their way to where the last step has put them, and there."""
    frames = []
    for at in GLIDE_MILLISECONDS:
        page.evaluate(
            "at => document.getAnimations().forEach(one => { one.pause(); one.currentTime = at; })", at
        )
        frames.append(picture_of(page, selector))
    page.evaluate("() => document.getAnimations().forEach(one => one.finish())")
    return [*frames, picture_of(page, selector)]


def write_animation(steps: Sequence[Sequence[Image.Image]], path: Path) -> None:
    """Write an endless GIF, step by step; each rests for a moment at its end, and the last one for longer."""
    frames = [frame for step in steps for frame in step]
    durations = [
        duration
        for step in steps
        for duration in [*[FRAME_MILLISECONDS] * (len(step) - 1), REST_MILLISECONDS]
    ]
    durations[-1] = LAST_MILLISECONDS
    # one palette for all: else the background changes its shade from frame to frame
    palette = frames[len(frames) // 2].quantize(COLOURS, **_FEW_COLOURS)
    beginning, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    beginning.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


FOLDER: Final = Path(__file__).parents[3] / "docs/live"
WRITE: Final = bool(os.environ.get("WRITE_PICTURES"))
ANIMATION: Final = FOLDER / "one-foo.gif"
MOST_BYTES: Final = 500_000
DONE: Final = 12
TOLERANCE: Final = 0.01
KEY: Final = "default/example-foo"
SIZES: Final = {390: 844, 768: 1024, 1280: 900}
"""Width and height of a window."""


def show_example(page: Page, program: Any) -> None:
    """Apply the example, and wait until the page has every step of it."""
    page.click("#play")
    before = len(program.recorder.steps())
    program.foo("example-foo")
    program.wait_idle(KEY)
    count = len(program.recorder.steps()) - before
    eventually(lambda: last_step(page) >= count, f"{count} steps on the page")
    page.evaluate("ACTS.first(); render()")


def last_step(page: Page) -> int:
    """How many steps the page has."""
    page.wait_for_timeout(20)
    return int(page.get_attribute("#scrub", "max") or 0)


def go_to(page: Page, sentence: str) -> None:
    """Go on until a sentence is shown."""
    while sentence not in page.inner_text("#why"):
        page.click("#next")
        assert int(page.input_value("#scrub")) < last_step(page), sentence


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_the_page_looks_as_in_the_docs(
    browser: Browser, live: LiveServer, program: Any, width: int, scheme: Literal["light", "dark"]
) -> None:
    """Where a worker has just got the key of the example Foo."""
    with tab(browser, live.url, width=width, height=SIZES[width], scheme=scheme, still=True) as opened:
        show_example(opened.page, program)
        go_to(opened.page, "gets example-foo")
        compare(opened.page, FOLDER / f"{width}-{scheme}.png")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (768, "dark"), (390, "light")])
def test_the_director_looks_as_in_the_docs(
    browser: Browser, recorded_page: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    """In the scene in which the worker has created the Deployment."""
    size = {"width": width, "height": SIZES[width]}
    with tab(browser, recorded_page, at="#follow&scene=11", scheme=scheme, still=True, **size) as opened:
        compare(opened.page, FOLDER / f"director-{width}-{scheme}.png")


def compare(page: Page, path: Path) -> None:
    """Compare what the window shows with a picture; or write that anew."""
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.evaluate("document.body.style.fontFamily = 'DejaVu Sans'")
    taken = picture_of(page)
    if WRITE:
        write_still(taken, path)
    with Image.open(path) as kept:
        assert difference(taken, kept) < TOLERANCE


def test_the_comparison_sees_what_a_person_would_see() -> None:
    """A box that is gone, or all a line further down, is above the tolerance; other numbers are not."""
    with Image.open(FOLDER / "1280-light.png") as kept:
        picture = kept.convert("RGB")
    without_box, moved, retyped = picture.copy(), picture.copy(), picture.copy()
    without_box.paste((255, 255, 255), (17, 655, 1263, 785))
    moved.paste(picture, (0, 24))
    retyped.paste((255, 255, 255), (270, 720, 440, 770))
    assert difference(picture, retyped) < TOLERANCE / 3
    assert difference(picture, without_box) > TOLERANCE
    assert difference(picture, moved) > TOLERANCE


def test_readmes_animation_is_what_the_page_shows(browser: Browser, recorded_page: str) -> None:
    """One Foo through the twelve steps, without a word; a loop of twelve seconds, below half a megabyte."""
    with browser.new_context(viewport={"width": 886, "height": 700}, color_scheme="light") as context:
        page = context.new_page()
        page.goto(f"{recorded_page}#embed&run=apply&at=added")
        page.evaluate("document.body.style.fontFamily = 'DejaVu Sans'")
        taken = list(frames(page))
    if WRITE:
        write_animation(taken, ANIMATION)
    with Image.open(ANIMATION) as animation:
        kept = [(frame.convert("RGB"), frame.info["duration"]) for frame in ImageSequence.Iterator(animation)]
    rests = [picture for picture, duration in kept if duration >= REST_MILLISECONDS]
    assert len(rests) == len(taken) > 25
    assert all(difference(step[-1], rest) < TOLERANCE for step, rest in zip(taken, rests, strict=True)), (
        "make pictures"
    )
    assert sum(duration for _, duration in kept) <= MOST_MILLISECONDS
    assert ANIMATION.stat().st_size < MOST_BYTES


def frames(page: Page) -> Iterator[list[Image.Image]]:
    """The picture's frames, step by step, to the second done(): the Foo is as it should be."""
    for _ in range(2):
        while True:
            yield glide(page, "#picture")
            done = page.evaluate("view.step.step") == DONE
            page.click("#next")
            if done:
                break
