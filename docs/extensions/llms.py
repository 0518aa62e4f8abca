"""
Writes `llms.txt`, a list of all pages with their topics, and `llms-full.txt`, their texts in one file.

Both are in the same folder as the site's index, for programs that read the site. Follows: llmstxt.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

_MADE: Final = re.compile(r"^(```\{eval-rst\}|\.\. \w+::)", re.MULTILINE)
"""Descriptions of the pages whose text is generated from the code."""


def write(app: Sphinx, error: Exception | None) -> None:
    """Write both files into the folder of a finished site."""
    if error is not None or app.builder.format != "html":
        return
    index, texts = [f"# {app.config.project}", "", f"> {_about(app, app.config.root_doc)}"], []
    for caption, names in _groups(app):
        index += ["", f"## {caption}", ""]
        for name in names:
            title, place = app.env.titles[name].astext(), app.builder.get_target_uri(name)
            address = app.config.html_baseurl + place
            index.append(f"- [{title}]({address}): {_about(app, name)}")
            texts.append(f"<!-- {address} -->\n\n{_text(app, name).strip()}\n")
    Path(app.outdir, "llms.txt").write_text("\n".join(index) + "\n", encoding="utf-8")
    Path(app.outdir, "llms-full.txt").write_text("\n".join(texts), encoding="utf-8")


def _groups(app: Sphinx) -> Iterator[tuple[str, list[str]]]:
    """Yield each group of the sidebar: its caption, and its pages with their subpages."""
    for tree in app.env.get_doctree(app.config.root_doc).findall(addnodes.toctree):
        names = [name for _, name in tree["entries"] if name in app.env.titles]
        yield tree["caption"] or app.config.project, [each for name in names for each in _below(app, name)]


def _below(app: Sphinx, name: str) -> Iterator[str]:
    yield name
    for each in app.env.toctree_includes.get(name, ()):
        yield from _below(app, each)


def _about(app: Sphinx, name: str) -> str:
    """Return the first sentence of a page."""
    for paragraph in app.env.get_doctree(name).findall(nodes.paragraph):
        return re.split(r"(?<=[.:!?])\s", " ".join(paragraph.astext().split()))[0]
    return str(app.env.titles[name].astext())


def _text(app: Sphinx, name: str) -> str:
    """Return a page's source, or its description if the page is generated from the code."""
    source = [Path(app.env.doc2path(name)).read_text(encoding="utf-8")]
    app.emit("source-read", name, source)
    return app.env.get_doctree(name).astext() if _MADE.search(source[0]) else source[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx, which calls this."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
