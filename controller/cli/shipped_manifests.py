"""
The manifests of this repository, `manifests/`, adapted for an operator with a different name.

`handloop init` and `monitoring` use no other manifests. In labels, texts and queries, the operator's name
replaces handloop's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handloop.apis.grammar.yaml_text import scalar

_FOLDER: Final = Path(__file__).parent / "templates/manifests"
"""In a checkout, this folder is a symbolic link."""
_NAME: Final = re.compile(r"\bhandloop\b(?!\.dev)")
"""
This does not match metrics such as handloop_hot_loops_total, or handloop.dev/shards, which all operators
have.
"""
_WHOLE: Final = re.compile(r"(?<=[:-] )handloop$", re.MULTILINE)
_MADE: Final = "# made by "
_OF_OURS: Final = ("bundle", "charts", "samples", "install.yaml")


def shipped_manifests(name: str, folder: Path = _FOLDER) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each hand-written manifest. CRDs and roles are generated from code."""
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
    # Quotes are added because YAML reads a name such as `on` as a boolean.
    text = _WHOLE.sub(scalar(name), text)
    return _NAME.sub(name, text).replace("Handloop", alerts)
