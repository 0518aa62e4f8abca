"""
The live page without a program: `live-page/` of the site plays the recordings.

Its files are those that a running program serves. A link to `live-page/#run=merge&at=merged` leads there:
in the repository the folder's README answers it, in the site the page.
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
"""What a link to the page has in the text that Sphinx reads: it is not a page of Sphinx'."""
LINK: Final = re.compile(rf"\]\([^)#\s]*\b{FOLDER}/(?:index\.html)?(?P<place>#[^)\s]*)?\)")
FIGURE: Final = re.compile(rf"^On the live page: .*{FOLDER}/#(?P<place>run=[^)\s]+)\).*$", re.MULTILINE)
"""A line that leads to a recording: below it the site shows the recording."""
DOCS_OF_STEPS: Final = {step.number: f"../walkthrough.html#{make_id(step.words)}" for step in steps()}
"""The sections of learn/docs/walkthrough.md in the site, as Sphinx makes their addresses."""


def link_from(folder: Path) -> Callable[[re.Match[str]], str]:
    """What takes the place of a LINK in a page of a folder."""
    up = os.path.relpath(DOCS / FOLDER, folder)
    return lambda found: f"]({SCHEME}:{up}/index.html{found['place'] or ''})"


def figure_from(folder: Path) -> Callable[[re.Match[str]], str]:
    """What takes the place of a FIGURE in a page of a folder."""
    up = os.path.relpath(DOCS / FOLDER, folder)
    return lambda found: (
        f'{found[0]}\n\n<iframe class="live" loading="lazy" title="A recording on the live page" '
        f'src="{up}/index.html#embed&amp;{found["place"].replace("&", "&amp;")}"></iframe>'
    )


def _finished(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        write_live_page(Path(app.outdir) / FOLDER, DOCS_OF_STEPS)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True}
