"""The data that the page loads: recordings, scenes and the source of the steps."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, NamedTuple

from handloop.picture.snippets import snippets

PAGE: Final[Traversable] = files(__package__).joinpath("page")
"""The folder with the page's files. They are the same for a running program and for recordings."""

NAME: Final = "data.js"
"""The file that the page of a running program loads its data from."""
INDEX: Final = "index.html"
"""The page itself. A page with recordings consists of this file only."""
_STYLE: Final = re.compile(r'<link rel="stylesheet" href="(\S+)">\n')
_SCRIPT: Final = re.compile(r'<script defer src="(\S+)"></script>\n')


class Scenes(NamedTuple):
    """The scenes of a guided tour of the page, and the source excerpts that the scenes name."""

    told: Sequence[Mapping[str, Any]] = ()
    source: Mapping[str, Mapping[str, Any]] = {}


def page_file(name: str, *, token: str = "", title: str = "") -> str:
    """
    Return the text of one of the page's files.

    Args: token allows the page to use the controls; "" means that the page has no controls. title is the
    page's title, as in write_page.
    """
    text = PAGE.joinpath(name).read_text(encoding="utf-8")
    words = {"token": token, "title": title or "handloop, live", "any": "any" if title else ""}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: escape(words[found[1]]), text)


NO_SCENES: Final = Scenes()


def page_data(runs: Sequence[Mapping[str, Any]] = (), scenes: Scenes = NO_SCENES) -> str:
    """
    Return the page's data as a script. A page in a local folder can load scripts, but no JSON.

    Args: each run has `name`, `title` and `about`. Without runs, the page shows the program that serves it.
    """
    data = {
        "runs": [{key: run[key] for key in ("name", "title", "about")} for run in runs],
        "scenes": scenes.told,
        "source": {
            **{str(number): snippet._asdict() for number, snippet in snippets().items()},
            **scenes.source,
        },
    }
    return f"window.handloopRecorded = {_embedded(data)};\n"


def write_page(
    folder: Path, runs: Sequence[Mapping[str, Any]], *, title: str = "", scenes: Scenes = NO_SCENES
) -> None:
    """
    Write the page with recordings into a folder, as one file that a browser opens without a server.

    Args: each run has `name`, `title`, `about`, `key`, `shows`, `marks`, `steps` and `states`. A run can also
    have `says`, with the texts to show at some of its marks. Without a title, the page describes the Foo
    controller.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INDEX).write_text(_whole_page(runs, title, scenes), encoding="utf-8")


def is_page(file: Path) -> bool:
    """Return whether a file was written by `write_page`."""
    return file.name == INDEX and b"window.handloopRecorded" in file.read_bytes()


def _whole_page(runs: Sequence[Mapping[str, Any]], title: str, scenes: Scenes) -> str:
    page = page_file(INDEX, title=title)
    code = [page_data(runs, scenes) if name == NAME else page_file(name) for name in _SCRIPT.findall(page)]
    data = [
        f'<script type="application/json" id="run-{escape(run["name"])}">{_embedded(run)}</script>\n'
        for run in runs
    ]
    page = _STYLE.sub(lambda found: f"<style>\n{page_file(found[1])}</style>\n", _SCRIPT.sub("", page))
    head, end, tail = page.partition("</body>")
    return head + "".join(data) + f"<script>\n{''.join(code)}</script>\n" + end + tail


def _embedded(data: Any) -> str:
    """Return JSON to embed in a script element. `<` is escaped, so that no text can end the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, default=str)
    return text.replace("<", "\\u003c")
