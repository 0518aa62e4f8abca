"""
Serve the page `/why?name=NAMESPACE/NAME`, which explains what happens to a name; `&o=json` is for programs.

The page contains error texts and object names. It is therefore served only on loopback, or to clients that
`--metrics-auth` allows to read it; see PageServer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from handloop.controller.runtime.reconciling.explainer import Why
from handloop.controller.runtime.serving.page_server import TEXT, Page
from handloop.informers.keys import ObjectName, parse_object_name

_JSON: Final = "application/json"


class Explaining(Protocol):
    """A manager that explains names."""

    def why(self, name: ObjectName, controller: str) -> Why:
        """Return the explanation for a name. Args: controller is a controller's name, or "" for all."""


def why_page(manager: Explaining) -> Page:
    """Return the page that shows a manager's explanations."""

    def page(query: Mapping[str, Sequence[str]]) -> tuple[int, str, bytes]:
        asked = query.get("name", [""])[0]
        if not asked:
            return 400, TEXT, b"say which: /why?name=NAMESPACE/NAME, or ?name=NAME without a namespace\n"
        try:
            name = parse_object_name(asked)
        except ValueError as error:
            return 400, TEXT, f"{_shown(str(error))}\n".encode()
        why = manager.why(name, query.get("controller", [""])[0])
        if query.get("o", [""])[0] == "json":
            return 200, _JSON, msgspec.json.encode(why)
        return 200, TEXT, "".join(f"{_shown(line)}\n" for line in lines(why)).encode()

    return page


def lines(why: Why) -> list[str]:
    """Return the lines of the page in plain text, with the newest first."""
    found = [why.elsewhere] if why.elsewhere else []
    for each in why.explanations:
        found.append(f"{each.controller}: {each.kind} {each.name}")
        found += [f"  {line}" for line in each.says]
        if each.near:
            found.append(f"  did you mean {', '.join(each.near)}?")
    return found or ["no controller that can explain a name runs in this process"]


def _shown(text: str) -> str:
    """Return text on one line, with escapes, because an error can contain text from any user."""
    return text if text.isprintable() else repr(text)[1:-1]
