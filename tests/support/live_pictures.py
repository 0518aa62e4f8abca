"""Pictures of the live page: taken from a real page, kept small, and compared with a tolerance."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageChops
from playwright.sync_api import Page

COLOURS: Final = 128
CELL: Final = 8
"""Pixels of a picture that are compared as one: letters differ from run to run, boxes do not."""
VISIBLE: Final = 16
"""Of 255 shades of grey: by so many a cell has to differ, if it is to count."""
GLIDE_MILLISECONDS: Final = (90, 180)
"""When a moving token is pictured on its way, of the 280 ms that it takes."""
FRAME_MILLISECONDS: Final = 90
REST_MILLISECONDS: Final = 450
END_MILLISECONDS: Final = 2500
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


def write_animation(steps: Sequence[Sequence[Image.Image]], width: int, path: Path) -> None:
    """Write an endless GIF, step by step; each rests at its end, and the last one longer."""
    first = steps[0][0]
    size = width, round(first.height * width / first.width)
    frames, durations = [], []
    for step in steps:
        # what comes below the first picture's end is left out
        frames += [frame.crop((0, 0, *first.size)).resize(size, Image.Resampling.LANCZOS) for frame in step]
        durations += [FRAME_MILLISECONDS] * (len(step) - 1) + [REST_MILLISECONDS]
    durations[-1] = END_MILLISECONDS
    # one palette for all: else the background changes its shade from frame to frame
    palette = frames[len(frames) // 2].quantize(COLOURS, **_FEW_COLOURS)
    beginning, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    beginning.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
