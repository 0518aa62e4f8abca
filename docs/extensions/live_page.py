"""
The live page without a running program: the site's `live-page/` plays the recordings.

Its files are the ones that a running program serves. A link to `live-page/#run=merge&at=merged` opens the
folder's README in the repository, and the page itself on the site.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from docutils.nodes import make_id
from sphinx.application import Sphinx

from tools.recorded_runs.page import write_live_page
from tools.steps import steps

DOCS: Final = Path(__file__).parents[1]
FOLDER: Final = "live-page"
SCHEME: Final = "live"
"""The URL scheme that stands for the live page in Sphinx's input, because Sphinx does not build that page."""
LINK: Final = re.compile(rf"\]\([^)#\s]*\b{FOLDER}/(?:index\.html)?(?P<place>#[^)\s]*)?\)")
FIGURE: Final = re.compile(rf"^On the live page: .*{FOLDER}/#(?P<place>run=[^)\s]+)\).*$", re.MULTILINE)
"""A line with a link to a recording. The site shows the recording below it."""
DOCS_OF_STEPS: Final = {step.number: f"../walkthrough.html#{make_id(step.words)}" for step in steps()}
"""The addresses that Sphinx gives the sections of learn/docs/walkthrough.md on the site."""


def link_from(folder: Path) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces a LINK in a page of this folder."""
    up = os.path.relpath(DOCS / FOLDER, folder)
    return lambda found: f"]({SCHEME}:{up}/index.html{found['place'] or ''})"


def figure_from(folder: Path) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces a FIGURE in a page of this folder."""
    up = os.path.relpath(DOCS / FOLDER, folder)
    return lambda found: (
        f'{found[0]}\n\n<iframe class="live" loading="lazy" title="A recording on the live page" '
        f'src="{up}/index.html#embed&amp;{found["place"].replace("&", "&amp;")}"></iframe>'
    )


def _finished(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        write_live_page(Path(app.outdir) / FOLDER, DOCS_OF_STEPS)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx, which calls this."""
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True}
