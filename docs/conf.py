"""Builds the documentation site: `make docs`. Sphinx runs this file."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

from docs.extensions import live_page, search_words, source_page  # noqa: E402 - found by the line above

project = "handloop"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc"]
_OWN = ("face", "flags", "live_page", "llms", "metrics", "source_page")
extensions += [f"docs.extensions.{name}" for name in _OWN]
myst_heading_anchors = 4
_AS_WRITTEN = {"url": "{{path}}#{{fragment}}"}
myst_url_schemes = {
    "http": None,
    "https": None,
    live_page.SCHEME: _AS_WRITTEN,
    source_page.SCHEME: _AS_WRITTEN,
}
smartquotes = False  # a docstring's "" is two quotes
autodoc_typehints = "none"
autodoc_preserve_defaults = True

exclude_patterns = ["internals/*", "soak.md"]  # production.md repeats the figures of soak.md

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_title = f"handloop {release}"
html_copy_source = False
html_show_copyright = False
html_use_index = False  # the search finds every name
html_domain_indices = False

_LANGUAGES = ("with-go", "with-rust", "with-java", "with-javascript", "with-python")
# pages in other folders that are also pages of the site
PAGES = {
    "architecture": "ARCHITECTURE.md",
    "errors": "controller/cli/errors.md",
    **{
        name: f"sandbox/docs/{name}.md"
        for name in ("sandbox", "testing-with-the-sandbox", "controls", *_LANGUAGES)
    },
    "how-to/exploring": "explore/docs/exploring.md",
    "live": "learn/docs/live.md",
    "walkthrough": "learn/docs/walkthrough.md",
}
SOURCE = source_page.repository()
NUMBERED = re.compile(r"^(\[`[^\n]*#L(\d+)\))\n```python$", re.MULTILINE)
"""A link to a code block's first line, followed by the block."""
LINK = re.compile(r"\[(?P<text>[^][]*)\]\((?!#|\w+:)(?P<path>[^)#]+)(?P<heading>#[^)]*)?\)")


def _is_of_site(page: Path) -> bool:
    """Return whether a page below docs is on the site. Pages for maintainers are not on it."""
    return DOCS in page.parents and page.parent.name != "internals" and page.name != "soak.md"


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Read PAGES from their own folders, adapt the links, and unlink everything that is not on the site."""
    here = DOCS / Path(name).parent
    folder = here
    if name in PAGES:
        app.env.note_dependency(str(ROOT / PAGES[name]))
        folder = (ROOT / PAGES[name]).parent
        source[0] = (ROOT / PAGES[name]).read_text(encoding="utf-8")
    of_site = {ROOT / path: DOCS / f"{page}.md" for page, path in PAGES.items()}

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match["path"]))
        if (target / "README.md").exists():
            target /= "README.md"
        is_elsewhere = target.suffix == ".md" and target not in of_site and not _is_of_site(target)
        if target.is_dir() or is_elsewhere:
            return match["text"]
        if target.suffix not in (".md", ".rst", ".png", ".svg", ".gif") and target.is_file():
            there = source_page.address(target, match["heading"] or "", here, SOURCE)
            return f"[{match['text']}]({there})"
        path = os.path.relpath(of_site.get(target, target), here)
        return f"[{match['text']}]({path}{match['heading'] or ''})"

    if name == "chapters/index":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n[0-9]*\n*\n```\n"
    source[0] = NUMBERED.sub(r"\1\n\n```{code-block} python\n:lineno-start: \2\n", source[0])
    source[0] = live_page.FIGURE.sub(live_page.figure_from(here), source[0])
    source[0] = search_words.added(name, source[0])
    source[0] = live_page.LINK.sub(live_page.link_from(here), source[0])
    source[0] = LINK.sub(link, source[0])


def setup(app: Sphinx) -> None:
    """Connect to Sphinx, which calls this."""
    app.connect("source-read", read)
