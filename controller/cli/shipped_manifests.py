"""
The manifests of this repository, `manifests/`, for an operator of another name.

They are the only source for what `handloop init` writes and `monitoring` prints. Wherever handloop's name
occurs in their labels, texts and queries, the operator's name replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handloop.apis.grammar.yaml_text import scalar

_FOLDER: Final = Path(__file__).parent / "templates/manifests"
"""The folder is a link in a checkout."""
_NAME: Final = re.compile(r"\bhandloop\b(?!\.dev)")
"""Not in handloop_hot_loops_total and other metrics, or in handloop.dev/shards: all operators have those."""
_WHOLE: Final = re.compile(r"(?<=[:-] )handloop$", re.MULTILINE)
_MADE: Final = "# made by "
_OF_OURS: Final = ("bundle", "charts", "samples", "install.yaml")


def shipped_manifests(name: str, folder: Path = _FOLDER) -> Iterator[tuple[str, str]]:
    """Yield each hand-written manifest's path and text. Kinds and roles are generated from the code."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = path.relative_to(folder)
        text = path.read_text(encoding="utf-8")
        if place.parts[0] not in _OF_OURS and not text.startswith(_MADE):
            yield str(place), _renamed(text, name)


def shipped_manifest(place: str, name: str) -> str:
    """Return the text of one manifest."""
    return _renamed((_FOLDER / place).read_text(encoding="utf-8"), name)


def _renamed(text: str, name: str) -> str:
    alerts = "".join(word.capitalize() for word in re.split(r"[-.]", name))
    # Without quotes, a name such as `on` means something else in YAML.
    text = _WHOLE.sub(scalar(name), text)
    return _NAME.sub(name, text).replace("Handloop", alerts)
