"""
Takes screenshots of the live page in fifteen situations for docs/live: `python -m tools.situations`.

For each window width, it writes a light and a dark sheet, with three of the director's scenes and twelve
marks of the recordings. It opens the page in the repository as a file.
"""

from __future__ import annotations

import io
from typing import Any, Final

from PIL import Image
from playwright.sync_api import sync_playwright

from handloop.picture.page_data import INDEX
from tools.recorded_runs.page import FOLDER
from tools.steps import ROOT

PAGE: Final = FOLDER / INDEX
SITUATIONS: Final = (
    *("follow&scene=1", "follow&scene=8", "follow&scene=15"),
    *("run=apply&at=created", "run=merge&at=merged", "run=in-flight&at=dirty", "run=missing-done&at=stuck"),
    *("run=expired&at=broke", "run=expired&at=expired", "run=expired&at=tombstone", "run=failures&at=third"),
    *("run=conflict&at=conflict", "run=restart&at=killed", "run=lease&at=gone", "run=storm&at=again"),
)
COLUMNS: Final = 5
WINDOWS: Final = ((1280, 900, 0.4), (768, 1000, 0.5), (390, 844, 0.7))
"""A window's width and height in pixels, and the factor by which a sheet shrinks its picture."""
_SETTLED_MILLISECONDS: Final = 900
_FEW_COLOURS: Final[dict[str, Any]] = {"method": Image.Quantize.FASTOCTREE, "dither": Image.Dither.NONE}


def sheet(pictures: list[Image.Image], scale: float) -> Image.Image:
    """Return a sheet with pictures of one size, in rows."""
    width, height = (round(side * scale) for side in pictures[0].size)
    rows = -(-len(pictures) // COLUMNS)
    made = Image.new("RGB", (COLUMNS * width, rows * height))
    for number, picture in enumerate(pictures):
        small = picture.resize((width, height), Image.Resampling.LANCZOS)
        made.paste(small, (number % COLUMNS * width, number // COLUMNS * height))
    return made


def main() -> None:
    """Write the sheets."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell")
        for width, height, scale in WINDOWS:
            for scheme in ("light", "dark"):
                size: Any = {"width": width, "height": height}
                pictures = []
                for situation in SITUATIONS:
                    page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
                    page.goto(f"{PAGE.as_uri()}#{situation}")
                    page.wait_for_timeout(_SETTLED_MILLISECONDS)
                    pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
                    page.close()
                path = ROOT / f"learn/docs/live/situations-{width}-{scheme}.png"
                sheet(pictures, scale).quantize(64, **_FEW_COLOURS).save(path, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
