"""Words by which a search finds a page even if its text lacks them. They become index entries."""

from __future__ import annotations

import re
from typing import Final

PAGES: Final = {
    "glossary": ("why resync",),
    "live": ("follow one foo",),
    "chapters/index": ("exercises", "chapters"),
}
_CHAPTER: Final = re.compile(r"chapters/(\d\d)-")


def words(page: str, text: str) -> list[str]:
    """Return the words of a page."""
    found = list(PAGES.get(page, ()))
    if chapter := _CHAPTER.match(page):
        found.append(f"chapter {int(chapter[1])}")
        if "\n## Exercise\n" in text:
            found.append("exercise")
    return found


def added(page: str, text: str) -> str:
    """Return the text of a page with its words added below the title."""
    entries = ", ".join(f"! {each}" for each in words(page, text))
    return re.sub(r"\n", f"\n\n```{{index}} {entries}\n```\n", text, count=1) if entries else text
