"""
Links to source lines open the repository if pyproject.toml has its address as `Source` in `[project.urls]`.

Otherwise they open a page of the site that shows the file with line numbers.
"""

from __future__ import annotations

import os
import re
import tomllib
from html import escape
from pathlib import Path
from typing import Final

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx

DOCS: Final = Path(__file__).parents[1]
ROOT: Final = DOCS.parent
FOLDER: Final = "source"
SCHEME: Final = "source"
"""The URL scheme that stands for these pages in Sphinx's input, because Sphinx does not build them."""
_LINKED: Final = re.compile(rf'href="(?:\.\./)*{FOLDER}/([^"#]+)\.html')
_FORMATTER: Final = HtmlFormatter(nowrap=True)
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{path}</title><link rel="stylesheet" href="{up}_static/source.css">
<h1><a href="{up}index.html">handloop</a> / {path}</h1>
<pre>{lines}</pre></html>
"""


def repository() -> str:
    """Return the address of the repository, or "" if it has none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project.get("urls", {}).get("Source", ""))


def address(path: Path, heading: str, folder: Path, source: str) -> str:
    """Return the link from a folder to a file. Args: heading is `#L12` or ""; source can be ""."""
    name = path.relative_to(ROOT).as_posix()
    if source:
        return f"{source}/blob/main/{name}{heading}"
    return f"{SCHEME}:{os.path.relpath(DOCS / FOLDER, folder)}/{name}.html{heading}"


def shown(path: str) -> str:
    """Return an HTML page that shows a file, with a number and an anchor for each line."""
    text = (ROOT / path).read_text(encoding="utf-8")
    try:
        lines = highlight(text, get_lexer_for_filename(path, stripnl=False), _FORMATTER).splitlines()
    except ClassNotFound:
        lines = escape(text).splitlines()
    rows = [
        f'<span id="L{number}"><a href="#L{number}">{number}</a>{line}</span>'
        for number, line in enumerate(lines, 1)
    ]
    return _PAGE.format(path=path, up="../" * (path.count("/") + 1), lines="".join(rows))


def build(site: Path) -> None:
    """Write a page for each file that the site links to."""
    linked = {
        path for page in site.rglob("*.html") for path in _LINKED.findall(page.read_text(encoding="utf-8"))
    }
    for path in linked:
        page = site / FOLDER / f"{path}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(shown(path), encoding="utf-8")
    light = HtmlFormatter(style="default").get_style_defs("pre")
    dark = HtmlFormatter(style="github-dark").get_style_defs("pre")
    style = (DOCS / "static/source.css").read_text(encoding="utf-8")
    text = f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{style}"
    (site / "_static/source.css").write_text(text, encoding="utf-8")


def _finished(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        build(Path(app.outdir))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx, which calls this."""
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True}
