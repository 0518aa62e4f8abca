"""What the page needs beside its own files: recorded runs, scenes, the source of the steps."""

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
"""The folder of the page's files, which are the same for a running program and for recorded runs."""

NAME: Final = "runs/data.js"
"""Where the page looks for its data."""


class Scenes(NamedTuple):
    """What a director of the page tells: the scenes, and the pieces of the source that they name."""

    told: Sequence[Mapping[str, Any]] = ()
    source: Mapping[str, Mapping[str, Any]] = {}


def page_file(name: str, *, token: str = "", title: str = "") -> str:
    """
    The text of a file of the page.

    Args: token = with which the page may use the controls, "" = it has none. title as page_data.
    """
    text = PAGE.joinpath(name).read_text(encoding="utf-8")
    words = {"token": token, "title": title or "handloop, live", "any": "any" if title else ""}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: escape(words[found[1]]), text)


NO_SCENES: Final = Scenes()


def page_data(runs: Sequence[Mapping[str, Any]] = (), scenes: Scenes = NO_SCENES) -> str:
    """
    The page's data as a script, so that a page from a folder can load it, too.

    Args: runs have `name`, `title` and `about`; none = the page shows the program that serves it.
    """
    data = {
        "runs": [{key: run[key] for key in ("name", "title", "about")} for run in runs],
        "scenes": scenes.told,
        "source": {
            **{str(number): snippet._asdict() for number, snippet in snippets().items()},
            **scenes.source,
        },
    }
    return f"window.handloopRecorded = {json.dumps(data)};\n"


def write_page(
    folder: Path, runs: Sequence[Mapping[str, Any]], *, title: str = "", scenes: Scenes = NO_SCENES
) -> None:
    """
    Write the page with recorded runs into a folder, from which a browser opens it without a server.

    The runs are scripts, because a page from a folder may load scripts and nothing else.

    Args: runs = documents with `name`, `title`, `about`, `key`, `shows`, `marks`, `steps` and `states`;
    title "" = the page is about Foos.
    """
    (folder / NAME).parent.mkdir(parents=True, exist_ok=True)
    for file in PAGE.iterdir():
        (folder / file.name).write_text(page_file(file.name, title=title), encoding="utf-8")
    (folder / NAME).write_text(page_data(runs, scenes), encoding="utf-8")
    for run in runs:
        text = json.dumps(run, separators=(",", ":"), ensure_ascii=False, default=str)
        script = (folder / NAME).with_name(f"{run['name']}.js")
        script.write_text(f"window.handloopRun({text});\n", encoding="utf-8")
