"""What the page needs beside its own files: recorded runs, the director's scenes, the source of the steps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from handloop.walkthrough.live.scenes import SCENES
from handloop.walkthrough.live.source import snippet_with, snippets

PAGE: Final[Traversable] = files(__package__).joinpath("page")
"""The folder of the page's files, which are the same for a running program and for recorded runs."""

NAME: Final = "runs/data.js"
"""Where the page looks for its data."""


def page_data(runs: Sequence[Mapping[str, str]] = (), docs: Mapping[int, str] | None = None) -> str:
    """
    The page's data as a script, so that a page from a folder can load it, too.

    Args: runs have `name`, `title` and `about`; none = the page shows the program that serves it. docs = the
    docs' address for each step, None = they are not beside the page.
    """
    docs = docs or {}
    scenes = [
        scene._asdict()
        | {"without": scene.without._asdict(), "docs": docs.get(scene.step), "code": scene.code}
        for scene in SCENES
    ]
    data = {
        "runs": list(runs),
        "scenes": scenes,
        "source": {
            **{str(number): snippet._asdict() for number, snippet in snippets().items()},
            **{scene.code: snippet_with(scene.step, scene.line)._asdict() for scene in SCENES if scene.line},
        },
    }
    return f"window.handloopRecorded = {json.dumps(data)};\n"
